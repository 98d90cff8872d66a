//! `zoo`: how many seeds it takes to find each planted bug.
//!
//! It must not know how a bug is planted or found.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use klamm::zoo::{Bug, plant};
use klamm_sim::run::{RunReport, run};
use klamm_sim::{Scenario, WorldOptions};
use serde::Serialize;

use super::exit::Exit;
use super::part::Part;
use super::refuse;
use super::run::parse_duration;
use super::shrunk_sizes::{ShrunkGates, ShrunkSizes};
use super::worth::Walk;

/// Seeds of different trials never meet.
pub(super) const TRIAL_STRIDE: u64 = 1_000_000;
/// How many seeds a trial has at most, and a walk for each bug.
const TRIAL_SEEDS: u64 = 5_000;
const WALK_SEEDS: u64 = 600;

/// The options of `zoo`.
#[derive(Args)]
pub(super) struct Options {
    /// Only the bug with this name; may be given several times.
    #[arg(long, value_name = "NAME")]
    bug: Vec<String>,
    /// Only a part of the bugs, so that several processes can share them: 2/3 is every third one, from the second on.
    #[arg(long, value_name = "I/N", value_parser = parse_shard)]
    shard: Option<Shard>,
    /// How often each bug is looked for, each time with seeds of its own.
    #[arg(long, default_value_t = 30)]
    trials: u64,
    /// How many seeds a trial has at most: 5000, or 600 for each bug with `--oracle` and `--ablation`.
    #[arg(long)]
    seeds: Option<u64>,
    /// A bug that has taken so many seeds is looked for no more: bugs that are found soon have all their trials, the others one or two.
    #[arg(long, default_value_t = u64::MAX)]
    seeds_enough: u64,
    /// Shrinks the first finding of each trial, and tells how small it gets.
    #[arg(long)]
    shrink: bool,
    /// Without this check, by the name of what it finds.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["without_fault", "with_excuse"])]
    without_checker: Option<String>,
    /// Without this fault, or this family of faults.
    #[arg(long, value_name = "NAME", conflicts_with = "with_excuse")]
    without_fault: Option<String>,
    /// With this excuse granted always, so that checks say too little.
    #[arg(long, value_name = "NAME")]
    with_excuse: Option<String>,
    /// Takes each check and each excuse away in turn: which bugs need it, and which clean seeds.
    #[arg(long)]
    oracle: bool,
    /// Takes each fault and each family of faults away in turn: which bugs need it.
    #[arg(long)]
    ablation: bool,
    /// With `--oracle` and `--ablation`: ends after so much time, such as 30s, 10m or 2h.
    #[arg(long, value_parser = parse_duration)]
    budget: Option<Duration>,
    /// With `--oracle` and `--ablation`: keeps what was learnt in this file, a line for each bug, and goes on where it ends; with more seeds also where
    /// a bug was found too seldom.
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,
    /// Prints one object instead of a table.
    #[arg(long)]
    json: bool,
}

/// Which part of the bugs, counted from 0, and of how many.
#[derive(Clone, Copy)]
struct Shard {
    part: usize,
    parts: usize,
}

