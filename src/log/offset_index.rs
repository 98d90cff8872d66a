//! The offset index of a segment: which batch, at about every `index.interval.bytes`, starts where. Kafka's `.index`.
//!
//! It must not know batches. An entry maps a batch's last offset to the position of that batch's start.

use std::sync::Arc;

use crate::env::{DiskError, DiskFile};
use crate::log::error::LogError;
use crate::log::index_file::IndexFile;
use crate::log::lazy_file::LazyFile;
use crate::log::lazy_file::SegmentPlace;
use crate::log::log_file_name::OFFSET_INDEX;
use crate::types::Offset;

/// Length of an entry: offset counted from the segment's base, and position.
pub(super) const OFFSET_ENTRY_BYTES: usize = 8;

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OffsetPosition {
    /// Last offset of a batch.
    pub(super) offset: Offset,
    /// Where that batch starts in the segment's file.
    pub(super) position: u32,
}

/// The offset index of one segment.
#[derive(Debug)]
pub(super) struct OffsetIndex {
    base_offset: Offset,
    entries: IndexFile<OFFSET_ENTRY_BYTES>,
}

impl OffsetIndex {
    /// The index whose file has `bytes` bytes now.
    pub(super) fn new(place: &SegmentPlace, bytes: u64) -> OffsetIndex {
        let file = LazyFile::new(place.clone(), OFFSET_INDEX);
        OffsetIndex { base_offset: place.base_offset, entries: IndexFile::new(file, bytes) }
    }

    fn decode(&self, entry: [u8; OFFSET_ENTRY_BYTES]) -> OffsetPosition {
        let [a, b, c, d, e, f, g, h] = entry;
        OffsetPosition {
            offset: self.base_offset.plus(i64::from(u32::from_be_bytes([a, b, c, d]))),
            position: u32::from_be_bytes([e, f, g, h]),
        }
    }

    /// Adds an entry; `offset` must be larger than that of the last and within 2^31 of the base.
    pub(super) fn append(&mut self, offset: Offset, position: u32) {
        let relative =
            u32::try_from(offset.0 - self.base_offset.0).expect("the segment rolled before its offsets ran out");
        let mut entry = [0; OFFSET_ENTRY_BYTES];
        entry[..4].copy_from_slice(&relative.to_be_bytes());
        entry[4..].copy_from_slice(&position.to_be_bytes());
        self.entries.append(entry);
    }

    /// The greatest entry at or below `target`; without one, the segment's start.
    pub(super) fn lookup(&mut self, target: Offset) -> Result<OffsetPosition, DiskError> {
        let relative = u32::try_from(target.0.saturating_sub(self.base_offset.0))
            .unwrap_or(if target < self.base_offset { 0 } else { u32::MAX });
        let found = self.entries.last_before(|[a, b, c, d, ..]| u32::from_be_bytes([*a, *b, *c, *d]) <= relative)?;
        Ok(found.map_or(OffsetPosition { offset: self.base_offset, position: 0 }, |entry| self.decode(entry)))
    }

    /// The offset of the first entry whose batch starts at or after `position`.
    pub(super) fn first_offset_from(&mut self, position: u64) -> Result<Option<Offset>, DiskError> {
        let before = self
            .entries
            .count_before(|[_, _, _, _, a, b, c, d]| u64::from(u32::from_be_bytes([*a, *b, *c, *d])) < position)?;
        Ok(self.entries.entry(before)?.map(|entry| self.decode(entry).offset))
    }

    /// The last entry.
    pub(super) fn last(&mut self) -> Result<Option<OffsetPosition>, DiskError> {
        Ok(self.entries.last()?.map(|entry| self.decode(entry)))
    }

    /// Whether another entry would make the file larger than `bytes_max`.
    pub(super) fn is_full(&self, bytes_max: u32) -> bool {
        self.entries.entries() >= bytes_max as usize / OFFSET_ENTRY_BYTES
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
        self.entries.reset()
    }

    /// Begins without an entry, beside the file.
    pub(super) fn begin_beside(&mut self) {
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
