//! A broker that is easy to believe: a few maps in memory, one request after the other, no disk, no time, no concurrency. It is written from the
//! protocol and from what Kafka's documents promise, to be compared with the broker's answers, field by field.
//!
//! It must not know how the broker comes to an answer. What the protocol leaves open (new ids, wordings, how much one fetch brings) it takes over
//! from the answer that it judges, if that is one of those allowed.

mod inventory; // what there is
mod groups; // members, generations, committed offsets
mod offsets; // committed offsets
mod log; // a partition
mod node; // who the broker is
mod partitions; // what is asked of partitions
mod topics; // topics and their configurations

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use klamm::protocol::{ApiKey, Decoder, Encoder, Message};
use klamm::types::TopicId;

pub(crate) use groups::Group;
pub(crate) use log::Log;
pub(crate) use node::Node;
pub(crate) use topics::Topic;

/// How the names begin of all that an examiner makes.
const OWN_PREFIX: &str = "examined-";

/// The broker.
#[derive(Debug, Default)]
pub(crate) struct ReferenceBroker {
    pub(crate) topics: BTreeMap<String, Topic>,
    pub(crate) groups: BTreeMap<String, Group>,
    /// Somebody was told who coordinates groups; before, there may be nobody yet.
    pub(crate) has_coordinator: bool,
    /// Who is asked.
    pub(crate) node: Node,
    /// Every producer id that was given out.
    producer_ids: BTreeSet<i64>,
    /// What the last fetch should have brought.
    fetched: Vec<u8>,
}

impl ReferenceBroker {
    /// Takes a request as the broker got it, and says how the broker's answer differs from the right one, if it does.
    pub(crate) fn judge(&mut self, (api_key, version): (ApiKey, i16), asked: &[u8], told: &[u8]) -> Result<(), String> {
        let exchange = Exchange { version, asked, told };
        match api_key {
            ApiKey::Produce => exchange.compare(self, ReferenceBroker::produced),
            ApiKey::Fetch => exchange.compare(self, ReferenceBroker::fetched),
            ApiKey::ListOffsets => exchange.compare(self, ReferenceBroker::offsets_listed),
            ApiKey::OffsetForLeaderEpoch => exchange.compare(self, ReferenceBroker::epochs_ended),
            ApiKey::DeleteRecords => exchange.compare(self, ReferenceBroker::records_deleted),
            ApiKey::InitProducerId => exchange.compare(self, ReferenceBroker::producer_id_given),
            ApiKey::Metadata => exchange.compare(self, ReferenceBroker::metadata_told),
            ApiKey::CreateTopics => exchange.compare(self, ReferenceBroker::topics_created),
            ApiKey::DeleteTopics => exchange.compare(self, ReferenceBroker::topics_deleted),
            ApiKey::CreatePartitions => exchange.compare(self, ReferenceBroker::partitions_created),
            ApiKey::IncrementalAlterConfigs => exchange.compare(self, ReferenceBroker::configs_altered),
            ApiKey::DescribeConfigs => exchange.compare(self, ReferenceBroker::configs_described),
            ApiKey::FindCoordinator => exchange.compare(self, ReferenceBroker::coordinator_found),
            ApiKey::JoinGroup => exchange.compare(self, ReferenceBroker::group_joined),
            ApiKey::SyncGroup => exchange.compare(self, ReferenceBroker::group_synced),
            ApiKey::Heartbeat => exchange.compare(self, ReferenceBroker::heartbeat_heard),
            ApiKey::LeaveGroup => exchange.compare(self, ReferenceBroker::group_left),
            ApiKey::OffsetCommit => exchange.compare(self, ReferenceBroker::offsets_committed),
            ApiKey::OffsetFetch => exchange.compare(self, ReferenceBroker::offsets_fetched),
            ApiKey::DescribeGroups => exchange.compare(self, ReferenceBroker::groups_described),
            ApiKey::DeleteGroups => exchange.compare(self, ReferenceBroker::groups_deleted),
            ApiKey::OffsetDelete => exchange.compare(self, ReferenceBroker::offsets_deleted),
            ApiKey::AlterConfigs => exchange.compare(self, ReferenceBroker::configs_replaced),
            ApiKey::ApiVersions => exchange.compare(self, ReferenceBroker::versions_told),
            ApiKey::DescribeCluster => exchange.compare(self, ReferenceBroker::cluster_described),
            ApiKey::ListGroups => exchange.compare(self, ReferenceBroker::groups_listed),
            ApiKey::DescribeLogDirs => exchange.compare(self, ReferenceBroker::log_dirs_described),
            ApiKey::DescribeTopicPartitions => exchange.compare(self, ReferenceBroker::topic_partitions_described),
            ApiKey::SaslHandshake => exchange.compare(self, ReferenceBroker::handshake_refused),
            ApiKey::SaslAuthenticate => exchange.compare(self, ReferenceBroker::authentication_refused),
        }
    }

