//! What each part of the simulator is worth: the planted bugs that are found no more, or three times less often, when it is switched off.
//!
//! Each bug has its seeds, and every part is judged by the same ones. A seed whose run a part cannot matter to is not run again. It must not know what any part does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use klamm::zoo::Bug;
use klamm_sim::checker::Excuse;
use serde::{Deserialize, Serialize};

use super::exit::Exit;
use super::host::{Stopwatch, append, is_watched, read_if_there};
use super::part::{Part, Trial};
use super::refuse_file;
use super::worth_table::WorthTable;
use super::zoo::{TRIAL_STRIDE, look, run_without};

/// So often a bug is found, if its seeds suffice.
const FINDINGS_MAX: usize = 8;
/// A bug that is found less often says nothing about the checks that it needs: without one the same runs are judged.
const FINDINGS_MIN: usize = 2;
/// A part without which a bug takes more than so many times the seeds is needed.
const SLOWER: usize = 3;
/// So many clean seeds are looked at for one that needs an excuse.
const CLEAN_SEEDS: u64 = 2_000;

/// A walk through all parts.
pub(super) struct Walk {
    pub(super) bugs: Vec<Bug>,
    /// For each bug.
    pub(super) seeds: u64,
    pub(super) with_oracle: bool,
    pub(super) with_faults: bool,
    pub(super) with_clean_seeds: bool,
    pub(super) budget: Option<Duration>,
    pub(super) notes: Option<PathBuf>,
    pub(super) json: bool,
}

/// What was learnt in one step of a walk.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Note {
    Bug(BugNote),
    Excuse(ExcuseNote),
}

/// What a bug needs.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct BugNote {
    pub(super) bug: String,
    seeds: u64,
    /// How many parts there were to be switched off.
    parts: usize,
    pub(super) findings: usize,
    /// The checks that have found it.
    pub(super) found_by: BTreeSet<String>,
    /// Without which it is not found, or less often: checks that are missing, and excuses that are granted always.
    pub(super) oracle: Option<BTreeMap<String, usize>>,
    /// The same, of faults and their families.
    pub(super) faults: Option<BTreeMap<String, usize>>,
}

/// The first clean seed that needs an excuse.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ExcuseNote {
    pub(super) excuse: String,
    pub(super) seeds: u64,
    pub(super) false_alarm: Option<String>,
}

/// One step of a walk.
#[derive(Clone, Copy)]
enum Step {
    Bug(Bug),
    Excuse(Excuse),
}

impl Walk {
    pub(super) fn obey(&self) -> Exit {
        let stopwatch = Stopwatch::start();
        let mut notes = match self.notes.as_deref().map_or(Ok(Vec::new()), notes_in) {
            Ok(notes) => notes,
            Err(reason) => return refuse_file(&reason),
        };
        let excuses: &[Excuse] = if self.with_oracle && self.with_clean_seeds { Excuse::ALL } else { &[] };
        let bugs = self.bugs.iter().copied().map(Step::Bug);
        let mut left: Vec<Step> = bugs.chain(excuses.iter().copied().map(Step::Excuse)).collect();
        left.retain(|step| !notes.iter().any(|note| self.has_taken(*step, note)));
        let bar = bar(left.len());
        let is_late = || self.budget.is_some_and(|budget| stopwatch.elapsed() >= budget);
        let mut taken = 0;
        for step in left.iter().take_while(|_| !is_late()) {
            bar.set_message(step.name());
            let note = match step {
                Step::Bug(bug) => Note::Bug(self.visit(*bug)),
                Step::Excuse(excuse) => Note::Excuse(first_false_alarm(*excuse)),
            };
            if let Err(reason) = self.keep(&mut notes, note) {
                return refuse_file(&reason);
            }
            taken += 1;
            bar.inc(1);
        }
        bar.finish_and_clear();
        let table = WorthTable::new(&self.bugs, &notes, self.with_oracle, self.with_faults);
        if self.json {
            println!("{}", serde_json::to_string_pretty(&table).expect("plain numbers and names are JSON"));
        } else {
            table.say();
        }
        if taken < left.len() { Exit::OutOfTime } else { Exit::Ok }
    }

    /// Whether a note of this walk, or of an earlier one, says all that a step would tell. With more seeds one may tell more.
    fn has_taken(&self, step: Step, note: &Note) -> bool {
        match (step, note) {
            (Step::Bug(bug), Note::Bug(note)) => {
                let has_all =
                    (note.oracle.is_some() || !self.with_oracle) && (note.faults.is_some() || !self.with_faults);
                let is_patient = note.seeds >= self.seeds || note.tells_faults();
                note.bug == bug.name() && note.parts == parts() && has_all && is_patient
            }
            (Step::Excuse(excuse), Note::Excuse(note)) => note.excuse == excuse.name(),
            (Step::Bug(_) | Step::Excuse(_), Note::Bug(_) | Note::Excuse(_)) => false,
        }
    }

