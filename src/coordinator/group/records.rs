//! What the group coordinator writes to its log: committed offsets and the metadata of classic groups.
//!
//! It must not know batches or offsets of the log.

use std::sync::Arc;

use bytes::Bytes;

use crate::coordinator::group::offsets::CommittedOffset;
use crate::protocol::records::group as wire;
use crate::types::{LeaderEpoch, Offset, PartitionIndex, WallTime};
use crate::zoo::{self, Bug};

pub use crate::protocol::records::group::GroupRecordError;

/// How the log says that there is no such time.
const NONE: i64 = -1;

/// A record of `__consumer_offsets`. Without a value it is a tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupRecord {
    /// `OffsetCommitKey` and `OffsetCommitValue`.
    OffsetCommit {
        /// The group that commits.
        group_id: Arc<str>,
        /// The topic's name.
        topic: Arc<str>,
        /// The partition.
        partition: PartitionIndex,
        /// What is committed.
        value: Option<CommittedOffset>,
    },
    /// `GroupMetadataKey` and `GroupMetadataValue`.
    GroupMetadata {
        /// The group.
        group_id: Arc<str>,
        /// Its generation and members.
        value: Option<GroupMetadata>,
    },
}

/// A classic group as the log knows it: `GroupMetadataValue`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMetadata {
    /// `consumer`, `connect` …; empty for a group that never had members.
    pub protocol_type: Arc<str>,
    /// Counts the completed rebalances.
    pub generation: i32,
    /// The protocol that was chosen.
    pub protocol: Option<Arc<str>>,
    /// The member that assigns.
    pub leader: Option<Arc<str>>,
    /// When the group entered its state; retention of an empty group counts from here.
    pub current_state_timestamp: Option<WallTime>,
    /// The members and what they own.
    pub members: Vec<MemberMetadata>,
}

/// A member as the log knows it: `MemberMetadata` of `GroupMetadataValue`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberMetadata {
    /// Given out by the coordinator.
    pub member_id: Arc<str>,
    /// `group.instance.id` of a static member.
    pub group_instance_id: Option<Arc<str>>,
    /// The client's name for itself.
    pub client_id: Arc<str>,
    /// Where it connected from.
    pub client_host: Arc<str>,
    /// How long a rebalance waits for it; -1 in records of old brokers.
    pub rebalance_timeout_ms: i32,
    /// How long it may be silent.
    pub session_timeout_ms: i32,
    /// What it says about itself in terms of the chosen protocol.
    pub subscription: Bytes,
    /// What the leader gave it.
    pub assignment: Bytes,
}

impl GroupRecord {
    /// The group that the record is about.
    pub fn group_id(&self) -> &Arc<str> {
        match self {
            GroupRecord::OffsetCommit { group_id, .. } | GroupRecord::GroupMetadata { group_id, .. } => group_id,
        }
    }

    /// The key's bytes in the log.
    pub fn encode_key(&self) -> Vec<u8> {
        match self {
            GroupRecord::OffsetCommit { group_id, topic, partition, .. } => {
                wire::GroupRecordKey::OffsetCommit(wire::OffsetCommitKey {
                    group: group_id,
                    topic,
                    partition: partition.0,
                })
                .encode()
            }
            GroupRecord::GroupMetadata { group_id, .. } => {
                wire::GroupRecordKey::GroupMetadata(wire::GroupMetadataKey { group: group_id }).encode()
            }
        }
    }

    /// The value's bytes in the log, in the version that Kafka 4.4 writes; `None` for a tombstone.
    pub fn encode_value(&self) -> Option<Vec<u8>> {
        match self {
            GroupRecord::OffsetCommit { value, .. } => value.as_ref().map(encode_offset),
            GroupRecord::GroupMetadata { value, .. } => value.as_ref().map(encode_metadata),
        }
    }

