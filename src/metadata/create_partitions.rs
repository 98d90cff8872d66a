//! Decides CreatePartitions: more partitions for topics that exist.
//!
//! It must not know who asks; a topic never gets fewer partitions.

use std::sync::Arc;

use crate::error_code::ErrorCode;
use crate::types::{BrokerId, PartitionIndex};

use super::api_error::{ApiError, ControllerResult, ItemResults};
use super::create_topics::PARTITIONS_PER_REQUEST_MAX;
use super::image::{MetadataImage, TopicImage};
use super::occurrences::{Occurrence, occurrences};
use super::record::MetadataRecord;
use super::replica_assignment::{check_manual, register, spread};

/// How many partitions a topic shall have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatePartitionsTopic {
    /// The topic's name.
    pub name: Arc<str>,
    /// How many it shall have in all.
    pub count: i32,
    /// The brokers of each new partition, assigned by hand.
    pub assignments: Option<Vec<Vec<BrokerId>>>,
}

/// Decides about each topic by itself. A name that is given twice is answered once, and refused.
pub fn create_partitions(
    image: &MetadataImage,
    topics: &[CreatePartitionsTopic],
    validate_only: bool,
) -> ControllerResult<ItemResults<Arc<str>, ()>> {
    let too_many = total_additional(image, topics) > PARTITIONS_PER_REQUEST_MAX;
    let mut records = Vec::new();
    let mut response = Vec::with_capacity(topics.len());
    for (topic, occurrence) in topics.iter().zip(occurrences(topics.iter().map(|topic| &topic.name))) {
        let result = match occurrence {
            Occurrence::Again => continue,
            Occurrence::FirstOfSeveral => Err(ApiError::new(ErrorCode::InvalidRequest, "Duplicate topic name.")),
            Occurrence::Only if too_many => {
                let message = "Excessively large number of additional partitions per request.";
                Err(ApiError::new(ErrorCode::PolicyViolation, message))
            }
            Occurrence::Only => add_partitions(image, topic).map(|new| records.extend(new)),
        };
        response.push((Arc::clone(&topic.name), result));
    }
    ControllerResult::bounded(records, response).without_effect_if(validate_only)
}

fn total_additional(image: &MetadataImage, topics: &[CreatePartitionsTopic]) -> i64 {
    let additional = |topic: &CreatePartitionsTopic| {
        let existing = image.topic(&topic.name).map_or(0, |existing| existing.partition_count());
        i64::from(topic.count).saturating_sub(i64::from(existing)).max(0)
    };
    topics.iter().map(additional).fold(0, i64::saturating_add)
}

fn add_partitions(image: &MetadataImage, topic: &CreatePartitionsTopic) -> Result<Vec<MetadataRecord>, ApiError> {
    let existing = image.topic(&topic.name).ok_or(ApiError::without_message(ErrorCode::UnknownTopicOrPartition))?;
    let current = existing.partition_count();
    if topic.count == current {
        let message = format!("Topic already has {current} partition(s).");
        return Err(ApiError::new(ErrorCode::InvalidPartitions, message));
    }
    if topic.count < current {
        let message = format!(
            "The topic {} currently has {current} partition(s); {} would not be an increase.",
            topic.name, topic.count
        );
        return Err(ApiError::new(ErrorCode::InvalidPartitions, message));
    }
    let replicas = replicas_of_new(image, existing, topic, topic.count.saturating_sub(current))?;
    let new = (current..).map(PartitionIndex).zip(replicas);
    let record = |(partition, replicas)| {
        let registration = register(image, replicas).ok_or_else(|| match topic.assignments {
            Some(_) => ApiError::new(
                ErrorCode::InvalidReplicaAssignment,
                format!(
                    "All brokers specified in the manual partition assignment for partition {partition} are fenced or \
                     in controlled shutdown."
                ),
            ),
            None => ApiError::new(
                ErrorCode::InvalidReplicationFactor,
                format!(
                    "Unable to replicate the partition {} time(s): All brokers are currently fenced or in controlled \
                     shutdown.",
                    replication_factor(existing)
                ),
            ),
        })?;
        Ok(MetadataRecord::Partition { topic_id: existing.topic_id, partition, registration })
    };
    new.map(record).collect()
}

fn replicas_of_new(
    image: &MetadataImage,
    existing: &TopicImage,
    topic: &CreatePartitionsTopic,
    additional: i32,
) -> Result<Vec<Vec<BrokerId>>, ApiError> {
    let factor = replication_factor(existing);
    let Some(assignments) = &topic.assignments else {
        let refuse = |why| ApiError::new(ErrorCode::InvalidReplicationFactor, why);
        let factor = i16::try_from(factor).unwrap_or(i16::MAX);
        return spread(image, existing.partition_count(), additional, factor).map_err(refuse);
    };
    if usize::try_from(additional) != Ok(assignments.len()) {
        let message = format!(
            "Attempted to add {additional} additional partition(s), but only {} assignment(s) were specified.",
            assignments.len()
        );
        return Err(ApiError::new(ErrorCode::InvalidReplicaAssignment, message));
    }
    for replicas in assignments {
        check_manual(image, replicas, Some(factor))?;
    }
    Ok(assignments.clone())
}

fn replication_factor(topic: &TopicImage) -> usize {
    topic.partitions.values().next().map_or(1, |partition| partition.replicas.len())
}
