//! The command `klamm-sim`: runs seeds and says what came of them.
//!
//! It must not know how a run works.

mod log_lines;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use klamm_sim::WorldOptions;
use klamm_sim::checker::ViolationClass;
use klamm_sim::crash_points::{CrashPoints, crash_points};
use klamm_sim::run::{RunReport, run};

use log_lines::LogLines;

/// The status for a command line that makes no sense.
const EXIT_USAGE: u8 = 2;
const EXIT_INVARIANT: u8 = 10;
const EXIT_LIVENESS: u8 = 11;
const EXIT_PANIC: u8 = 12;
/// So many seeds in which no record was acknowledged are a failure of their own.
const SEEDS_THAT_SAY_SOMETHING: u64 = 100;

/// Runs Klamm's broker against a simulated network, disk and clock, driven and broken by a seed.
#[derive(Parser)]
#[command(name = "klamm-sim", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs one seed, or several from it on. Exit status: 0 if all is well, 10 a broken invariant, 11 a run that is stuck, 12 a panic.
    Run {
        /// The first seed: decimal, or hexadecimal with 0x.
        seed: String,
        /// How many seeds, counted up from the first.
        #[arg(long, default_value_t = 1)]
        seeds: u64,
        /// Shows what the broker logs.
        #[arg(long)]
        log: bool,
    },
    /// Lets the broker go down before each effect of a short work on the disk, and before each effect of the recovery. Exit status as for run.
    CrashPoints {
        /// The work.
        #[arg(long, default_value = "1")]
        seed: String,
        /// The process is killed too, not only the power cut.
        #[arg(long)]
        both: bool,
        /// Only each so many'th effect.
        #[arg(long, default_value_t = 1)]
        every: u64,
    },
    /// Plants known bugs into the broker, one at a time, and counts the seeds until each is found.
    #[cfg(feature = "zoo")]
    Zoo {
        /// Only the bug with this name.
        #[arg(long)]
        bug: Option<String>,
        /// How often each bug is looked for, each time with seeds of its own.
        #[arg(long, default_value_t = 30)]
        trials: u64,
        /// How many seeds a trial has at most.
        #[arg(long, default_value_t = 5_000)]
        seeds: u64,
    },
}

fn main() -> ExitCode {
    // A panic of the broker is a finding, told in one line of the report.
    std::panic::set_hook(Box::new(|_| {}));
    match Arguments::parse().command {
        Command::Run { seed, seeds, log } => match parse_seed(&seed) {
            Some(first) if log => tracing::subscriber::with_default(LogLines, || run_seeds(first, seeds)),
            Some(first) => run_seeds(first, seeds),
            None => no_seed(&seed),
        },
        Command::CrashPoints { seed, both, every } => match parse_seed(&seed) {
            Some(seed) => visit_crash_points(seed, both, every),
            None => no_seed(&seed),
        },
        #[cfg(feature = "zoo")]
        Command::Zoo { bug, trials, seeds } => zoo::visit(bug.as_deref(), trials, seeds),
    }
}

fn no_seed(text: &str) -> ExitCode {
    eprintln!("'{text}' is no seed: a seed is a number such as 17 or 0x1f");
    ExitCode::from(EXIT_USAGE)
}

fn visit_crash_points(seed: u64, both: bool, every: u64) -> ExitCode {
    println!("seed={seed} every={every}");
    let found = crash_points(seed, both, every);
    for (points, violation) in &found.violations {
        println!("  down before effect {points:?}: {violation}");
    }
    let (CrashPoints { effects, recovery_effects, runs, .. }, failed) = (&found, found.violations.len());
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "{verdict} seed={seed} effects={effects} recovery_effects={recovery_effects} runs={runs} violations={failed}"
    );
    found.violations.first().map_or(ExitCode::SUCCESS, |(_, violation)| ExitCode::from(exit_status(violation.class())))
}

fn parse_seed(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).ok(),
        None => text.parse().ok(),
    }
}

