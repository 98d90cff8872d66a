//! One partition as requests see it: which topic it belongs to, its log, and in which epoch this broker leads it.
//!
//! It must not know what a request wants.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use super::replica_manager::LogKey;
use crate::error_code::ErrorCode;
use crate::log::UnifiedLog;
use crate::types::LeaderEpoch;

/// What a request says in place of a leader epoch if its client knows none.
const NO_LEADER_EPOCH: i32 = -1;

/// A partition with its log.
#[derive(Debug)]
pub(crate) struct Partition {
    /// Its topic's id and its number.
    pub(crate) key: LogKey,
    /// Where its records are.
    pub(crate) log: Arc<UnifiedLog>,
    leader_epoch: AtomicI32,
}

impl Partition {
    /// A partition that nobody leads yet.
    pub(crate) fn new(key: LogKey, log: Arc<UnifiedLog>) -> Partition {
        Partition { key, log, leader_epoch: AtomicI32::new(0) }
    }

    /// This broker leads it in `epoch`, as the metadata say.
    pub(crate) fn become_leader(&self, epoch: LeaderEpoch) {
        self.log.become_leader(epoch);
        self.leader_epoch.store(epoch.0, Ordering::Release);
    }

    /// The epoch in which this broker leads it: the one that clients are told.
    pub(crate) fn leader_epoch(&self) -> LeaderEpoch {
        LeaderEpoch(self.leader_epoch.load(Ordering::Acquire))
    }

    /// Refuses a client whose metadata are older or newer than this broker's (KIP-320); -1 is not checked.
    pub(crate) fn check_leader_epoch(&self, epoch: i32) -> Result<(), ErrorCode> {
        let current = self.leader_epoch().0;
        match epoch {
            NO_LEADER_EPOCH => Ok(()),
            _ if epoch < current => Err(ErrorCode::FencedLeaderEpoch),
            _ if epoch > current => Err(ErrorCode::UnknownLeaderEpoch),
            _ => Ok(()),
        }
    }
}
