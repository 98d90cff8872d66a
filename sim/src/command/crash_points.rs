//! `crash-points`: a short work, during which the broker goes down at every effect in turn.
//!
//! It must not know what an effect is.

use clap::Args;
use klamm_sim::crash_points::{CrashPoints, crash_points};

use super::exit::Exit;
use super::{refuse, seed};

/// The options of `crash-points`.
#[derive(Args)]
pub(super) struct Options {
    /// Which work.
    #[arg(long, default_value = "1")]
    seed: String,
    /// The process is killed too, not only the power cut.
    #[arg(long)]
    both: bool,
    /// Only each so many'th effect.
    #[arg(long, default_value_t = 1)]
    every: u64,
}

impl Options {
    pub(super) fn obey(self) -> Exit {
        let seed = match seed::parse(&self.seed) {
            Ok(seed) => seed,
            Err(reason) => return refuse(&reason),
        };
        println!("seed={seed}");
        let found = crash_points(seed, self.both, self.every);
        for (points, violation) in &found.violations {
            println!("  down before effect {points:?}: {violation}");
        }
        let (CrashPoints { effects, recovery_effects, runs, missed, .. }, failed) = (&found, found.violations.len());
        let verdict = if failed == 0 { "ok" } else { "FAILED" };
        println!(
            "{verdict} seed={seed} effects={effects} recovery_effects={recovery_effects} runs={runs} missed={missed} violations={failed}"
        );
        match found.violations.first() {
            Some((_, violation)) => Exit::of(violation),
            None if found.missed > 0 => Exit::Vacuous,
            None => Exit::Ok,
        }
    }
}