    fn keep(&self, notes: &mut Vec<Note>, note: Note) -> Result<(), String> {
        let line = serde_json::to_string(&note).expect("plain numbers and names are JSON");
        notes.push(note);
        self.notes.as_deref().map_or(Ok(()), |path| append(path, &line))
    }

    /// Finds a bug several times, and looks which parts it takes.
    fn visit(&self, bug: Bug) -> BugNote {
        let mut trials: Vec<Trial> = Vec::new();
        let mut findings = 0;
        for seed in (0..self.seeds).map(|index| TRIAL_STRIDE + index) {
            let (report, is_finding) = look(bug, seed, None);
            trials.push(Trial::new(&report, is_finding));
            findings += usize::from(is_finding);
            if findings == FINDINGS_MAX {
                break;
            }
        }
        let needed = |parts: &mut dyn Iterator<Item = Part>| {
            let left = parts.filter_map(|part| Some((part.name().to_string(), left_without(part, bug, &trials)?)));
            left.collect::<BTreeMap<_, _>>()
        };
        BugNote {
            bug: bug.name().to_string(),
            seeds: trials.len() as u64,
            parts: parts(),
            findings,
            found_by: trials.iter().flat_map(|trial| &trial.checks).map(ToString::to_string).collect(),
            oracle: self.with_oracle.then(|| {
                let is_told = findings >= FINDINGS_MIN;
                if is_told { needed(&mut Part::of_oracle()) } else { BTreeMap::new() }
            }),
            faults: self.with_faults.then(|| {
                let is_told = findings >= FINDINGS_MAX;
                if is_told { needed(&mut Part::of_faults()) } else { BTreeMap::new() }
            }),
        }
    }
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Step::Bug(bug) => bug.name(),
            Step::Excuse(excuse) => excuse.name(),
        }
    }
}

impl BugNote {
    /// Whether it was found often enough to say which checks it needs.
    pub(super) fn tells_checks(&self) -> bool {
        self.findings >= FINDINGS_MIN
    }

    /// Whether it was found often enough to say which faults it needs: without one all is another run, in which a rare bug may stay away by chance.
    pub(super) fn tells_faults(&self) -> bool {
        self.findings >= FINDINGS_MAX
    }
}

fn bar(steps: usize) -> ProgressBar {
    if !is_watched() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len}, {elapsed}, {msg}");
    ProgressBar::new(steps as u64).with_style(style.expect("the template is valid"))
}

/// How many of the findings are left without a part, if so few that the bug needs it. Where that may be chance, as many seeds again have to say so too.
fn left_without(part: Part, bug: Bug, trials: &[Trial]) -> Option<usize> {
    let findings = trials.iter().filter(|trial| trial.is_finding()).count();
    let mut left = trials.iter().filter(|trial| trial.is_finding() && !part.matters_to(trial)).count();
    let in_question = trials.iter().filter(|trial| part.matters_to(trial));
    let (found, others): (Vec<&Trial>, Vec<&Trial>) = in_question.partition(|trial| trial.is_finding());
    let others = others.into_iter().filter(|_| part.may_find_more());
    for trial in found.into_iter().chain(others) {
        if left * SLOWER >= findings {
            return None;
        }
        let (_, is_finding) = look(bug, trial.seed, Some(part));
        left += usize::from(is_finding);
    }
    if left > 0 && part.may_find_more() {
        let last = trials.iter().map(|trial| trial.seed).max().unwrap_or(TRIAL_STRIDE);
        let more = (last + 1..).take(trials.len());
        let mut found = more.filter(|seed| look(bug, *seed, Some(part)).1);
        while left * SLOWER < 2 * findings {
            if found.next().is_none() {
                return Some(left);
            }
            left += 1;
        }
        return None;
    }
    (left * SLOWER < findings).then_some(left)
}

/// The first clean seed that would fail if an excuse were never granted.
fn first_false_alarm(excuse: Excuse) -> ExcuseNote {
    let alarm_of = |seed: u64| {
        let report = run_without(Some(Part::Strict(excuse)), seed);
        let violation = report.violations.first()?;
        run_without(None, seed).violations.is_empty().then(|| (seed, violation.to_string()))
    };
    let alarm = (1..=CLEAN_SEEDS).find_map(alarm_of);
    let seeds = alarm.as_ref().map_or(CLEAN_SEEDS, |(seed, _)| *seed);
    ExcuseNote { excuse: excuse.name().to_string(), seeds, false_alarm: alarm.map(|(_, said)| said) }
}

/// A note that was taken when there were others says nothing of those that came.
fn parts() -> usize {
    Part::of_oracle().chain(Part::of_faults()).count()
}

/// What earlier walks have learnt.
fn notes_in(path: &Path) -> Result<Vec<Note>, String> {
    let parse = |line: &str| serde_json::from_str(line).map_err(|error| format!("{}: {error}", path.display()));
    read_if_there(path)?.lines().map(parse).collect()
}
