//! What an active role is to the driver that runs it: one quantum of work at a time, never a wait.
//!
//! It must not know threads or the simulator's scheduler.

use crate::env::{DiskError, SyncJob};
use crate::types::{Instant, Now};

/// What a step says to its driver.
#[derive(Debug)]
pub enum Step {
    /// Something was done; step again soon.
    Worked,
    /// Nothing to do until a wake, or until this instant.
    Idle {
        /// The role's next deadline, if it has one.
        until: Option<Instant>,
    },
    /// The driver is to run this sync and to hand its outcome to [`Role::job_done`]; other roles go on meanwhile.
    Job(SyncJob),
    /// The role cannot go on, nor can the broker: its process must end, as after a failed sync.
    Stopped,
}

/// An active part of the broker that owns no socket (Acceptor and Processor have their own drivers, since they poll).
pub trait Role: Send {
    /// A stable name, for thread names and traces.
    fn name(&self) -> String;

    /// Does one quantum of work. Never waits for a peer, another role or a sync.
    fn step(&mut self, now: Now) -> Step;

    /// Takes the outcome of the last [`Step::Job`].
    fn job_done(&mut self, _now: Now, _result: Result<(), DiskError>) {}
}
