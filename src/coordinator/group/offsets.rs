//! The offsets that groups have committed, and those that open transactions will commit or drop.
//!
//! It must not know members or states of groups; it is written only by replay.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::types::{LeaderEpoch, Offset, PartitionIndex, ProducerId, TopicId, WallTime};

/// A committed offset: `OffsetCommitValue`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The next offset to read.
    pub offset: Offset,
    /// The leader epoch of the last record read, if the client knew it.
    pub leader_epoch: Option<LeaderEpoch>,
    /// The client's own words.
    pub metadata: Arc<str>,
    /// When it was committed.
    pub commit_timestamp: WallTime,
    /// When it ends, if the client itself said so (old clients).
    pub expire_timestamp: Option<WallTime>,
    /// The topic's id, zero if unknown.
    pub topic_id: TopicId,
}

impl CommittedOffset {
    /// Whether the offset is for another topic than the one that has this name now.
    pub(super) fn is_for_another(&self, topic_id: TopicId) -> bool {
        self.topic_id != TopicId::ZERO && topic_id != TopicId::ZERO && self.topic_id != topic_id
    }
}

/// A committed offset and where its record stands, which decides whether a transaction's commit is later than a plain one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) record_offset: Offset,
    pub(super) value: CommittedOffset,
}

type Partitions = BTreeMap<PartitionIndex, Stored>;
type Topics = BTreeMap<Arc<str>, Partitions>;

/// Offsets by group, topic and partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Table {
    groups: BTreeMap<Arc<str>, Topics>,
}

impl Table {
    fn get(&self, group_id: &str, topic: &str, partition: PartitionIndex) -> Option<&Stored> {
        self.groups.get(group_id)?.get(topic)?.get(&partition)
    }

    fn put(&mut self, group_id: &Arc<str>, topic: &Arc<str>, partition: PartitionIndex, stored: Stored) {
        let topics = self.groups.entry(group_id.clone()).or_default();
        topics.entry(topic.clone()).or_default().insert(partition, stored);
    }

    fn remove(&mut self, group_id: &str, topic: &str, partition: PartitionIndex) {
        let Some(topics) = self.groups.get_mut(group_id) else { return };
        let Some(partitions) = topics.get_mut(topic) else { return };
        partitions.remove(&partition);
        if partitions.is_empty() {
            topics.remove(topic);
        }
        if topics.is_empty() {
            self.groups.remove(group_id);
        }
    }

    fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

/// All offsets of one coordinator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offsets {
    committed: Table,
    pending: BTreeMap<ProducerId, Table>,
}

impl Offsets {
    /// What `group_id` has committed for a partition.
    pub fn get(&self, group_id: &str, topic: &str, partition: PartitionIndex) -> Option<&CommittedOffset> {
        self.committed.get(group_id, topic, partition).map(|stored| &stored.value)
    }

    /// Whether an open transaction holds an offset for this partition.
    pub fn is_pending(&self, group_id: &str, topic: &str, partition: PartitionIndex) -> bool {
        self.pending.values().any(|table| table.get(group_id, topic, partition).is_some())
    }

    /// Whether an open transaction holds any offset of the group.
    pub fn has_open_transaction(&self, group_id: &str) -> bool {
        self.pending.values().any(|table| table.groups.contains_key(group_id))
    }

    /// Whether the group has committed anything.
    pub fn has_any(&self, group_id: &str) -> bool {
        self.committed.groups.contains_key(group_id)
    }

    /// The groups that have offsets, committed or pending, in order and each once or more often.
    pub(super) fn group_ids(&self) -> impl Iterator<Item = &Arc<str>> {
        self.committed.groups.keys().chain(self.pending.values().flat_map(|table| table.groups.keys()))
    }

    /// All that a group has committed, by topic and partition.
    pub fn of_group(&self, group_id: &str) -> impl Iterator<Item = (&Arc<str>, PartitionIndex, &CommittedOffset)> {
        Self::flatten(self.committed.groups.get(group_id))
    }

    /// All that open transactions hold for a group and that is not also committed.
    pub(super) fn pending_only(&self, group_id: &str) -> Vec<(Arc<str>, PartitionIndex)> {
        let tables = self.pending.values().flat_map(|table| Self::flatten(table.groups.get(group_id)));
        let mut only: Vec<_> = tables
            .map(|(topic, partition, _)| (topic.clone(), partition))
            .filter(|(topic, partition)| self.get(group_id, topic, *partition).is_none())
            .collect();
        only.sort();
        only.dedup();
        only
    }

    fn flatten(topics: Option<&Topics>) -> impl Iterator<Item = (&Arc<str>, PartitionIndex, &CommittedOffset)> {
        topics.into_iter().flatten().flat_map(|(topic, partitions)| {
            partitions.iter().map(move |(partition, stored)| (topic, *partition, &stored.value))
        })
    }

    /// Takes an offset in: at once, or under a producer's open transaction.
    pub(super) fn put(
        &mut self,
        producer_id: ProducerId,
        group_id: &Arc<str>,
        topic: &Arc<str>,
        partition: PartitionIndex,
        stored: Stored,
    ) {
        let table = if producer_id == ProducerId::NONE {
            &mut self.committed
        } else {
            self.pending.entry(producer_id).or_default()
        };
        table.put(group_id, topic, partition, stored);
    }

    /// Forgets an offset, pending ones too.
    pub(super) fn remove(&mut self, group_id: &str, topic: &str, partition: PartitionIndex) {
        self.committed.remove(group_id, topic, partition);
        for table in self.pending.values_mut() {
            table.remove(group_id, topic, partition);
        }
        self.pending.retain(|_, table| !table.is_empty());
    }

    /// Ends a producer's transaction. Of two commits for one partition the one whose record is later counts.
    pub(super) fn end_transaction(&mut self, producer_id: ProducerId, is_committed: bool) {
        let Some(table) = self.pending.remove(&producer_id) else { return };
        if !is_committed {
            return;
        }
        for (group_id, topics) in table.groups {
            for (topic, partitions) in topics {
                for (partition, stored) in partitions {
                    let current = self.committed.get(&group_id, &topic, partition);
                    if current.is_none_or(|current| current.record_offset < stored.record_offset) {
                        self.committed.put(&group_id, &topic, partition, stored);
                    }
                }
            }
        }
    }
}
