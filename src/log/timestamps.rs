//! From a timestamp to an offset (ListOffsets).
//!
//! It must not know special timestamps of the protocol.

use std::sync::Arc;

use crate::env::DiskFile;
use crate::limits::DECOMPRESSED_BODY_BYTES_MAX;
use crate::log::batch_scanner::{BatchScanner, LOOKUP_CHUNK_BYTES, ScanError};
use crate::log::error::ReadError;
use crate::log::read::FetchIsolation;
use crate::log::time_index::{NO_TIMESTAMP, TimestampOffset};
use crate::log::unified_log::UnifiedLog;
use crate::record::{Decompressor, RecordBatch, RecordSummary, ScanLimits, find_record};
use crate::types::{LeaderEpoch, Offset};
use crate::zoo::{self, Bug};

/// A record that a look-up by timestamp found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundTimestamp {
    /// The record's timestamp, in milliseconds.
    pub timestamp: i64,
    /// Its offset.
    pub offset: Offset,
    /// The leader epoch in which it was appended.
    pub leader_epoch: LeaderEpoch,
}

/// Where to look, taken under the lock.
#[derive(Debug)]
struct SearchPlan {
    segment: Offset,
    file: Arc<dyn DiskFile>,
    from: u64,
    to: u64,
    /// Records below this are not looked at.
    start: Offset,
}

impl UnifiedLog {
    /// The first record, by offset, whose timestamp is at or above `timestamp`; `None` if there is none that `isolation` may see.
    pub fn offset_for_timestamp(
        &self,
        timestamp: i64,
        isolation: FetchIsolation,
    ) -> Result<Option<FoundTimestamp>, ReadError> {
        let mut after = Offset(-1);
        while let Some(plan) = self.plan_search(timestamp, after)? {
            if let Some(found) = plan.find(timestamp)? {
                return Ok(Some(found).filter(|found| found.offset < self.bound_of(isolation)));
            }
            after = plan.segment;
        }
        Ok(None)
    }

    /// The first record with the largest timestamp of all; `None` in an empty log, or if `isolation` may not see it.
    pub fn offset_of_max_timestamp(&self, isolation: FetchIsolation) -> Result<Option<FoundTimestamp>, ReadError> {
        let mut largest = TimestampOffset { timestamp: NO_TIMESTAMP, offset: Offset(-1) };
        {
            let mut state = self.lock();
            state.check_online_for_read()?;
            for segment in state.segments.values_mut() {
                let candidate = segment.largest()?;
                if candidate.timestamp > largest.timestamp {
                    largest = candidate;
                }
            }
        }
        if largest.timestamp == NO_TIMESTAMP {
            Ok(None)
        } else {
            self.offset_for_timestamp(largest.timestamp, isolation)
        }
    }

    fn bound_of(&self, isolation: FetchIsolation) -> Offset {
        match isolation {
            FetchIsolation::LogEnd => self.log_end_offset(),
            FetchIsolation::HighWatermark => self.high_watermark(),
            FetchIsolation::TransactionCommitted => self.last_stable_offset(),
        }
    }

    /// The first segment behind `after` that can hold the timestamp, and where in it to begin.
    fn plan_search(&self, timestamp: i64, after: Offset) -> Result<Option<SearchPlan>, ReadError> {
        let mut state = self.lock();
        state.check_online_for_read()?;
        let start = state.log_start;
        let active = state.active_base();
        for (base, segment) in state.segments.range_mut(after.plus(1)..) {
            if segment.largest()?.timestamp < timestamp {
                continue;
            }
            let from = segment.position_before_timestamp(timestamp)?;
            let plan = SearchPlan { segment: *base, file: segment.file()?, from, to: segment.bytes(), start };
            if *base != active {
                segment.close();
            }
            return Ok(Some(plan));
        }
        Ok(None)
    }
}

impl SearchPlan {
    fn find(&self, timestamp: i64) -> Result<Option<FoundTimestamp>, ReadError> {
        let damaged = |position| ReadError::Damaged { offset: self.segment, segment: self.segment, position };
        let mut headers = BatchScanner::new(&*self.file, self.from, self.to, LOOKUP_CHUNK_BYTES);
        let mut decompressor = Decompressor::default();
        loop {
            let located = match headers.next_header() {
                Ok(Some(located)) => located,
                Ok(None) => return Ok(None),
                Err(ScanError::Disk(error)) => return Err(error.into()),
                Err(ScanError::Damaged { position, .. }) => return Err(damaged(position)),
            };
            if located.header.max_timestamp() < timestamp || located.header.last_offset() < self.start {
                continue;
            }
            let mut whole =
                BatchScanner::new(&*self.file, located.position, located.end(), located.header.total_bytes());
            match whole.next_batch() {
                Ok(Some((_, batch))) => {
                    if let Some(found) =
                        self.find_in(&batch, timestamp, &mut decompressor).map_err(|_| damaged(located.position))?
                    {
                        return Ok(Some(found));
                    }
                }
                Ok(None) | Err(ScanError::Damaged { .. }) => return Err(damaged(located.position)),
                Err(ScanError::Disk(error)) => return Err(error.into()),
            }
        }
    }

    /// The first record of a batch that is neither too old nor below the log's start. An error says that the body is broken.
    fn find_in(
        &self,
        batch: &RecordBatch<'_>,
        timestamp: i64,
        decompressor: &mut Decompressor,
    ) -> Result<Option<FoundTimestamp>, ()> {
        let limits = ScanLimits { record_bytes_max: usize::MAX, body_bytes_max: DECOMPRESSED_BODY_BYTES_MAX };
        let offset_of =
            |record: &RecordSummary| Offset(batch.base_offset().0.saturating_add(record.offset_delta.into()));
        let least = timestamp.saturating_add(i64::from(zoo::is(Bug::TimeLookupExcludes)));
        let is_wanted = |record: &RecordSummary| record.timestamp >= least && offset_of(record) >= self.start;
        let found = find_record(batch, decompressor, limits, is_wanted).map_err(|_| ())?;
        Ok(found.map(|record| FoundTimestamp {
            timestamp: record.timestamp,
            offset: offset_of(&record),
            leader_epoch: batch.partition_leader_epoch(),
        }))
    }
}
