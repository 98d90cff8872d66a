//! Who leads a partition as clients see it: nobody while its log cannot be served.
//!
//! It must not know which request asks.

use super::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::metadata::PartitionRegistration;
use crate::types::{PartitionIndex, TopicId};

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
