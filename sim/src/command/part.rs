//! A part of the simulator that can be switched off, to learn what it is worth: a check, a kind of fault or a family of them; or an excuse that is
//! granted always or never.
//!
//! It must not know what any of them does, nor which bug needs it.

use std::collections::BTreeSet;

use klamm_sim::checker::{Excuse, Oracle, Violation};
use klamm_sim::keyed::{Select, Site};
use klamm_sim::run::RunReport;
use klamm_sim::{Scenario, Simple};

/// A number that keeps the broker from going down in the middle of a start.
const NEVER: u64 = u64::MAX;

/// Faults that are of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    Readiness,
    Bytes,
    Connections,
    Accepting,
    DiskErrors,
    DiskSpace,
    SlowDisk,
    DiskDamage,
    WholeDisks,
    PowerCuts,
    Clocks,
    /// The broker goes down, or stops, by the plan.
    Crashes,
    /// Clients that treat their connections badly.
    Habits,
}

/// What is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Check(&'static str),
    /// An excuse that is granted always: a check that says too little.
    Lenient(Excuse),
    /// An excuse that is granted never: a check that says too much.
    Strict(Excuse),
    Family(Family),
    Fault(Site),
}

/// A run of a planted bug, as far as it matters to what goes on without a part.
pub(super) struct Trial {
    pub(super) seed: u64,
    /// The checks that found something: none if the bug was not found.
    pub(super) checks: BTreeSet<&'static str>,
    sites: BTreeSet<Site>,
    crashes: u32,
}

impl Family {
    pub(super) const ALL: &[Family] = &[
        Family::Readiness,
        Family::Bytes,
        Family::Connections,
        Family::Accepting,
        Family::DiskErrors,
        Family::DiskSpace,
        Family::SlowDisk,
        Family::DiskDamage,
        Family::WholeDisks,
        Family::PowerCuts,
        Family::Clocks,
        Family::Crashes,
        Family::Habits,
    ];

    fn name(self) -> &'static str {
        match self {
            Family::Readiness => "readiness",
            Family::Bytes => "bytes on their way",
            Family::Connections => "ends of connections",
            Family::Accepting => "accepting",
            Family::DiskErrors => "errors of the disk",
            Family::DiskSpace => "space on the disk",
            Family::SlowDisk => "a slow disk",
            Family::DiskDamage => "damage on the disk",
            Family::WholeDisks => "whole disks",
            Family::PowerCuts => "what a power cut leaves",
            Family::Clocks => "clocks",
            Family::Crashes => "crashes and stops",
            Family::Habits => "bad habits of clients",
        }
    }

    /// The family of a fault; `None` of what is none.
    fn of(site: Site) -> Option<Family> {
        use Site::*;
        if !site.is_fault() {
            return None;
        }
        Some(match site {
            AppendFull | EntryFull | SyncFull | QuotaExceeded | SpaceEnds | SpaceReturns => Family::DiskSpace,
            SyncStalls | DiskSlow | SyncThrottled | SyncNeverCompletes | PowerFailsInSync => Family::SlowDisk,
            SectorUnreadable | BitRotAtRest | BitRotOnRead | WriteMisdirected | ReadMisdirected | WritePhantom
            | CacheLies => Family::DiskDamage,
            DirectoryVanished | DirectoryStale | DiskMissing | DiskFails | DiskReadOnly | DirectoryRemoved => {
                Family::WholeDisks
            }
            UnsyncedLost | SectorTorn | WritesReordered | TailZeroed | TailGarbage | SizeOutOfStep | EntryLost
            | RenameHalfDone | TruncateUndone => Family::PowerCuts,
            _ => match site.number() {
                0..100 => Family::Readiness,
                100..200 => Family::Bytes,
                200..300 => Family::Connections,
                300..400 => Family::Accepting,
                400..500 => Family::DiskErrors,
                _ => Family::Clocks,
            },
        })
    }

    fn sites(self) -> impl Iterator<Item = Site> {
        Site::ALL.iter().copied().filter(move |site| Family::of(*site) == Some(self))
    }
}

impl Part {
    /// Every check, and every excuse as it hides most.
    pub(super) fn of_oracle() -> impl Iterator<Item = Part> {
        let checks = Violation::CHECKS.iter().copied().map(Part::Check);
        checks.chain(Excuse::ALL.iter().copied().map(Part::Lenient))
    }

