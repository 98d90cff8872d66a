//! Reads: from an offset to a range of a segment's file, which the network sends without a copy.
//!
//! It must not know who reads. The lock is held to find the segment, not while batches are scanned; a running sync holds nobody up.

use std::ops::Bound;
use std::sync::Arc;

use crate::env::{DiskFile, Piece};
use crate::log::batch_scanner::{BatchScanner, LOOKUP_CHUNK_BYTES, LocatedBatch, RECOVERY_CHUNK_BYTES, ScanError};
use crate::log::error::ReadError;
use crate::log::transaction_index::AbortedTransaction;
use crate::log::unified_log::{LogOffsetMetadata, LogState, LogStatus, UnifiedLog};
use crate::marks::Mark;
use crate::types::Offset;
use crate::zoo::{self, Bug};

/// How far a reader may see. Kafka's type of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchIsolation {
    /// Everything: for the broker itself.
    LogEnd,
    /// Up to the high watermark: `read_uncommitted`.
    HighWatermark,
    /// Up to the last stable offset: `read_committed`.
    TransactionCommitted,
}

/// What a read found.
#[derive(Debug)]
pub struct FetchData {
    /// Whole batches, except for the last, which may be cut; none if there is nothing to read.
    pub records: Vec<Piece>,
    /// The offset up to which consumers may read.
    pub high_watermark: Offset,
    /// The offset up to which transactional consumers may read.
    pub last_stable_offset: Offset,
    /// The first offset of the log.
    pub log_start_offset: Offset,
    /// The aborted transactions that overlap the records; `None` unless only committed ones were asked for.
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
}

impl FetchData {
    /// Length of the records.
    pub fn bytes(&self) -> usize {
        self.records.iter().map(Piece::bytes).sum()
    }
}

/// Where in which segment to look for an offset.
#[derive(Debug)]
struct ReadPlan {
    segment: Offset,
    file: Arc<dyn DiskFile>,
    /// A batch starts here, at or before the one that is looked for.
    from: u64,
    /// The reader may not see beyond.
    to: u64,
    /// Nothing in the range has to be checked any more.
    is_checked: bool,
    /// The batch that is looked for, if its place is known.
    first: Option<(u64, u64)>,
}

/// The range of a file that a read returns.
#[derive(Debug)]
struct ReadRange {
    from: u64,
    to: u64,
}

impl UnifiedLog {
    /// Reads from the batch that holds `offset` on, at most `bytes_max` bytes. A first batch that is larger is read whole if
    /// `first_batch_whole`, else not at all. An offset at the bound of the isolation has no data, one above the log's end is an error.
    pub fn read(
        &self,
        offset: Offset,
        bytes_max: usize,
        isolation: FetchIsolation,
        first_batch_whole: bool,
    ) -> Result<FetchData, ReadError> {
        let read = self.try_read(offset, bytes_max, isolation, first_batch_whole);
        if let Err(error @ ReadError::Damaged { segment, position, .. }) = &read
            && self.lock().damaged.insert((*segment, *position))
        {
            // Said once: every consumer comes back again and again.
            tracing::error!(partition = %self.topic_partition(), %error, "records cannot be read: consumers are told so (CORRUPT_MESSAGE) and can go on behind them, by an offset that is set; \
                 put the segment's file of a copy in its place while the broker is down, or delete the records up to behind the damaged batch");
        }
        if let Err(ReadError::Disk(error)) = &read {
            self.tell_of_trouble(&mut self.lock(), error, "records could not be read");
        }
        read
    }

    fn try_read(
        &self,
        offset: Offset,
        bytes_max: usize,
        isolation: FetchIsolation,
        first_batch_whole: bool,
    ) -> Result<FetchData, ReadError> {
        let mut state = self.lock();
        state.check_readable(offset)?;
        let bound = state.bound(isolation);
        let mut data = FetchData {
            records: Vec::new(),
            high_watermark: state.high_watermark.offset,
            last_stable_offset: state.last_stable().offset,
            log_start_offset: state.log_start,
            aborted_transactions: (isolation == FetchIsolation::TransactionCommitted || zoo::is(Bug::AbortedToldToAll))
                .then(Vec::new),
        };
        let mut after =
            state.segments.range(..=offset).next_back().map_or(Bound::Unbounded, |(base, _)| Bound::Included(*base));
        while let Some(plan) = state.plan(offset, after, bound)? {
            drop(state);
            if let Some(range) = plan.find(offset, bytes_max, first_batch_whole)? {
                let to = self.check(&plan, &range, offset)?;
                if let Some(aborted) = &mut data.aborted_transactions {
                    self.lock().collect_aborted(&plan, to, offset, bound, aborted)?;
                }
                if to > range.from {
                    let bytes = usize::try_from(to - range.from).unwrap_or(usize::MAX);
                    data.records.push(Piece::File { file: plan.file, offset: range.from, bytes });
                }
                return Ok(data);
            }
            after = Bound::Excluded(plan.segment);
            state = self.lock();
        }
        Ok(data)
    }

