//! The command `klamm-sim`: runs seeds and says what came of them.
//!
//! It must not know how a run works.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use klamm_sim::WorldOptions;
use klamm_sim::run::run;

/// Runs Klamm's broker against a simulated network, disk and clock, driven and broken by a seed.
#[derive(Parser)]
#[command(name = "klamm-sim", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs one seed, or several from it on, and prints one line for each.
    Run {
        /// The first seed: decimal, or hexadecimal with 0x.
        #[arg(value_parser = parse_seed)]
        seed: u64,
        /// How many seeds, counted up from the first.
        #[arg(long, default_value_t = 1)]
        seeds: u64,
    },
}

fn parse_seed(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("'{text}' is no seed; a seed is a number such as 17 or 0x1f"))
}

fn main() -> ExitCode {
    let Command::Run { seed, seeds } = Arguments::parse().command;
    let mut is_ok = true;
    for seed in (0..seeds).map(|index| seed.wrapping_add(index)) {
        let report = run(WorldOptions::from_seed(seed));
        let verdict = if report.violations.is_empty() { "ok" } else { "FAILED" };
        for violation in &report.violations {
            println!("  {violation}");
        }
        println!("{verdict} seed={seed} events={} hash={:016x}", report.events, report.hash);
        if !report.violations.is_empty() {
            is_ok = false;
            println!("again: cargo sim run {seed}");
        }
    }
    if is_ok { ExitCode::SUCCESS } else { ExitCode::from(10) }
}
