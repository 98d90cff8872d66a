//! Elects the leaders of a broker's partitions when it starts.
//!
//! It must not know how the broker stopped: the caller says whether the clean-shutdown marker was there.
//!
//! A power cut may take acks=1 records that a consumer has read. A new leader epoch tells it (KIP-320): it asks where the old epoch ended and
//! learns that its position lies beyond. After an orderly stop everything is on the disk, nothing can have been lost, and the epochs stay.
//! (Kafka raises them by 2 at each orderly restart, since fencing and unfencing the broker are two elections. No client needs that; with
//! one node it would cost two records for each partition at each restart, and an entry in each leader-epoch checkpoint.)

use crate::marks::Mark;
use crate::types::BrokerId;

use super::image::MetadataImage;
use super::partition_registration::{PartitionChange, PartitionRegistration};
use super::record::MetadataRecord;

/// The elections of a start. Partitions that nobody leads, which is how Kafka leaves them when it stops, are led by this broker if it may;
/// those that it leads already are led in a new epoch, unless it `stopped_cleanly`.
pub fn elect_leaders(image: &MetadataImage, broker_id: BrokerId, stopped_cleanly: bool) -> Vec<MetadataRecord> {
    let mut records = Vec::new();
    for topic in image.topics() {
        for (partition, registration) in &topic.partitions {
            if let Some(change) = elect(registration, broker_id, stopped_cleanly) {
                let (topic_id, partition) = (topic.topic_id, *partition);
                records.push(MetadataRecord::PartitionChange { topic_id, partition, change });
            }
        }
    }
    records
}

fn elect(partition: &PartitionRegistration, broker_id: BrokerId, stopped_cleanly: bool) -> Option<PartitionChange> {
    let leader = Some(Some(broker_id));
    match partition.leader {
        Some(current) if current == broker_id && !stopped_cleanly => {
            Mark::EpochRaised.reached();
            Some(PartitionChange { leader, ..Default::default() })
        }
        // Whoever was in sync to the last, or is known to have every record since (KIP-966), leads without loss.
        None if partition.isr.contains(&broker_id) => Some(PartitionChange { leader, ..Default::default() }),
        None if partition.eligible_leader_replicas.contains(&broker_id) => Some(PartitionChange {
            isr: Some(vec![broker_id]),
            leader,
            eligible_leader_replicas: Some(Vec::new()),
            last_known_elr: Some(Vec::new()),
            ..Default::default()
        }),
        _ => None,
    }
}
