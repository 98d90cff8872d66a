//! Group commit: which files are owed a sync, how far the log is on disk, and what that does to the high watermark.
//!
//! It must not run a sync itself: it hands out what a driver is to sync, and takes the outcome. No lock is held in between.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::env::{DiskError, DiskFile, SyncJob};
use crate::log::leader_epoch_cache::WrittenEpochs;
use crate::log::unified_log::{LogOffsetMetadata, LogState, LogStatus, UnifiedLog};
use crate::marks::Mark;
use crate::types::{Now, Offset};
use crate::zoo::{self, Bug};

/// So many files and directories are synced one by one, which leaves alone what others write to the disk. For more, one sync of the whole
/// file system costs less: for six files a third of the processor's time of six syncs on four threads, and less time on the clock.
const SYNCED_ONE_BY_ONE_MAX: usize = 2;

/// What is to be synced so that the log is on disk up to `end`.
#[derive(Clone, Debug)]
pub struct SyncPoint {
    /// The files.
    pub files: Vec<Arc<dyn DiskFile>>,
    /// The directories with new names, to be synced after the files.
    pub directories: Vec<PathBuf>,
    /// Everything below this offset is on disk when the sync has succeeded.
    pub end: Offset,
    /// The log directory in which all of them lie.
    log_directory: Arc<Path>,
    /// What is owed up to this number is covered.
    number: u64,
    /// The count of changes of the leader epochs whose file is among the files.
    epochs: Option<u64>,
}

impl SyncPoint {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.directories.is_empty()
    }

    /// The cheapest job that covers several points. It touches no log directory but theirs.
    pub fn job<'a>(points: impl Iterator<Item = &'a SyncPoint>) -> SyncJob {
        let (mut files, mut directories, mut roots) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for point in points.filter(|point| !point.is_empty()) {
            files.extend(point.files.iter().cloned());
            directories.extend(point.directories.iter().cloned());
            roots.insert(point.log_directory.to_path_buf());
            roots.extend(point.directories_elsewhere().cloned());
        }
        if files.len() + directories.len() <= SYNCED_ONE_BY_ONE_MAX {
            SyncJob::Files { files, directories: directories.into_iter().collect() }
        } else {
            SyncJob::All(roots.into_iter().collect())
        }
    }

    /// Directories that a sync of its own log directory does not reach.
    fn directories_elsewhere(&self) -> impl Iterator<Item = &PathBuf> {
        self.directories.iter().filter(|directory| !directory.starts_with(&self.log_directory))
    }
}

/// A file that is owed a sync.
#[derive(Debug)]
struct OwedFile {
    number: u64,
    /// The segment it belongs to, if it goes with one.
    segment: Option<Offset>,
    file: Arc<dyn DiskFile>,
}

/// What a log knows about its syncs.
#[derive(Debug)]
pub(super) struct SyncState {
    durable_end: Offset,
    recovery_point: Offset,
    /// Files and directories that are owed a sync, each with the number of the point that first covers it.
    files: Vec<OwedFile>,
    directories: Vec<(u64, Arc<Path>)>,
    next_number: u64,
    /// Starts of appends that may not be seen before they are on disk, in order.
    hidden: VecDeque<LogOffsetMetadata>,
    /// When the oldest append that is not on disk happened.
    unsynced_since: Option<Now>,
}

impl SyncState {
    /// A log that is wholly on disk.
    pub(super) fn new(end: Offset) -> SyncState {
        SyncState {
            durable_end: end,
            recovery_point: end,
            files: Vec::new(),
            directories: Vec::new(),
            next_number: 0,
            hidden: VecDeque::new(),
            unsynced_since: None,
        }
    }

    /// The offset up to which everything is on disk.
    pub(super) fn durable_end(&self) -> Offset {
        self.durable_end
    }

    /// The offset from which on a recovery has to read; Kafka's recovery point.
    pub(super) fn recovery_point(&self) -> Offset {
        self.recovery_point
    }

    /// These files, which go with `segment` if there is one, have to be part of the next sync.
    pub(super) fn owe_files(&mut self, segment: Option<Offset>, files: impl IntoIterator<Item = Arc<dyn DiskFile>>) {
        let number = self.next_number;
        self.files.extend(files.into_iter().map(|file| OwedFile { number, segment, file }));
    }

    /// The files of this segment are about to be removed, and owe nothing. The directory from which they go has to be owed.
    pub(super) fn forget_segment(&mut self, segment: Offset) {
        self.files.retain(|owed| owed.segment != Some(segment));
    }

    /// Whether a sync would change what is known to be on disk of a log that ends at `end`.
    fn is_owed(&self, end: Offset) -> bool {
        self.recovery_point < end || !self.files.is_empty() || !self.directories.is_empty()
    }

    /// This directory has to be part of the next sync.
    pub(super) fn owe_directory(&mut self, directory: Arc<Path>) {
        if !self.directories.iter().any(|(number, owed)| *number == self.next_number && *owed == directory) {
            self.directories.push((self.next_number, directory));
        }
    }

    /// Whether this directory has to be part of the next sync.
    pub(super) fn owes_directory(&self, directory: &Path) -> bool {
        self.directories.iter().any(|(_, owed)| **owed == *directory)
    }