    /// Reads a record of the log in any version. `UnknownType` is no damage: other kinds of groups have records here too.
    pub fn decode(key: &[u8], value: Option<&[u8]>) -> Result<GroupRecord, GroupRecordError> {
        let wire_key = wire::GroupRecordKey::decode(key)?;
        let wire_value = value.map(|value| wire_key.decode_value(value)).transpose()?;
        Ok(match (wire_key, wire_value) {
            (wire::GroupRecordKey::OffsetCommit(key), value) => GroupRecord::OffsetCommit {
                group_id: Arc::from(key.group),
                topic: Arc::from(key.topic),
                partition: PartitionIndex(key.partition),
                value: match value {
                    Some(wire::GroupRecordValue::OffsetCommit(value)) => Some(offset_of(&value)),
                    Some(wire::GroupRecordValue::GroupMetadata(_)) | None => None,
                },
            },
            (wire::GroupRecordKey::GroupMetadata(key), value) => GroupRecord::GroupMetadata {
                group_id: Arc::from(key.group),
                value: match value {
                    Some(wire::GroupRecordValue::GroupMetadata(value)) => Some(metadata_of(&value)),
                    Some(wire::GroupRecordValue::OffsetCommit(_)) | None => None,
                },
            },
        })
    }
}

fn encode_offset(value: &CommittedOffset) -> Vec<u8> {
    wire::GroupRecordValue::OffsetCommit(wire::OffsetCommitValue {
        offset: value.offset.0,
        leader_epoch: value.leader_epoch.map_or(-1, |epoch| epoch.0),
        metadata: &value.metadata,
        commit_timestamp: value.commit_timestamp.0,
        expire_timestamp: value.expire_timestamp.map_or(NONE, |time| time.0),
        topic_id: value.topic_id,
    })
    .encode()
}

fn offset_of(value: &wire::OffsetCommitValue<'_>) -> CommittedOffset {
    CommittedOffset {
        offset: Offset(value.offset),
        leader_epoch: Some(LeaderEpoch(value.leader_epoch)).filter(|epoch| epoch.0 >= 0),
        metadata: Arc::from(value.metadata),
        commit_timestamp: WallTime(value.commit_timestamp),
        expire_timestamp: Some(WallTime(value.expire_timestamp))
            .filter(|time| time.0 != NONE && !zoo::is(Bug::NamedEndForgotten)),
        topic_id: value.topic_id,
    }
}

fn encode_metadata(value: &GroupMetadata) -> Vec<u8> {
    wire::GroupRecordValue::GroupMetadata(wire::GroupMetadataValue {
        protocol_type: &value.protocol_type,
        generation: value.generation,
        protocol: value.protocol.as_deref(),
        leader: value.leader.as_deref(),
        current_state_timestamp: value.current_state_timestamp.map_or(NONE, |time| time.0),
        members: value
            .members
            .iter()
            .map(|member| wire::MemberMetadata {
                member_id: &member.member_id,
                group_instance_id: member.group_instance_id.as_deref(),
                client_id: &member.client_id,
                client_host: &member.client_host,
                rebalance_timeout: member.rebalance_timeout_ms,
                session_timeout: member.session_timeout_ms,
                subscription: &member.subscription,
                assignment: &member.assignment,
            })
            .collect(),
    })
    .encode()
}

