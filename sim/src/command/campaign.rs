//! Many seeds on several threads: what came of them together.
//!
//! It must not know what is printed about it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use klamm_sim::keyed::Site;
use klamm_sim::run::{RunReport, run};
use klamm_sim::{Profile, Scenario};

use super::host::{Stopwatch, in_parallel, is_watched};

/// So many runs that did nothing, of a hundred, are a failure of their own.
const VACUOUS_PERCENT_MAX: u64 = 1;
/// Fewer seeds than this say nothing about how many are vacuous.
const SEEDS_THAT_SAY_SOMETHING: u64 = 100;

/// What is to be run.
pub(super) struct Campaign {
    pub(super) profile: Profile,
    pub(super) first: u64,
    pub(super) seeds: u64,
    pub(super) threads: usize,
    pub(super) budget: Option<Duration>,
    /// It ends with the first violation.
    pub(super) stops_at_failure: bool,
}

/// What came of it.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) seeds: u64,
    pub(super) events: u64,
    /// Of all runs, whatever their order.
    pub(super) hash: u64,
    pub(super) simulated_ns: u128,
    pub(super) acknowledged: u64,
    pub(super) crashes: u64,
    /// Runs in which no record was acknowledged and none was there at the end.
    pub(super) vacuous: u64,
    pub(super) faults: BTreeMap<Site, u64>,
    /// The seeds until each fault fired first.
    pub(super) first_fired: BTreeMap<Site, u64>,
    pub(super) failures: Vec<RunReport>,
    pub(super) took: Duration,
    is_out_of_time: bool,
}

impl Campaign {
    /// Runs it, and shows each failure as it comes.
    pub(super) fn run(&self, show: impl Fn(&RunReport) + Sync) -> Outcome {
        let stopwatch = Stopwatch::start();
        let outcome = Mutex::new(Outcome::default());
        let bar = self.bar();
        in_parallel(self.threads, self.seeds, |index| {
            let report = run(Scenario::new(self.profile, self.first.wrapping_add(index)));
            let mut outcome = outcome.lock().expect("a run catches its panics");
            let has_failed = !report.violations.is_empty();
            if has_failed {
                bar.suspend(|| show(&report));
            }
            outcome.add(index, report);
            bar.inc(1);
            outcome.is_out_of_time |= self.budget.is_some_and(|budget| stopwatch.elapsed() >= budget);
            !(outcome.is_out_of_time || self.stops_at_failure && !outcome.failures.is_empty())
        });
        bar.finish_and_clear();
        let mut outcome = outcome.into_inner().expect("a run catches its panics");
        outcome.took = stopwatch.elapsed();
        // Whoever was faster: what is told first does not hang on the threads.
        outcome.failures.sort_by_key(|report| report.seed.wrapping_sub(self.first));
        outcome
    }

    fn bar(&self) -> ProgressBar {
        if !is_watched() || self.seeds == 1 {
            return ProgressBar::hidden();
        }
        let (bar, template) = match self.seeds {
            u64::MAX => (ProgressBar::no_length(), "{pos} seeds, {per_sec}, {elapsed}"),
            seeds => (ProgressBar::new(seeds), "{bar:40} {pos}/{len} seeds, {per_sec}, {eta} left"),
        };
        bar.with_style(ProgressStyle::with_template(template).expect("the template is valid"))
    }
}

impl Outcome {
    fn add(&mut self, index: u64, report: RunReport) {
        self.seeds += 1;
        self.events += report.events;
        self.hash = self.hash.wrapping_add(report.hash);
        self.simulated_ns += u128::from(report.simulated_ns);
        self.acknowledged += report.acknowledged as u64;
        self.crashes += u64::from(report.crashes);
        self.vacuous += u64::from(report.acknowledged == 0 && report.records == 0);
        for fault in &report.fired {
            *self.faults.entry(fault.site).or_default() += 1;
            let first = self.first_fired.entry(fault.site).or_insert(index + 1);
            *first = (*first).min(index + 1);
        }
        if !report.violations.is_empty() {
            self.failures.push(report);
        }
    }

    /// Whether too many runs did nothing.
    pub(super) fn says_nothing(&self) -> bool {
        self.seeds >= SEEDS_THAT_SAY_SOMETHING && self.vacuous * 100 > self.seeds * VACUOUS_PERCENT_MAX
    }
}
