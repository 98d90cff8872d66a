//! Who leads a partition as clients see it: nobody while its log cannot be served.
//!
//! It must not know which request asks.

use std::sync::Arc;

use super::kafka_apis::KafkaApis;
use super::partition::Partition;
use crate::error_code::ErrorCode;
use crate::metadata::{PartitionRegistration, TopicImage};
use crate::types::{PartitionIndex, TopicId};
use crate::zoo::{self, Bug};

/// Why a partition without a log cannot be served. One that the metadata know has none while its directory cannot be used or the disk refuses it: it is there
/// all the same, as is one in a directory that Kafka has taken offline.
pub(crate) fn without_log(is_in_metadata: bool, unknown: ErrorCode) -> ErrorCode {
    if is_in_metadata && !zoo::is(Bug::NoLogIsUnknown) { ErrorCode::KafkaStorageError } else { unknown }
}

/// What clients are told of a partition's leader.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Leadership {
    pub(crate) error: ErrorCode,
    /// The broker that leads, -1 for none.
    pub(crate) leader_id: i32,
    /// The brokers whose log of it is offline.
    pub(crate) offline_replicas: Vec<i32>,
}

impl KafkaApis {
    /// The partition of a topic with this name, or why it cannot be served.
    pub(crate) fn partition(&self, topic: &str, index: PartitionIndex) -> Result<Arc<Partition>, ErrorCode> {
        let found = self.replica_manager().find(topic, index);
        found.ok_or_else(|| {
            let has_partition = |topic: &Arc<TopicImage>| topic.partitions.contains_key(&index);
            without_log(self.image().topic(topic).is_some_and(has_partition), ErrorCode::UnknownTopicOrPartition)
        })
    }

    /// Who leads this partition. After a disk error, or while the disk refuses it a log, nobody does, as in Kafka after a log directory has
    /// failed: clients then ask again instead of sending what must be refused, and tools show it as unavailable.
    pub(crate) fn leadership(
        &self,
        topic_id: TopicId,
        index: PartitionIndex,
        registration: &PartitionRegistration,
    ) -> Leadership {
        let found = self.replica_manager().find_by_id(topic_id, index);
        let is_online = found.is_some_and(|partition| !partition.log.is_offline());
        let is_replica = registration.replicas.contains(&self.broker_id());
        let leader = registration.leader.filter(|_| is_online);
        Leadership {
            error: if leader.is_none() { ErrorCode::LeaderNotAvailable } else { ErrorCode::None },
            leader_id: leader.map_or(-1, |leader| leader.0),
            offline_replicas: if is_online || !is_replica { Vec::new() } else { vec![self.broker_id().0] },
        }
    }
}
