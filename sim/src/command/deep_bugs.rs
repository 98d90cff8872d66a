//! What guidance is worth on bugs of a known depth and rarity: how many runs each takes, guided and not.
//!
//! A reference campaign that nothing guides shows which five situations in a row are possible and rare; bugs are drawn of them. A second one, of other
//! seeds, tells how often each shows, so that a bug that the first one met by luck is not taken for a frequent one. A search knows neither. It must
//! not know how a run is guided.

use std::sync::Mutex;

use klamm::marks::Mark;
use klamm::types::Instant;
use klamm_sim::deep_bug::DeepBug;
use klamm_sim::explore::{Explorer, Feature, features_of};
use klamm_sim::run::run_with_marks;
use klamm_sim::{Profile, Scenario};

use super::exit::Exit;
use super::explore::at_once;
use super::guidance::STRIDE;
use super::host::in_parallel;
use super::refuse;

/// Situations in a row that a bug needs.
const DEPTH: usize = 5;
/// How many runs of the reference campaign show a bug.
const SHOWN: std::ops::RangeInclusive<usize> = 5..=10;
/// So many draws, and no bug among them that is rare enough: there is none.
const DRAWS_MAX: u64 = 100_000;
/// The second campaign is so many times as long as the first.
const SECOND_FACTOR: u64 = 3;

/// A measurement.
pub(super) struct DeepBugs {
    pub(super) profile: Profile,
    pub(super) seed: u64,
    pub(super) threads: usize,
    /// How many bugs.
    pub(super) bugs: usize,
    /// So many searches for each bug, with seeds of their own.
    pub(super) trials: u64,
    /// Runs of the reference campaign.
    pub(super) reference: u64,
}

/// What guides a search.
#[derive(Clone, Copy)]
enum Guide {
    /// Marks, and how far a run has come in the row, as a branch is for a fuzzer.
    Row,
    /// Marks alone.
    Marks,
}

/// What runs have cost, and what they have found.
#[derive(Clone, Copy, Default)]
struct Cost {
    runs: u64,
    events: u64,
    found: u64,
}

impl Cost {
    fn add(&mut self, other: Cost) {
        self.runs += other.runs;
        self.events += other.events;
        self.found += other.found;
    }

    /// All of it for each find; one that never came is taken to be the next run's.
    fn runs_for_one(self) -> u64 {
        self.runs.div_ceil(self.found.max(1))
    }

    fn events_for_one(self) -> u64 {
        self.events.div_ceil(self.found.max(1))
    }
}

impl DeepBugs {
    /// Measures, and prints a line for each bug.
    pub(super) fn measure(&self) -> Exit {
        let bugs = self.draw(&self.reference());
        if bugs.len() < self.bugs {
            return refuse("the reference campaign shows too few rare bugs: give it more runs");
        }
        println!("{:>11}  {:>22}  {:>22}", "random", "guided by the row", "by marks alone");
        let guided = format!("{:>6} {:>8} {:>6}", "runs", "found", "times");
        println!("bug {:>7}  {guided}  {guided}  situations", "runs");
        let mut all = Vec::new();
        for ((number, bug), random) in (1..).zip(&bugs).zip(self.second(&bugs)) {
            let runs_max = random.runs_for_one();
            let [by_row, by_marks] =
                [Guide::Row, Guide::Marks].map(|guide| self.searches(number, bug, guide, runs_max));
            let situations: Vec<&str> = bug.situations.iter().map(|mark| mark.name()).collect();
            let [row, marks] = [by_row, by_marks].map(|cost| self.cell(cost, random));
            println!("{number:>3} {runs_max:>7}  {row}  {marks}  {}", situations.join(", "));
            all.push([random, by_row, by_marks]);
        }
        conclude(&all);
        Exit::Ok
    }

    /// Runs for one find, how many searches found it, and how many times fewer that is.
    fn cell(&self, cost: Cost, random: Cost) -> String {
        let times = times(random.runs_for_one(), cost.runs_for_one());
        format!("{:>6} {:>2} of {:<2} {times:>6}", cost.runs_for_one(), cost.found, self.trials)
    }