    /// Checks those batches in the range that this process has neither written nor read before, and returns where the whole ones end:
    /// their checksums, and their offsets, which no checksum covers.
    fn check(&self, plan: &ReadPlan, range: &ReadRange, offset: Offset) -> Result<u64, ReadError> {
        if plan.is_checked {
            return Ok(range.to);
        }
        let Some(UncheckedRange { from, to, offset_end }) = self.lock().unchecked(plan, range) else {
            return Ok(range.to);
        };
        Mark::CheckedBeforeSent.reached();
        let chunk_bytes = RECOVERY_CHUNK_BYTES.min(usize::try_from(to - from).unwrap_or(usize::MAX));
        let mut scanner = BatchScanner::new(&*plan.file, from, plan.to, chunk_bytes);
        let mut checked_to = from;
        let mut next_offset = plan.segment;
        while checked_to < to {
            let damaged_at = match scanner.next_batch() {
                Ok(Some((batch, _))) if batch.end() > to => break,
                Ok(Some((batch, _))) => {
                    let (base, last) = (batch.header.base_offset(), batch.header.last_offset());
                    if base >= next_offset && last < offset_end {
                        checked_to = batch.end();
                        next_offset = last.plus(1);
                        continue;
                    }
                    batch.position
                }
                Ok(None) => break,
                // What lies before a sector that cannot be read is served.
                Err(ScanError::Disk(_)) if checked_to > range.from => return Ok(checked_to),
                Err(ScanError::Disk(error)) => return Err(error.into()),
                Err(ScanError::Damaged { position, .. }) => position,
            };
            if damaged_at > range.from {
                Mark::ServedUpToDamage.reached();
                return Ok(damaged_at);
            }
            Mark::DamageTold.reached();
            return Err(ReadError::Damaged { offset, segment: plan.segment, position: damaged_at });
        }
        if let Some(segment) = self.lock().segments.get_mut(&plan.segment) {
            segment.note_checked(from, checked_to);
        }
        Ok(range.to)
    }
}

/// A part of a segment's file that nobody has checked since the start, and the offset that its records stay below.
#[derive(Debug)]
struct UncheckedRange {
    from: u64,
    to: u64,
    offset_end: Offset,
}

impl LogState {
    pub(super) fn check_online_for_read(&self) -> Result<(), ReadError> {
        match self.status {
            LogStatus::Online => Ok(()),
            LogStatus::Offline | LogStatus::Closed => Err(ReadError::Offline),
            LogStatus::Deleted => Err(ReadError::Deleted),
        }
    }

    fn check_readable(&self, offset: Offset) -> Result<(), ReadError> {
        self.check_online_for_read()?;
        let is_end_refused = zoo::is(Bug::EndOutOfRange) && offset == self.end.offset && offset.0 > 0;
        let is_deleted = offset < self.log_start && !zoo::is(Bug::DeletedServed);
        if is_deleted || offset > self.end.offset || is_end_refused {
            return Err(ReadError::OffsetOutOfRange { offset, log_start: self.log_start, log_end: self.end.offset });
        }
        Ok(())
    }

    fn unchecked(&self, plan: &ReadPlan, range: &ReadRange) -> Option<UncheckedRange> {
        let (from, to) = self.segments.get(&plan.segment)?.unchecked(range.from, range.to)?;
        let next = self.segments.range((Bound::Excluded(plan.segment), Bound::Unbounded)).next();
        Some(UncheckedRange { from, to, offset_end: next.map_or(self.end.offset, |(base, _)| *base) })
    }

    fn bound(&self, isolation: FetchIsolation) -> LogOffsetMetadata {
        match isolation {
            FetchIsolation::LogEnd => self.end,
            FetchIsolation::HighWatermark if zoo::is(Bug::ReadToEnd) => self.end,
            FetchIsolation::HighWatermark => self.high_watermark,
            FetchIsolation::TransactionCommitted => self.last_stable(),
        }
    }

    /// Adds the aborted transactions that overlap the records from `offset` to byte `to` of the plan's segment. One too many, in the
    /// rest of an index interval, does no harm.
    fn collect_aborted(
        &mut self,
        plan: &ReadPlan,
        to: u64,
        offset: Offset,
        bound: LogOffsetMetadata,
        aborted: &mut Vec<AbortedTransaction>,
    ) -> Result<(), ReadError> {
        let next_base =
            self.segments.range((Bound::Excluded(plan.segment), Bound::Unbounded)).next().map(|(base, _)| *base);
        let mut end = next_base.unwrap_or(self.end.offset).min(bound.offset);
        if let Some(segment) = self.segments.get_mut(&plan.segment)
            && let Some(indexed) = segment.first_indexed_from(to)?
        {
            end = end.min(indexed);
        }
        // Retention may have taken the segment meanwhile, and what its index said about the records.
        self.check_readable(offset)?;
        for (_, segment) in self.segments.range_mut(plan.segment..) {
            if segment.collect_aborted(offset, end, aborted)? {
                break;
            }
        }
        Ok(())
    }