    /// Every producer id that was given out.
    pub(crate) fn producer_ids(&self) -> impl Iterator<Item = i64> + '_ {
        self.producer_ids.iter().copied()
    }

    /// The epoch of a producer in a partition, and the sequence that is next.
    pub(crate) fn producer(&self, topic: &str, partition: i32, producer_id: i64) -> Option<(i16, i32)> {
        let partition = usize::try_from(partition).ok()?;
        self.topics.get(topic)?.partitions.get(partition)?.producer(producer_id)
    }

    /// The name of the topic that is meant: by its id in versions that use ids.
    fn name_of(&self, name: &str, id: TopicId, uses_ids: bool) -> Option<String> {
        let is_meant = |(known, topic): &(&String, &Topic)| if uses_ids { topic.id == id } else { *known == name };
        self.topics.iter().find(is_meant).map(|(name, _)| name.clone())
    }

    fn log(&mut self, name: &str, partition: i32) -> Option<&mut Log> {
        let partition = usize::try_from(partition).ok()?;
        self.topics.get_mut(name)?.partitions.get_mut(partition)
    }
}

/// A request and the answer to it, in one version.
struct Exchange<'a> {
    version: i16,
    asked: &'a [u8],
    told: &'a [u8],
}

impl<'a> Exchange<'a> {
    /// Compares the answer with the right one in all that the version carries.
    fn compare<Q: Message<'a> + Debug, A: Message<'a> + Debug>(
        &self,
        broker: &'a mut ReferenceBroker,
        answer: impl FnOnce(&'a mut ReferenceBroker, i16, &Q, &mut A) -> A,
    ) -> Result<(), String> {
        let request = Q::decode(&mut Decoder::new(self.asked), self.version).map_err(|error| error.to_string())?;
        let mut decoder = Decoder::new(self.told);
        let mut told = A::decode(&mut decoder, self.version).map_err(|error| error.to_string())?;
        if decoder.remaining() > 0 {
            return Err(format!("{} bytes too many", decoder.remaining()));
        }
        tracing::debug!(version = self.version, ?request, ?told, "examined");
        let right = answer(broker, self.version, &request, &mut told);
        let is_right = encoded(&right, self.version) == encoded(&told, self.version);
        is_right.then_some(()).ok_or_else(|| format!("{told:?} instead of {right:?}"))
    }
}

/// What is asked for, and beside each what is told of it: of what an answer leaves out, what nobody would tell.
fn beside<'t, A, T: Clone + Default>(asked: &'t [A], told: &'t [T]) -> impl Iterator<Item = (&'t A, T)> {
    asked.iter().zip(told.iter().cloned().chain(std::iter::repeat_with(T::default)))
}

/// A message as bytes.
pub(crate) fn encoded<'a, M: Message<'a>>(message: &M, version: i16) -> Vec<u8> {
    let mut encoder = Encoder::with_capacity(256);
    message.encode(&mut encoder, version);
    encoder.bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use klamm::error_code::ErrorCode;
    use klamm::protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
    use klamm::protocol::messages::list_offsets::{
        ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
        ListOffsetsTopicResponse,
    };

    use super::*;

    #[test]
    fn a_stranger_is_alive_in_no_group() {
        let asked = encoded(&HeartbeatRequest { group_id: "a", member_id: "b", ..Default::default() }, 3);
        let judge = |error: ErrorCode| {
            let told = HeartbeatResponse { error_code: error.code(), ..Default::default() };
            ReferenceBroker::default().judge((ApiKey::Heartbeat, 3), &asked, &encoded(&told, 3))
        };
        assert_eq!(judge(ErrorCode::UnknownMemberId), Ok(()));
        assert!(judge(ErrorCode::None).is_err());
    }

    #[test]
    fn only_what_the_version_carries_is_compared() {
        let partitions = vec![ListOffsetsPartition { timestamp: -1, ..Default::default() }];
        let topics = vec![ListOffsetsTopic { name: "a", partitions }];
        let request = ListOffsetsRequest { replica_id: -1, topics, ..Default::default() };
        let judge = |version: i16, leader_epoch: i32| {
            let mut broker = ReferenceBroker::default();
            broker.topics.insert("a".to_owned(), Topic { partitions: vec![Log::default()], ..Topic::default() });
            let told = ListOffsetsPartitionResponse { offset: 0, leader_epoch, ..Default::default() };
            let topics = vec![ListOffsetsTopicResponse { name: "a", partitions: vec![told] }];
            let told = encoded(&ListOffsetsResponse { topics, ..Default::default() }, version);
            broker.judge((ApiKey::ListOffsets, version), &encoded(&request, version), &told)
        };
        assert_eq!(judge(4, 0), Ok(()));
        assert!(judge(4, 1).is_err());
        assert_eq!(judge(3, 1), Ok(()), "the epoch is told from version 4 on");
    }
}
