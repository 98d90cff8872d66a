//! Folders of deleted logs on their way out: moved to another name, then removed when their delay is over.
//!
//! It must not know why a log is deleted.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::env::{Disk, DiskError};
use crate::log::unified_log::UnifiedLog;
use crate::marks::Mark;
use crate::types::{Instant, TopicPartition};
use crate::zoo::{self, Bug};

/// A log that is deleted and whose folder is to be moved.
#[derive(Clone, Debug)]
pub(super) struct DeletedLog {
    /// The log.
    pub(super) log: Arc<UnifiedLog>,
    /// Where its folder goes.
    pub(super) to: PathBuf,
    /// When that may be removed; `None` if it stays there.
    pub(super) due: Option<Instant>,
}

/// All that wait.
#[derive(Debug, Default)]
pub(super) struct DeletedFolders {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Those that could not be moved yet.
    unmoved: Vec<DeletedLog>,
    /// Moved folders, and when they may be removed.
    moved: Vec<(Instant, PathBuf)>,
    /// The log directory of each move that a power cut may still undo.
    unsynced: Vec<Arc<Path>>,
}

impl DeletedFolders {
    /// Nothing but folders that an earlier run has moved.
    pub(super) fn new(moved: Vec<(Instant, PathBuf)>) -> DeletedFolders {
        DeletedFolders { state: Mutex::new(State { moved, ..State::default() }) }
    }

    /// Takes the log out of use and moves its folder. After an error that is tried again.
    pub(super) fn add(&self, deleted: DeletedLog) -> Result<(), DiskError> {
        let DeletedLog { log, to, due } = &deleted;
        let moved = log.delete(to);
        let mut state = self.state();
        match moved {
            Ok(()) => {
                state.moved.extend(due.map(|due| (due, to.clone())));
                state.unsynced.push(log.log_directory());
            }
            Err(_) => state.unmoved.push(deleted),
        }
        moved
    }

    /// Tries again to move what could not be moved, of one partition or of all.
    pub(super) fn move_again(&self, partition: Option<&TopicPartition>) -> Result<(), DiskError> {
        let is_wanted = |deleted: &DeletedLog| partition.is_none_or(|wanted| deleted.log.topic_partition() == wanted);
        let (wanted, others) = std::mem::take(&mut self.state().unmoved).into_iter().partition(is_wanted);
        let wanted: Vec<DeletedLog> = wanted;
        self.state().unmoved.extend::<Vec<DeletedLog>>(others);
        let mut result = Ok(());
        for deleted in wanted {
            result = result.and(self.add(deleted));
        }
        result
    }

    /// Removes the folders whose delay is over. One that cannot be removed is tried again by the next call, and holds up no other.
    pub(super) fn remove_due(&self, disk: &dyn Disk, now: Instant) -> Result<(), DiskError> {
        let mut result = Ok(());
        for folder in self.take_due(now) {
            Mark::FolderRemoved.reached();
            // Not under the lock: there may be much in it.
            match disk.remove_directory(&folder.1) {
                Err(error) if !error.is_not_found() => {
                    self.state().moved.push(folder);
                    result = result.and(Err(error));
                }
                _ => {}
            }
        }
        result
    }

    fn take_due(&self, now: Instant) -> Vec<(Instant, PathBuf)> {
        let mut state = self.state();
        let is_due = |due: Instant| due <= now || zoo::is(Bug::DeletedFolderGoes);
        let is_due = |due: Instant| is_due(due) && !zoo::is(Bug::DeletedFolderStays);
        let (due, waiting) = std::mem::take(&mut state.moved).into_iter().partition(|(due, _)| is_due(*due));
        state.moved = waiting;
        due
    }

    /// The log directories with moves that a power cut may still undo. A partition that is made anew is on disk only when they are, lest
    /// there be two of it.
    pub(super) fn unsynced(&self) -> BTreeSet<Arc<Path>> {
        self.state().unsynced.iter().cloned().collect()
    }

    /// How many moves there were since the last [`DeletedFolders::synced`].
    pub(super) fn moves(&self) -> usize {
        self.state().unsynced.len()
    }

    /// Takes note that every log directory was synced since there were so many moves.
    pub(super) fn synced(&self, moves: usize) {
        self.state().unsynced.drain(..moves);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while the list is locked: an assertion aborts")
    }
}
