//! Who serves what: the leader and the replicas of a partition, the coordinator of a group or a transaction.
//!
//! Nothing else in the broker may compare ids of brokers: with more than one machine, only this answers differently. It must not know
//! what is done with an answer.

use std::sync::Arc;

use crate::types::{BrokerId, LeaderEpoch, PartitionIndex};

use super::image::{MetadataImage, TopicImage};

/// Where a partition is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// By this broker, as leader of this epoch.
    Here {
        /// The leader's epoch.
        leader_epoch: LeaderEpoch,
    },
    /// By another broker.
    Elsewhere {
        /// Which.
        leader: BrokerId,
        /// The leader's epoch.
        leader_epoch: LeaderEpoch,
    },
    /// By nobody at present.
    LeaderNotAvailable,
    /// The topic or the partition does not exist.
    Unknown,
}

/// A view of an image from one broker.
#[derive(Clone, Debug)]
pub struct Placement {
    broker_id: BrokerId,
    image: Arc<MetadataImage>,
}

impl Placement {
    /// How broker `broker_id` sees `image`.
    pub fn new(broker_id: BrokerId, image: Arc<MetadataImage>) -> Placement {
        Placement { broker_id, image }
    }

    /// The picture that it looks at.
    pub fn image(&self) -> &Arc<MetadataImage> {
        &self.image
    }

    /// Where a partition of a topic is served.
    fn locate_in(&self, topic: &TopicImage, partition: PartitionIndex) -> Location {
        let Some(registration) = topic.partitions.get(&partition) else { return Location::Unknown };
        let leader_epoch = registration.leader_epoch;
        match registration.leader {
            Some(leader) if leader == self.broker_id => Location::Here { leader_epoch },
            Some(leader) => Location::Elsewhere { leader, leader_epoch },
            None => Location::LeaderNotAvailable,
        }
    }

    /// The partition of a coordinator's topic that keeps the state of `key` (a group id or a transactional id), which is where every
    /// Kafka keeps it. `partition_count` is that of the topic, or what it will have before it exists.
    pub fn coordinator_partition(key: &str, partition_count: i32) -> PartitionIndex {
        let hash = java_string_hash(key).checked_abs().unwrap_or(0);
        PartitionIndex(hash.checked_rem(partition_count).unwrap_or(0))
    }

    /// Where the coordinator of `key` is: who leads the partition of `coordinator_topic` (`__consumer_offsets`, `__transaction_state`)
    /// that keeps its state. `Unknown` until that topic exists.
    pub fn coordinator(&self, coordinator_topic: &str, key: &str) -> (Location, PartitionIndex) {
        match self.image.topic(coordinator_topic) {
            Some(topic) => {
                let partition = Placement::coordinator_partition(key, topic.partition_count());
                (self.locate_in(topic, partition), partition)
            }
            None => (Location::Unknown, PartitionIndex(0)),
        }
    }
}

/// Java's `String.hashCode`, over UTF-16 code units: it decides where groups and transactions live, on disk too.
fn java_string_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

#[cfg(test)]
mod tests {
    use super::{Placement, java_string_hash};
    use crate::types::PartitionIndex;

    #[test]
    fn the_hash_is_javas() {
        assert_eq!(java_string_hash(""), 0);
        assert_eq!(java_string_hash("hello"), 99_162_322);
        assert_eq!(java_string_hash("polygenelubricants"), i32::MIN);
        assert_eq!(java_string_hash("𝕊"), 0xd835 * 31 + 0xdd4a);
    }

    #[test]
    fn a_group_is_coordinated_where_kafka_coordinates_it() {
        assert_eq!(Placement::coordinator_partition("hello", 50), PartitionIndex(22));
        assert_eq!(Placement::coordinator_partition("polygenelubricants", 50), PartitionIndex(0));
        assert_eq!(Placement::coordinator_partition("hello", 0), PartitionIndex(0));
    }
}
