//! Many seeds on several threads: what came of them together.
//!
//! It must not know what is printed about it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use klamm::marks::Mark;
use klamm::protocol::ApiKey;
use klamm_sim::keyed::Site;
use klamm_sim::run::{RunReport, run};
use klamm_sim::{Profile, Scenario};

use super::host::{Stopwatch, in_parallel, is_watched};

/// So many runs that did nothing, of a hundred, are a failure of their own.
const VACUOUS_PERCENT_MAX: u64 = 1;
/// Fewer seeds than this say nothing about how many are vacuous.
const SEEDS_THAT_SAY_SOMETHING: u64 = 100;

/// Within so many seeds every fault fires and every mark is reached.
pub(super) const SEEDS_THAT_MEET_ALL: u64 = 2_000;

/// How often each of a kind came.
pub(super) type Met<Kind> = BTreeMap<Kind, Tally>;

/// How often something came in a campaign.
#[derive(Clone, Copy, Default)]
pub(super) struct Tally {
    /// Over all seeds.
    pub(super) times: u64,
    /// In how many seeds.
    pub(super) seeds: u64,
    /// In which seed first, counted from the campaign's first.
    pub(super) first: u64,
    /// In which seed it was counted last.
    last: Option<u64>,
}

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
    /// The first seed.
    pub(super) first: u64,
    pub(super) seeds: u64,
    pub(super) events: u64,
    /// Of all runs, whatever their order.
    pub(super) hash: u64,
    pub(super) simulated_ns: u128,
    pub(super) acknowledged: u64,
    pub(super) crashes: u64,
    /// Runs in which no record was acknowledged and none was there at the end.
    pub(super) vacuous: u64,
    pub(super) faults: Met<Site>,
    pub(super) marks: Met<Mark>,
    spoken: BTreeSet<(ApiKey, i16)>,
    profile: Option<Profile>,
    pub(super) failures: Vec<RunReport>,
    pub(super) took: Duration,
    is_out_of_time: bool,
}

impl Campaign {
    /// Runs it, and shows each failure as it comes.
    pub(super) fn run(&self, show: impl Fn(&RunReport) + Sync) -> Outcome {
        let stopwatch = Stopwatch::start();
        let outcome = Mutex::new(Outcome { first: self.first, profile: Some(self.profile), ..Outcome::default() });
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
        count(&mut self.faults, index, report.fired.iter().map(|fault| fault.site));
        count(&mut self.marks, index, report.marks.iter().map(|sighting| sighting.mark));
        self.spoken.extend(report.spoken.iter().copied());
        if !report.violations.is_empty() {
            self.failures.push(report);
        }
    }

    /// The faults and marks that no run met, and the versions of APIs in which no client spoke, though there were seeds enough of every kind for all of them.
    pub(super) fn never_met(&self) -> Vec<String> {
        if self.seeds < SEEDS_THAT_MEET_ALL || self.profile != Some(Profile::Swarm) {
            return Vec::new();
        }
        let faults = Site::ALL.iter().filter(|site| site.is_fault() && !self.faults.contains_key(site));
        let is_due = |mark: &&Mark| Mark::ARE_NOTED && mark.within() <= self.seeds;
        let marks = Mark::ALL.iter().filter(is_due).filter(|mark| !self.marks.contains_key(mark));
        let versions = ApiKey::ALL.iter().flat_map(|api| api.versions().map(move |version| (*api, version)));
        let unspoken = versions.filter(|spoken| !self.spoken.contains(spoken));
        let names = faults.map(|site| site.name()).chain(marks.map(|mark| mark.name())).map(str::to_string);
        names.chain(unspoken.map(|(api, version)| format!("{api} version {version}"))).collect()
    }

    /// Whether too many runs did nothing.
    pub(super) fn says_nothing(&self) -> bool {
        self.seeds >= SEEDS_THAT_SAY_SOMETHING && self.vacuous * 100 > self.seeds * VACUOUS_PERCENT_MAX
    }
}

fn count<Kind: Ord>(met: &mut Met<Kind>, index: u64, of_run: impl Iterator<Item = Kind>) {
    for kind in of_run {
        let tally = met.entry(kind).or_insert(Tally { times: 0, seeds: 0, first: index, last: None });
        tally.times += 1;
        tally.seeds += u64::from(tally.last != Some(index));
        (tally.first, tally.last) = (tally.first.min(index), Some(index));
    }
}
