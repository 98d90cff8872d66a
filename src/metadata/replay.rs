//! Replaying records onto an image: the only way in which anything about the cluster changes, at start as in operation.
//!
//! It must not decide anything: whoever wrote the records did.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicId};

use super::broker_registration::BrokerRegistration;
use super::config_resource::ConfigResource;
use super::image::{MetadataImage, TopicImage};
use super::record::{BrokerRegistrationChange, MetadataRecord};

/// A record does not fit what came before it: the log is damaged, or was written by something else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The record names a topic that does not exist.
    #[error("a metadata record names topic id {0}, which does not exist")]
    UnknownTopic(TopicId),
    /// The record names a partition that does not exist.
    #[error("a metadata record names partition {1} of topic id {0}, which does not exist")]
    UnknownPartition(TopicId, PartitionIndex),
    /// The record creates a topic whose name or id exists.
    #[error("a metadata record creates topic {0}, whose name or id exists")]
    TopicExists(Arc<str>),
    /// The record names a broker that is not registered, or an older registration of it.
    #[error("a metadata record names broker {0} with epoch {1}, which is not registered")]
    UnknownBroker(BrokerId, i64),
}

impl MetadataImage {
    /// Lets these records take effect, together. `next_offset` is the offset behind them, `leader_epoch` that of their batch. When a record
    /// does not fit, the image is of no use any more.
    pub(super) fn replay(
        &mut self,
        records: &[MetadataRecord],
        next_offset: Offset,
        leader_epoch: LeaderEpoch,
    ) -> Result<(), ReplayError> {
        records.iter().try_for_each(|record| self.apply(record))?;
        self.next_offset = next_offset;
        self.leader_epoch = leader_epoch;
        Ok(())
    }

    fn apply(&mut self, record: &MetadataRecord) -> Result<(), ReplayError> {
        match record {
            MetadataRecord::Topic { name, topic_id } => self.add_topic(name, *topic_id),
            MetadataRecord::RemoveTopic { topic_id } => self.remove_topic(*topic_id),
            MetadataRecord::Partition { topic_id, partition, registration } => {
                self.topic_mut(*topic_id)?.partitions.insert(*partition, registration.clone());
                Ok(())
            }
            MetadataRecord::PartitionChange { topic_id, partition, change } => {
                let partitions = &mut self.topic_mut(*topic_id)?.partitions;
                let registration = partitions.get_mut(partition);
                registration.ok_or(ReplayError::UnknownPartition(*topic_id, *partition))?.merge(change);
                Ok(())
            }
            MetadataRecord::ClearElr { topic } => {
                self.clear_elr(topic);
                Ok(())
            }
            MetadataRecord::Config { resource, name, value } => {
                self.set_config(resource, name, value.as_ref());
                Ok(())
            }
            MetadataRecord::FeatureLevel { name, level } => {
                let features = Arc::make_mut(&mut self.features);
                match level {
                    0 => features.remove(name),
                    level => features.insert(Arc::clone(name), *level),
                };
                Ok(())
            }
            MetadataRecord::ProducerIds { next_producer_id, .. } => {
                self.next_producer_id = *next_producer_id;
                Ok(())
            }
            MetadataRecord::RegisterBroker(registration) => {
                Arc::make_mut(&mut self.brokers).insert(registration.broker_id, registration.clone());
                Ok(())
            }
            MetadataRecord::UnregisterBroker { broker_id, broker_epoch } => {
                self.broker_mut(*broker_id, *broker_epoch)?;
                Arc::make_mut(&mut self.brokers).remove(broker_id);
                Ok(())
            }
            MetadataRecord::BrokerRegistrationChange { broker_id, broker_epoch, change } => {
                merge_broker(self.broker_mut(*broker_id, *broker_epoch)?, change);
                Ok(())
            }
            // Where a transaction begins and ends is the loader's matter; the others say nothing that one node's brokers need.
            MetadataRecord::BeginTransaction { .. }
            | MetadataRecord::EndTransaction
            | MetadataRecord::AbortTransaction { .. }
            | MetadataRecord::RegisterController { .. }
            | MetadataRecord::UnregisterController { .. }
            | MetadataRecord::ZkMigrationState { .. }
            | MetadataRecord::NoOp => Ok(()),
        }
    }

    fn add_topic(&mut self, name: &Arc<str>, topic_id: TopicId) -> Result<(), ReplayError> {
        if self.topics.contains_key(&topic_id) || self.topic_ids.contains_key(name) {
            return Err(ReplayError::TopicExists(Arc::clone(name)));
        }
        let topic = TopicImage { name: Arc::clone(name), topic_id, partitions: BTreeMap::new() };
        Arc::make_mut(&mut self.topics).insert(topic_id, Arc::new(topic));
        Arc::make_mut(&mut self.topic_ids).insert(Arc::clone(name), topic_id);
        Ok(())
    }

    fn remove_topic(&mut self, topic_id: TopicId) -> Result<(), ReplayError> {
        let topic = Arc::make_mut(&mut self.topics).remove(&topic_id).ok_or(ReplayError::UnknownTopic(topic_id))?;
        Arc::make_mut(&mut self.topic_ids).remove(&topic.name);
        let resource = ConfigResource::topic(Arc::clone(&topic.name));
        if self.configs.contains_key(&resource) {
            Arc::make_mut(&mut self.configs).remove(&resource);
        }
        Ok(())
    }

    fn topic_mut(&mut self, topic_id: TopicId) -> Result<&mut TopicImage, ReplayError> {
        let topic = Arc::make_mut(&mut self.topics).get_mut(&topic_id);
        topic.map(Arc::make_mut).ok_or(ReplayError::UnknownTopic(topic_id))
    }

    fn clear_elr(&mut self, name: &str) {
        let is_meant = |topic: &TopicImage| name.is_empty() || *topic.name == *name;
        for topic in Arc::make_mut(&mut self.topics).values_mut().filter(|topic| is_meant(topic)) {
            for partition in Arc::make_mut(topic).partitions.values_mut() {
                partition.eligible_leader_replicas.clear();
                partition.last_known_elr.clear();
            }
        }
    }

    fn broker_mut(&mut self, broker_id: BrokerId, epoch: i64) -> Result<&mut BrokerRegistration, ReplayError> {
        let broker = Arc::make_mut(&mut self.brokers).get_mut(&broker_id);
        broker.filter(|broker| broker.broker_epoch == epoch).ok_or(ReplayError::UnknownBroker(broker_id, epoch))
    }

    fn set_config(&mut self, resource: &ConfigResource, name: &Arc<str>, value: Option<&Arc<str>>) {
        match (Arc::make_mut(&mut self.configs).entry(resource.clone()), value) {
            (entry, Some(value)) => {
                Arc::make_mut(entry.or_default()).insert(Arc::clone(name), Arc::clone(value));
            }
            (Entry::Occupied(mut entry), None) => {
                Arc::make_mut(entry.get_mut()).remove(name);
                if entry.get().is_empty() {
                    entry.remove();
                }
            }
            (Entry::Vacant(_), None) => {}
        }
    }
}

fn merge_broker(broker: &mut BrokerRegistration, change: &BrokerRegistrationChange) {
    if let Some(fenced) = change.fenced {
        broker.fenced = fenced;
    }
    broker.in_controlled_shutdown |= change.in_controlled_shutdown;
    if let Some(log_dirs) = &change.log_dirs {
        broker.log_dirs.clone_from(log_dirs);
    }
    if let Some(cordoned_log_dirs) = &change.cordoned_log_dirs {
        broker.cordoned_log_dirs.clone_from(cordoned_log_dirs);
    }
}
