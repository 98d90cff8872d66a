//! `run`: seeds, one after the other, and a capsule of what breaks.
//!
//! It must not know how a run works.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use klamm_sim::run::RunReport;
use klamm_sim::{Profile, Scenario};
use serde::Serialize;

use super::bug::plant;
use super::campaign::{Campaign, Outcome, SEEDS_THAT_MEET_ALL};
use super::exit::Exit;
use super::host::{processors, random_seed};
use super::log_lines::LogLines;
use super::shrink::write_capsule;
use super::{made_by, profiles, refuse, seed};

/// So many failures of one campaign are made small; the rest are counted.
const CAPSULES_MAX: usize = 3;

/// The options of `run`.
#[derive(Args)]
pub(super) struct Options {
    /// The first seed: decimal, hexadecimal with 0x, or the hash of a commit. Without one, chance chooses, and seeds are run until stopped.
    seed: Option<String>,
    /// How many seeds, counted up from the first.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
    /// On so many threads; 0 stands for as many as there are processors.
    #[arg(short, long, default_value_t = 1)]
    jobs: usize,
    /// What kind of runs.
    #[arg(long, default_value = Profile::Swarm.name(), value_parser = profiles())]
    profile: String,
    /// Ends after so much time, such as 30s, 10m or 2h.
    #[arg(long, value_parser = parse_duration)]
    budget: Option<Duration>,
    /// Prints one object instead of lines.
    #[arg(long)]
    json: bool,
    /// Leaves a failing run as it is.
    #[arg(long)]
    no_shrink: bool,
    /// Where capsules are written.
    #[arg(long, default_value = "capsules")]
    out: PathBuf,
    /// Shows what the broker logs, of one run at a time.
    #[arg(long, conflicts_with = "jobs")]
    log: bool,
    /// Plants this bug first.
    #[arg(long)]
    bug: Option<String>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Json {
    seeds: u64,
    seconds: f64,
    events: u64,
    simulated_seconds: f64,
    acknowledged: u64,
    vacuous: u64,
    failures: Vec<Failure>,
    faults: BTreeMap<&'static str, u64>,
    marks: BTreeMap<&'static str, u64>,
    never_met: Vec<String>,
    hash: String,
}

#[derive(Serialize)]
struct Failure {
    seed: u64,
    violations: Vec<String>,
}

impl Options {
    pub(super) fn obey(self) -> Exit {
        let first = match self.seed.as_deref().map(seed::parse).transpose() {
            Ok(seed) => seed,
            Err(reason) => return refuse(&reason),
        };
        let Some(profile) = Profile::from_name(&self.profile) else { return refuse("there is no such profile") };
        if let Err(reason) = plant(self.bug.as_deref()) {
            return refuse(&reason);
        }
        let seeds = self.seeds.unwrap_or(if first.is_some() { 1 } else { u64::MAX });
        let campaign = Campaign {
            profile,
            first: first.unwrap_or_else(random_seed),
            seeds,
            threads: if self.jobs == 0 { processors() } else { self.jobs },
            budget: self.budget,
            stops_at_failure: seeds == u64::MAX,
        };
        if !self.json {
            let many = if seeds == 1 {
                String::new()
            } else if seeds == u64::MAX {
                " until stopped".into()
            } else {
                format!(" seeds={seeds}")
            };
            println!("seed={}{many} profile={} {}", campaign.first, self.profile, made_by());
        }
        let show = |report: &RunReport| {
            if !self.json {
                show_failure(report);
            }
        };
        let outcome = if self.log {
            tracing::subscriber::with_default(LogLines, || campaign.run(show))
        } else {
            campaign.run(show)
        };
        let exit = exit_of(&outcome, seeds);
        if self.json {
            println!("{}", serde_json::to_string_pretty(&json(&outcome)).expect("plain numbers and names are JSON"));
        } else {
            say(&campaign, &outcome);
        }
        for report in outcome.failures.iter().take(CAPSULES_MAX) {
            self.keep(Scenario::new(profile, report.seed));
        }
        exit
    }

