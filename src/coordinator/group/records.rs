//! What the group coordinator writes to its log: committed offsets and the metadata of classic groups.
//!
//! It must not know batches or offsets of the log.

use std::sync::Arc;

use bytes::Bytes;

use crate::coordinator::group::offsets::CommittedOffset;
use crate::types::{PartitionIndex, WallTime};

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
