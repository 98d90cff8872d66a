//! The time index of a segment: up to which offset no timestamp is larger than an entry's. Kafka's `.timeindex`.
//!
//! It must not know batches.

use std::sync::Arc;

use crate::env::{DiskError, DiskFile};
use crate::log::error::LogError;
use crate::log::index_file::IndexFile;
use crate::log::lazy_file::{LazyFile, SegmentPlace};
use crate::log::log_file_name::TIME_INDEX;
use crate::types::Offset;

/// The timestamp that stands for none.
pub(super) const NO_TIMESTAMP: i64 = -1;
/// Length of an entry: timestamp, and offset counted from the segment's base.
pub(super) const TIME_ENTRY_BYTES: usize = 12;

/// An entry: the largest timestamp of the segment up to `offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimestampOffset {
    /// The timestamp, in milliseconds.
    pub(super) timestamp: i64,
    /// Last offset of the batch that has it.
    pub(super) offset: Offset,
}

/// The time index of one segment.
#[derive(Debug)]
pub(super) struct TimeIndex {
    base_offset: Offset,
    entries: IndexFile<TIME_ENTRY_BYTES>,
    /// The last entry, once it was asked for.
    last: Option<TimestampOffset>,
}

fn timestamp_of(entry: &[u8; TIME_ENTRY_BYTES]) -> i64 {
    let [a, b, c, d, e, f, g, h, ..] = *entry;
    i64::from_be_bytes([a, b, c, d, e, f, g, h])
}

impl TimeIndex {
    /// The index whose file has `bytes` bytes now.
    pub(super) fn new(place: &SegmentPlace, bytes: u64) -> TimeIndex {
        let file = LazyFile::new(place.clone(), TIME_INDEX);
        TimeIndex { base_offset: place.base_offset, entries: IndexFile::new(file, bytes), last: None }
    }

    fn decode(&self, entry: [u8; TIME_ENTRY_BYTES]) -> TimestampOffset {
        let [.., a, b, c, d] = entry;
        let relative = i64::from(u32::from_be_bytes([a, b, c, d]));
        TimestampOffset { timestamp: timestamp_of(&entry), offset: self.base_offset.plus(relative) }
    }

    /// Adds an entry if its timestamp is larger than the last one, which must have been asked for before.
    pub(super) fn append(&mut self, entry: TimestampOffset) {
        let last = self.last.expect("the last entry is asked for before the first append");
        if entry.timestamp <= last.timestamp {
            return;
        }
        self.last = Some(entry);
        let relative =
            u32::try_from(entry.offset.0 - self.base_offset.0).expect("the segment rolled before its offsets ran out");
        let mut bytes = [0; TIME_ENTRY_BYTES];
        bytes[..8].copy_from_slice(&entry.timestamp.to_be_bytes());
        bytes[8..].copy_from_slice(&relative.to_be_bytes());
        self.entries.append(bytes);
    }

    /// The greatest entry whose timestamp is at or below `timestamp`; without one, the segment's start with no timestamp.
    pub(super) fn lookup(&mut self, timestamp: i64) -> Result<TimestampOffset, DiskError> {
        let found = self.entries.last_before(|entry| timestamp_of(entry) <= timestamp)?;
        Ok(found.map_or(self.none(), |entry| self.decode(entry)))
    }

    /// The last entry; without one, the segment's start with no timestamp.
    pub(super) fn last(&mut self) -> Result<TimestampOffset, DiskError> {
        if self.last.is_none() {
            let last = self.entries.last()?;
            self.last = Some(last.map_or(self.none(), |entry| self.decode(entry)));
        }
        Ok(self.last.expect("it was read above"))
    }

    fn none(&self) -> TimestampOffset {
        TimestampOffset { timestamp: NO_TIMESTAMP, offset: self.base_offset }
    }

    /// Whether the file has no room for another entry and the one that the roll adds.
    pub(super) fn is_full(&self, bytes_max: u32) -> bool {
        self.entries.entries() >= (bytes_max as usize / TIME_ENTRY_BYTES).saturating_sub(1)
    }

    /// Writes what waits in memory.
    pub(super) fn write(&mut self) -> Result<(), DiskError> {
        self.entries.write()
    }

    /// The file with all entries written, to be synced.
    pub(super) fn settle(&mut self) -> Result<Arc<dyn DiskFile>, DiskError> {
        self.entries.settle()
    }

    /// Empties it, to be built again.
    pub(super) fn reset(&mut self) -> Result<(), DiskError> {
        self.last = Some(self.none());
        self.entries.reset()
    }

    /// Begins without an entry, beside the file.
    pub(super) fn begin_beside(&mut self) {
        self.last = Some(self.none());
        self.entries.begin_beside();
    }

    /// Puts what was built beside the file in its place.
    pub(super) fn replace(&mut self) -> Result<(), LogError> {
        self.entries.replace()
    }

    /// The file.
    pub(super) fn file(&mut self) -> &mut LazyFile {
        self.entries.file()
    }
}
