//! What guidance is worth: how many runs it takes to find a bug, guided and not.
//!
//! It must not know how a run is guided.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use klamm::marks::Mark;
use klamm_sim::deep_bug::DeepBug;
use klamm_sim::explore::{Explorer, Feature, features_of};
use klamm_sim::run::{run, run_with_marks};
use klamm_sim::{Profile, Scenario};

use super::exit::Exit;
use super::explore::at_once;
use super::host::in_parallel;

/// Situations in a row that a measured bug needs.
const DEPTH: usize = 5;
/// The runs that show which marks are neither rare nor common.
const SAMPLE: u64 = 400;
/// How many of these runs reach a mark that a measured bug may need, in parts of a hundred.
const MODERATE_PERCENT: std::ops::RangeInclusive<u64> = 5..=25;
/// Seeds of different measurements never meet.
const STRIDE: u64 = 1 << 32;

/// A measurement.
pub(super) struct Measure {
    pub(super) profile: Profile,
    pub(super) seed: u64,
    /// At most so many runs for a bug, guided or not.
    pub(super) runs: u64,
    pub(super) threads: usize,
    pub(super) trials: u64,
}

impl Measure {
    /// How soon the bug that is planted is found.
    pub(super) fn planted(&self) -> Exit {
        println!("{:>6} {:>9} {:>9}", "trial", "guided", "random");
        let mut all = Vec::new();
        for trial in 1..=self.trials {
            let seed = self.seed.wrapping_add(trial * STRIDE);
            let mut explorer = Explorer::new(self.profile, seed);
            let mut guided = 0;
            let mut is_found = false;
            while !is_found && guided < self.runs {
                for (scenario, report) in at_once(&mut explorer, self.threads, self.runs - guided, run) {
                    guided += u64::from(!is_found);
                    is_found |= !report.violations.is_empty();
                    explorer.learn(scenario, report.chaos_ns, features_of(&report.marks));
                }
            }
            let is_clean = |index| run(Scenario::new(self.profile, seed.wrapping_add(index))).violations.is_empty();
            let random = (0..self.runs).take_while(|index| is_clean(*index)).count() as u64 + 1;
            println!("{trial:>6} {guided:>9} {random:>9}");
            all.push((guided, random));
        }
        conclude(&all, self.runs)
    }

    /// How soon bugs that need five situations in a row show.
    pub(super) fn deep(&self) -> Exit {
        let moderate = self.moderate_marks();
        let (least, most) = (MODERATE_PERCENT.start(), MODERATE_PERCENT.end());
        println!("{} marks are reached by {least} to {most} of 100 runs", moderate.len());
        let bugs: Vec<DeepBug> =
            (1..=self.trials).map(|number| DeepBug::draw(self.seed, number, DEPTH, moderate.clone())).collect();
        let random = self.random(&bugs);
        println!("{:>6} {:>9} {:>9}  situations", "bug", "guided", "random");
        let mut all = Vec::new();
        for ((number, bug), random) in (1..).zip(&bugs).zip(random) {
            let guided = self.guided(number, bug);
            let names: Vec<&str> = bug.situations.iter().map(|mark| mark.name()).collect();
            println!("{number:>6} {guided:>9} {random:>9}  {}", names.join(", "));
            all.push((guided, random));
        }
        conclude(&all, self.runs)
    }

    fn moderate_marks(&self) -> Vec<Mark> {
        let counts: Mutex<BTreeMap<Mark, u64>> = Mutex::default();
        in_parallel(self.threads, SAMPLE, |index| {
            let report = run(Scenario::new(self.profile, self.seed.wrapping_add(index)));
            let marks: BTreeSet<Mark> = report.marks.iter().map(|sighting| sighting.mark).collect();
            let mut counts = counts.lock().expect("a run catches its panics");
            marks.into_iter().for_each(|mark| *counts.entry(mark).or_default() += 1);
            true
        });
        let counts = counts.into_inner().expect("a run catches its panics");
        let moderate = counts.into_iter().filter(|(_, runs)| MODERATE_PERCENT.contains(&(runs * 100 / SAMPLE)));
        moderate.map(|(mark, _)| mark).collect()
    }

    /// The runs that each bug takes without guidance, in the mean; more than there are if none shows it.
    fn random(&self, bugs: &[DeepBug]) -> Vec<u64> {
        let shown: Vec<Mutex<u64>> = bugs.iter().map(|_| Mutex::new(0)).collect();
        in_parallel(self.threads, self.runs, |index| {
            let (_, marks) = run_with_marks(Scenario::new(self.profile, self.seed.wrapping_add(STRIDE + index)));
            for (bug, shown) in bugs.iter().zip(&shown) {
                *shown.lock().expect("a run catches its panics") += u64::from(bug.shows_in(&marks));
            }
            true
        });
        let shown = shown.into_iter().map(|shown| shown.into_inner().expect("a run catches its panics"));
        shown.map(|shown| self.runs.checked_div(shown).unwrap_or(self.runs + 1)).collect()
    }

    /// The runs until a bug shows with guidance; its stages count as features, as branches do for a fuzzer.
    fn guided(&self, number: u64, bug: &DeepBug) -> u64 {
        let mut explorer = Explorer::new(self.profile, self.seed.wrapping_add(number * STRIDE));
        let mut runs = 0;
        while runs < self.runs {
            for (scenario, (report, marks)) in at_once(&mut explorer, self.threads, self.runs - runs, run_with_marks) {
                runs += 1;
                let stages = bug.stages(&marks);
                if stages.len() == DEPTH {
                    return runs;
                }
                let stages = (0..).zip(stages).map(|(stage, at)| (Feature::Stage(stage), at));
                explorer.learn(scenario, report.chaos_ns, features_of(&report.marks).chain(stages));
            }
        }
        self.runs + 1
    }
}

/// One line: the sums, and how they compare. A bug that nobody found in `runs` compares nothing.
fn conclude(all: &[(u64, u64)], runs: u64) -> Exit {
    let found = all.iter().filter(|(guided, random)| *guided <= runs || *random <= runs);
    let (guided, random) = found.clone().fold((0, 0), |sum, found| (sum.0 + found.0, sum.1 + found.1));
    let tenths = (random * 10).checked_div(guided).unwrap_or(0);
    let (found, all) = (found.count(), all.len());
    println!(
        "found={found} of {all} guided={guided} random={random}: {}.{} times fewer runs",
        tenths / 10,
        tenths % 10
    );
    Exit::Ok
}
