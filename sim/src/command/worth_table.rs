//! What each part of the simulator is worth, as a table.
//!
//! It must not know how that was learnt.

use std::collections::BTreeMap;

use klamm::zoo::Bug;
use klamm_sim::checker::{Excuse, Violation};
use serde::Serialize;

use super::part::Part;
use super::worth::{BugNote, Note};

/// Who needs what.
#[derive(Serialize)]
pub(super) struct WorthTable<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<BTreeMap<&'static str, Check<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excuses: Option<BTreeMap<&'static str, ExcuseRow<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    faults: Option<BTreeMap<&'static str, Vec<&'a str>>>,
    /// Bugs that were found too seldom in their seeds to say which checks they need, or which faults.
    too_seldom_for_checks: Vec<&'a str>,
    too_seldom_for_faults: Vec<&'a str>,
    /// Bugs for which there was no time.
    not_visited: Vec<&'static str>,
}

#[derive(Serialize)]
struct Check<'a> {
    /// The bugs that are found without it no more, or less often.
    needed_for: Vec<&'a str>,
    /// The bugs that others notice as well.
    also_finds: Vec<&'a str>,
}

#[derive(Serialize)]
struct ExcuseRow<'a> {
    /// The bugs that are found no more, or less often, when it is granted always.
    hides: Vec<&'a str>,
    /// How many clean seeds it takes until one needs it.
    seeds: Option<u64>,
    false_alarm: Option<&'a str>,
}

impl<'a> WorthTable<'a> {
    pub(super) fn new(bugs: &[Bug], notes: &'a [Note], with_oracle: bool, with_faults: bool) -> WorthTable<'a> {
        let of_bug = |bug: &Bug| {
            let its = |note: &'a Note| match note {
                Note::Bug(note) => Some(note).filter(|note| note.bug == bug.name()),
                Note::Excuse(_) => None,
            };
            notes.iter().rev().find_map(its)
        };
        let visited: Vec<&BugNote> = bugs.iter().filter_map(of_bug).collect();
        let seldom = |tells: fn(&BugNote) -> bool| {
            visited.iter().filter(|note| !tells(note)).map(|note| note.bug.as_str()).collect()
        };
        WorthTable {
            checks: with_oracle.then(|| checks(&visited)),
            excuses: with_oracle.then(|| excuses(&visited, notes)),
            faults: with_faults.then(|| {
                let row = |part: Part| (part.name(), needed_for(&visited, part.name(), |note| note.faults.as_ref()));
                Part::of_faults().map(row).collect()
            }),
            too_seldom_for_checks: if with_oracle { seldom(BugNote::tells_checks) } else { Vec::new() },
            too_seldom_for_faults: if with_faults { seldom(BugNote::tells_faults) } else { Vec::new() },
            not_visited: bugs.iter().filter(|bug| of_bug(bug).is_none()).map(|bug| bug.name()).collect(),
        }
    }

    /// Prints it.
    pub(super) fn say(&self) {
        if let Some(checks) = &self.checks {
            say_checks(checks);
        }
        if let Some(excuses) = &self.excuses {
            say_excuses(excuses);
        }
        if let Some(faults) = &self.faults {
            say_faults(faults);
        }
        say_list("bugs that were found too seldom to say which checks they need", &self.too_seldom_for_checks);
        say_list("bugs that were found too seldom to say which faults they need", &self.too_seldom_for_faults);
        say_list("bugs for which there was no time", &self.not_visited);
    }
}

type Needs = BTreeMap<String, usize>;

fn needed_for<'a>(of: &[&'a BugNote], part: &str, needs: impl Fn(&BugNote) -> Option<&Needs>) -> Vec<&'a str> {
    let needs_it = |note: &&&BugNote| needs(note).is_some_and(|needs| needs.contains_key(part));
    of.iter().filter(needs_it).map(|note| note.bug.as_str()).collect()
}

fn checks<'a>(of: &[&'a BugNote]) -> BTreeMap<&'static str, Check<'a>> {
    let row = |check: &&'static str| {
        let needed_for = needed_for(of, check, |note| note.oracle.as_ref());
        let found = of.iter().filter(|note| note.found_by.contains(*check)).map(|note| note.bug.as_str());
        let also_finds = found.filter(|bug| !needed_for.contains(bug)).collect();
        (*check, Check { needed_for, also_finds })
    };
    Violation::CHECKS.iter().map(row).collect()
}

fn excuses<'a>(of: &[&'a BugNote], notes: &'a [Note]) -> BTreeMap<&'static str, ExcuseRow<'a>> {
    let row = |excuse: &Excuse| {
        let its = |note: &'a Note| match note {
            Note::Excuse(note) => Some(note).filter(|note| note.excuse == excuse.name()),
            Note::Bug(_) => None,
        };
        let note = notes.iter().rev().find_map(its);
        let hides = needed_for(of, excuse.name(), |note| note.oracle.as_ref());
        let false_alarm = note.and_then(|note| note.false_alarm.as_deref());
        (excuse.name(), ExcuseRow { hides, seeds: note.map(|note| note.seeds), false_alarm })
    };
    Excuse::ALL.iter().map(row).collect()
}

fn say_checks(checks: &BTreeMap<&'static str, Check<'_>>) {
    println!("{:<24} {:>10} {:>10}  bugs that need it", "check", "needed for", "also finds");
    for (name, check) in checks.iter().filter(|(_, check)| !check.needed_for.is_empty()) {
        let (needed, also) = (check.needed_for.len(), check.also_finds.len());
        println!("{name:<24} {needed:>10} {also:>10}  {}", check.needed_for.join("; "));
    }
    let not_needed = checks.iter().filter(|(_, check)| check.needed_for.is_empty());
    let (silent, doubled): (Vec<_>, Vec<_>) = not_needed.partition(|(_, check)| check.also_finds.is_empty());
    println!("checks that find bugs which others notice as well: {}", doubled.len());
    doubled.iter().for_each(|(name, check)| println!("    {name}: {}", check.also_finds.join("; ")));
    say_list("checks that find no planted bug", &silent.iter().map(|(name, _)| **name).collect::<Vec<_>>());
}

fn say_excuses(excuses: &BTreeMap<&'static str, ExcuseRow<'_>>) {
    println!("{:<36} {:>11}  {:>5}", "excuse", "never given", "hides");
    for (name, row) in excuses {
        let alarm = match (row.seeds, row.false_alarm) {
            (Some(seeds), Some(_)) => format!("{seeds} seeds"),
            (Some(_), None) => "no alarm".to_string(),
            (None, _) => "?".to_string(),
        };
        println!("{name:<36} {alarm:>11}  {:>5}  {}", row.hides.len(), row.hides.join("; "));
    }
}

fn say_faults(faults: &BTreeMap<&'static str, Vec<&str>>) {
    println!("{:<24} {:>10}  bugs that need it", "fault", "needed for");
    for part in Part::of_faults() {
        let Some(bugs) = faults.get(part.name()).filter(|bugs| !bugs.is_empty()) else { continue };
        println!("{:<24} {:>10}  {}", part.name(), bugs.len(), bugs.join("; "));
    }
    let idle: Vec<&str> = Part::of_faults().map(Part::name).filter(|name| faults[name].is_empty()).collect();
    say_list("faults, and families of faults, that no planted bug needs", &idle);
}

fn say_list(what: &str, names: &[&str]) {
    if !names.is_empty() {
        println!("{what}: {}: {}", names.len(), names.join(", "));
    }
}
