//! What guidance is worth on a planted bug: how many runs it takes to find it, guided and not.
//!
//! It must not know how a run is guided.

use klamm_sim::explore::{Explorer, features_of};
use klamm_sim::run::run;
use klamm_sim::{Profile, Scenario};

use super::exit::Exit;
use super::explore::at_once;

/// Seeds of different measurements never meet.
pub(super) const STRIDE: u64 = 1 << 32;

/// A measurement.
pub(super) struct Measure {
    pub(super) profile: Profile,
    pub(super) seed: u64,
    /// At most so many runs for a trial, guided or not.
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
