//! The faults of whole runs: all of them fire, and one that is taken away leaves the others where they were.
//!
//! It must not know what a fault does.

use std::collections::BTreeSet;

use klamm_sim::WorldOptions;
use klamm_sim::keyed::{Mode, Overrides, Select, Site, SiteKind, Swarm};
use klamm_sim::run::run;

/// Within so many runs with all faults on.
const SEEDS_MAX: u64 = 2_000;

#[test]
fn every_fault_fires_in_some_run() {
    let mut missing: BTreeSet<Site> = Site::ALL
        .iter()
        .filter(|site| matches!(site.kind(), SiteKind::Fault(_) | SiteKind::Fate(_)))
        .copied()
        .collect();
    let mut seed = 0;
    while !missing.is_empty() && seed < SEEDS_MAX {
        let swarm = Swarm::with_mode(seed, Mode::AllOn);
        let report = run(WorldOptions { seed, swarm, overrides: Overrides::default(), flaw: None });
        for fault in &report.fired {
            missing.remove(&fault.site);
        }
        seed += 1;
    }
    assert!(missing.is_empty(), "never fired: {missing:?}");
}

/// Of a hundred other faults, how many still fire if one early fault is forbidden, in the median run.
#[test]
fn a_forbidden_fault_leaves_most_of_the_others_in_place() {
    let mut shares: Vec<u64> = (1..=60).filter_map(share_left).collect();
    shares.sort_unstable();
    let (median, mean) = (shares[shares.len() / 2], shares.iter().sum::<u64>() / shares.len() as u64);
    assert!(median >= 97 && mean >= 90, "median {median}, mean {mean} of {shares:?}");
}

fn share_left(seed: u64) -> Option<u64> {
    let plain = run(WorldOptions::from_seed(seed)).fired;
    let victim = *plain.iter().find(|fault| fault.site == Site::ShortRead || fault.site == Site::ShortWrite)?;
    let mut options = WorldOptions::from_seed(seed);
    options.overrides.forbidden.insert(Select::One(victim));
    let without: BTreeSet<_> = run(options).fired.into_iter().collect();
    let others: Vec<_> = plain.into_iter().filter(|fault| *fault != victim).collect();
    let left = others.iter().filter(|fault| without.contains(fault)).count() as u64;
    (!others.is_empty()).then(|| left * 100 / others.len() as u64)
}
