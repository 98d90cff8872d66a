//! How small the findings of planted bugs get, and what was set as a goal.
//!
//! It must not know how shrinking works, nor how a bug was found.

use std::fmt::Display;

use klamm::zoo::{Bug, plant};
use klamm_sim::checker::Violation;
use klamm_sim::run::{RunReport, run};
use klamm_sim::shrink::shrink;
use klamm_sim::{Scenario, WorldOptions};
use serde::Serialize;

use super::host::Stopwatch;
use super::shrink::patience;

/// What shrinking came to, one number for each finding.
#[derive(Default, Serialize)]
pub(super) struct ShrunkSizes {
    faults_before: Vec<usize>,
    faults: Vec<usize>,
    operations: Vec<u32>,
    clients: Vec<usize>,
    milliseconds: Vec<u128>,
    findings: usize,
    /// Findings whose smaller run breaks the same promise in the same way.
    same_violation: usize,
}

/// A figure beside the most, or the least, that was set as a goal.
#[derive(Serialize)]
struct Gate {
    reached: u128,
    goal: u128,
    is_met: bool,
}

/// How small findings get, against the goals.
#[derive(Serialize)]
pub(super) struct ShrunkGates {
    findings: usize,
    faults_median: Gate,
    faults_p95: Gate,
    operations_median: Gate,
    milliseconds_p95: Gate,
    same_violation_percent: Gate,
}

impl ShrunkSizes {
    /// Shrinks the runs of these seeds, in which the bug is found.
    pub(super) fn of(bug: Bug, seeds: impl Iterator<Item = u64>) -> ShrunkSizes {
        plant(Some(bug));
        let mut sizes = ShrunkSizes::default();
        seeds.for_each(|seed| sizes.add(seed));
        plant(None);
        sizes
    }

    fn add(&mut self, seed: u64) {
        self.findings += 1;
        let scenario = Scenario::from(WorldOptions::from_seed(seed));
        let before = run(scenario.clone());
        let stopwatch = Stopwatch::start();
        let Ok(shrunk) = shrink(scenario, patience(stopwatch)) else { return };
        self.milliseconds.push(stopwatch.elapsed().as_millis());
        let identity = |report: &RunReport| report.violations.first().map(Violation::identity);
        self.faults_before.push(before.fired.len());
        self.faults.push(shrunk.report.fired.len());
        self.operations.push(shrunk.report.operations.values().sum());
        self.clients.push(shrunk.report.operations.len());
        self.same_violation += usize::from(identity(&before) == identity(&shrunk.report));
    }

    /// Those of several bugs together.
    pub(super) fn of_all<'a>(sizes: impl Iterator<Item = &'a ShrunkSizes>) -> ShrunkSizes {
        sizes.fold(ShrunkSizes::default(), |mut all, sizes| {
            all.faults_before.extend(&sizes.faults_before);
            all.faults.extend(&sizes.faults);
            all.operations.extend(&sizes.operations);
            all.clients.extend(&sizes.clients);
            all.milliseconds.extend(&sizes.milliseconds);
            all.findings += sizes.findings;
            all.same_violation += sizes.same_violation;
            all
        })
    }

    /// One line about one bug.
    pub(super) fn say(&self) {
        println!(
            "    shrunk, median and 95th percentile: faults {} from {}, operations {}, clients {}, ms {}; same violation {}/{}",
            median_and_p95(&self.faults),
            median_and_p95(&self.faults_before),
            median_and_p95(&self.operations),
            median_and_p95(&self.clients),
            median_and_p95(&self.milliseconds),
            self.same_violation,
            self.findings,
        );
    }

    /// All of it against the goals.
    pub(super) fn gates(&self) -> ShrunkGates {
        let at_most = |reached: u128, goal| Gate { reached, goal, is_met: reached <= goal };
        let same = (100 * self.same_violation).checked_div(self.findings).unwrap_or(100) as u128;
        ShrunkGates {
            findings: self.findings,
            faults_median: at_most(percentile(&self.faults, 50) as u128, 2),
            faults_p95: at_most(percentile(&self.faults, 95) as u128, 6),
            operations_median: at_most(percentile(&self.operations, 50).into(), 5),
            milliseconds_p95: at_most(percentile(&self.milliseconds, 95), 5_000),
            same_violation_percent: Gate { reached: same, goal: 100, is_met: same >= 100 },
        }
    }
}

impl ShrunkGates {
    /// A line for each.
    pub(super) fn say(&self) {
        println!("shrunk findings: {}", self.findings);
        let gates = [
            ("faults, median", &self.faults_median, "at most"),
            ("faults, 95th percentile", &self.faults_p95, "at most"),
            ("client operations, median", &self.operations_median, "at most"),
            ("ms, 95th percentile", &self.milliseconds_p95, "at most"),
            ("the same violation, of 100", &self.same_violation_percent, "at least"),
        ];
        for (name, Gate { reached, goal, is_met }, bound) in gates {
            println!("    {name:<28} {reached:>6}, {bound} {goal}: {}", if *is_met { "met" } else { "NOT MET" });
        }
    }
}

/// The number that so many of a hundred do not exceed; 0 of none.
fn percentile<Number: Copy + Ord + Default>(numbers: &[Number], percent: usize) -> Number {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

fn median_and_p95<Number: Copy + Ord + Default + Display>(numbers: &[Number]) -> String {
    format!("{}/{}", percentile(numbers, 50), percentile(numbers, 95))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(faults: &[usize]) -> ShrunkSizes {
        let kept = faults.len();
        ShrunkSizes { faults: faults.to_vec(), findings: kept, same_violation: kept, ..ShrunkSizes::default() }
    }

    #[test]
    fn findings_of_all_bugs_count_together_against_the_goals() {
        let (small, large) = (sizes(&[0, 1, 2]), sizes(&[2, 9]));
        let gates = ShrunkSizes::of_all([&small, &large].into_iter()).gates();
        assert_eq!((gates.findings, gates.faults_median.reached, gates.faults_p95.reached), (5, 2, 9));
        assert!(gates.faults_median.is_met && !gates.faults_p95.is_met);
    }

    #[test]
    fn a_finding_that_another_violation_took_the_place_of_misses_the_goal() {
        let mut sizes = sizes(&[0, 0]);
        assert!(sizes.gates().same_violation_percent.is_met);
        sizes.same_violation = 1;
        assert_eq!(sizes.gates().same_violation_percent.reached, 50);
        assert!(!sizes.gates().same_violation_percent.is_met);
    }
}
