//! Whose bytes must reach the disk before somebody is answered: the logs that the next sync covers.
//!
//! It must not know who waits, nor how a sync is run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::replica_manager::LogKey;
use crate::env::Wake;
use crate::log::{SyncPoint, UnifiedLog};

/// Logs that want a sync.
pub(crate) struct SyncQueue {
    state: Mutex<State>,
    flusher: Arc<dyn Wake>,
}

#[derive(Default)]
struct State {
    wanted: BTreeMap<LogKey, Arc<UnifiedLog>>,
    /// The next sync covers all that is written, too.
    with_all: bool,
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

    /// Asks for one sync of all these logs. Whoever needs several asks once: a flusher that hears of them one by one would begin with the
    /// first, and the rest would wait for a second sync.
    pub(crate) fn want<'a>(&self, logs: impl IntoIterator<Item = (LogKey, &'a Arc<UnifiedLog>)>) {
        self.want_more(logs, false);
    }

    /// Asks for a sync of `log`, and of all else that is written by then: for what tells of other logs, like the offsets that a
    /// consumer has read up to. After a power cut no such tale that anybody was told goes beyond what it tells of; one that was still on
    /// its way may.
    pub(crate) fn want_with_all(&self, key: LogKey, log: &Arc<UnifiedLog>) {
        self.want_more([(key, log)], true);
    }

    fn want_more<'a>(&self, logs: impl IntoIterator<Item = (LogKey, &'a Arc<UnifiedLog>)>, with_all: bool) {
        let mut state = self.state();
        let was_empty = state.wanted.is_empty();
        for (key, log) in logs {
            state.wanted.entry(key).or_insert_with(|| Arc::clone(log));
        }
        state.with_all |= with_all;
        let is_first = was_empty && !state.wanted.is_empty();
        drop(state);
        if is_first {
            self.flusher.wake();
        }
    }

    /// Has the flusher look.
    pub(crate) fn wake(&self) {
        self.flusher.wake();
    }

    /// Takes the logs that want a sync, and says whether all else that is written is to be synced with them.
    pub(crate) fn take(&self) -> (BTreeMap<LogKey, Arc<UnifiedLog>>, bool) {
        let mut state = self.state();
        (std::mem::take(&mut state.wanted), std::mem::take(&mut state.with_all))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