    /// An append at `start` happened, which must stay unseen until it is on disk if `is_hidden`.
    pub(super) fn note_append(&mut self, now: Now, start: LogOffsetMetadata, is_hidden: bool) {
        self.unsynced_since.get_or_insert(now);
        if is_hidden {
            Mark::RecordsHidden.reached();
            self.hidden.push_back(start);
        }
    }

    /// The first append that must stay unseen.
    pub(super) fn first_hidden(&self) -> Option<LogOffsetMetadata> {
        self.hidden.front().copied()
    }

    /// Everything up to `end` was synced at once, with all names.
    pub(super) fn note_all_synced(&mut self, end: Offset) {
        self.files.clear();
        self.directories.clear();
        self.hidden.clear();
        self.unsynced_since = None;
        (self.durable_end, self.recovery_point) = (end, end);
    }

    fn point(&mut self, log_directory: Arc<Path>, end: Offset) -> SyncPoint {
        let number = self.next_number;
        self.next_number += 1;
        SyncPoint {
            files: self.files.iter().map(|owed| Arc::clone(&owed.file)).collect(),
            directories: self.directories.iter().map(|(_, directory)| directory.to_path_buf()).collect(),
            end,
            log_directory,
            number,
            epochs: None,
        }
    }

    fn cover(&mut self, point: &SyncPoint) {
        self.files.retain(|owed| owed.number > point.number);
        self.directories.retain(|(number, _)| *number > point.number);
        self.durable_end = self.durable_end.max(point.end);
        if point.epochs.is_none() {
            // Else the leader epochs have yet to take the place of the old file: the next point finds that done.
            self.recovery_point = self.recovery_point.max(point.end);
        }
        while self.hidden.front().is_some_and(|start| start.offset < self.durable_end) {
            self.hidden.pop_front();
        }
    }
}

impl LogState {
    /// Whether there is anything that a sync would make durable: records, indexes, names, leader epochs.
    pub(super) fn owes_sync(&self) -> bool {
        self.status == LogStatus::Online && (self.sync.is_owed(self.end.offset) || self.epochs.is_behind())
    }

    /// Sets the high watermark: the log's end, or the first append that must stay unseen.
    pub(super) fn advance_high_watermark(&mut self) {
        let hidden = self.sync.first_hidden().filter(|_| !zoo::is(Bug::HighWatermarkBeforeFsync));
        self.high_watermark = hidden.unwrap_or(self.end);
        self.producers.high_watermark_moved(self.high_watermark.offset);
    }
}

impl UnifiedLog {
    /// What to sync now. Appends go on meanwhile; they are not covered. A log that takes no appends has nothing to sync.
    pub fn sync_point(&self) -> Result<SyncPoint, DiskError> {
        let mut state = self.lock();
        let end = state.end.offset;
        let is_online = state.status == LogStatus::Online;
        let active = if is_online && end > state.sync.durable_end { Some(state.active().file()?) } else { None };
        let mut point = state.sync.point(self.log_directory(), end);
        if is_online {
            point.files.extend(active);
            match state.epochs.write_beside() {
                Ok(None) => {}
                Ok(Some(WrittenEpochs { file, changes })) => {
                    point.files.push(file);
                    point.epochs = Some(changes);
                }
                // A full disk must not keep records from being synced; a recovery finds the epochs in the batches.
                Err(_) => point.epochs = Some(u64::MAX),
            }
        } else {
            (point.files, point.directories) = (Vec::new(), Vec::new());
            point.end = state.sync.durable_end;
        }
        state.sync.unsynced_since = None;
        Ok(point)
    }

    /// Takes note that the sync of `point` succeeded: moves the durable end, and with it the high watermark.
    pub fn synced(&self, point: &SyncPoint) {
        let mut state = self.lock();
        if state.status != LogStatus::Online {
            return;
        }
        state.sync.cover(point);
        if point.end < state.end.offset {
            Mark::SyncedBehind.reached();
        }
        if let Some(epochs) = point.epochs {
            match state.epochs.replace(epochs) {
                Ok(true) => {
                    let directory = Arc::clone(&state.directory);
                    state.sync.owe_directory(directory);
                }
                Ok(false) => {}
                Err(error) => {
                    Mark::EpochsNotReplaced.reached();
                    self.go_offline(&mut state, &error);
                }
            }
        }
        state.advance_high_watermark();
        self.publish(&state);
    }

    /// Takes note that a sync failed: nobody knows what is on disk, so the log goes offline for good.
    pub fn sync_failed(&self) {
        self.set_status(&mut self.lock(), LogStatus::Offline);
    }

    /// Whether `flush.messages` or `flush.ms` ask for a sync now.
    pub fn is_sync_due(&self, now: Now) -> bool {
        let settings = self.settings();
        let state = self.lock();
        let waited_ms = state.sync.unsynced_since.map_or(0, |since| now.instant.since(since.instant).as_millis());
        let records = state.end.offset.0 - state.sync.durable_end.0;
        state.sync.unsynced_since.is_some()
            && (records >= settings.flush_messages || waited_ms >= u128::try_from(settings.flush_ms).unwrap_or(0))
    }
}