    /// The marks of the runs of the reference campaign.
    fn reference(&self) -> Vec<Vec<(Mark, Instant)>> {
        let runs: Vec<Mutex<Vec<(Mark, Instant)>>> = (0..self.reference).map(|_| Mutex::default()).collect();
        in_parallel(self.threads, self.reference, |index| {
            let (_, marks) = run_with_marks(Scenario::new(self.profile, self.seed.wrapping_add(index)));
            let run = usize::try_from(index).ok().and_then(|index| runs.get(index));
            run.iter().for_each(|run| run.lock().expect("a run catches its panics").clone_from(&marks));
            true
        });
        runs.into_iter().map(|run| run.into_inner().expect("a run catches its panics")).collect()
    }

    fn draw(&self, runs: &[Vec<(Mark, Instant)>]) -> Vec<DeepBug> {
        let is_rare =
            |bug: &DeepBug| SHOWN.contains(&runs.iter().filter(|run| bug.shows_in(run)).take(SHOWN.end() + 1).count());
        let drawn = (0..DRAWS_MAX).filter_map(|number| DeepBug::draw(self.seed, number, DEPTH, runs));
        drawn.filter(is_rare).take(self.bugs).collect()
    }

    /// What each bug costs without guidance, by runs of other seeds than those that it was drawn from.
    fn second(&self, bugs: &[DeepBug]) -> Vec<Cost> {
        let costs: Vec<Mutex<Cost>> = bugs.iter().map(|_| Mutex::default()).collect();
        in_parallel(self.threads, self.reference * SECOND_FACTOR, |index| {
            let scenario = Scenario::new(self.profile, self.seed.wrapping_add(STRIDE + index));
            let (report, marks) = run_with_marks(scenario);
            for (bug, cost) in bugs.iter().zip(&costs) {
                let found = u64::from(bug.shows_in(&marks));
                cost.lock().expect("a run catches its panics").add(Cost { runs: 1, events: report.events, found });
            }
            true
        });
        costs.into_iter().map(|cost| cost.into_inner().expect("a run catches its panics")).collect()
    }

    /// What the searches for a bug cost. Each gives up after as many runs as chance needs in the mean.
    fn searches(&self, number: u64, bug: &DeepBug, guide: Guide, runs_max: u64) -> Cost {
        let mut cost = Cost::default();
        for trial in 0..self.trials {
            let seed = self.seed.wrapping_add((2 + number * self.trials + trial).wrapping_mul(STRIDE));
            cost.add(self.search(Explorer::new(self.profile, seed), bug, guide, runs_max));
        }
        cost
    }

    fn search(&self, mut explorer: Explorer, bug: &DeepBug, guide: Guide, runs_max: u64) -> Cost {
        let mut cost = Cost::default();
        while cost.runs < runs_max {
            for (scenario, (report, marks)) in
                at_once(&mut explorer, self.threads, runs_max - cost.runs, run_with_marks)
            {
                cost.add(Cost { runs: 1, events: report.events, found: 0 });
                let stages = bug.stages(&marks);
                if stages.len() == DEPTH {
                    return Cost { found: 1, ..cost };
                }
                let wanted = match guide {
                    Guide::Row => stages.len(),
                    Guide::Marks => 0,
                };
                let stages = (0..).zip(stages).map(|(stage, at)| (Feature::Stage(stage), at)).take(wanted);
                explorer.learn(scenario, report.chaos_ns, features_of(&report.marks).chain(stages));
            }
        }
        cost
    }
}

/// How many times as much, with one decimal.
fn times(random: u64, guided: u64) -> String {
    let tenths = (random * 10).checked_div(guided).unwrap_or(0);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// The ratios of the sums: a bug weighs what it costs chance. A guided run is longer than another, so that events tell more than runs.
fn conclude(all: &[[Cost; 3]]) {
    let sum = |which: usize, of: fn(Cost) -> u64| all.iter().map(|costs| of(costs[which])).sum::<u64>();
    let random = (sum(0, Cost::runs_for_one), sum(0, Cost::events_for_one));
    for (which, guide) in [(1, "by the row"), (2, "by marks alone")] {
        let guided = (sum(which, Cost::runs_for_one), sum(which, Cost::events_for_one));
        let [runs, events] = [(random.0, guided.0), (random.1, guided.1)].map(|(random, guided)| times(random, guided));
        println!(
            "guided {guide}: {} runs, random {}: {runs} times fewer runs, {events} times fewer events",
            guided.0, random.0
        );
    }
}
