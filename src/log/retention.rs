//! What of a log may go, and how it goes: by age, by size, by the log's start; segments from the oldest on, never past the high watermark.
//!
//! It must not know when it is asked, nor what a cleaner does with compacted logs.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use crate::env::DiskError;
use crate::log::error::{LogError, ReadError};
use crate::log::log_segment::LogSegment;
use crate::log::settings::LogSettings;
use crate::log::time_index::NO_TIMESTAMP;
use crate::log::unified_log::{LogState, LogStatus, UnifiedLog};
use crate::marks::Mark;
use crate::types::{Instant, Now, Offset};
use crate::zoo::{self, Bug};

/// So many segments go at once at most: each waits for the disk while nobody can use the log.
const SEGMENTS_AT_ONCE: usize = 16;

/// Files that wait for their removal: since when they may be removed, and what they are called now.
pub(super) type PendingRemovals = VecDeque<(Instant, PathBuf)>;

/// Why a segment may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// It lies below the log's start, which DeleteRecords has moved.
    LogStart,
    /// The log is larger than `retention.bytes`.
    Size,
    /// All in it is older than `retention.ms`.
    Age,
}

impl Reason {
    fn told(self, settings: &LogSettings) -> String {
        match self {
            Reason::LogStart => "they lie below the log start offset".to_owned(),
            Reason::Size => format!("the log is larger than retention.bytes={}", settings.retention_bytes),
            Reason::Age => format!("their records are older than retention.ms={}", settings.retention_ms),
        }
    }
}

impl UnifiedLog {
    /// Applies the retention rules: removes segments below the log's start and, if `cleanup.policy` has `delete`, those that are too
    /// many or too old, but only some of them at once. Says how many went: the caller asks again until none does. Their files stay for `file.delete.delay.ms`: [`UnifiedLog::remove_deleted_files`].
    pub fn delete_old_segments(&self, now: Now) -> Result<usize, LogError> {
        let settings = self.settings();
        let mut state = self.lock();
        if state.status != LogStatus::Online {
            return Ok(0);
        }
        let deleted = self.delete_by_rules(&mut state, now, &settings);
        self.publish(&state);
        deleted
    }

    fn delete_by_rules(&self, state: &mut LogState, now: Now, settings: &LogSettings) -> Result<usize, LogError> {
        let mut deleted = self.delete_prefix(state, now, settings, Reason::LogStart)?;
        if settings.delete {
            deleted += self.delete_prefix(state, now, settings, Reason::Size)?;
            deleted += self.delete_prefix(state, now, settings, Reason::Age)?;
        }
        Ok(deleted)
    }

    /// Moves the log's start to `offset`, at most to the high watermark; -1 stands for the high watermark. An offset below the start
    /// changes nothing. Returns the start (DeleteRecords).
    pub fn delete_records_before(&self, offset: Offset) -> Result<Offset, ReadError> {
        let mut state = self.lock();
        state.check_online_for_read()?;
        let high_watermark = state.high_watermark.offset;
        let target = if offset == Offset(-1) { high_watermark } else { offset };
        if target > high_watermark && !zoo::is(Bug::DeletedBeyondEnd) || target.0 < 0 {
            let (log_start, log_end) = (state.log_start, high_watermark);
            return Err(ReadError::OffsetOutOfRange { offset: target, log_start, log_end });
        }
        state.move_log_start(target);
        self.publish(&state);
        Ok(state.log_start)
    }

    /// Removes the files of deleted segments whose delay is over. What cannot be removed is tried again by the next call.
    pub fn remove_deleted_files(&self, now: Now) -> Result<(), DiskError> {
        let mut result = Ok(());
        for removal in self.take_due_removals(now) {
            // Not under the lock: to free a large file takes its time.
            match self.disk.remove_file(&removal.1) {
                Err(error) if !error.is_not_found() => {
                    self.lock().removals.push_back(removal);
                    result = result.and(Err(error));
                }
                _ => {}
            }
        }
        result
    }

    fn take_due_removals(&self, now: Now) -> PendingRemovals {
        let mut state = self.lock();
        if state.status != LogStatus::Online {
            return PendingRemovals::new();
        }
        let is_due = |due: Instant| due <= now.instant;
        let is_due = |due: Instant| is_due(due) && !zoo::is(Bug::DeletedFilesStay);
        let (due, waiting) = std::mem::take(&mut state.removals).into_iter().partition(|(due, _)| is_due(*due));
        state.removals = waiting;
        due
    }

