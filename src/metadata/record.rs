//! The records of `__cluster_metadata` as owned values, in this room's types.
//!
//! It must not know bytes (`record_codec` does) nor what replaying a record does (`replay` does).

use std::sync::Arc;

use crate::types::{BrokerId, PartitionIndex, TopicId};

use super::broker_registration::{BrokerEndpoint, BrokerFeature, BrokerRegistration};
use super::config_resource::ConfigResource;
use super::partition_registration::{PartitionChange, PartitionRegistration};

/// What changed in a broker's registration; `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokerRegistrationChange {
    /// Whether it may serve.
    pub fenced: Option<bool>,
    /// Whether it is about to leave in order; only ever becomes true.
    pub in_controlled_shutdown: bool,
    /// Its log directories.
    pub log_dirs: Option<Vec<TopicId>>,
    /// Those that get no new partitions.
    pub cordoned_log_dirs: Option<Vec<TopicId>>,
}

/// One change of the cluster's metadata. The names are those of Kafka's record types, without `Record`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataRecord {
    /// A broker registered itself.
    RegisterBroker(BrokerRegistration),
    /// A broker left for good.
    UnregisterBroker {
        /// Which.
        broker_id: BrokerId,
        /// The epoch of the registration that ends.
        broker_epoch: i64,
    },
    /// A topic was created, still without partitions.
    Topic {
        /// Its name.
        name: Arc<str>,
        /// Its id.
        topic_id: TopicId,
    },
    /// A partition was created.
    Partition {
        /// Of which topic.
        topic_id: TopicId,
        /// Which one.
        partition: PartitionIndex,
        /// All about it.
        registration: PartitionRegistration,
    },
    /// A configuration was set, or removed.
    Config {
        /// Whose.
        resource: ConfigResource,
        /// The key.
        name: Arc<str>,
        /// The value; none removes the key.
        value: Option<Arc<str>>,
    },
    /// Something about a partition changed.
    PartitionChange {
        /// Of which topic.
        topic_id: TopicId,
        /// Which one.
        partition: PartitionIndex,
        /// What.
        change: PartitionChange,
    },
    /// A topic was deleted, with its partitions and configurations.
    RemoveTopic {
        /// Which.
        topic_id: TopicId,
    },
    /// The cluster settled on a level of a feature; 0 is without it.
    FeatureLevel {
        /// Which feature.
        name: Arc<str>,
        /// Which level.
        level: i16,
    },
    /// Producer ids below this one are given out.
    ProducerIds {
        /// To which broker the last block went.
        broker_id: BrokerId,
        /// In which registration.
        broker_epoch: i64,
        /// The first id that is still free.
        next_producer_id: i64,
    },
    /// A broker's registration changed.
    BrokerRegistrationChange {
        /// Which broker.
        broker_id: BrokerId,
        /// In which registration.
        broker_epoch: i64,
        /// What.
        change: BrokerRegistrationChange,
    },
    /// A controller registered itself. Kafka writes it; it changes nothing here.
    RegisterController {
        /// Which.
        controller_id: i32,
        /// Drawn anew at each start.
        incarnation_id: TopicId,
        /// A remnant of the migration from ZooKeeper.
        zk_migration_ready: bool,
        /// Its listeners.
        endpoints: Vec<BrokerEndpoint>,
        /// Its features.
        features: Vec<BrokerFeature>,
    },
    /// A controller left for good. It changes nothing here.
    UnregisterController {
        /// Which.
        controller_id: i32,
    },
    /// The in-sync replicas alone may lead from now on (KIP-966); written where `min.insync.replicas` changes.
    ClearElr {
        /// In which topic; an empty name stands for all.
        topic: Arc<str>,
    },
    /// Nothing changed; Kafka writes it twice a second.
    NoOp,
    /// A remnant of the migration from ZooKeeper, in logs of clusters that began before Kafka 4.0.
    ZkMigrationState {
        /// How far the migration is.
        state: i8,
    },
    /// The records that follow take effect together (KIP-868).
    BeginTransaction {
        /// Why, in words.
        name: Option<Arc<str>>,
    },
    /// The records of the transaction take effect.
    EndTransaction,
    /// The records of the transaction never take effect.
    AbortTransaction {
        /// Why, in words.
        reason: Option<Arc<str>>,
    },
}
