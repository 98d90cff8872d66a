//! The command `klamm-sim`: one file per subcommand, and what they share.
//!
//! It must not know how a run works; the library does.

mod bug; // a planted bug, by its name
mod campaign; // many seeds, on several threads
mod catalogue; // faults and marks, and how often each came
mod check; // two processes, one hash
mod deep_bugs; // what guidance is worth on bugs of a known depth
mod crash_points; // down at every effect in turn
mod exit; // the status by which a script knows what happened
mod explore; // guided runs
mod guidance; // what guidance is worth on a planted bug
mod host; // the machine that the command runs on
mod log_lines; // what the broker logs
#[cfg(feature = "zoo")]
mod part; // what can be switched off
mod replay; // a capsule, again
mod run; // seeds, until something breaks
mod seed; // a seed as people write it
mod shrink; // a smaller capsule
#[cfg(feature = "zoo")]
mod shrunk_sizes; // how small findings get, and the goals
mod story; // a page that people read
#[cfg(feature = "zoo")]
mod worth; // what each part of the simulator is worth
#[cfg(feature = "zoo")]
mod worth_table; // the same, to read
#[cfg(feature = "zoo")]
mod zoo; // planted bugs

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use exit::Exit;

/// Runs Klamm's broker against a simulated network, disk and clock, driven and broken by a seed.
#[derive(Parser)]
#[command(name = "klamm-sim", version, after_help = exit::TABLE)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs one seed, several from it on, or one after the other until stopped.
    Run(run::Options),
    /// Runs a capsule again, and says whether it still breaks the promise that it broke.
    Replay(replay::Options),
    /// Makes a failing seed or capsule smaller while it breaks the same promise.
    Shrink(shrink::Options),
    /// Tells a capsule or a seed as a page with swim lanes.
    Story(story::Options),
    /// Runs seeds in two processes and compares them; names the first event in which they differ.
    Check(check::Options),
    /// Lets the broker go down before each effect of a short work on the disk, and before each effect of the recovery from that.
    CrashPoints(crash_points::Options),
    /// Makes runs that go on from where earlier ones have reached something rare.
    Explore(explore::Options),
    /// Lists the faults, and how often each fires.
    Faults(catalogue::Options),
    /// Lists the marks of the broker, and how many seeds reach each.
    Marks(catalogue::Options),
    /// Plants known bugs into the broker, one at a time, and counts the seeds until each is found.
    #[cfg(feature = "zoo")]
    Zoo(zoo::Options),
    /// Prints the events of a seed, numbers only: what two processes compare.
    #[command(hide = true)]
    Trace(check::TraceOptions),
}

/// Obeys the command line.
pub(crate) fn main() -> ExitCode {
    // A panic of the broker is a finding, told in one line of the report.
    klamm_sim::panics::listen_for_panics();
    let exit = match Arguments::parse().command {
        Command::Run(options) => options.obey(),
        Command::Replay(options) => options.obey(),
        Command::Shrink(options) => options.obey(),
        Command::Story(options) => options.obey(),
        Command::Check(options) => options.obey(),
        Command::CrashPoints(options) => options.obey(),
        Command::Explore(options) => options.obey(),
        Command::Faults(options) => options.list_faults(),
        Command::Marks(options) => options.list_marks(),
        #[cfg(feature = "zoo")]
        Command::Zoo(options) => options.obey(),
        Command::Trace(options) => options.obey(),
    };
    exit.into()
}

/// Says what is wrong with the command line.
fn refuse(reason: &str) -> Exit {
    eprintln!("{reason}");
    Exit::Usage
}

/// The names of the profiles, from which an option chooses.
fn profiles() -> Vec<&'static str> {
    klamm_sim::Profile::ALL.iter().map(|profile| profile.name()).collect()
}

/// Says what is wrong with a file, or with what is in it.
fn refuse_file(reason: &str) -> Exit {
    eprintln!("{reason}");
    Exit::File
}

/// Which build this is, for the first line and for capsules.
fn made_by() -> String {
    format!("klamm-sim {}", env!("CARGO_PKG_VERSION"))
}
