//! How the command ends: one status per class, so that a script knows what happened without reading.
//!
//! It must not know what was run.

use std::process::ExitCode;

use klamm_sim::checker::{Violation, ViolationClass};

/// The statuses, for `--help`.
pub(super) const TABLE: &str = "Exit status: 0 all is well, 2 the command line makes no sense, 10 a broken invariant, 11 a run that is stuck, \
12 a panic, 13 two runs of one seed differ, or a capsule shows another violation than its own, 14 nothing was shown, 15 the time was up before the seeds were done, \
16 a file cannot be read or written.";

/// How the command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Ok = 0,
    Usage = 2,
    Invariant = 10,
    Liveness = 11,
    Panic = 12,
    Differs = 13,
    Vacuous = 14,
    OutOfTime = 15,
    File = 16,
}

impl Exit {
    /// The status of a run with this violation.
    pub(super) fn of(violation: &Violation) -> Exit {
        match violation.class() {
            ViolationClass::Invariant => Exit::Invariant,
            ViolationClass::Liveness => Exit::Liveness,
            ViolationClass::Panic => Exit::Panic,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
