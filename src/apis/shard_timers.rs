//! When which coordinator must be looked at next: one deadline for each shard, and the earliest of all at hand.
//!
//! It must not know what is due then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use super::deadlines::Deadlines;
use crate::types::{Instant, PartitionIndex};

/// The deadlines of all shards.
pub(crate) struct ShardTimers {
    index: Mutex<Index>,
    deadlines: Arc<Deadlines>,
}

#[derive(Default)]
struct Index {
    by_shard: BTreeMap<PartitionIndex, Instant>,
    by_deadline: BTreeSet<(Instant, PartitionIndex)>,
}

impl Index {
    fn set(&mut self, shard: PartitionIndex, deadline: Option<Instant>) {
        if let Some(before) = self.by_shard.remove(&shard) {
            self.by_deadline.remove(&(before, shard));
        }
        if let Some(deadline) = deadline {
            self.by_shard.insert(shard, deadline);
            self.by_deadline.insert((deadline, shard));
        }
    }
}

impl ShardTimers {
    /// No deadline. `deadlines` wakes the role that watches them.
    pub(crate) fn new(deadlines: Arc<Deadlines>) -> ShardTimers {
        ShardTimers { index: Mutex::default(), deadlines }
    }

    /// Sets, moves or removes the deadline of a shard.
    pub(crate) fn set(&self, shard: PartitionIndex, deadline: Option<Instant>) {
        self.index().set(shard, deadline);
        if let Some(deadline) = deadline {
            self.deadlines.add(deadline);
        }
    }

    /// Takes out the shards whose deadline has come.
    pub(crate) fn take_due(&self, now: Instant) -> Vec<PartitionIndex> {
        let mut index = self.index();
        let due: Vec<PartitionIndex> =
            index.by_deadline.iter().take_while(|(deadline, _)| *deadline <= now).map(|(_, shard)| *shard).collect();
        due.iter().for_each(|shard| index.set(*shard, None));
        due
    }

    /// The earliest deadline of all.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.index().by_deadline.first().map(|(deadline, _)| *deadline)
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().expect("nobody panics while holding the index: panics abort the process")
    }
}
