//! Partitions that lie on disk, against the metadata: a cluster without metadata adopts them, any other puts aside what it does not know.
//!
//! It must not know how a start goes on.

use rand::Rng;

use super::log_directory::LogDirectory;
use super::topic_creation::own_topic;
use crate::config::Settings;
use crate::log::{LogError, LogManager, UnifiedLog};
use crate::marks::Mark;
use crate::metadata::{
    CLUSTER_METADATA_TOPIC_NAME, DIRECTORY_UNASSIGNED, FoundPartition, MetadataImage, MetadataRecord, adopt_topics,
    random_uuid,
};
use crate::types::{LeaderEpoch, TopicId};
use crate::zoo::{self, Bug};

/// The records that make topics of all partitions on disk.
pub(crate) fn adopt_found_partitions(
    settings: &Settings,
    manager: &LogManager,
    mut random: &mut dyn Rng,
) -> Vec<MetadataRecord> {
    let found = found_partitions(manager);
    let describe = |topic: &str| own_topic(settings, topic).unwrap_or_default();
    let records = adopt_topics(settings.node.broker_id, &found, &describe, &mut || random_uuid(&mut random));
    for record in &records {
        if let MetadataRecord::Topic { name, topic_id } = record {
            tracing::warn!(topic = %name, %topic_id, "adopted from its partitions, with the broker's defaults for its configs");
        }
    }
    records
}

fn found_partitions(manager: &LogManager) -> Vec<FoundPartition> {
    let directories = manager.directories();
    let found = manager.logs().into_iter().map(|log| {
        let folder = log.directory();
        let directory = directories.iter().find(|directory| folder.parent() == Some(&directory.path));
        FoundPartition {
            partition: log.topic_partition().clone(),
            topic_id: log.topic_id(),
            leader_epoch: log.latest_epoch().unwrap_or(LeaderEpoch(0)),
            producer_id_max: log.producer_id_max().filter(|_| !zoo::is(Bug::ForeignIdsGiven)),
            directory: directory
                .and_then(|directory| TopicId::from_base64(&directory.id))
                .unwrap_or(DIRECTORY_UNASSIGNED),
        }
    });
    found.collect()
}

/// Takes out of use what the metadata do not know: a topic that was deleted before its folder was moved, one that was made anew under the
/// same name, or what somebody copied here. Its files stay.
pub(crate) fn put_strays_aside(logs: &LogDirectory, image: &MetadataImage) -> Result<(), LogError> {
    for log in logs.manager().logs() {
        let partition = log.topic_partition();
        // A stray may have a twin, which takes its place and is looked at in turn.
        while logs.manager().get(partition).is_some_and(|log| !is_known(&log, image)) {
            if let Some(folder) = logs.put_aside(partition)? {
                Mark::StrayPutAside.reached();
                tracing::warn!(%partition, folder = %folder.display(), "not in the metadata: put aside as a stray");
            }
        }
    }
    for partition in logs.manager().twins() {
        if let Some(folder) = logs.put_twin_aside(&partition)? {
            tracing::warn!(%partition, folder = %folder.display(), "another directory has the right one: put aside as a stray");
        }
    }
    Ok(())
}

fn is_known(log: &UnifiedLog, image: &MetadataImage) -> bool {
    let partition = log.topic_partition();
    let topic = image.topic(&partition.topic);
    let is_in_image = topic.is_some_and(|topic| {
        topic.partitions.contains_key(&partition.partition) && log.topic_id().is_none_or(|id| id == topic.topic_id)
    });
    is_in_image || &*partition.topic == CLUSTER_METADATA_TOPIC_NAME
}

/// Refuses to adopt a partition that lies in two directories: without metadata nobody can say which one is right.
pub(crate) fn refuse_twins(manager: &LogManager) -> Result<(), LogError> {
    match manager.twins().first() {
        Some(partition) => Err(LogError::Inconsistent(format!("{partition} lies in two log directories"))),
        None => Ok(()),
    }
}
