//! Which records lay in bytes that the disk has destroyed, so that the duty is known for each record.
//!
//! A record whose bytes are whole must be served. One whose bytes were destroyed may be served as it was, refused, or be cut away by a
//! recovery, which takes along what lies behind it in its partition; it may never be served as another one, only at a higher offset if what
//! says where its batch begins is among the bytes: no checksum covers that. It must not know how the bytes came to be destroyed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use klamm::record::BatchIterator;

use super::{Excuse, Oracle};
use crate::ledger::Destroyed;

/// So many bytes of a batch, from its start, say where it begins.
const BASE_OFFSET_BYTES: u64 = 8;

/// The offsets of destroyed records.
#[derive(Debug, Default)]
pub(crate) struct DestroyedRecords {
    /// By partition, and by the first offset of each destroyed batch.
    batches: BTreeMap<i32, BTreeMap<i64, DestroyedBatch>>,
    /// By partition: the offsets of batches whose base offset was destroyed, which no checksum covers.
    moved: BTreeMap<i32, Vec<MovedBatch>>,
    /// Starts so far that found the logs in disorder and looked through them.
    recoveries: u32,
    /// Partitions of whose indexes or segments bytes were destroyed.
    misled: BTreeSet<i32>,
    oracle: Oracle,
}

/// A batch that may say of itself that it begins at a higher offset than it did.
#[derive(Clone, Debug)]
struct MovedBatch {
    /// What its offsets were.
    offsets: Range<i64>,
    /// Recoveries before it moved.
    recoveries: u32,
}

#[derive(Clone, Copy, Debug)]
struct DestroyedBatch {
    /// The offset behind its last.
    end: i64,
    /// Recoveries before it was destroyed.
    recoveries: u32,
    /// So many recoveries had been when something was in its place again: one of them has cut it away, and what lay behind it.
    replaced_after: Option<u32>,
}

impl DestroyedRecords {
    pub(super) fn judged_by(oracle: Oracle) -> DestroyedRecords {
        DestroyedRecords { oracle, ..DestroyedRecords::default() }
    }

    /// Takes note of what was destroyed in the partitions of a topic.
    pub(crate) fn take(&mut self, topic: &str, destroyed: &[Destroyed]) {
        for Destroyed { path, from, to, bytes, .. } in destroyed {
            let is_searched =
                ["timeindex", "index", "log"].iter().any(|end| path.extension().is_some_and(|its| its == *end));
            self.misled.extend(folder_of(path, topic).filter(|_| is_searched));
            let Some(partition) = partition_of(path, topic) else { continue };
            let batches = self.batches.entry(partition).or_default();
            let mut position = 0;
            // What cannot be parsed was not synced yet, or is behind what was not.
            for batch in BatchIterator::new(bytes).map_while(Result::ok) {
                let end = position + batch.total_bytes() as u64;
                if position < *to && end > *from {
                    let (end, recoveries) = (batch.next_offset().0, self.recoveries);
                    let destroyed = DestroyedBatch { end, recoveries, replaced_after: None };
                    batches.insert(batch.base_offset().0, destroyed);
                    if *from < position + BASE_OFFSET_BYTES {
                        let offsets = batch.base_offset().0..batch.next_offset().0;
                        self.moved.entry(partition).or_default().push(MovedBatch { offsets, recoveries });
                    }
                }
                position = end;
            }
        }
    }

    /// Whether anything was destroyed in a partition.
    pub(crate) fn is_touched(&self, partition: i32) -> bool {
        let is_touched = self.batches.get(&partition).is_some_and(|batches| !batches.is_empty());
        self.oracle.grants(Excuse::Touched, is_touched)
    }

    /// Whether a look-up by time may be led astray: no checksum covers what a time index says.
    pub(crate) fn may_mislead(&self, partition: i32) -> bool {
        self.oracle.grants(Excuse::Misled, self.misled.contains(&partition))
    }

    /// A start has looked through the logs, from their recovery points on.
    pub(crate) fn recovered(&mut self) {
        self.recoveries += 1;
    }

    /// How many starts have done so.
    pub(crate) fn recoveries(&self) -> u32 {
        self.recoveries
    }

    /// This offset was read when there had been so many recoveries.
    pub(crate) fn served(&mut self, partition: i32, offset: i64, recoveries: u32) {
        let before = self.batches.get_mut(&partition).into_iter().flat_map(|batches| batches.range_mut(..=offset));
        for (_, destroyed) in before.filter(|(_, batch)| batch.end > offset && batch.recoveries < recoveries) {
            destroyed.replaced_after = Some(destroyed.replaced_after.map_or(recoveries, |least| least.min(recoveries)));
        }
    }

    /// Whether a record that was there after so many recoveries need not be served: it was destroyed, or lay behind one that was. Whoever reads cannot tell
    /// where the next batch begins, and a recovery that comes across it, be it the next or a later one, cuts away what follows. What came when
    /// it was replaced is not taken along by anything.
    pub(crate) fn excuses(&self, partition: i32, offset: i64, recoveries: u32) -> bool {
        let mut before = self.batches.get(&partition).into_iter().flat_map(|batches| batches.range(..=offset));
        let is_destroyed = before.any(|(_, batch)| batch.replaced_after.is_none_or(|least| recoveries < least));
        self.oracle.grants(Excuse::Destroyed, is_destroyed)
    }

