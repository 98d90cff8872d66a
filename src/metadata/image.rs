//! The picture of the cluster at one offset of the metadata log: immutable, shared, cheap to derive the next one from.
//!
//! It must not know who reads it, nor how it came about: only `replay` makes a new one.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicId};

use super::broker_registration::BrokerRegistration;
use super::config_resource::ConfigResource;
use super::partition_registration::PartitionRegistration;
use super::topic_name::{collides, has_collision_chars};

/// A topic and its partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicImage {
    /// Its name.
    pub name: Arc<str>,
    /// Its id, which no other topic ever has.
    pub topic_id: TopicId,
    /// Its partitions, numbered from 0 on without a gap.
    pub partitions: BTreeMap<PartitionIndex, PartitionRegistration>,
}

impl TopicImage {
    /// How many partitions it has.
    pub fn partition_count(&self) -> i32 {
        i32::try_from(self.partitions.len()).unwrap_or(i32::MAX)
    }
}

/// The keys and values that a resource overrides.
pub(super) type Configs = BTreeMap<Arc<str>, Arc<str>>;

/// Everything that the metadata log has said up to an offset. Parts that a batch of records leaves alone are shared with the image before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataImage {
    pub(super) cluster_id: Arc<str>,
    pub(super) next_offset: Offset,
    pub(super) leader_epoch: LeaderEpoch,
    pub(super) topics: Arc<BTreeMap<TopicId, Arc<TopicImage>>>,
    pub(super) topic_ids: Arc<BTreeMap<Arc<str>, TopicId>>,
    pub(super) configs: Arc<BTreeMap<ConfigResource, Arc<Configs>>>,
    pub(super) features: Arc<BTreeMap<Arc<str>, i16>>,
    pub(super) brokers: Arc<BTreeMap<BrokerId, BrokerRegistration>>,
    pub(super) next_producer_id: i64,
}

impl MetadataImage {
    /// The picture before the first record. The cluster id comes from `meta.properties`: no record carries it.
    pub fn empty(cluster_id: impl Into<Arc<str>>) -> MetadataImage {
        MetadataImage {
            cluster_id: cluster_id.into(),
            next_offset: Offset(0),
            leader_epoch: LeaderEpoch(-1),
            topics: Arc::default(),
            topic_ids: Arc::default(),
            configs: Arc::default(),
            features: Arc::default(),
            brokers: Arc::default(),
            next_producer_id: 0,
        }
    }

    /// The cluster's id, the same for its whole life.
    pub fn cluster_id(&self) -> &Arc<str> {
        &self.cluster_id
    }

    /// The offset behind the last record that this picture contains.
    pub fn next_offset(&self) -> Offset {
        self.next_offset
    }

    /// The leader epoch of the last batch of the metadata log that this picture contains; -1 before the first.
    pub fn leader_epoch(&self) -> LeaderEpoch {
        self.leader_epoch
    }

    /// The topic of that name.
    pub fn topic(&self, name: &str) -> Option<&Arc<TopicImage>> {
        self.topics.get(self.topic_ids.get(name)?)
    }

    /// The topic of that id.
    pub fn topic_by_id(&self, topic_id: TopicId) -> Option<&Arc<TopicImage>> {
        self.topics.get(&topic_id)
    }

    /// All topics, sorted by name.
    pub fn topics(&self) -> impl Iterator<Item = &Arc<TopicImage>> {
        self.topic_ids.values().filter_map(|topic_id| self.topics.get(topic_id))
    }

    /// The topics from `name` on, sorted by name (for answers that come in pages).
    pub fn topics_from(&self, name: &str) -> impl Iterator<Item = &Arc<TopicImage>> {
        let from = std::ops::Bound::Included(name);
        let range = self.topic_ids.range::<str, _>((from, std::ops::Bound::Unbounded));
        range.filter_map(|(_, topic_id)| self.topics.get(topic_id))
    }

    /// How many topics there are.
    pub fn topic_count(&self) -> usize {
        self.topics.len()
    }

    /// How many partitions all topics have together.
    pub fn partition_count(&self) -> usize {
        self.topics.values().map(|topic| topic.partitions.len()).sum()
    }

    /// One partition, by its topic's name.
    pub fn partition(&self, topic: &str, partition: PartitionIndex) -> Option<&PartitionRegistration> {
        self.topic(topic)?.partitions.get(&partition)
    }

    /// The existing topic whose name metrics could not tell from `name`.
    pub(super) fn colliding_topic(&self, name: &str) -> Option<&Arc<str>> {
        if !has_collision_chars(name) {
            return None;
        }
        self.topic_ids.keys().find(|existing| collides(existing, name))
    }

    /// What a resource overrides; empty if nothing.
    pub fn configs(&self, resource: &ConfigResource) -> &BTreeMap<Arc<str>, Arc<str>> {
        static NONE: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
        self.configs.get(resource).map_or(&NONE, |configs| configs)
    }

    /// Whether nothing that any resource overrides can differ, as far as that is seen at a glance.
    pub fn shares_configs_with(&self, other: &MetadataImage) -> bool {
        Arc::ptr_eq(&self.configs, &other.configs)
    }

    /// All resources that override something, sorted by kind and name.
    pub fn config_resources(&self) -> impl Iterator<Item = &ConfigResource> {
        self.configs.keys()
    }

    /// The level of a feature that the cluster settled on; 0 if it is without it.
    pub fn feature_level(&self, name: &str) -> i16 {
        self.features.get(name).copied().unwrap_or(0)
    }

    /// All features with a level above 0, sorted by name.
    pub fn features(&self) -> impl Iterator<Item = (&Arc<str>, i16)> {
        self.features.iter().map(|(name, level)| (name, *level))
    }

    /// A registered broker.
    pub fn broker(&self, broker_id: BrokerId) -> Option<&BrokerRegistration> {
        self.brokers.get(&broker_id)
    }

    /// All registered brokers, sorted by id.
    pub fn brokers(&self) -> impl Iterator<Item = &BrokerRegistration> {
        self.brokers.values()
    }

    /// The first producer id that no block covers yet.
    pub fn next_producer_id(&self) -> i64 {
        self.next_producer_id
    }
}
