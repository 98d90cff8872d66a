//! Which records lay in bytes that the disk has destroyed, so that the duty is known for each record.
//!
//! A record whose bytes are whole must be served. One whose bytes were destroyed may be served as it was, refused, or be cut away by a
//! recovery, which takes along what lies behind it in its partition; it may never be served as another one, only at a higher offset if what
//! says where its batch begins is among the bytes: no checksum covers that. It must not know how the bytes came to be destroyed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use klamm::record::BatchIterator;

use crate::ledger::Destroyed;

/// So many bytes of a batch, from its start, say where it begins.
const BASE_OFFSET_BYTES: u64 = 8;

/// The offsets of destroyed records.
#[derive(Debug, Default)]
pub(crate) struct DestroyedRecords {
    /// By partition, and by the first offset of each destroyed batch: the offset behind its last.
    batches: BTreeMap<i32, BTreeMap<i64, i64>>,
    /// By partition: the offsets of batches whose base offset was destroyed, which no checksum covers.
    moved: BTreeMap<i32, Vec<Range<i64>>>,
    /// Partitions of whose indexes bytes were destroyed.
    misled: BTreeSet<i32>,
}

impl DestroyedRecords {
    /// Takes note of what was destroyed in the partitions of a topic.
    pub(crate) fn take(&mut self, topic: &str, destroyed: &[Destroyed]) {
        for Destroyed { path, from, to, bytes, .. } in destroyed {
            self.misled.extend(folder_of(path, topic));
            let Some(partition) = partition_of(path, topic) else { continue };
            let batches = self.batches.entry(partition).or_default();
            let mut position = 0;
            // What cannot be parsed was not synced yet, or is behind what was not.
            for batch in BatchIterator::new(bytes).map_while(Result::ok) {
                let end = position + batch.total_bytes() as u64;
                if position < *to && end > *from {
                    batches.insert(batch.base_offset().0, batch.next_offset().0);
                    if *from < position + BASE_OFFSET_BYTES {
                        let offsets = batch.base_offset().0..batch.next_offset().0;
                        self.moved.entry(partition).or_default().push(offsets);
                    }
                }
                position = end;
            }
        }
    }

    /// Whether anything was destroyed in a partition.
    pub(crate) fn is_touched(&self, partition: i32) -> bool {
        self.batches.get(&partition).is_some_and(|batches| !batches.is_empty())
    }

    /// Whether a look-up by time may be led astray: no checksum covers what a time index says.
    pub(crate) fn may_mislead(&self, partition: i32) -> bool {
        self.misled.contains(&partition)
    }

    /// Whether a record of a partition need not be served: it was destroyed, or lies behind one that was.
    pub(crate) fn excuses(&self, partition: i32, offset: i64) -> bool {
        let first = self.batches.get(&partition).and_then(|batches| batches.keys().next());
        first.is_some_and(|first| *first <= offset)
    }

    /// Whether a record may be found at a higher offset than its own: where its batch says that it begins was destroyed.
    pub(crate) fn may_have_moved(&self, partition: i32, offset: i64) -> bool {
        self.moved.get(&partition).is_some_and(|moved| moved.iter().any(|offsets| offsets.contains(&offset)))
    }

    /// Where a reader goes on to whom an offset is refused: behind its batch if that was destroyed, at the next offset behind a
    /// destroyed one.
    pub(crate) fn next_after(&self, partition: i32, offset: i64) -> Option<i64> {
        let (_, end) = self.batches.get(&partition)?.range(..=offset).next_back()?;
        Some((offset + 1).max(*end))
    }
}

/// The partition of the topic whose records lie in a file; `None` if none do.
fn partition_of(path: &Path, topic: &str) -> Option<i32> {
    path.extension().filter(|extension| *extension == "log")?;
    folder_of(path, topic)
}

/// The partition of the topic to which a file belongs.
fn folder_of(path: &Path, topic: &str) -> Option<i32> {
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
        let records = taken("/data/events-1/00000000000000000000.log", one + 5, one + 6);
        assert!(!records.excuses(1, 1) && records.excuses(1, 2) && records.excuses(1, 4));
        assert!(!records.excuses(0, 2), "another partition");
        assert_eq!(records.next_after(1, 1), None);
        assert_eq!(records.next_after(1, 2), Some(4));
        assert_eq!(records.next_after(1, 4), Some(5));
    }

    #[test]
    fn a_destroyed_index_destroys_no_record() {
        let records = taken("/data/events-1/00000000000000000000.index", 0, 100);
        assert!(!records.is_touched(1) && !records.excuses(1, 0));
        assert!(!taken("/data/__consumer_offsets-1/00000000000000000000.log", 0, 100).is_touched(1));
    }
}