fn metadata_of(value: &wire::GroupMetadataValue<'_>) -> GroupMetadata {
    GroupMetadata {
        protocol_type: Arc::from(value.protocol_type),
        generation: value.generation,
        protocol: value.protocol.map(Arc::from),
        leader: value.leader.map(Arc::from),
        current_state_timestamp: Some(WallTime(value.current_state_timestamp)).filter(|time| time.0 != NONE),
        members: value
            .members
            .iter()
            .map(|member| MemberMetadata {
                member_id: Arc::from(member.member_id),
                group_instance_id: member.group_instance_id.map(Arc::from),
                client_id: Arc::from(member.client_id),
                client_host: Arc::from(member.client_host),
                rebalance_timeout_ms: member.rebalance_timeout,
                session_timeout_ms: member.session_timeout,
                subscription: Bytes::copy_from_slice(member.subscription),
                assignment: Bytes::copy_from_slice(member.assignment),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::{GroupMetadata, GroupRecord, GroupRecordError, MemberMetadata};
    use crate::coordinator::group::CommittedOffset;
    use crate::types::{LeaderEpoch, Offset, PartitionIndex, TopicId, WallTime};

    fn survives(record: &GroupRecord) {
        let value = record.encode_value();
        assert_eq!(GroupRecord::decode(&record.encode_key(), value.as_deref()).as_ref(), Ok(record));
    }

    #[test]
    fn an_offset_survives_the_log() {
        let committed = CommittedOffset {
            offset: Offset(7),
            leader_epoch: Some(LeaderEpoch(3)),
            metadata: Arc::from("note"),
            commit_timestamp: WallTime(11),
            expire_timestamp: None,
            topic_id: TopicId::METADATA,
        };
        // The old version that holds an end holds neither epoch nor topic id.
        let expiring = CommittedOffset {
            leader_epoch: None,
            expire_timestamp: Some(WallTime(12)),
            topic_id: TopicId::ZERO,
            ..committed.clone()
        };
        for value in [Some(committed), Some(expiring), None] {
            let (group_id, topic) = (Arc::from("g"), Arc::from("t"));
            survives(&GroupRecord::OffsetCommit { group_id, topic, partition: PartitionIndex(2), value });
        }
    }

    #[test]
    fn a_group_survives_the_log() {
        let member = MemberMetadata {
            member_id: Arc::from("m"),
            group_instance_id: Some(Arc::from("i")),
            client_id: Arc::from("c"),
            client_host: Arc::from("/127.0.0.1"),
            rebalance_timeout_ms: 5,
            session_timeout_ms: 6,
            subscription: Bytes::from_static(b"s"),
            assignment: Bytes::from_static(b"a"),
        };
        let full = GroupMetadata {
            protocol_type: Arc::from("consumer"),
            generation: 4,
            protocol: Some(Arc::from("range")),
            leader: Some(Arc::from("m")),
            current_state_timestamp: Some(WallTime(9)),
            members: vec![member],
        };
        let empty = GroupMetadata {
            protocol_type: Arc::from(""),
            generation: 0,
            protocol: None,
            leader: None,
            current_state_timestamp: None,
            members: Vec::new(),
        };
        for value in [Some(full), Some(empty), None] {
            survives(&GroupRecord::GroupMetadata { group_id: Arc::from("g"), value });
        }
    }

    #[test]
    fn records_of_other_kinds_of_groups_are_told_apart_from_damage() {
        assert_eq!(GroupRecord::decode(&[0, 3, 0, 1, b'g'], None), Err(GroupRecordError::UnknownType(3)));
        assert!(matches!(GroupRecord::decode(&[0], None), Err(GroupRecordError::Malformed(_))));
    }

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn what_kafka_wrote_is_read_and_written_again_byte_for_byte() {
        // Taken from the offsets topic of Kafka 4.4.0: a static member of a stable group, its commit, and the group once empty.
        let written = [
            (
                "00020004676f6c64",
                "00030008636f6e73756d657200000001000572616e6765002769312d39333334316532362d313164642d346333362d613138302d6431\
                 34643064383765373762000001a22895e80600000001002769312d39333334316532362d313164642d346333362d613138302d6431\
                 3464306438376537376200026931000570726f6265000a2f3132372e302e302e3100004e20000027100000000d00000000000100\
                 0174ffffffff00000003414141",
            ),
            (
                "00010004676f6c640002677400000000",
                "00040000000000000003ffffffff056e6f7465000001a22895e80a0100102d0c1351d29842779c6820f0968c9925",
            ),
            ("00020004676f6c64", "00030008636f6e73756d657200000002ffffffff000001a22895e81100000000"),
        ];
        for (key, value) in written.map(|(key, value)| (bytes(key), bytes(&value.replace(char::is_whitespace, "")))) {
            let record = GroupRecord::decode(&key, Some(&value)).unwrap();
            assert_eq!((record.encode_key(), record.encode_value()), (key, Some(value)));
            assert_eq!(record.group_id().as_ref(), "gold");
        }
    }
}
