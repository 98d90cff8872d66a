//! Whose bytes must reach the disk before somebody is answered: the logs that the next sync covers.
//!
//! It must not know who waits, nor how a sync is run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::replica_manager::LogKey;
use crate::env::Wake;
use crate::log::{SyncPoint, UnifiedLog};

/// Logs that want a sync, and logs that would have something to sync.
pub(crate) struct SyncQueue {
    state: Mutex<State>,
    flusher: Arc<dyn Wake>,
}

#[derive(Default)]
struct State {
    wanted: BTreeMap<LogKey, Arc<UnifiedLog>>,
    /// The next sync covers all that is written, too.
    with_all: bool,
    /// Logs with bytes that readers may see before they are on the disk.
    unsynced: BTreeMap<LogKey, Unsynced>,
}

struct Unsynced {
    log: Arc<UnifiedLog>,
    /// Appends that run now: the log may grow any moment, whatever its end is.
    appending: usize,
}

/// A sync that runs: what it will have covered.
#[derive(Debug)]
pub struct SyncRound {
    pub(super) covered: Vec<(LogKey, Arc<UnifiedLog>, SyncPoint)>,
    /// Logs that cannot be synced: those who wait for them wait in vain.
    pub(super) lost: Vec<LogKey>,
}

impl SyncRound {
    /// The logs that it covers, and those that are lost.
    pub(super) fn keys(&self) -> Vec<LogKey> {
        self.covered.iter().map(|(key, _, _)| *key).chain(self.lost.iter().copied()).collect()
    }
}

impl SyncQueue {
    pub(crate) fn new(flusher: Arc<dyn Wake>) -> SyncQueue {
        SyncQueue { state: Mutex::default(), flusher }
    }

    /// Asks for a sync of `log`.
    pub(crate) fn want(&self, key: LogKey, log: &Arc<UnifiedLog>) {
        self.want_more(key, log, false);
    }

    /// Asks for a sync of `log`, and of all else that is written by then: for what tells of other logs, like the offsets that a
    /// consumer has read up to. After a power cut no such tale goes beyond what it tells of.
    pub(crate) fn want_with_all(&self, key: LogKey, log: &Arc<UnifiedLog>) {
        self.want_more(key, log, true);
    }

    fn want_more(&self, key: LogKey, log: &Arc<UnifiedLog>, with_all: bool) {
        let mut state = self.state();
        let is_first = state.wanted.is_empty();
        state.wanted.entry(key).or_insert_with(|| Arc::clone(log));
        state.with_all |= with_all;
        drop(state);
        if is_first {
            self.flusher.wake();
        }
    }

    /// Says that bytes are about to be written to `log` which readers see at once. To be followed by [`SyncQueue::end_append`].
    pub(crate) fn begin_append(&self, key: LogKey, log: &Arc<UnifiedLog>) {
        let mut state = self.state();
        state.unsynced.entry(key).or_insert_with(|| Unsynced { log: Arc::clone(log), appending: 0 }).appending += 1;
    }

    /// Says that the bytes are written, or that they will not be.
    pub(crate) fn end_append(&self, key: LogKey) {
        if let Some(unsynced) = self.state().unsynced.get_mut(&key) {
            unsynced.appending -= 1;
        }
    }

    /// Has the flusher look.
    pub(crate) fn wake(&self) {
        self.flusher.wake();
    }

    /// Takes all that want a sync.
    pub(crate) fn take(&self) -> BTreeMap<LogKey, Arc<UnifiedLog>> {
        let mut state = self.state();
        let mut taken = std::mem::take(&mut state.wanted);
        if std::mem::take(&mut state.with_all) {
            for (key, unsynced) in &state.unsynced {
                taken.entry(*key).or_insert_with(|| Arc::clone(&unsynced.log));
            }
        }
        taken
    }

    /// A sync of these logs has ended: forgets those that are wholly on the disk, or gone.
    pub(crate) fn forget_synced(&self, keys: &[LogKey]) {
        let mut state = self.state();
        for key in keys {
            let is_settled = state.unsynced.get(key).is_some_and(|unsynced| {
                let log = &unsynced.log;
                unsynced.appending == 0 && (log.is_offline() || log.durable_end_offset() >= log.log_end_offset())
            });
            if is_settled {
                state.unsynced.remove(key);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
