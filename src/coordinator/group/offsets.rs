//! The offsets that groups have committed, and those that open transactions will commit or drop.
//!
//! It must not know members or states of groups; it is written only by replay.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::marks::Mark;
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

/// All offsets of one coordinator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offsets {
    committed: BTreeMap<Arc<str>, Topics>,
    /// What open transactions hold, by group, so that a group's question costs what the group's own transactions cost.
    pending: BTreeMap<Arc<str>, BTreeMap<ProducerId, Topics>>,
    /// The groups in which a producer's open transaction holds offsets.
    open: BTreeMap<ProducerId, BTreeSet<Arc<str>>>,
}

impl Offsets {
    fn stored(&self, group_id: &str, topic: &str, partition: PartitionIndex) -> Option<&Stored> {
        self.committed.get(group_id)?.get(topic)?.get(&partition)
    }

    /// What `group_id` has committed for a partition.
    pub fn get(&self, group_id: &str, topic: &str, partition: PartitionIndex) -> Option<&CommittedOffset> {
        self.stored(group_id, topic, partition).map(|stored| &stored.value)
    }

    /// Whether an open transaction holds an offset for this partition.
    pub fn is_pending(&self, group_id: &str, topic: &str, partition: PartitionIndex) -> bool {
        let holds = |topics: &Topics| topics.get(topic).is_some_and(|partitions| partitions.contains_key(&partition));
        self.pending.get(group_id).is_some_and(|by_producer| by_producer.values().any(holds))
    }

    /// Whether an open transaction holds any offset of the group.
    pub fn has_open_transaction(&self, group_id: &str) -> bool {
        self.pending.contains_key(group_id)
    }

    /// Whether the group has committed anything.
    pub fn has_any(&self, group_id: &str) -> bool {
        self.committed.contains_key(group_id)
    }

    /// The groups that have offsets, committed or pending; some of them twice.
    pub(super) fn group_ids(&self) -> impl Iterator<Item = &Arc<str>> {
        self.committed.keys().chain(self.pending.keys())
    }

    /// All that a group has committed, by topic and partition.
    pub fn of_group(&self, group_id: &str) -> impl Iterator<Item = (&Arc<str>, PartitionIndex, &CommittedOffset)> {
        self.committed.get(group_id).into_iter().flat_map(flatten)
    }

    /// All that open transactions hold for a group.
    pub(super) fn pending_of_group(&self, group_id: &str) -> BTreeSet<(Arc<str>, PartitionIndex)> {
        let by_producer = self.pending.get(group_id).into_iter().flat_map(BTreeMap::values);
        by_producer.flat_map(flatten).map(|(topic, partition, _)| (topic.clone(), partition)).collect()
    }

    /// The groups and partitions for which an offset of this topic is committed or pending. One whose topic id is not known counts.
    pub(super) fn of_topic(&self, topic: &str, topic_id: TopicId) -> BTreeSet<(Arc<str>, PartitionIndex)> {
        let pending = self
            .pending
            .iter()
            .flat_map(|(group_id, by_producer)| by_producer.values().map(move |topics| (group_id, topics)));
        self.committed
            .iter()
            .chain(pending)
            .filter_map(|(group_id, topics)| topics.get(topic).map(|partitions| (group_id, partitions)))
            .flat_map(|(group_id, partitions)| {
                let its = partitions.iter().filter(|(_, stored)| !stored.value.is_for_another(topic_id));
                its.map(|(partition, _)| (group_id.clone(), *partition))
            })
            .collect()
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
        let topics = if producer_id == ProducerId::NONE {
            self.committed.entry(group_id.clone()).or_default()
        } else {
            self.open.entry(producer_id).or_default().insert(group_id.clone());
            self.pending.entry(group_id.clone()).or_default().entry(producer_id).or_default()
        };
        topics.entry(topic.clone()).or_default().insert(partition, stored);
    }

    /// Forgets an offset, pending ones too.
    pub(super) fn remove(&mut self, group_id: &str, topic: &str, partition: PartitionIndex) {
        if let Some(topics) = self.committed.get_mut(group_id) {
            take(topics, topic, partition);
            if topics.is_empty() {
                self.committed.remove(group_id);
            }
        }
        let Some(by_producer) = self.pending.get_mut(group_id) else { return };
        for topics in by_producer.values_mut() {
            take(topics, topic, partition);
        }
        let is_over = |(producer_id, topics): (&ProducerId, &Topics)| topics.is_empty().then_some(*producer_id);
        let over: Vec<ProducerId> = by_producer.iter().filter_map(is_over).collect();
        for producer_id in over {
            self.take_pending(group_id, producer_id);
            if let Some(groups) = self.open.get_mut(&producer_id) {
                groups.remove(group_id);
                if groups.is_empty() {
                    self.open.remove(&producer_id);
                }
            }
        }
    }