    /// Where to look for `offset` in the first segment after `after`; `None` if nothing is left below `bound`.
    fn plan(
        &mut self,
        offset: Offset,
        after: Bound<Offset>,
        bound: LogOffsetMetadata,
    ) -> Result<Option<ReadPlan>, ReadError> {
        let Some(base) = self.segments.range((after, Bound::Unbounded)).next().map(|(base, _)| *base) else {
            return Ok(None);
        };
        if offset >= bound.offset || base > bound.segment {
            return Ok(None);
        }
        let recent = if base == self.active_base() { self.recent.find(offset, self.end.position) } else { None };
        let segment = self.segments.get_mut(&base).expect("it was found above");
        let to = if base == bound.segment { bound.position } else { segment.bytes() };
        let from = match recent {
            Some((_, position, _)) => position,
            None => segment.position_before(offset)?,
        };
        let file = segment.file()?;
        let is_checked = segment.unchecked(from, to).is_none();
        self.note_open(base);
        let first = recent.map(|(_, from, end)| (from, end));
        Ok(Some(ReadPlan { segment: base, file, from, to, is_checked, first }))
    }
}

impl ReadPlan {
    /// The range to return, or `None` if no batch of this segment reaches `offset`.
    fn find(&self, offset: Offset, bytes_max: usize, first_batch_whole: bool) -> Result<Option<ReadRange>, ReadError> {
        let Some((from, first_end)) = self.find_first(offset)? else { return Ok(None) };
        let to = from.saturating_add(bytes_max as u64);
        let is_cut = to < first_end || to == first_end && zoo::is(Bug::FittingBatchWithheld);
        let to = match (is_cut, first_batch_whole) {
            (false, _) => to,
            (true, true) if zoo::is(Bug::LargeBatchWithheld) => from,
            (true, true) => {
                Mark::FirstBatchTooLarge.reached();
                first_end
            }
            // Who gets only a piece of a batch cannot go on.
            (true, false) if zoo::is(Bug::FirstBatchCut) => to,
            (true, false) => {
                Mark::LaterBatchTooLarge.reached();
                from
            }
        };
        Ok(Some(ReadRange { from, to: to.min(self.to) }))
    }

    fn find_first(&self, offset: Offset) -> Result<Option<(u64, u64)>, ReadError> {
        if self.first.is_some() {
            return Ok(self.first);
        }
        let mut scanner = BatchScanner::new(&*self.file, self.from, self.to, LOOKUP_CHUNK_BYTES);
        let mut is_from_index = self.from > 0;
        let wanted = Offset(offset.0.saturating_add(i64::from(zoo::is(Bug::LastRecordLeapt))));
        loop {
            let next = scanner.next_header();
            let is_plausible = matches!(&next, Ok(Some(batch)) if batch.header.base_offset() <= offset);
            if std::mem::take(&mut is_from_index) && !is_plausible {
                // The index leads astray: a wrong entry must not keep anybody from good records.
                Mark::IndexLeadsAstray.reached();
                scanner = BatchScanner::new(&*self.file, 0, self.to, LOOKUP_CHUNK_BYTES);
                continue;
            }
            match next {
                Ok(Some(batch @ LocatedBatch { header, position })) if header.last_offset() >= wanted => {
                    return Ok(Some((position, batch.end())));
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(None),
                Err(ScanError::Disk(error)) => return Err(error.into()),
                Err(ScanError::Damaged { position, .. }) => {
                    return Err(ReadError::Damaged { offset, segment: self.segment, position });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::tests::{at, memory_disk::MemoryDisk, open};
    use crate::log::{AppendOrigin, Durability, LogSettings};

    #[test]
    fn aborted_transactions_of_a_segment_that_retention_took_meanwhile_are_not_said_to_be_none() {
        let settings = LogSettings { segment_bytes: 100, retention_bytes: 0, ..LogSettings::default() };
        let (_manager, log) = open(&MemoryDisk::new(), settings);
        for _ in 0..3 {
            let batch = crate::log::tests::batch(1, &["value"]);
            log.append(at(1), batch, AppendOrigin::Client, Durability::Written).unwrap();
        }
        let (plan, bound) = {
            let mut state = log.lock();
            let bound = state.end;
            (state.plan(Offset(0), Bound::Unbounded, bound).unwrap().unwrap(), bound)
        };
        assert!(log.delete_old_segments(at(1)).unwrap() > 0);
        let collected = log.lock().collect_aborted(&plan, plan.to, Offset(0), bound, &mut Vec::new());
        assert!(matches!(collected, Err(ReadError::OffsetOutOfRange { .. })));
    }
}
