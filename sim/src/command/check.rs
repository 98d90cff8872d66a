//! `check`: one seed in two processes; where they part is found by halves, and the first event that differs is named.
//!
//! It must not know what an event means.

use clap::Args;
use klamm_sim::run::{run, run_with_events};
use klamm_sim::{Profile, Scenario};
use serde::Serialize;

use super::exit::Exit;
use super::host::{Stopwatch, another_process};
use super::{refuse, seed};

/// The options of `check`.
#[derive(Args)]
pub(super) struct Options {
    /// The first seed.
    seed: String,
    /// How many seeds, counted up from the first.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Prints one object instead of lines.
    #[arg(long)]
    json: bool,
}

/// What a process says of its run.
#[derive(Args)]
pub(super) struct TraceOptions {
    /// The first seed.
    seed: u64,
    /// How many seeds: prints the checkpoints of each.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Prints the events from this number on instead.
    #[arg(long, requires = "to")]
    from: Option<u64>,
    /// Prints the events before this number.
    #[arg(long, requires = "from")]
    to: Option<u64>,
}

#[derive(Serialize)]
struct Json {
    seeds: u64,
    seconds: f64,
    failures: Vec<String>,
}

impl Options {
    pub(super) fn obey(self) -> Exit {
        let first = match seed::parse(&self.seed) {
            Ok(first) => first,
            Err(reason) => return refuse(&reason),
        };
        let stopwatch = Stopwatch::start();
        let (first_text, seeds) = (first.to_string(), self.seeds.to_string());
        let theirs = match another_process(&["trace", &first_text, "--seeds", &seeds]) {
            Ok(theirs) => theirs,
            Err(reason) => return refuse(&reason),
        };
        let mut theirs = theirs.lines();
        let mut failures = Vec::new();
        for seed in (0..self.seeds).map(|index| first.wrapping_add(index)) {
            let (mine, other) = (checkpoints(seed), theirs.next().unwrap_or_default());
            if mine != other {
                failures.push(first_difference(seed, &mine, other));
            }
        }
        if self.json {
            let json =
                Json { seeds: self.seeds, seconds: stopwatch.elapsed().as_secs_f64(), failures: failures.clone() };
            println!("{}", serde_json::to_string_pretty(&json).expect("plain numbers and names are JSON"));
        } else {
            failures.iter().for_each(|failure| println!("  {failure}"));
            let verdict = if failures.is_empty() { "ok" } else { "FAILED" };
            println!("{verdict} seed={first} seeds={} differ={}", self.seeds, failures.len());
        }
        if failures.is_empty() { Exit::Ok } else { Exit::Differs }
    }
}

impl TraceOptions {
    pub(super) fn obey(self) -> Exit {
        match self.from.zip(self.to) {
            Some((from, to)) => events(self.seed, from, to).iter().for_each(|event| println!("{event}")),
            None => (0..self.seeds).for_each(|index| println!("{}", checkpoints(self.seed.wrapping_add(index)))),
        }
        Exit::Ok
    }
}

/// The hashes of a run in one line: after 1, 2, 4 … events, and at its end.
fn checkpoints(seed: u64) -> String {
    let report = run(Scenario::new(Profile::Swarm, seed));
    let hashes = report.checkpoints.iter().chain([&report.hash, &report.events]);
    hashes.map(|hash| format!("{hash:016x}")).collect::<Vec<_>>().join(" ")
}

fn events(seed: u64, from: u64, to: u64) -> Vec<String> {
    let (_, events) = run_with_events(Scenario::new(Profile::Swarm, seed), from..to);
    events.iter().map(|event| format!("{} {event}", event.number)).collect()
}

/// The first event in which this process and another one differ: between the last checkpoint that agrees and the first that does not.
fn first_difference(seed: u64, mine: &str, theirs: &str) -> String {
    let agreed = mine.split(' ').zip(theirs.split(' ')).take_while(|(mine, theirs)| mine == theirs).count();
    let from = if agreed == 0 { 0 } else { 1_u64 << (agreed - 1) };
    let to = from.max(1) * 2 + 1;
    let (seed_text, from_text, to_text) = (seed.to_string(), from.to_string(), to.to_string());
    let other = another_process(&["trace", &seed_text, "--from", &from_text, "--to", &to_text]).unwrap_or_default();
    let mine = events(seed, from, to);
    let pair = mine.iter().map(String::as_str).zip(other.lines()).find(|(mine, theirs)| mine != theirs);
    match pair {
        Some((mine, theirs)) => format!("seed {seed}: here event {mine}, there event {theirs}"),
        None => format!("seed {seed}: differs after event {from}, and not again"),
    }
}
