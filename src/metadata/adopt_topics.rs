//! Makes topics of partitions that lie on disk where no metadata are: a broker is started on what another one wrote.
//!
//! It must not know where they lie, nor what is in them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, ProducerId, TopicId, TopicPartition};

use super::config_resource::ConfigResource;
use super::create_topics::PARTITIONS_PER_REQUEST_MAX;
use super::partition_registration::PartitionRegistration;
use super::random_uuid::is_reserved;
use super::record::MetadataRecord;
use super::topic_name::{CLUSTER_METADATA_TOPIC_NAME, validate_topic_name};

/// A partition that was found on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPartition {
    /// Its name, from that of its folder.
    pub partition: TopicPartition,
    /// The id in its `partition.metadata`, if it has one.
    pub topic_id: Option<TopicId>,
    /// The latest epoch in its log.
    pub leader_epoch: LeaderEpoch,
    /// The id of the log directory that it lies in.
    pub directory: TopicId,
    /// The highest id of a producer that its log remembers.
    pub producer_id_max: Option<ProducerId>,
}

/// What a topic is to have beyond what was found of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdoptedTopic {
    /// It gets at least so many partitions.
    pub partitions_min: i32,
    /// Its configurations; none lie in a partition's folder.
    pub configs: Vec<(Arc<str>, Arc<str>)>,
}

/// The records of all topics whose partitions were `found`, with the ids that they have; a topic without one gets a drawn one. Numbers
/// that are missing between 0 and the highest become empty partitions. What cannot be a topic is left out: a name that no client could
/// say, an id that is reserved or another topic's, more partitions than a request may create. No new producer gets an id that a log
/// remembers: its batches would be taken for retries.
pub fn adopt_topics(
    broker_id: BrokerId,
    found: &[FoundPartition],
    describe: &dyn Fn(&str) -> AdoptedTopic,
    draw_topic_id: &mut dyn FnMut() -> TopicId,
) -> Vec<MetadataRecord> {
    let mut topics: BTreeMap<&Arc<str>, BTreeMap<PartitionIndex, &FoundPartition>> = BTreeMap::new();
    for partition in found {
        let name = &partition.partition.topic;
        if validate_topic_name(name).is_ok() && &**name != CLUSTER_METADATA_TOPIC_NAME {
            topics.entry(name).or_default().insert(partition.partition.partition, partition);
        }
    }
    let mut records = Vec::new();
    let mut ids = BTreeSet::new();
    for (name, partitions) in topics {
        let AdoptedTopic { partitions_min, configs } = describe(name);
        let highest = partitions.keys().next_back().map_or(0, |highest| highest.0);
        let count = i64::from(partitions_min).max(i64::from(highest) + 1);
        let known_id = partitions.values().find_map(|partition| partition.topic_id);
        let topic_id = known_id.unwrap_or_else(&mut *draw_topic_id);
        if count > PARTITIONS_PER_REQUEST_MAX || is_reserved(topic_id) || !ids.insert(topic_id) {
            continue;
        }
        records.push(MetadataRecord::Topic { name: Arc::clone(name), topic_id });
        let resource = ConfigResource::topic(Arc::clone(name));
        records.extend(configs.into_iter().map(|(name, value)| MetadataRecord::Config {
            resource: resource.clone(),
            name,
            value: Some(value),
        }));
        let indexes = (0..).map(PartitionIndex).take(usize::try_from(count).unwrap_or(0));
        let directory = partitions.values().next().map_or(TopicId::ZERO, |partition| partition.directory);
        records.extend(indexes.map(|partition| MetadataRecord::Partition {
            topic_id,
            partition,
            registration: registration(broker_id, partitions.get(&partition).copied(), directory),
        }));
    }
    let producer_id_max = found.iter().filter_map(|partition| partition.producer_id_max).max();
    records.extend(producer_id_max.map(|producer_id| MetadataRecord::ProducerIds {
        broker_id,
        broker_epoch: 0,
        next_producer_id: producer_id.0.saturating_add(1),
    }));
    records
}

/// A partition that this broker leads. Its log says in which epoch: that of a new leader may never lie below.
fn registration(broker_id: BrokerId, found: Option<&FoundPartition>, otherwise: TopicId) -> PartitionRegistration {
    let directory = found.map_or(otherwise, |found| found.directory);
    let leader_epoch = found.map_or(LeaderEpoch(0), |found| found.leader_epoch);
    let registration = PartitionRegistration::new(vec![broker_id], vec![directory], vec![broker_id]);
    PartitionRegistration { leader_epoch, ..registration }
}
