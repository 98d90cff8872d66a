//! How a log ends: closed by a shutdown, deleted with its partition, or idle for the moment.
//!
//! It must not know when that happens, nor the other logs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::env::DiskError;
use crate::log::log_segment::LogSegment;
use crate::log::new_log_file;
use crate::log::unified_log::{LogState, LogStatus, UnifiedLog};
use crate::types::{Now, Offset};
use crate::zoo::{self, Bug};

impl UnifiedLog {
    /// Completes all files without a sync, and takes no more requests. Says whether the log is whole: then, and when everything was
    /// synced after this, a restart needs no recovery.
    pub(super) fn close(&self) -> Result<bool, DiskError> {
        let mut state = self.lock();
        match state.status {
            LogStatus::Online => {}
            LogStatus::Closed | LogStatus::Deleted => return Ok(true),
            LogStatus::Offline => return Ok(false),
        }
        self.check_place(&mut state)?;
        state.active().complete_indexes()?;
        state.producers.take_snapshot()?;
        state.epochs.write()?;
        state.segments.values_mut().for_each(LogSegment::close);
        self.set_status(&mut state, LogStatus::Closed);
        Ok(true)
    }

    /// Goes offline if somebody has removed the file that is appended to.
    pub(super) fn look_after_place(&self) {
        // The operator is told, and clients at their next request.
        let _ = self.check_place(&mut self.lock());
    }

    /// Says that everything is on disk, by a sync of all that lies there.
    pub(super) fn note_all_synced(&self) {
        let mut state = self.lock();
        let end = state.end.offset;
        state.sync.note_all_synced(end);
        state.advance_high_watermark();
        self.publish(&state);
    }

    /// Takes no more requests, and moves the folder to `to`, where it waits for its removal or is left alone.
    pub(super) fn delete(&self, to: &Path) -> Result<(), DiskError> {
        let mut state = self.lock();
        self.set_status(&mut state, LogStatus::Deleted);
        state.segments.values_mut().for_each(LogSegment::close);
        self.publish(&state);
        match self.disk.rename(&state.directory, to) {
            Err(error) if error.is_not_found() => {}
            result => result?,
        }
        state.move_to(&Arc::from(to));
        Ok(())
    }

    /// The recovery point, and the log's start if a restart would not find it by itself: what goes into the checkpoints. `None` for a log
    /// that is gone.
    pub(super) fn checkpoint(&self) -> Option<(Offset, Option<Offset>)> {
        let state = self.lock();
        if state.status == LogStatus::Deleted {
            return None;
        }
        let first = state.segments.keys().next().copied();
        let log_start = first.is_none_or(|first| state.log_start > first).then_some(state.log_start);
        let log_start = log_start.filter(|_| !zoo::is(Bug::LogStartForgotten));
        Some((state.sync.recovery_point(), log_start))
    }

    /// The checkpoints tell of this log now: its folder is marked no more. Returns that, if it is owed a sync for it.
    pub(super) fn note_checkpointed(&self) -> Result<Option<PathBuf>, DiskError> {
        let mut state = self.lock();
        if !state.is_new || state.status == LogStatus::Deleted {
            return Ok(None);
        }
        new_log_file::take(&*self.disk, &state.directory)?;
        state.is_new = false;
        Ok(Some(state.directory.to_path_buf()))
    }

    /// Whether the checkpoints do not tell of it yet, though they may tell of another log of its name.
    pub(super) fn is_new(&self) -> bool {
        self.lock().is_new
    }

    /// Regular upkeep: forgets silent producers, removes files of deleted segments, and closes the files of a log that has not been used
    /// since the last call.
    pub fn maintain(&self, now: Now) -> Result<(), DiskError> {
        let expiration_ms = self.settings().producer_id_expiration_ms;
        {
            let mut state = self.lock();
            state.producers.remove_expired(now.wall, expiration_ms);
            state.troubles.clear();
            let is_online = state.status == LogStatus::Online;
            if std::mem::replace(&mut state.is_idle, true) && is_online && !state.owes_sync() {
                state.segments.values_mut().for_each(LogSegment::close);
            }
        }
        self.remove_deleted_files(now)
    }
}

impl LogState {
    fn move_to(&mut self, directory: &Arc<Path>) {
        self.directory = Arc::clone(directory);
        self.segments.values_mut().for_each(|segment| segment.move_to(directory));
        self.producers.move_to(Arc::clone(directory));
        self.epochs.move_to(directory);
    }
}
