//! `replay`: a capsule, again.
//!
//! It must not know how a run works.

use std::path::PathBuf;

use clap::Args;
use klamm_sim::run::run;

use super::bug::plant;
use super::exit::Exit;
use super::log_lines::LogLines;
use super::shrink::load;
use super::{refuse, refuse_file};

/// The options of `replay`.
#[derive(Args)]
pub(super) struct Options {
    /// The capsule.
    file: PathBuf,
    /// Shows what the broker logs.
    #[arg(long)]
    log: bool,
}

impl Options {
    pub(super) fn obey(self) -> Exit {
        let capsule = match load(&self.file) {
            Ok(capsule) => capsule,
            Err(reason) => return refuse_file(&reason),
        };
        if let Err(reason) = plant(capsule.bug.as_deref()) {
            return refuse(&reason);
        }
        let scenario = capsule.scenario.clone();
        let report =
            if self.log { tracing::subscriber::with_default(LogLines, || run(scenario)) } else { run(scenario) };
        for violation in &report.violations {
            println!("  {violation}");
        }
        let stale = capsule.stale_faults(&report);
        if stale > 0 {
            println!("stale: {stale} of its {} faults do not fire any more", capsule.faults().count());
        }
        let is_same_run = report.hash == capsule.hash;
        let found = report.violations.first();
        let verdict = match found.map(|violation| violation.identity() == capsule.violation) {
            Some(true) if is_same_run => "the same run, the same violation",
            Some(true) => "another run, the same violation",
            Some(false) => "another violation",
            None => "no violation",
        };
        println!("{verdict}: seed={} events={} hash={:016x}", report.seed, report.events, report.hash);
        match found {
            Some(violation) if violation.identity() == capsule.violation => Exit::of(violation),
            Some(_) => Exit::Differs,
            None => Exit::Ok,
        }
    }
}
