//! One segment: a file of batches and its indexes.
//!
//! It must not know producers, epochs, or which segment is the active one.

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::env::{DiskError, DiskFile, OpenMode};
use crate::log::batch_scanner::{
    BatchScanner, Damage, LOOKUP_CHUNK_BYTES, LocatedBatch, RECOVERY_CHUNK_BYTES, ScanError,
};
use crate::log::error::LogError;
use crate::log::lazy_file::{LazyFile, SegmentPlace};
use crate::log::log_file_name::{DELETED, LOG, OFFSET_INDEX, TIME_INDEX};
use crate::log::offset_index::{OffsetIndex, OffsetPosition};
use crate::log::settings::LogSettings;
use crate::log::time_index::{NO_TIMESTAMP, TimeIndex, TimestampOffset};
use crate::log::transaction_index::{AbortedTransaction, TransactionIndex};
use crate::record::{BatchError, BatchHeader, RecordBatch, is_old_message};
use crate::types::{LeaderEpoch, Offset, WallTime};
use crate::zoo::{self, Bug};

/// Lengths of a segment's files, as a directory's list shows them; 0 for a file that is not there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SegmentBytes {
    /// Records.
    pub(super) log: u64,
    /// Offset index.
    pub(super) offset_index: u64,
    /// Time index.
    pub(super) time_index: u64,
    /// Index of aborted transactions.
    pub(super) transaction_index: u64,
}

/// What a recovery does with bytes that are no whole batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// They were torn by a crash, and are cut off.
    Remove,
    /// They were whole once; only the indexes are built again, as far as that goes.
    Keep,
}

/// What a recovery found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecoveredSegment {
    /// The offset behind the last whole batch.
    pub(super) next_offset: Offset,
    /// So many bytes were cut off.
    pub(super) cut_bytes: u64,
    /// Whether offsets are missing between its batches: a compaction was here.
    pub(super) has_gaps: bool,
    /// The leader epoch of the last whole batch.
    pub(super) last_epoch: Option<LeaderEpoch>,
}

/// What decides, beside the segment itself, whether a new one begins before an append.
#[derive(Clone, Copy, Debug)]
pub(super) struct RollParams {
    /// The present.
    pub(super) now: WallTime,
    /// How much is to be appended.
    pub(super) bytes: u64,
    /// The last offset of what is to be appended.
    pub(super) last_offset: Offset,
    /// The largest timestamp of what is to be appended.
    pub(super) timestamp_max: i64,
    /// The age at which the segment rolls.
    pub(super) segment_ms: i64,
}

/// One segment.
#[derive(Debug)]
pub(super) struct LogSegment {
    base_offset: Offset,
    log: LazyFile,
    bytes: u64,
    offset_index: OffsetIndex,
    time_index: TimeIndex,
    transaction_index: TransactionIndex,
    /// The largest timestamp so far and the last offset of the batch that has it; `None` until it is asked for.
    largest: Option<TimestampOffset>,
    /// The largest timestamp of the first batch; `None` until it is asked for or while there is no batch.
    first_timestamp: Option<i64>,
    bytes_since_index_entry: u64,
    created: WallTime,
    /// From here on, this process has written or recovered the batches itself.
    written_from: u64,
    /// Ranges before that whose checksums were found to hold, in order, with gaps between them.
    checked: Vec<(u64, u64)>,
}

impl LogSegment {
    /// A segment over files that have these lengths now.
    pub(super) fn new(place: SegmentPlace, bytes: SegmentBytes, now: WallTime) -> LogSegment {
        LogSegment {
            base_offset: place.base_offset,
            offset_index: OffsetIndex::new(&place, bytes.offset_index),
            time_index: TimeIndex::new(&place, bytes.time_index),
            transaction_index: TransactionIndex::new(&place, bytes.transaction_index),
            log: LazyFile::new(place, LOG),
            bytes: bytes.log,
            largest: None,
            first_timestamp: None,
            bytes_since_index_entry: 0,
            created: now,
            written_from: bytes.log,
            checked: Vec::new(),
        }
    }

    /// A new, empty segment. What lies there under its names is emptied: it is left over from a roll that a crash undid.
    pub(super) fn create(place: SegmentPlace, now: WallTime) -> Result<LogSegment, DiskError> {
        let suffixes = [LOG, OFFSET_INDEX, TIME_INDEX];
        let make = |suffix: &&str| place.disk.open(&place.path(suffix), OpenMode::CreateEmpty).map(|_| ());
        match suffixes.iter().try_for_each(make) {
            Ok(()) => Ok(LogSegment::new(place, SegmentBytes::default(), now)),
            Err(error) => {
                // A half-made segment left behind would hide, after a restart, what is appended to the old one.
                suffixes.iter().for_each(|suffix| drop(place.disk.remove_file(&place.path(suffix))));
                Err(error)
            }
        }
    }