    /// Every family of faults, and every fault.
    pub(super) fn of_faults() -> impl Iterator<Item = Part> {
        let sites = Site::ALL.iter().copied().filter(|site| site.is_fault());
        Family::ALL.iter().copied().map(Part::Family).chain(sites.map(Part::Fault))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Part::Check(check) => check,
            Part::Lenient(excuse) | Part::Strict(excuse) => excuse.name(),
            Part::Family(family) => family.name(),
            Part::Fault(site) => site.name(),
        }
    }

    /// Takes it out of a run.
    pub(super) fn take_out_of(self, scenario: &mut Scenario) {
        let overrides = &mut scenario.world.overrides;
        match self {
            Part::Check(check) => scenario.oracle = Oracle::Without(check),
            Part::Lenient(excuse) => scenario.oracle = Oracle::Granting(excuse),
            Part::Strict(excuse) => scenario.oracle = Oracle::Refusing(excuse),
            Part::Fault(site) => _ = overrides.forbidden.insert(Select::Site(site)),
            Part::Family(Family::Crashes) => {
                let crashes = [Simple::NoFirstCrash, Simple::NoSecondCrash, Simple::QuietEndOfChaos, Simple::QuietEnd];
                scenario.reduction.simple.extend(crashes);
                overrides.values.insert(Select::Site(Site::StartCrash), NEVER);
            }
            Part::Family(Family::Habits) => _ = scenario.reduction.simple.insert(Simple::GoodHabits),
            Part::Family(family) => overrides.forbidden.extend(family.sites().map(Select::Site)),
        }
    }

    /// Whether a run may be another one without it. To forbid a fault that did not fire changes nothing, nor does the silence of a check that had nothing to say
    /// or that was not alone.
    pub(super) fn matters_to(self, trial: &Trial) -> bool {
        match self {
            Part::Check(check) => trial.checks.len() == 1 && trial.checks.contains(check),
            Part::Lenient(_) => trial.is_finding(),
            Part::Strict(_) | Part::Family(Family::Habits) => true,
            Part::Family(Family::Crashes) => trial.crashes > 0,
            Part::Family(family) => family.sites().any(|site| trial.sites.contains(&site)),
            Part::Fault(site) => trial.sites.contains(&site),
        }
    }

    /// Whether more may be found without it than with it: other faults are other runs, but who looks less closely finds no more.
    pub(super) fn may_find_more(self) -> bool {
        matches!(self, Part::Strict(_) | Part::Family(_) | Part::Fault(_))
    }
}

impl Trial {
    /// What a run came to; it is a finding only if the same run without the bug is clean.
    pub(super) fn new(report: &RunReport, is_finding: bool) -> Trial {
        let checks = report.violations.iter().filter(|_| is_finding).map(Violation::check);
        Trial {
            seed: report.seed,
            checks: checks.collect(),
            sites: report.fired.iter().map(|fault| fault.site).collect(),
            crashes: report.crashes,
        }
    }

    pub(super) fn is_finding(&self) -> bool {
        !self.checks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_one_family_and_every_name_is_one_parts() {
        let in_families: usize = Family::ALL.iter().map(|family| family.sites().count()).sum();
        assert_eq!(in_families, Site::ALL.iter().filter(|site| site.is_fault()).count());
        let parts: Vec<&str> = Part::of_oracle().chain(Part::of_faults()).map(Part::name).collect();
        assert_eq!(parts.iter().collect::<BTreeSet<_>>().len(), parts.len());
    }

    #[test]
    fn a_run_is_the_same_without_a_fault_that_did_not_fire() {
        for seed in 1..=2 {
            let whole = klamm_sim::run::run(Scenario::from(klamm_sim::WorldOptions::from_seed(seed)));
            let trial = Trial::new(&whole, false);
            for part in Part::of_faults().filter(|part| !part.matters_to(&trial)).step_by(9) {
                let mut scenario = Scenario::from(klamm_sim::WorldOptions::from_seed(seed));
                part.take_out_of(&mut scenario);
                assert_eq!(klamm_sim::run::run(scenario).hash, whole.hash, "seed {seed} without {}", part.name());
            }
        }
    }
}
