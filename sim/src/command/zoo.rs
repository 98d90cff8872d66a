//! `zoo`: how many seeds it takes to find each planted bug.
//!
//! It must not know how a bug is planted or found.

use std::collections::BTreeMap;

use clap::Args;
use klamm::zoo::{Bug, plant};
use klamm_sim::WorldOptions;
use klamm_sim::run::run;
use serde::Serialize;

use super::exit::Exit;
use super::refuse;
use super::shrunk_sizes::{ShrunkGates, ShrunkSizes};

/// Seeds of different trials never meet.
const TRIAL_STRIDE: u64 = 1_000_000;

/// The options of `zoo`.
#[derive(Args)]
pub(super) struct Options {
    /// Only the bug with this name.
    #[arg(long)]
    bug: Option<String>,
    /// How often each bug is looked for, each time with seeds of its own.
    #[arg(long, default_value_t = 30)]
    trials: u64,
    /// How many seeds a trial has at most.
    #[arg(long, default_value_t = 5_000)]
    seeds: u64,
    /// A bug that has taken so many seeds is looked for no more: bugs that are found soon have all their trials, the others one or two.
    #[arg(long, default_value_t = u64::MAX)]
    seeds_enough: u64,
    /// Shrinks the first finding of each trial, and tells how small it gets.
    #[arg(long)]
    shrink: bool,
    /// Prints one object instead of a table.
    #[arg(long)]
    json: bool,
}

/// What `--json` prints: each bug by its name, and how small all findings got.
#[derive(Serialize)]
struct Json<'a> {
    #[serde(flatten)]
    bugs: &'a BTreeMap<&'static str, Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shrunk: Option<ShrunkGates>,
}

/// What came of one bug.
#[derive(Serialize)]
struct Row {
    family: &'static str,
    found: u64,
    trials: u64,
    /// Tenths of seeds, in the mean.
    mean_seeds_tenths: u64,
    worst_seeds: u64,
    first_finding: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    shrunk: Option<ShrunkSizes>,
}

impl Options {
    pub(super) fn obey(self) -> Exit {
        let wanted = |bug: &&Bug| self.bug.as_deref().is_none_or(|only| bug.name() == only.replace('_', " "));
        let bugs: Vec<Bug> = Bug::ALL.iter().filter(wanted).copied().collect();
        if bugs.is_empty() {
            let names: Vec<&str> = Bug::ALL.iter().map(|bug| bug.name()).collect();
            return refuse(&format!("no such bug; there are: {}", names.join(", ")));
        }
        if !self.json {
            println!("{:<11} {:<44} {:>7} {:>8} {:>7}  first finding", "family", "bug", "found", "mean", "worst");
        }
        let mut rows = BTreeMap::new();
        for bug in bugs {
            let row = self.visit(bug);
            if !self.json {
                let mean = format!("{}.{}", row.mean_seeds_tenths / 10, row.mean_seeds_tenths % 10);
                let found = format!("{}/{}", row.found, row.trials);
                let example: String = row.first_finding.chars().take(60).collect();
                println!(
                    "{:<11} {:<44} {found:>7} {mean:>8} {:>7}  {example}",
                    row.family,
                    bug.name(),
                    row.worst_seeds
                );
                row.shrunk.iter().filter(|_| row.found > 0).for_each(ShrunkSizes::say);
            }
            rows.insert(bug.name(), row);
        }
        let shrunk =
            self.shrink.then(|| ShrunkSizes::of_all(rows.values().filter_map(|row| row.shrunk.as_ref())).gates());
        if self.json {
            let json = Json { bugs: &rows, shrunk };
            println!("{}", serde_json::to_string_pretty(&json).expect("plain numbers and names are JSON"));
        } else if let Some(shrunk) = shrunk {
            shrunk.say();
        }
        if rows.values().all(|row| row.found == row.trials) { Exit::Ok } else { Exit::Invariant }
    }

    fn visit(&self, bug: Bug) -> Row {
        let (mut found, mut trials, mut taken): (Vec<Finding>, _, _) = (Vec::new(), 0, 0);
        while trials < self.trials && taken < self.seeds_enough {
            let finding = find(bug, trials, self.seeds);
            trials += 1;
            taken += finding.as_ref().map_or(self.seeds, |finding| finding.seeds);
            found.extend(finding);
        }
        let count = found.len() as u64;
        let total: u64 = found.iter().map(|finding| finding.seeds).sum();
        Row {
            family: bug.family().name(),
            found: count,
            trials,
            mean_seeds_tenths: (total * 10).checked_div(count).unwrap_or(0),
            worst_seeds: found.iter().map(|finding| finding.seeds).max().unwrap_or(0),
            first_finding: found.first().map(|finding| finding.said.clone()).unwrap_or_default(),
            shrunk: self.shrink.then(|| ShrunkSizes::of(bug, found.iter().map(|finding| finding.seed))),
        }
    }
}

/// A planted bug, found.
struct Finding {
    /// How many seeds it took.
    seeds: u64,
    seed: u64,
    said: String,
}

/// Looks for a planted bug. A seed that fails without it too has found another one.
fn find(bug: Bug, trial: u64, seeds: u64) -> Option<Finding> {
    (0..seeds).find_map(|index| {
        let seed = (trial + 1) * TRIAL_STRIDE + index;
        plant(Some(bug));
        let report = run(WorldOptions::from_seed(seed));
        let violation = report.violations.first()?;
        plant(None);
        let is_clean = run(WorldOptions::from_seed(seed)).violations.is_empty();
        is_clean.then(|| Finding { seeds: index + 1, seed, said: violation.to_string() })
    })
}