    /// A capsule of what failed, made small; its command is the last line.
    fn keep(&self, scenario: Scenario) {
        let (seed, profile) = (scenario.seed(), scenario.profile);
        let of_profile =
            if profile == Profile::Swarm { String::new() } else { format!(" --profile {}", profile.name()) };
        let with_bug = self.bug.as_ref().map(|bug| format!(" --bug '{bug}'")).unwrap_or_default();
        let again = format!("{of_profile}{with_bug}");
        if self.no_shrink {
            return eprintln!("again: cargo sim run {seed}{again}");
        }
        match write_capsule(scenario, self.bug.clone(), &self.out.join(format!("{seed}.capsule"))) {
            Ok(path) => eprintln!("again: cargo sim replay {}", path.display()),
            Err(reason) => eprintln!("{reason}\nagain: cargo sim run {seed}{again}"),
        }
    }
}

fn say(campaign: &Campaign, outcome: &Outcome) {
    let Outcome { events, hash, failures, .. } = outcome;
    let is_sound = failures.is_empty() && outcome.never_met().is_empty();
    let verdict = if is_sound { "ok" } else { "FAILED" };
    let seed = campaign.first;
    if campaign.seeds == 1 {
        return println!("{verdict} seed={seed} events={events} hash={hash:016x}");
    }
    let Outcome { seeds, acknowledged, crashes, vacuous, .. } = outcome;
    let simulated = outcome.simulated_ns / 1_000_000_000;
    println!("acknowledged={acknowledged} crashes={crashes} vacuous={vacuous} simulated={simulated}s");
    if outcome.says_nothing() {
        println!("  too many runs wrote nothing: they say nothing");
    }
    if !outcome.never_met().is_empty() {
        println!("  never met, and every {SEEDS_THAT_MEET_ALL} seeds should: {}", outcome.never_met().join(", "));
    }
    println!("{verdict} seed={seed} seeds={seeds} failed={} events={events} hash={hash:016x}", failures.len());
}

fn show_failure(report: &RunReport) {
    for violation in &report.violations {
        println!("  {violation}");
    }
    let RunReport { seed, events, hash, .. } = report;
    println!("FAILED seed={seed} events={events} hash={hash:016x}");
}

/// With a number of seeds a budget is a limit; without one it is what there is.
fn exit_of(outcome: &Outcome, seeds: u64) -> Exit {
    let first = outcome.failures.iter().min_by_key(|report| report.seed);
    match first.and_then(|report| report.violations.first()) {
        Some(violation) => Exit::of(violation),
        None if outcome.says_nothing() || !outcome.never_met().is_empty() => Exit::Vacuous,
        None if outcome.seeds < seeds && seeds != u64::MAX => Exit::OutOfTime,
        None => Exit::Ok,
    }
}

#[expect(clippy::float_arithmetic, reason = "for people and scripts; no decision hangs on it")]
fn json(outcome: &Outcome) -> Json {
    let failure = |report: &RunReport| Failure {
        seed: report.seed,
        violations: report.violations.iter().map(ToString::to_string).collect(),
    };
    Json {
        seeds: outcome.seeds,
        seconds: outcome.took.as_secs_f64(),
        events: outcome.events,
        simulated_seconds: outcome.simulated_ns as f64 / 1e9,
        acknowledged: outcome.acknowledged,
        vacuous: outcome.vacuous,
        failures: outcome.failures.iter().map(failure).collect(),
        faults: outcome.faults.iter().map(|(site, tally)| (site.name(), tally.times)).collect(),
        marks: outcome.marks.iter().map(|(mark, tally)| (mark.name(), tally.seeds)).collect(),
        never_met: outcome.never_met(),
        hash: format!("{:016x}", outcome.hash),
    }
}

pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()));
    let seconds = match unit {
        "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3_600),
        _ => None,
    };
    let product = number.parse::<u64>().ok().zip(seconds).and_then(|(number, seconds)| number.checked_mul(seconds));
    product.map(Duration::from_secs).ok_or_else(|| "a time is a number with s, m or h, such as 10m".to_string())
}