fn run_seeds(first: u64, seeds: u64) -> ExitCode {
    if seeds > 1 {
        println!("seed={first} seeds={seeds}");
    }
    let (mut events, mut hash, mut failed, mut exit) = (0, 0_u64, 0, 0);
    let (mut acknowledged, mut crashes, mut simulated_ns) = (0, 0, 0_u64);
    for seed in (0..seeds).map(|index| first.wrapping_add(index)) {
        let report = run(WorldOptions::from_seed(seed));
        events += report.events;
        hash = hash.rotate_left(7) ^ report.hash;
        acknowledged += report.acknowledged;
        crashes += report.crashes;
        simulated_ns = simulated_ns.saturating_add(report.simulated_ns);
        if let Some(violation) = report.violations.first() {
            failed += 1;
            exit = if exit == 0 { exit_status(violation.class()) } else { exit };
            show_failure(&report);
        } else if seeds == 1 {
            println!("ok seed={seed} events={} hash={:016x}", report.events, report.hash);
        }
    }
    if seeds > 1 {
        println!("acknowledged={acknowledged} crashes={crashes} simulated={}s", simulated_ns / 1_000_000_000);
        if seeds >= SEEDS_THAT_SAY_SOMETHING && acknowledged == 0 {
            println!("  no record was acknowledged: the runs say nothing");
            (failed, exit) = (failed.max(1), EXIT_LIVENESS);
        }
        let verdict = if failed == 0 { "ok" } else { "FAILED" };
        println!("{verdict} seed={first} seeds={seeds} failed={failed} events={events} hash={hash:016x}");
    }
    ExitCode::from(exit)
}

fn show_failure(report: &RunReport) {
    for violation in &report.violations {
        println!("  {violation}");
    }
    let RunReport { seed, events, hash, .. } = report;
    println!("again: cargo sim run {seed}");
    println!("FAILED seed={seed} events={events} hash={hash:016x}");
}

fn exit_status(class: ViolationClass) -> u8 {
    match class {
        ViolationClass::Invariant => EXIT_INVARIANT,
        ViolationClass::Liveness => EXIT_LIVENESS,
        ViolationClass::Panic => EXIT_PANIC,
    }
}

#[cfg(feature = "zoo")]
mod zoo {
    //! The bug zoo: how many seeds it takes to find each planted bug.

    use std::process::ExitCode;

    use klamm::zoo::{Bug, plant};
    use klamm_sim::WorldOptions;
    use klamm_sim::run::run;

    /// Seeds of different trials never meet.
    const TRIAL_STRIDE: u64 = 1_000_000;

    pub(super) fn visit(only: Option<&str>, trials: u64, seeds: u64) -> ExitCode {
        let wanted = |bug: &&Bug| only.is_none_or(|only| bug.name() == only.replace('_', " "));
        let bugs: Vec<Bug> = Bug::ALL.iter().filter(wanted).copied().collect();
        if bugs.is_empty() {
            eprintln!("no such bug; there are: {}", Bug::ALL.map_names());
            return ExitCode::from(super::EXIT_USAGE);
        }
        println!("{:<44} {:>7} {:>8} {:>7}  first finding", "bug", "found", "mean", "worst");
        let mut is_complete = true;
        for bug in bugs {
            let found: Vec<(u64, String)> = (0..trials).filter_map(|trial| find(bug, trial, seeds)).collect();
            let count = found.len() as u64;
            let total: u64 = found.iter().map(|(seeds, _)| seeds).sum();
            let worst = found.iter().map(|(seeds, _)| *seeds).max().unwrap_or(0);
            let tenths = (total * 10).checked_div(count).unwrap_or(0);
            let example = found.first().map_or("", |(_, violation)| violation.as_str());
            let example: String = example.chars().take(60).collect();
            let mean = format!("{}.{}", tenths / 10, tenths % 10);
            println!("{:<44} {:>7} {mean:>8} {worst:>7}  {example}", bug.name(), format!("{count}/{trials}"));
            is_complete &= count == trials;
        }
        if is_complete { ExitCode::SUCCESS } else { ExitCode::from(super::EXIT_INVARIANT) }
    }

    /// The number of seeds until the planted bug was found, and what was found. A seed that fails without it too has found another one.
    fn find(bug: Bug, trial: u64, seeds: u64) -> Option<(u64, String)> {
        (0..seeds).find_map(|index| {
            let seed = (trial + 1) * TRIAL_STRIDE + index;
            plant(Some(bug));
            let report = run(WorldOptions::from_seed(seed));
            let violation = report.violations.first()?;
            plant(None);
            let is_clean = run(WorldOptions::from_seed(seed)).violations.is_empty();
            is_clean.then(|| (index + 1, violation.to_string()))
        })
    }

    trait Names {
        fn map_names(&self) -> String;
    }

    impl Names for &[Bug] {
        fn map_names(&self) -> String {
            self.iter().map(|bug| bug.name()).collect::<Vec<_>>().join(", ")
        }
    }
}