fn parse_shard(text: &str) -> Result<Shard, String> {
    let numbers = text.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
    match numbers {
        Some((part @ 1.., parts)) if part <= parts => Ok(Shard { part: part - 1, parts }),
        _ => Err(format!("`{text}` is no part; write 1/2 for every second bug from the first on")),
    }
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
        let named: Vec<String> = self.bug.iter().map(|name| name.replace('_', " ")).collect();
        if let Some(unknown) = named.iter().find(|name| Bug::ALL.iter().all(|bug| bug.name() != name.as_str())) {
            let names: Vec<&str> = Bug::ALL.iter().map(|bug| bug.name()).collect();
            return refuse(&format!("there is no bug '{unknown}'; there are: {}", names.join(", ")));
        }
        let wanted = |bug: &&Bug| named.is_empty() || named.iter().any(|name| name == bug.name());
        let Shard { part, parts } = self.shard.unwrap_or(Shard { part: 0, parts: 1 });
        let bugs: Vec<Bug> = Bug::ALL.iter().filter(wanted).skip(part).step_by(parts).copied().collect();
        if self.oracle || self.ablation {
            return Walk {
                bugs,
                seeds: self.seeds.unwrap_or(WALK_SEEDS),
                with_oracle: self.oracle,
                with_faults: self.ablation,
                with_clean_seeds: self.bug.is_empty(),
                budget: self.budget,
                notes: self.notes,
                json: self.json,
            }
            .obey();
        }
        let without = match self.part() {
            Ok(part) => part,
            Err(reason) => return refuse(&reason),
        };
        if !self.json {
            println!("{:<11} {:<44} {:>7} {:>8} {:>7}  first finding", "family", "bug", "found", "mean", "worst");
        }
        let mut rows = BTreeMap::new();
        for bug in bugs {
            let row = self.visit(bug, without);
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

    /// What is switched off.
    fn part(&self) -> Result<Option<Part>, String> {
        let named = |wanted: &Option<String>, parts: Vec<Part>| {
            let Some(wanted) = wanted else { return Ok(None) };
            let part = parts.iter().find(|part| part.name() == wanted.replace('_', " ")).copied();
            let names = || parts.iter().map(|part| part.name()).collect::<Vec<_>>().join(", ");
            part.map(Some).ok_or_else(|| format!("there is no '{wanted}'; there are: {}", names()))
        };
        let (checks, excuses) = Part::of_oracle().partition(|part| matches!(part, Part::Check(_)));
        let check = named(&self.without_checker, checks)?;
        let excuse = named(&self.with_excuse, excuses)?;
        Ok(check.or(excuse).or(named(&self.without_fault, Part::of_faults().collect())?))
    }

    fn visit(&self, bug: Bug, without: Option<Part>) -> Row {
        let seeds = self.seeds.unwrap_or(TRIAL_SEEDS);
        let (mut found, mut trials, mut taken): (Vec<Finding>, _, _) = (Vec::new(), 0, 0);
        while trials < self.trials && taken < self.seeds_enough {
            let finding = find(bug, trials, seeds, without);
            trials += 1;
            taken += finding.as_ref().map_or(seeds, |finding| finding.seeds);
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

/// Looks for a planted bug.
fn find(bug: Bug, trial: u64, seeds: u64, without: Option<Part>) -> Option<Finding> {
    (0..seeds).find_map(|index| {
        let seed = (trial + 1) * TRIAL_STRIDE + index;
        let (report, is_finding) = look(bug, seed, without);
        let violation = report.violations.first().filter(|_| is_finding)?;
        Some(Finding { seeds: index + 1, seed, said: violation.to_string() })
    })
}

/// Runs a seed with a bug, and says whether that finds it. A seed that fails without it too has found another one.
pub(super) fn look(bug: Bug, seed: u64, without: Option<Part>) -> (RunReport, bool) {
    plant(Some(bug));
    let report = run_without(without, seed);
    plant(None);
    let is_finding = !report.violations.is_empty() && run_without(without, seed).violations.is_empty();
    (report, is_finding)
}

/// Runs a seed without a part.
pub(super) fn run_without(part: Option<Part>, seed: u64) -> RunReport {
    let mut scenario = Scenario::from(WorldOptions::from_seed(seed));
    part.iter().for_each(|part| part.take_out_of(&mut scenario));
    run(scenario)
}

#[cfg(test)]
mod tests {
    use super::{Shard, parse_shard};

    #[test]
    fn the_parts_of_the_zoo_are_together_all_of_it() {
        let bugs = 0..11;
        let mut seen: Vec<u32> = Vec::new();
        for text in ["1/3", "2/3", "3/3"] {
            let Shard { part, parts } = parse_shard(text).unwrap();
            seen.extend(bugs.clone().skip(part).step_by(parts));
        }
        seen.sort_unstable();
        assert_eq!(seen, bugs.collect::<Vec<_>>());
        for wrong in ["0/3", "4/3", "1", "a/b", "1/0"] {
            assert!(parse_shard(wrong).is_err(), "{wrong}");
        }
    }
}
