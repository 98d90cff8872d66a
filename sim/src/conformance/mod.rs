//! The contract of the doors, clause by clause: written once, run on the real makers and on the simulated ones.
//!
//! It must not know mio or files. The simulated makers may never be kinder than the real ones, so what a clause demands it demands
//! of both; what only a simulated machine can show (a power cut, a full disk, an exact edge) stands in a table of its own. Each
//! clause names a planted flaw that it must catch.

mod accepting;
mod bench;
mod clocks;
mod crashes;
mod ends;
mod files;
mod makers;
mod medium;
mod readiness;
mod registering;
mod sending;
mod streams;
mod troubles;

use std::io;

use klamm::env::DiskError;

use crate::flaw::Flaw;

pub use makers::{Makers, Patience, Peer, SimMakers, SimPeer, Worlds};

/// Why a clause does not hold.
#[derive(Debug)]
pub struct Failure(pub String);

impl From<String> for Failure {
    fn from(sentence: String) -> Failure {
        Failure(sentence)
    }
}

impl From<&str> for Failure {
    fn from(sentence: &str) -> Failure {
        Failure(sentence.to_owned())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure(format!("unexpected error: {error}"))
    }
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Failure {
        Failure(format!("unexpected error: {error}"))
    }
}

/// Whether a clause holds.
pub type Outcome = Result<(), Failure>;

/// A clause of the contract that holds for every maker.
pub struct Clause<M> {
    /// Its name: the function that checks it.
    pub name: &'static str,
    /// What it demands.
    pub sentence: &'static str,
    /// A planted flaw that it catches.
    pub flaw: Flaw,
    /// Checks it on fresh makers.
    pub check: fn(&mut M) -> Outcome,
}

/// A clause that only simulated makers can be asked.
pub struct SimulatedClause {
    /// Its name: the function that checks it.
    pub name: &'static str,
    /// What it demands.
    pub sentence: &'static str,
    /// A planted flaw that it catches.
    pub flaw: Flaw,
    /// Checks it on worlds of its choice.
    pub check: fn(&Worlds) -> Outcome,
}

/// Every clause that holds for every maker.
pub fn clauses<M: Makers>() -> Vec<Clause<M>> {
    let mut clauses = accepting::clauses();
    clauses.extend(readiness::clauses());
    clauses.extend(registering::clauses());
    clauses.extend(streams::clauses());
    clauses.extend(ends::clauses());
    clauses.extend(sending::clauses());
    clauses.extend(files::clauses());
    clauses.extend(clocks::clauses());
    clauses
}

/// Every clause that only simulated makers can be asked.
pub fn simulated_clauses() -> Vec<SimulatedClause> {
    let mut clauses = crashes::simulated_clauses();
    clauses.extend(troubles::simulated_clauses());
    clauses.extend(clocks::simulated_clauses());
    clauses
}

/// Returns a failure unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($sentence:tt)+) => {
        if !$condition {
            return Err($crate::conformance::Failure(format!($($sentence)+)));
        }
    };
}

/// A table of clauses: the function that checks, the flaw that it catches, the sentence.
macro_rules! table {
    ($kind:ident: $($name:ident, $flaw:ident, $sentence:literal;)*) => {
        vec![$($kind { name: stringify!($name), sentence: $sentence, flaw: Flaw::$flaw, check: $name },)*]
    };
}

pub(crate) use {ensure, table};
