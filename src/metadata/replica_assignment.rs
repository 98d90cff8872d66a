//! Which brokers hold a new partition: checks an assignment made by hand, or spreads one over the brokers.
//!
//! It must not know which broker this process is.

use crate::error_code::ErrorCode;
use crate::types::{BrokerId, TopicId};

use super::api_error::ApiError;
use super::image::MetadataImage;
use super::partition_registration::{DIRECTORY_UNASSIGNED, PartitionRegistration};

/// Checks the replicas of one partition. `replication_factor` is that of the partitions before it, if any.
pub(super) fn check_manual(
    image: &MetadataImage,
    replicas: &[BrokerId],
    replication_factor: Option<usize>,
) -> Result<(), ApiError> {
    let refuse = |message: String| Err(ApiError::new(ErrorCode::InvalidReplicaAssignment, message));
    if replicas.is_empty() {
        return refuse("The manual partition assignment includes an empty replica list.".into());
    }
    let mut sorted = replicas.to_vec();
    sorted.sort_unstable();
    let mut previous = None;
    for broker in sorted {
        if image.broker(broker).is_none() {
            return refuse(format!(
                "The manual partition assignment includes broker {broker}, but no such broker is registered."
            ));
        }
        if previous == Some(broker) {
            return refuse(format!("The manual partition assignment includes the broker {broker} more than once."));
        }
        previous = Some(broker);
    }
    match replication_factor {
        Some(factor) if factor != replicas.len() => refuse(format!(
            "The manual partition assignment includes a partition with {} replica(s), but this is not consistent \
             with previous partitions, which have {factor} replica(s).",
            replicas.len()
        )),
        _ => Ok(()),
    }
}

/// Spreads partitions over the registered brokers, each beginning with another broker. Says why where there are too few.
pub(super) fn spread(
    image: &MetadataImage,
    first_partition: i32,
    partition_count: i32,
    replication_factor: i16,
) -> Result<Vec<Vec<BrokerId>>, String> {
    let brokers: Vec<BrokerId> = image.brokers().map(|broker| broker.broker_id).collect();
    let factor = usize::try_from(replication_factor).unwrap_or(0);
    if factor > brokers.len() {
        return Err(format!(
            "The target replication factor of {replication_factor} cannot be reached because only {} broker(s) are \
             registered or some brokers have all their log directories cordoned.",
            brokers.len()
        ));
    }
    let partitions = first_partition..first_partition.saturating_add(partition_count);
    let first = |partition: i32| usize::try_from(partition).unwrap_or(0) % brokers.len().max(1);
    Ok(partitions
        .map(|partition| brokers.iter().copied().cycle().skip(first(partition)).take(factor).collect())
        .collect())
}

/// The new partition of these replicas; `None` if none of them may lead.
pub(super) fn register(image: &MetadataImage, replicas: Vec<BrokerId>) -> Option<PartitionRegistration> {
    let is_active = |broker: &BrokerId| image.broker(*broker).is_some_and(|registration| registration.is_active());
    let isr: Vec<BrokerId> = replicas.iter().copied().filter(is_active).collect();
    if isr.is_empty() {
        return None;
    }
    let directories = replicas.iter().map(|broker| default_directory(image, *broker)).collect();
    Some(PartitionRegistration::new(replicas, directories, isr))
}

/// With several directories the broker chooses one itself when it makes the log.
fn default_directory(image: &MetadataImage, broker: BrokerId) -> TopicId {
    match image.broker(broker).map(|registration| registration.log_dirs.as_slice()) {
        Some([only]) => *only,
        _ => DIRECTORY_UNASSIGNED,
    }
}
