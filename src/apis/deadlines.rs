//! The next deadline of all that is parked, and the wake of the role that watches it when a nearer one comes.
//!
//! It must not know what is parked.

use std::sync::Arc;

use super::sync::{AtomicU64, Ordering};
use crate::env::Wake;
use crate::types::Instant;

/// The instant until which the expiry role sleeps.
pub(crate) struct Deadlines {
    /// `u64::MAX` while the role is awake or sleeps without a deadline: every new deadline then wakes it.
    armed: AtomicU64,
    expiry: Arc<dyn Wake>,
}

impl Deadlines {
    pub(crate) fn new(expiry: Arc<dyn Wake>) -> Deadlines {
        Deadlines { armed: AtomicU64::new(u64::MAX), expiry }
    }

    /// Says that something is parked until `deadline`.
    pub(crate) fn add(&self, deadline: Instant) {
        if deadline.0 < self.armed.load(Ordering::SeqCst) {
            self.expiry.wake();
        }
    }

    /// Called by the expiry role before it looks for the next deadline: from here on every new one wakes it.
    pub(crate) fn disarm(&self) {
        self.armed.store(u64::MAX, Ordering::SeqCst);
    }

    /// Called with the deadline that it found, before it sleeps. One that was added in between has woken it already.
    pub(crate) fn arm(&self, deadline: Option<Instant>) {
        self.armed.store(deadline.map_or(u64::MAX, |deadline| deadline.0), Ordering::SeqCst);
    }
}
