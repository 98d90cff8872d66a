//! `shrink`: a smaller capsule of a failing seed or capsule.
//!
//! It must not know how shrinking works.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use klamm_sim::capsule::Capsule;
use klamm_sim::run::run;
use klamm_sim::shrink::{NotShrunk, shrink};
use klamm_sim::{Profile, Scenario};

use super::bug::plant;
use super::exit::Exit;
use super::host::{Stopwatch, read, write};
use super::{made_by, profiles, refuse, refuse_file, seed};

/// For how long runs are begun, and how many: five seconds in all, since a run that is stuck takes half of one.
const TIME_MAX: Duration = Duration::from_millis(4_400);
const RUNS_MAX: u32 = 2_000;

/// The options of `shrink`.
#[derive(Args)]
pub(super) struct Options {
    /// A capsule, or a seed.
    what: String,
    /// Where the smaller capsule is written.
    #[arg(short, long)]
    out: Option<PathBuf>,
    /// What kind of run the seed is for.
    #[arg(long, default_value = Profile::Swarm.name(), value_parser = profiles())]
    profile: String,
    /// Plants this bug first; a capsule names its own.
    #[arg(long)]
    bug: Option<String>,
}

impl Options {
    pub(super) fn obey(self) -> Exit {
        let Some(profile) = Profile::from_name(&self.profile) else { return refuse("there is no such profile") };
        let (scenario, bug) = match scenario(&self.what, profile, self.bug) {
            Ok(found) => found,
            Err(reason) => return refuse(&reason),
        };
        if let Err(reason) = plant(bug.as_deref()) {
            return refuse(&reason);
        }
        let out = self.out.unwrap_or_else(|| format!("capsules/{}.capsule", scenario.seed()).into());
        match write_capsule(scenario, bug, &out) {
            Ok(path) => {
                println!("again: cargo sim replay {}", path.display());
                Exit::Ok
            }
            Err(NotKept::NotShrunk(NotShrunk::Sound)) => {
                eprintln!("{}", NotShrunk::Sound);
                Exit::Vacuous
            }
            Err(reason @ NotKept::NotShrunk(NotShrunk::NotByName)) => {
                eprintln!("{reason}");
                Exit::Differs
            }
            Err(NotKept::Said(reason)) => refuse_file(&reason),
        }
    }
}

/// Why there is no capsule.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotKept {
    #[error(transparent)]
    NotShrunk(#[from] NotShrunk),
    #[error("{0}")]
    Said(String),
}

/// The scenario of a capsule's file, or of a seed, and the bug that is to be planted.
pub(super) fn scenario(
    what: &str,
    profile: Profile,
    bug: Option<String>,
) -> Result<(Scenario, Option<String>), String> {
    match seed::parse(what) {
        Ok(seed) => Ok((Scenario::new(profile, seed), bug)),
        Err(_) => load(Path::new(what)).map(|capsule| (capsule.scenario, bug.or(capsule.bug))),
    }
}

/// The capsule in this file.
pub(super) fn load(path: &Path) -> Result<Capsule, String> {
    Capsule::from_text(&read(path)?).map_err(|error| format!("{} is no capsule: {error}", path.display()))
}

/// Shrinks a scenario and writes its capsule to `path`. What else is found on the way gets a capsule beside it.
pub(super) fn write_capsule(scenario: Scenario, bug: Option<String>, path: &Path) -> Result<PathBuf, NotKept> {
    let stopwatch = Stopwatch::start();
    let shrunk = shrink(scenario, patience(stopwatch))?;
    let mut capsule = Capsule::new(shrunk.scenario, &shrunk.report, made_by()).ok_or(NotShrunk::Sound)?;
    capsule.bug = bug;
    let text = capsule.to_text();
    let again = Capsule::from_text(&text).map_err(|error| NotKept::Said(error.to_string()))?;
    if run(again.scenario).hash != capsule.hash {
        return Err(NotShrunk::NotByName.into());
    }
    write(path, &text).map_err(NotKept::Said)?;
    let operations: u32 = shrunk.report.operations.values().sum();
    let (faults, clients) = (capsule.faults().count(), shrunk.report.operations.len());
    let (runs, seconds) = (shrunk.runs, stopwatch.elapsed().as_secs());
    eprintln!(
        "shrunk: faults={faults} clients={clients} operations={operations} events={} runs={runs} seconds={seconds}",
        capsule.events
    );
    eprintln!("  {}", capsule.said);
    for (identity, _) in shrunk.others {
        eprintln!("  met on the way, and not followed: {identity}");
    }
    Ok(path.to_path_buf())
}

/// Says yes as long as shrinking has time and runs left.
pub(super) fn patience(stopwatch: Stopwatch) -> impl FnMut() -> bool {
    let mut runs = 0;
    move || {
        runs += 1;
        runs <= RUNS_MAX && stopwatch.elapsed() < TIME_MAX
    }
}
