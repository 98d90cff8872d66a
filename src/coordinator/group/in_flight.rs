//! Commits that are decided but not yet durable, so that nothing that is decided meanwhile deletes them unseen, or fails to delete them.
//!
//! It must not know how an append ends, only that it has.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::coordinator::group::records::GroupRecord;
use crate::types::{PartitionIndex, TopicId};

type Key = (Arc<str>, Arc<str>, PartitionIndex);

/// How many commits of one offset are on their way, and for which topic the last of them is.
#[derive(Debug)]
struct InFlight {
    count: usize,
    topic_id: TopicId,
}

/// The commits on their way, by group, topic and partition. Soft: they end with the coordinator.
#[derive(Debug, Default)]
pub(super) struct CommitsInFlight {
    by_partition: BTreeMap<Key, InFlight>,
}

impl CommitsInFlight {
    /// These records are on their way.
    pub(super) fn begin(&mut self, records: &[GroupRecord]) {
        for (key, topic_id) in records.iter().filter_map(commit_of) {
            let in_flight = self.by_partition.entry(key).or_insert(InFlight { count: 0, topic_id });
            in_flight.count += 1;
            in_flight.topic_id = topic_id;
        }
    }

    /// These records have arrived, or failed.
    pub(super) fn end(&mut self, records: &[GroupRecord]) {
        for (key, _) in records.iter().filter_map(commit_of) {
            if let Some(in_flight) = self.by_partition.get_mut(&key) {
                in_flight.count -= 1;
                if in_flight.count == 0 {
                    self.by_partition.remove(&key);
                }
            }
        }
    }

    /// Whether a commit of this offset is on its way.
    pub(super) fn contains(&self, group_id: &Arc<str>, topic: &Arc<str>, partition: PartitionIndex) -> bool {
        self.by_partition.contains_key(&(group_id.clone(), topic.clone(), partition))
    }

    /// The offsets of a group of which commits are on their way.
    pub(super) fn of_group(&self, group_id: &Arc<str>) -> impl Iterator<Item = (&Arc<str>, PartitionIndex)> {
        let from = (group_id.clone(), Arc::from(""), PartitionIndex(i32::MIN));
        self.by_partition
            .range(from..)
            .take_while(move |((group, _, _), _)| group == group_id)
            .map(|((_, topic, partition), _)| (topic, *partition))
    }

    /// The groups and partitions of which commits for a topic of this name are on their way, and the id of the last one's topic.
    pub(super) fn of_topic(&self, topic: &str) -> impl Iterator<Item = (&Arc<str>, PartitionIndex, TopicId)> {
        self.by_partition
            .iter()
            .filter(move |((_, name, _), _)| name.as_ref() == topic)
            .map(|((group_id, _, partition), in_flight)| (group_id, *partition, in_flight.topic_id))
    }
}

fn commit_of(record: &GroupRecord) -> Option<(Key, TopicId)> {
    match record {
        GroupRecord::OffsetCommit { group_id, topic, partition, value: Some(value) } => {
            Some(((group_id.clone(), topic.clone(), *partition), value.topic_id))
        }
        GroupRecord::OffsetCommit { .. } | GroupRecord::GroupMetadata { .. } => None,
    }
}