    /// Removes the segments that may go for this reason, from the oldest on. If no new one can take the place of the last, that one stays; what
    /// else can go goes before the error is returned.
    fn delete_prefix(
        &self,
        state: &mut LogState,
        now: Now,
        settings: &LogSettings,
        reason: Reason,
    ) -> Result<usize, LogError> {
        let count = match reason {
            Reason::LogStart => state.below_log_start(),
            Reason::Size => state.beyond_size(settings),
            Reason::Age => state.beyond_age(now, settings),
        }?;
        let count = count.min(SEGMENTS_AT_ONCE);
        let rolled = if count > 0 && count == state.segments.len() { self.roll_now(state, now.wall) } else { Ok(()) };
        let count = if rolled.is_ok() { count } else { count - 1 };
        if count > 0 && state.status == LogStatus::Online {
            Mark::OldSegmentsDeleted.reached();
            let bytes: u64 = state.segments.values().take(count).map(LogSegment::bytes).sum();
            self.delete_segments(state, now, settings, count)?;
            let (partition, log_start) = (self.topic_partition(), state.log_start);
            let reason = reason.told(settings);
            tracing::info!(%partition, segments = count, bytes, log_start_offset = %log_start, "old segments are deleted: {reason}");
        }
        rolled?;
        Ok(count)
    }

    /// Removes so many segments, the last of which is not the active one, from the oldest on.
    fn delete_segments(
        &self,
        state: &mut LogState,
        now: Now,
        settings: &LogSettings,
        count: usize,
    ) -> Result<(), DiskError> {
        let bases: Vec<Offset> = state.segments.keys().take(count + 1).copied().collect();
        let (Some(first_kept), Some(doomed)) = (bases.get(count), bases.get(..count)) else { return Ok(()) };
        state.move_log_start(*first_kept);
        let due = now.instant.after_ms(settings.file_delete_delay_ms);
        for base in doomed {
            // A power cut may keep that a name is gone and lose what was done before: without any segment, the log would begin anew and give offsets
            // out again; where one is gone and the one before it is not, the gap would pass for an end that was torn off.
            let is_in_order = doomed.first() == Some(base) || !zoo::is(Bug::SegmentsGoTogether);
            if is_in_order && state.sync.owes_directory(&state.directory) {
                self.sync_names(state)?;
            }
            let directory = Arc::clone(&state.directory);
            state.sync.owe_directory(directory);
            let Some(segment) = state.segments.get_mut(base) else { continue };
            let renamed = segment.mark_deleted()?;
            state.removals.extend(renamed.into_iter().map(|path| (due, path)));
            state.segments.remove(base);
            state.sync.forget_segment(*base);
            state.producers.remove_snapshot(*base)?;
        }
        Ok(())
    }
}

impl LogState {
    /// How many segments from the oldest on satisfy `is_doomed`, as far as the high watermark allows. An empty active segment stays.
    fn count_prefix(
        &mut self,
        mut is_doomed: impl FnMut(&mut LogSegment, Option<Offset>) -> Result<bool, DiskError>,
    ) -> Result<usize, DiskError> {
        let nexts: Vec<Offset> = self.segments.keys().skip(1).copied().collect();
        let mut count = 0;
        for segment in self.segments.values_mut() {
            let next = nexts.get(count).copied();
            let is_empty_active = next.is_none() && segment.bytes() == 0;
            let is_seen = next.unwrap_or(self.end.offset) <= self.high_watermark.offset;
            if is_empty_active || !is_seen || !is_doomed(segment, next)? {
                break;
            }
            count += 1;
        }
        Ok(count)
    }

    fn below_log_start(&mut self) -> Result<usize, DiskError> {
        let log_start = if zoo::is(Bug::BelowStartStays) { Offset(0) } else { self.log_start };
        self.count_prefix(|_, next| Ok(next.is_some_and(|next| next <= log_start)))
    }

    fn beyond_size(&mut self, settings: &LogSettings) -> Result<usize, DiskError> {
        let Ok(retention_bytes) = u64::try_from(settings.retention_bytes) else { return Ok(0) };
        let bytes: u64 = self.segments.values().map(LogSegment::bytes).sum();
        let mut excess = bytes.saturating_sub(retention_bytes);
        self.count_prefix(|segment, _| {
            let left = excess.checked_sub(segment.bytes());
            let takes_more = zoo::is(Bug::RetentionTakesOneMore) && excess > 0;
            excess = left.unwrap_or(if takes_more { 0 } else { excess });
            Ok(left.is_some() || takes_more)
        })
    }

    fn beyond_age(&mut self, now: Now, settings: &LogSettings) -> Result<usize, DiskError> {
        if settings.retention_ms < 0 {
            return Ok(0);
        }
        self.count_prefix(|segment, next| {
            if zoo::is(Bug::LastSegmentNeverOld) && next.is_none() {
                return Ok(false);
            }
            let newest = match segment.largest()?.timestamp {
                timestamp if timestamp > NO_TIMESTAMP || zoo::is(Bug::TimelessIsOld) => timestamp,
                _ => segment.file()?.modified()?.0,
            };
            Ok(now.wall.0.saturating_sub(newest) > settings.retention_ms)
        })
    }

    /// Moves the log's start up to `offset`.
    fn move_log_start(&mut self, offset: Offset) {
        if offset > self.log_start {
            self.log_start = offset;
            self.epochs.truncate_from_start(offset);
            self.producers.log_start_moved(offset);
        }
    }
}
