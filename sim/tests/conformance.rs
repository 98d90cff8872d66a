//! The contract of the doors on the simulated makers, and the proof that every clause can fail.

use std::collections::BTreeSet;

use klamm_sim::conformance::{Outcome, SimMakers, Worlds, clauses, simulated_clauses};
use klamm_sim::keyed::{Overrides, Site, Swarm};
use klamm_sim::{Flaw, World, WorldOptions};

fn holds(name: &str, outcome: Outcome) {
    if let Err(failure) = outcome {
        panic!("{name}: {}", failure.0);
    }
}

/// The faults that the contract allows, so that every clause must hold under them.
const ALLOWED: [Site; 20] = [
    Site::SpuriousReadable,
    Site::SpuriousWritable,
    Site::SpuriousAccept,
    Site::ExtraEdge,
    Site::PollShuffled,
    Site::PollTruncated,
    Site::ReadinessMerged,
    Site::HintsMissing,
    Site::PollEarly,
    Site::PollInterrupted,
    Site::WritableLate,
    Site::EventSplit,
    Site::WakeLate,
    Site::ShortRead,
    Site::ShortWrite,
    Site::ReadBlocksSpuriously,
    Site::WriteBlocksSpuriously,
    Site::SegmentSplit,
    Site::SegmentSlow,
    Site::Clogged,
];

/// Clauses that look for the exact answer which a spurious block or an early poll may lawfully hide.
const EXACT: [&str; 7] = [
    "wake_shows_no_event",
    "wake_before_poll_is_kept",
    "wakes_become_one",
    "wake_after_poll_ends_the_next",
    "reset_is_an_error_then_the_end",
    "wake_reaches_one_selector",
    "shutdown_after_reset_is_not_connected",
];

#[test]
fn simulated_makers_keep_every_clause() {
    for clause in clauses() {
        for seed in 0..4 {
            let world = World::new(WorldOptions::calm(seed));
            holds(clause.name, (clause.check)(&mut SimMakers::new(world)));
        }
    }
}

#[test]
fn simulated_makers_keep_every_clause_under_every_allowed_fault() {
    for clause in clauses::<SimMakers>().into_iter().filter(|clause| !EXACT.contains(&clause.name)) {
        // The one clause that moves megabytes byte by byte is slow without optimisation.
        let seeds = if clause.name == "big_send_blocks_and_goes_on" { 1 } else { 3 };
        for seed in 0..seeds {
            for site in ALLOWED {
                let mut swarm = Swarm::calm();
                swarm.set_rate(site, 300_000);
                let options = WorldOptions { seed, swarm, overrides: Overrides::default(), flaw: None };
                let outcome = (clause.check)(&mut SimMakers::new(World::new(options)));
                holds(&format!("{} under {site:?}, seed {seed}", clause.name), outcome);
            }
        }
    }
}

#[test]
fn simulated_machine_keeps_every_clause_of_its_own() {
    for clause in simulated_clauses() {
        holds(clause.name, (clause.check)(&Worlds::default()));
    }
}

#[test]
fn every_clause_catches_its_planted_flaw() {
    for clause in clauses() {
        let world = World::new(WorldOptions { flaw: Some(clause.flaw), ..WorldOptions::calm(0) });
        let outcome = (clause.check)(&mut SimMakers::new(world));
        assert!(outcome.is_err(), "{} does not catch {:?}", clause.name, clause.flaw);
    }
    for clause in simulated_clauses() {
        let outcome = (clause.check)(&Worlds { flaw: Some(clause.flaw) });
        assert!(outcome.is_err(), "{} does not catch {:?}", clause.name, clause.flaw);
    }
}

#[test]
fn every_flaw_has_a_clause_and_every_name_is_used_once() {
    let general = clauses::<SimMakers>();
    let simulated = simulated_clauses();
    let caught: BTreeSet<Flaw> = general.iter().map(|c| c.flaw).chain(simulated.iter().map(|c| c.flaw)).collect();
    let missing: Vec<&Flaw> = Flaw::ALL.iter().filter(|flaw| !caught.contains(flaw)).collect();
    assert!(missing.is_empty(), "no clause catches {missing:?}");
    let names: BTreeSet<&str> = general.iter().map(|c| c.name).chain(simulated.iter().map(|c| c.name)).collect();
    assert_eq!(names.len(), general.len() + simulated.len());
}
