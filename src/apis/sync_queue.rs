//! Whose bytes must reach the disk before somebody is answered: the logs that the next sync covers.
//!
//! It must not know who waits, nor how a sync is run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::replica_manager::LogKey;
use crate::env::Wake;
use crate::log::{SyncPoint, UnifiedLog};

/// Logs that want a sync.
pub(crate) struct SyncQueue {
    wanted: Mutex<BTreeMap<LogKey, Arc<UnifiedLog>>>,
    flusher: Arc<dyn Wake>,
}

/// A sync that runs: what it will have covered.
#[derive(Debug)]
pub struct SyncRound {
    pub(super) covered: Vec<(LogKey, Arc<UnifiedLog>, SyncPoint)>,
    /// Logs that cannot be synced: those who wait for them wait in vain.
    pub(super) lost: Vec<LogKey>,
}

impl SyncQueue {
    pub(crate) fn new(flusher: Arc<dyn Wake>) -> SyncQueue {
        SyncQueue { wanted: Mutex::new(BTreeMap::new()), flusher }
    }

    /// Asks for a sync of `log`.
    pub(crate) fn want(&self, key: LogKey, log: &Arc<UnifiedLog>) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = wanted.is_empty();
        wanted.entry(key).or_insert_with(|| Arc::clone(log));
        drop(wanted);
        if is_first {
            self.flusher.wake();
        }
    }

    /// Has the flusher look.
    pub(crate) fn wake(&self) {
        self.flusher.wake();
    }

    /// Takes all that want a sync.
    pub(crate) fn take(&self) -> BTreeMap<LogKey, Arc<UnifiedLog>> {
        std::mem::take(&mut *self.wanted.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
