//! Raises the leader epoch of every partition of a broker that did not stop in order.
//!
//! It must not know how the stop was: the caller asks for this only when the clean-shutdown marker was missing.
//!
//! A power cut may take acks=1 records that a consumer has read. The new epoch tells it (KIP-320): it asks where the old epoch ended and learns
//! that its position lies beyond. After an orderly stop everything is on the disk, nothing can have been lost, and the epochs stay. (Kafka
//! raises them by 2 at each orderly restart, since fencing and unfencing the broker are two elections. No client needs that, and with
//! one node it would cost two records for each partition at each start and an entry in each leader-epoch checkpoint.)

use crate::types::BrokerId;

use super::image::MetadataImage;
use super::partition_registration::PartitionChange;
use super::record::MetadataRecord;

/// Elects the leader of every partition that this broker leads once more.
pub fn raise_leader_epochs(image: &MetadataImage, broker_id: BrokerId) -> Vec<MetadataRecord> {
    let mut records = Vec::new();
    for topic in image.topics() {
        for (partition, registration) in &topic.partitions {
            if registration.leader == Some(broker_id) {
                records.push(MetadataRecord::PartitionChange {
                    topic_id: topic.topic_id,
                    partition: *partition,
                    change: PartitionChange { leader: Some(Some(broker_id)), ..Default::default() },
                });
            }
        }
    }
    records
}