    /// Whether a reader may find none of these offsets: some of them were destroyed, or the batch before them went on to higher ones, or one further before
    /// did so and a recovery has cut away what lay between.
    pub(crate) fn excuses_gap(&self, partition: i32, offsets: Range<i64>) -> bool {
        let mut before = self.batches.get(&partition).into_iter().flat_map(|batches| batches.range(..offsets.end));
        let leads_on = |moved: &MovedBatch| {
            let is_next = offsets.start <= moved.offsets.end || moved.recoveries < self.recoveries;
            moved.offsets.start < offsets.end && is_next
        };
        let has_gap = before.any(|(_, destroyed)| destroyed.end > offsets.start)
            || self.moved.get(&partition).is_some_and(|moved| moved.iter().any(leads_on));
        self.oracle.grants(Excuse::DestroyedGap, has_gap)
    }

    /// Whether a record may be found at a higher offset than its own: where its batch says that it begins was destroyed.
    pub(crate) fn may_have_moved(&self, partition: i32, offset: i64) -> bool {
        let mut moved = self.moved.get(&partition).into_iter().flatten();
        self.oracle.grants(Excuse::Moved, moved.any(|moved| moved.offsets.contains(&offset)))
    }

    /// Where a reader goes on to whom an offset is refused that lies in a destroyed batch: behind it.
    pub(crate) fn next_after(&self, partition: i32, offset: i64) -> Option<i64> {
        let (_, destroyed) = self.batches.get(&partition)?.range(..=offset).next_back()?;
        Some(destroyed.end).filter(|end| *end > offset)
    }
}

/// The partition of the topic whose records lie in a file; `None` if none do.
fn partition_of(path: &Path, topic: &str) -> Option<i32> {
    let name = path.file_name()?.to_str()?;
    name.strip_suffix(".swap").unwrap_or(name).strip_suffix(".log")?;
    folder_of(path, topic)
}

/// The partition of the topic to which a file belongs.
pub(super) fn folder_of(path: &Path, topic: &str) -> Option<i32> {
    let folder = path.parent()?.file_name()?.to_str()?;
    folder.strip_prefix(topic)?.strip_prefix('-')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use klamm::record::RecordBatchBuilder;

    use super::*;
    use crate::keyed::Site;

    fn segment(batches: usize) -> Vec<u8> {
        let one = |index: usize| {
            let mut builder = RecordBatchBuilder::new();
            builder.append(1, None, Some(b"a")).unwrap();
            builder.append(1, None, Some(b"b")).unwrap();
            let mut bytes = builder.build().unwrap();
            bytes[..8].copy_from_slice(&(2 * index as u64).to_be_bytes());
            bytes
        };
        (0..batches).flat_map(one).collect()
    }

    fn taken(path: &str, from: u64, to: u64) -> DestroyedRecords {
        let bytes = segment(3).into();
        let mut records = DestroyedRecords::default();
        records.take("events", &[Destroyed { path: PathBuf::from(path), from, to, how: Site::BitRotAtRest, bytes }]);
        records
    }

    #[test]
    fn a_destroyed_byte_destroys_the_records_of_its_batch_and_excuses_those_behind_it() {
        let one = segment(1).len() as u64;
        let records = taken("/data/events-1/00000000000000000000.log", one + 20, one + 21);
        assert!(!records.excuses(1, 1, 0) && records.excuses(1, 2, 0) && records.excuses(1, 4, 0));
        assert!(!records.excuses(0, 2, 0), "another partition");
        assert!(records.excuses_gap(1, 0..3) && !records.excuses_gap(1, 0..2) && !records.excuses_gap(1, 4..6));
        assert_eq!(records.next_after(1, 1), None);
        assert_eq!(records.next_after(1, 2), Some(4));
        assert_eq!(records.next_after(1, 3), Some(4));
        assert_eq!(records.next_after(1, 4), None);
    }

    #[test]
    fn what_came_when_a_destroyed_batch_was_replaced_is_not_excused() {
        let mut records = taken("/data/events-1/00000000000000000000.log", 5, 6);
        records.recovered();
        assert!(records.excuses(1, 9, 0) && records.excuses(1, 9, 1), "the recovery may have begun behind it");
        records.served(1, 0, 0);
        assert!(records.excuses(1, 9, 1), "that was before the recovery");
        records.served(1, 1, 1);
        assert!(records.excuses(1, 9, 0) && !records.excuses(1, 9, 1));
    }

    #[test]
    fn where_a_batch_has_moved_to_higher_offsets_a_reader_finds_a_gap() {
        let mut records = taken("/data/events-1/00000000000000000000.log", 5, 6);
        assert!(records.excuses_gap(1, 2..16_777_216) && !records.excuses_gap(1, 4..16_777_216));
        records.recovered();
        assert!(records.excuses_gap(1, 4..16_777_216) && !records.excuses_gap(0, 2..16_777_216));
    }

    #[test]
    fn a_destroyed_index_destroys_no_record() {
        let records = taken("/data/events-1/00000000000000000000.index", 0, 100);
        assert!(!records.is_touched(1) && !records.excuses(1, 0, 0));
        assert!(!taken("/data/__consumer_offsets-1/00000000000000000000.log", 0, 100).is_touched(1));
    }
}
