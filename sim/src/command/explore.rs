//! `explore`: runs that are guided by what those before them have reached.
//!
//! It must not know how a run is guided.

use std::path::PathBuf;
use std::sync::Mutex;

use clap::Args;
use klamm::marks::Mark;
use klamm_sim::explore::{Explorer, features_of};
use klamm_sim::run::{RunReport, run};
use klamm_sim::{Profile, Scenario};

use super::bug::plant;
use super::deep_bugs::DeepBugs;
use super::exit::Exit;
use super::guidance::Measure;
use super::host::{in_parallel, processors, random_seed};
use super::shrink::write_capsule;
use super::{made_by, refuse, seed};

/// So many runs are made before what they reached guides the next ones. It does not depend on the threads, and nothing else does.
const RUNS_AT_ONCE: u64 = 16;
/// So many findings of one exploration are made small; the rest are counted.
const CAPSULES_MAX: usize = 3;

/// The options of `explore`.
#[derive(Args)]
pub(super) struct Options {
    /// What the exploration grows from: decimal, hexadecimal with 0x, or the hash of a commit. Without it, chance chooses.
    seed: Option<String>,
    /// How many runs; with `--measure` and `--bug`, at most so many in each search.
    #[arg(long, default_value_t = 2_000)]
    runs: u64,
    /// On so many threads; 0 is as many as there are processors.
    #[arg(short, long, default_value_t = 0)]
    jobs: usize,
    /// What kind of runs.
    #[arg(long, default_value = Profile::Swarm.name())]
    profile: String,
    /// Where capsules are written.
    #[arg(long, default_value = "capsules")]
    out: PathBuf,
    /// Plants this bug first.
    #[arg(long)]
    bug: Option<String>,
    /// Compares with unguided runs how many it takes to find the planted bug or, without one, bugs that need five situations in a row.
    #[arg(long)]
    measure: bool,
    /// With `--measure`: so many searches for each bug, each with seeds of its own.
    #[arg(long, default_value_t = 2)]
    trials: u64,
    /// With `--measure`, and no planted bug: so many bugs.
    #[arg(long, default_value_t = 10)]
    bugs: usize,
    /// With `--measure`, and no planted bug: so many unguided runs, of which bugs are drawn, and three times as many that tell how rare they are.
    #[arg(long, default_value_t = 8_000)]
    reference: u64,
}

impl Options {
    pub(super) fn obey(self) -> Exit {
        if !Mark::ARE_NOTED {
            return refuse("this build notes no marks that could guide: build it with the feature zoo");
        }
        let first = match self.seed.as_deref().map(seed::parse).transpose() {
            Ok(seed) => seed.unwrap_or_else(random_seed),
            Err(reason) => return refuse(&reason),
        };
        let Some(profile) = Profile::from_name(&self.profile) else { return refuse("there is no such profile") };
        if self.runs == 0 {
            return refuse("an exploration without a run finds nothing: --runs is at least 1");
        }
        if let Err(reason) = plant(self.bug.as_deref()) {
            return refuse(&reason);
        }
        println!("seed={first} runs={} profile={} {}", self.runs, self.profile, made_by());
        let threads = if self.jobs == 0 { processors() } else { self.jobs };
        if self.measure {
            return self.measure(profile, first, threads);
        }
        self.explore(Explorer::new(profile, first), threads)
    }

    fn measure(&self, profile: Profile, seed: u64, threads: usize) -> Exit {
        let (trials, bugs, reference) = (self.trials, self.bugs, self.reference);
        if self.bug.is_some() {
            return Measure { profile, seed, runs: self.runs, threads, trials }.planted();
        }
        if trials == 0 || bugs == 0 {
            return refuse("a measurement needs bugs and searches: --bugs and --trials are at least 1");
        }
        DeepBugs { profile, seed, threads, bugs, trials, reference }.measure()
    }

    fn explore(&self, mut explorer: Explorer, threads: usize) -> Exit {
        let mut findings: Vec<(Scenario, RunReport)> = Vec::new();
        let (mut runs, mut hash) = (0, 0_u64);
        while runs < self.runs {
            for (scenario, report) in at_once(&mut explorer, threads, self.runs - runs, run) {
                runs += 1;
                hash = hash.wrapping_add(report.hash);
                explorer.learn(scenario.clone(), report.chaos_ns, features_of(&report.marks));
                if let Some(violation) = report.violations.first() {
                    println!("  run {runs}: {violation}");
                    findings.push((scenario, report));
                }
            }
        }
        let verdict = if findings.is_empty() { "ok" } else { "FAILED" };
        println!("{verdict} runs={runs} failed={} features={} hash={hash:016x}", findings.len(), explorer.features());
        let exit = findings.first().and_then(|(_, report)| report.violations.first()).map_or(Exit::Ok, Exit::of);
        for (number, (scenario, _)) in findings.into_iter().enumerate().take(CAPSULES_MAX) {
            self.keep(number, scenario);
        }
        exit
    }

    /// A capsule of what failed, made small. Only a capsule can tell where the run took which turn.
    fn keep(&self, number: usize, scenario: Scenario) {
        let path = self.out.join(format!("{}-{number}.capsule", scenario.seed()));
        match write_capsule(scenario, self.bug.clone(), &path) {
            Ok(path) => eprintln!("again: cargo sim replay {}", path.display()),
            Err(reason) => eprintln!("{reason}"),
        }
    }
}

/// The next runs of an exploration, at most `most`, in their order.
pub(super) fn at_once<Report: Send>(
    explorer: &mut Explorer,
    threads: usize,
    most: u64,
    run: impl Fn(Scenario) -> Report + Sync,
) -> Vec<(Scenario, Report)> {
    let scenarios: Vec<Scenario> = (0..most.min(RUNS_AT_ONCE)).map(|_| explorer.next_scenario()).collect();
    let reports: Vec<Mutex<Option<Report>>> = scenarios.iter().map(|_| Mutex::new(None)).collect();
    in_parallel(threads, scenarios.len() as u64, |index| {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        if let Some((scenario, report)) = scenarios.get(index).zip(reports.get(index)) {
            *report.lock().expect("a run catches its panics") = Some(run(scenario.clone()));
        }
        true
    });
    let reports = reports.into_iter().filter_map(|report| report.into_inner().expect("a run catches its panics"));
    scenarios.into_iter().zip(reports).collect()
}