    /// Length of its batches.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The file of batches, opened if it is not.
    pub(super) fn file(&mut self) -> Result<Arc<dyn DiskFile>, DiskError> {
        self.log.open().cloned()
    }

    /// Looks whether somebody has removed the file of batches that is open.
    pub(super) fn check_place(&self) -> Result<(), DiskError> {
        self.log.check_place(self.bytes)
    }

    /// Appends `pieces`, which are the bytes of `batches`, whose offsets are final.
    /// After an error the file may hold a part of them: [`LogSegment::cut_back`].
    pub(super) fn append(
        &mut self,
        batches: &[BatchHeader],
        pieces: &[IoSlice<'_>],
        settings: &LogSettings,
    ) -> Result<(), DiskError> {
        self.largest()?;
        self.log.open()?.append(pieces)?;
        for header in batches {
            self.note_batch(header, settings.index_interval_bytes);
        }
        Ok(())
    }

    /// Takes one batch, which lies at the end of the noted ones, into the indexes.
    fn note_batch(&mut self, header: &BatchHeader, index_interval_bytes: u32) {
        let last_offset = header.last_offset();
        let is_taken = zoo::is(Bug::TimestampsTakenInOrder);
        if is_taken || self.largest.is_none_or(|largest| header.max_timestamp() > largest.timestamp) {
            self.largest = Some(TimestampOffset { timestamp: header.max_timestamp(), offset: last_offset });
        }
        if self.bytes == 0 {
            self.first_timestamp = Some(header.max_timestamp());
        }
        if self.bytes_since_index_entry > u64::from(index_interval_bytes) {
            if let Ok(position) = u32::try_from(self.bytes) {
                self.offset_index.append(last_offset, position);
            }
            if let Some(largest) = self.largest {
                self.time_index.append(largest);
            }
            self.bytes_since_index_entry = 0;
        }
        self.bytes += header.total_bytes() as u64;
        self.bytes_since_index_entry += header.total_bytes() as u64;
    }

    /// Removes what a failed append may have left behind its last batch.
    pub(super) fn cut_back(&mut self) -> Result<(), DiskError> {
        let bytes = self.bytes;
        self.log.open()?.truncate(bytes)
    }

    /// Whether a new segment is to begin before this append.
    pub(super) fn should_roll(&mut self, roll: &RollParams, settings: &LogSettings) -> Result<bool, DiskError> {
        let is_too_large = self.bytes + roll.bytes > u64::from(settings.segment_bytes_max());
        let is_full = self.offset_index.is_full(settings.segment_index_bytes)
            || self.time_index.is_full(settings.segment_index_bytes);
        let runs_out = roll.last_offset.0 - self.base_offset.0 > i64::from(i32::MAX)
            || self.bytes > 0 && zoo::is(Bug::RollsAlways);
        Ok(is_too_large || is_full || runs_out || (self.bytes > 0 && self.is_old(roll)?))
    }

    fn is_old(&mut self, roll: &RollParams) -> Result<bool, DiskError> {
        let age_ms = match self.first_timestamp()? {
            Some(first) if first >= 0 => roll.timestamp_max.saturating_sub(first),
            _ => roll.now.0.saturating_sub(self.created.0),
        };
        assert!(age_ms >= 0 || !zoo::is(Bug::NegativeAgeFatal), "time goes forward");
        Ok(age_ms > roll.segment_ms)
    }

    fn first_timestamp(&mut self) -> Result<Option<i64>, DiskError> {
        if self.first_timestamp.is_none() && self.bytes > 0 {
            let (file, end) = (self.file()?, self.bytes);
            match BatchScanner::new(&*file, 0, end, LOOKUP_CHUNK_BYTES).next_header() {
                Ok(batch) => self.first_timestamp = batch.map(|batch| batch.header.max_timestamp()),
                Err(ScanError::Damaged { .. }) => {}
                Err(ScanError::Disk(error)) => return Err(error),
            }
        }
        Ok(self.first_timestamp)
    }

    /// The largest timestamp and the last offset of the batch that has it, as far as the time index knows after a load.
    pub(super) fn largest(&mut self) -> Result<TimestampOffset, DiskError> {
        let last = self.time_index.last()?;
        Ok(*self.largest.get_or_insert(last))
    }

    /// A position at or before the batch that holds `offset`, close to it.
    pub(super) fn position_before(&mut self, offset: Offset) -> Result<u64, DiskError> {
        let position = u64::from(self.offset_index.lookup(offset)?.position);
        Ok(if zoo::is(Bug::ReadFromStart) { 0 } else { position })
    }

    /// A position from which on a scan meets the first batch with a timestamp at or above `timestamp`.
    pub(super) fn position_before_timestamp(&mut self, timestamp: i64) -> Result<u64, DiskError> {
        let entry = self.time_index.lookup(timestamp)?;
        self.position_before(entry.offset)
    }

    /// The offset after the last record, found from the last index entry on. An index that does not fit the records counts as damage, and
    /// so do offsets that do not follow.
    pub(super) fn find_next_offset(&mut self) -> Result<Offset, ScanError> {
        let last = self.offset_index.last()?;
        let start = last.map_or(0, |entry| u64::from(entry.position));
        let (file, end) = (self.file()?, self.bytes);
        let mut scanner = BatchScanner::new(&*file, start, end, LOOKUP_CHUNK_BYTES).carefully();
        let mut next_offset = self.base_offset;
        let mut largest = self.time_index.last()?;
        let mut indexed = last.map(|entry| entry.offset);
        while let Some(LocatedBatch { header, position }) = scanner.next_header()? {
            if !self.may_follow(&header, next_offset) {
                return Err(ScanError::Damaged { position, reason: Damage::Offsets });
            }
            if indexed.take().is_some_and(|indexed| indexed != header.last_offset()) {
                return Err(ScanError::Damaged { position: start, reason: Damage::Index });
            }
            next_offset = header.next_offset();
            if header.max_timestamp() > largest.timestamp {
                largest = TimestampOffset { timestamp: header.max_timestamp(), offset: header.last_offset() };
            }
        }
        if indexed.is_some() || largest.offset > next_offset {
            return Err(ScanError::Damaged { position: start, reason: Damage::Index });
        }
        self.largest = Some(largest);
        self.bytes_since_index_entry = end - start;
        Ok(next_offset)
    }

    /// The offset that its first record has, or would have at least.
    pub(super) fn base_offset(&self) -> Offset {
        self.base_offset
    }

    /// The leader epoch of its first batch, if that makes sense.
    pub(super) fn first_epoch(&mut self) -> Result<Option<LeaderEpoch>, DiskError> {
        let (file, end) = (self.file()?, self.bytes);
        match BatchScanner::new(&*file, 0, end, LOOKUP_CHUNK_BYTES).carefully().next_header() {
            Ok(first) => Ok(first.map(|batch| batch.header.partition_leader_epoch())),
            Err(ScanError::Damaged { .. }) => Ok(None),
            Err(ScanError::Disk(error)) => Err(error),
        }
    }

    /// Whether a batch can stand behind those before `next_offset`. No checksum covers its base offset.
    fn may_follow(&self, header: &BatchHeader, next_offset: Offset) -> bool {
        let reach = header.last_offset().0.saturating_sub(self.base_offset.0);
        header.base_offset() >= next_offset && reach <= i64::from(i32::MAX)
    }

    /// Adds the last time entry and writes all index entries out: the segment is complete, or about to be closed.
    pub(super) fn complete_indexes(&mut self) -> Result<(), DiskError> {
        self.index_largest()?;
        self.offset_index.write()?;
        self.time_index.write()?;
        self.transaction_index.write()
    }

    /// Adds the last time entry.
    fn index_largest(&mut self) -> Result<(), DiskError> {
        let largest = self.largest()?;
        if largest.timestamp > NO_TIMESTAMP {
            self.time_index.append(largest);
        }
        Ok(())
    }

    /// Puts indexes that were built beside the old ones in their place, complete. That of transactions goes first: nobody would notice at the next start that
    /// it is missing.
    fn replace_indexes(&mut self) -> Result<(), LogError> {
        self.index_largest()?;
        self.transaction_index.replace()?;
        self.time_index.replace()?;
        self.offset_index.replace()
    }

    /// All its files, with all index entries written, to be synced.
    pub(super) fn settle(&mut self) -> Result<Vec<Arc<dyn DiskFile>>, DiskError> {
        self.complete_indexes()?;
        let mut files = vec![self.file()?, self.offset_index.settle()?, self.time_index.settle()?];
        files.extend(self.transaction_index.settle()?);
        Ok(files)
    }

    /// Reads all batches, shows each to `note` with its place, and builds the indexes again, up to the first batch that is damaged or
    /// whose offsets do not follow; `cut` says what happens to the rest. `note` returns the transactions that the batch aborts.
    pub(super) fn recover(
        &mut self,
        settings: &LogSettings,
        cut: Cut,
        mut note: impl FnMut(&RecordBatch<'_>, u64) -> Vec<AbortedTransaction>,
    ) -> Result<RecoveredSegment, LogError> {
        let (file, bytes) = (self.file()?, self.bytes);
        self.reset_indexes(cut)?;
        let mut scanner = BatchScanner::new(&*file, 0, bytes, RECOVERY_CHUNK_BYTES).carefully();
        let mut recovered =
            RecoveredSegment { next_offset: self.base_offset, cut_bytes: 0, has_gaps: false, last_epoch: None };
        loop {
            match scanner.next_batch() {
                Ok(Some((_, batch))) => {
                    if !self.may_follow(batch.header(), recovered.next_offset) {
                        break;
                    }
                    recovered.has_gaps |= batch.base_offset() != recovered.next_offset;
                    (recovered.next_offset, recovered.last_epoch) =
                        (batch.next_offset(), Some(batch.partition_leader_epoch()));
                    note(&batch, self.bytes).iter().for_each(|aborted| self.transaction_index.append(aborted));
                    self.note_batch(batch.header(), settings.index_interval_bytes);
                }
                Ok(None) => break,
                // Data of a broker before Kafka 0.11 is not damage, and must not be cut off.
                Err(ScanError::Damaged {
                    position: 0,
                    reason: Damage::Batch(error @ BatchError::OldMagic { bytes: length, .. }),
                }) if zoo::is(Bug::TornTakenForOld) || begins_with_old_message(&*file, length, bytes)? => {
                    return Err(LogError::malformed(&self.log.path(), error.to_string()));
                }
                Err(ScanError::Damaged { .. }) => break,
                Err(ScanError::Disk(error)) => return Err(error.into()),
            }
        }
        match cut {
            Cut::Keep => self.replace_indexes()?,
            Cut::Remove => self.complete_indexes()?,
        }
        (self.written_from, self.checked) = (self.bytes, vec![(0, self.bytes)]);
        match cut {
            Cut::Keep => (self.written_from, self.bytes) = (bytes, bytes),
            Cut::Remove if self.bytes < bytes => {
                file.truncate(self.bytes)?;
                // At once: a power cut that brings the old end back would find it beside what has been appended since, also in later segments.
                file.sync()?;
                recovered.cut_bytes = bytes - self.bytes;
            }
            Cut::Remove => {}
        }
        Ok(recovered)
    }

    /// Adds a transaction that a marker in this segment aborts.
    pub(super) fn note_aborted(&mut self, transaction: &AbortedTransaction) {
        self.transaction_index.append(transaction);
    }

    /// Adds the aborted transactions that overlap `from..to` to `found`. Says whether later segments can hold no more of them.
    pub(super) fn collect_aborted(
        &mut self,
        from: Offset,
        to: Offset,
        found: &mut Vec<AbortedTransaction>,
    ) -> Result<bool, DiskError> {
        if self.transaction_index.is_empty() { Ok(false) } else { self.transaction_index.collect(from, to, found) }
    }

    /// Whether the indexes can be trusted, as far as that is cheap to say: the last entries lie inside the segment.
    pub(super) fn has_sane_indexes(&mut self) -> Result<bool, DiskError> {
        let offset_max = self.base_offset.plus(i64::from(i32::MAX));
        let is_inside = |last: OffsetPosition| last.offset <= offset_max && u64::from(last.position) < self.bytes;
        Ok(self.offset_index.last()?.is_none_or(is_inside)
            && self.time_index.last()?.offset <= offset_max
            && self.transaction_index.is_sane(self.base_offset)?)
    }

    /// The offset of the first indexed batch that starts at or after `position`.
    pub(super) fn first_indexed_from(&mut self, position: u64) -> Result<Option<Offset>, DiskError> {
        self.offset_index.first_offset_from(position)
    }

    /// Begins indexes without entries, to be built again by noting every batch from the first on. Those of a segment that the next start recovers again, if this
    /// one is cut short, are emptied in place; nobody would look at those of any other again, and so they are built beside the old ones.
    fn reset_indexes(&mut self, cut: Cut) -> Result<(), DiskError> {
        if cut == Cut::Remove {
            self.offset_index.reset()?;
            self.time_index.reset()?;
            self.transaction_index.reset()?;
        } else {
            self.offset_index.begin_beside();
            self.time_index.begin_beside();
            self.transaction_index.begin_beside();
        }
        self.bytes = 0;
        self.bytes_since_index_entry = 0;
        self.largest = Some(TimestampOffset { timestamp: NO_TIMESTAMP, offset: self.base_offset });
        self.first_timestamp = None;
        Ok(())
    }

    /// Says that the checksums of a range of the file hold.
    pub(super) fn note_checked(&mut self, from: u64, to: u64) {
        let first = self.checked.partition_point(|(_, end)| *end < from);
        let behind = self.checked.partition_point(|(start, _)| *start <= to);
        let touched = self.checked.get(first..behind).unwrap_or_default();
        let start = touched.first().map_or(from, |(start, _)| from.min(*start));
        let end = touched.last().map_or(to, |(_, end)| to.max(*end));
        self.checked.splice(first..behind.max(first), [(start, end)]);
    }

    /// The part of a range, which begins with a batch, whose checksums nobody has looked at since the start.
    pub(super) fn unchecked(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let behind = self.checked.partition_point(|(start, _)| *start <= from);
        let before = behind.checked_sub(1).and_then(|last| self.checked.get(last));
        let from = before.map_or(from, |(_, end)| from.max(*end));
        let to = to.min(self.written_from);
        (from < to).then_some((from, to))
    }

    fn lazy_files(&mut self) -> [&mut LazyFile; 4] {
        [&mut self.log, self.offset_index.file(), self.time_index.file(), self.transaction_index.file()]
    }

    /// Removes its files at once.
    pub(super) fn remove_files(&mut self) -> Result<(), DiskError> {
        self.lazy_files().into_iter().try_for_each(LazyFile::remove)
    }

    /// Gives its files the ending of files that wait for their removal, and says what they are called now. After an error it is as it was:
    /// the records go first, and an index that stays behind them is removed by the next start.
    pub(super) fn mark_deleted(&mut self) -> Result<Vec<PathBuf>, DiskError> {
        let [log, indexes @ ..] = self.lazy_files();
        let log = log.rename_with(DELETED)?;
        let indexes = indexes.into_iter().filter_map(|file| file.rename_with(DELETED).ok().flatten());
        Ok(log.into_iter().chain(indexes).collect())
    }

    /// Lets its descriptors go.
    pub(super) fn close(&mut self) {
        self.lazy_files().into_iter().for_each(LazyFile::close);
    }

    /// Follows its folder to a new name.
    pub(super) fn move_to(&mut self, directory: &Arc<Path>) {
        for file in self.lazy_files() {
            file.move_to(Arc::clone(directory));
        }
    }
}

/// Whether a file of `bytes` bytes begins with a whole message of a broker before Kafka 0.11, which says that it is `length` bytes long.
fn begins_with_old_message(file: &dyn DiskFile, length: usize, bytes: u64) -> Result<bool, DiskError> {
    if length as u64 > bytes {
        return Ok(false);
    }
    let mut message = vec![0; length];
    let read = file.read_at(0, &mut message)?;
    Ok(read == length && is_old_message(&message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::tests::memory_disk::MemoryDisk;

    #[test]
    fn checked_ranges_are_remembered_each_and_joined_where_they_touch() {
        let directory = Arc::from(Path::new("/logs/topic-0"));
        let place = SegmentPlace { disk: MemoryDisk::new(), directory, base_offset: Offset(0) };
        let bytes = SegmentBytes { log: 1_000, ..SegmentBytes::default() };
        let mut segment = LogSegment::new(place, bytes, WallTime(0));
        segment.note_checked(500, 600);
        segment.note_checked(100, 200);
        assert_eq!((segment.unchecked(100, 200), segment.unchecked(500, 600)), (None, None));
        assert_eq!(segment.unchecked(150, 250), Some((200, 250)));
        assert_eq!(segment.unchecked(0, 2_000), Some((0, 1_000)), "what this process writes is never checked");
        segment.note_checked(600, 700);
        segment.note_checked(150, 500);
        assert_eq!(segment.checked, [(100, 700)]);
        segment.note_checked(300, 400);
        assert_eq!(segment.checked, [(100, 700)]);
    }
}