    /// Ends a producer's transaction. Of two commits for one partition the one whose record is later counts.
    pub(super) fn end_transaction(&mut self, producer_id: ProducerId, is_committed: bool) {
        for group_id in self.open.remove(&producer_id).unwrap_or_default() {
            let topics = self.take_pending(&group_id, producer_id).filter(|_| is_committed);
            for (topic, partitions) in topics.into_iter().flatten() {
                for (partition, stored) in partitions {
                    let current = self.stored(&group_id, &topic, partition);
                    if current.is_none_or(|current| current.record_offset < stored.record_offset) {
                        Mark::TransactionCommits.reached();
                        self.put(ProducerId::NONE, &group_id, &topic, partition, stored);
                    }
                }
            }
        }
    }

    fn take_pending(&mut self, group_id: &str, producer_id: ProducerId) -> Option<Topics> {
        let by_producer = self.pending.get_mut(group_id)?;
        let topics = by_producer.remove(&producer_id);
        if by_producer.is_empty() {
            self.pending.remove(group_id);
        }
        topics
    }
}

fn flatten(topics: &Topics) -> impl Iterator<Item = (&Arc<str>, PartitionIndex, &CommittedOffset)> {
    topics.iter().flat_map(|(topic, partitions)| {
        partitions.iter().map(move |(partition, stored)| (topic, *partition, &stored.value))
    })
}

fn take(topics: &mut Topics, topic: &str, partition: PartitionIndex) {
    if let Some(partitions) = topics.get_mut(topic) {
        partitions.remove(&partition);
        if partitions.is_empty() {
            topics.remove(topic);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{CommittedOffset, Offsets, Stored};
    use crate::types::{Offset, PartitionIndex, ProducerId, TopicId, WallTime};

    const P0: PartitionIndex = PartitionIndex(0);
    const PRODUCER: ProducerId = ProducerId(7);

    fn put(offsets: &mut Offsets, producer_id: ProducerId, record_offset: i64, offset: i64) {
        let value = CommittedOffset {
            offset: Offset(offset),
            leader_epoch: None,
            metadata: Arc::from(""),
            commit_timestamp: WallTime(0),
            expire_timestamp: None,
            topic_id: TopicId::ZERO,
        };
        let stored = Stored { record_offset: Offset(record_offset), value };
        offsets.put(producer_id, &Arc::from("g"), &Arc::from("t"), P0, stored);
    }

    fn offset(offsets: &Offsets) -> Option<i64> {
        offsets.get("g", "t", P0).map(|committed| committed.offset.0)
    }

    #[test]
    fn a_transactions_offset_counts_only_once_it_is_committed() {
        let mut offsets = Offsets::default();
        put(&mut offsets, PRODUCER, 0, 5);
        assert_eq!((offset(&offsets), offsets.is_pending("g", "t", P0)), (None, true));
        assert!(offsets.has_open_transaction("g") && !offsets.has_any("g"));
        offsets.end_transaction(PRODUCER, true);
        assert_eq!((offset(&offsets), offsets.is_pending("g", "t", P0)), (Some(5), false));
    }

    #[test]
    fn an_aborted_transaction_leaves_no_trace() {
        let mut offsets = Offsets::default();
        put(&mut offsets, PRODUCER, 0, 5);
        offsets.end_transaction(PRODUCER, false);
        assert_eq!(offsets, Offsets::default());
    }

    #[test]
    fn of_a_plain_and_a_transactional_commit_the_later_record_counts() {
        let mut offsets = Offsets::default();
        put(&mut offsets, PRODUCER, 0, 5);
        put(&mut offsets, ProducerId::NONE, 1, 6);
        offsets.end_transaction(PRODUCER, true);
        assert_eq!(offset(&offsets), Some(6));
        put(&mut offsets, PRODUCER, 2, 7);
        offsets.end_transaction(PRODUCER, true);
        assert_eq!(offset(&offsets), Some(7));
    }

    #[test]
    fn a_tombstone_removes_pending_offsets_too() {
        let mut offsets = Offsets::default();
        put(&mut offsets, ProducerId::NONE, 0, 5);
        put(&mut offsets, PRODUCER, 1, 6);
        offsets.remove("g", "t", P0);
        assert_eq!(offsets, Offsets::default());
    }
}
