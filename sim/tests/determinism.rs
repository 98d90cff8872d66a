//! One seed is one run: the same in every process, and another one as soon as a single decision differs.
//!
//! It must not know what a run does.

use std::process::Command;

use klamm_sim::WorldOptions;
use klamm_sim::keyed::{Key, Select, Site};
use klamm_sim::run::run;

const SEEDS: u64 = 20;

fn closing_lines() -> Vec<String> {
    (1..=SEEDS)
        .map(|seed| {
            let output = Command::new(env!("CARGO_BIN_EXE_klamm-sim")).args(["run", &seed.to_string()]).output();
            let output = output.expect("the command was built beside this test");
            String::from_utf8(output.stdout)
                .expect("the command prints text")
                .lines()
                .last()
                .unwrap_or_default()
                .to_string()
        })
        .collect()
}

#[test]
fn every_process_ends_a_seed_with_the_same_line() {
    let first = closing_lines();
    assert_eq!(first, closing_lines());
    let here: Vec<String> = (1..=SEEDS)
        .map(|seed| {
            let report = run(WorldOptions::from_seed(seed));
            format!("ok seed={seed} events={} hash={:016x}", report.events, report.hash)
        })
        .collect();
    assert_eq!(first, here);
}

#[test]
fn one_changed_delay_or_choice_changes_the_hash() {
    for site in [Site::SchedulerPick, Site::StepCost, Site::SegmentDelay, Site::SyncDelay, Site::ClientAction] {
        let changed = (1..=SEEDS).any(|seed| {
            let plain = run(WorldOptions::from_seed(seed));
            let mut options = WorldOptions::from_seed(seed);
            let entity = if site == Site::SegmentDelay { 1 } else { 0 };
            options.overrides.values.insert(Select::One(Key { site, entity, ordinal: 2 }), 1);
            run(options).hash != plain.hash
        });
        assert!(changed, "{site:?} does not matter");
    }
}

#[test]
fn no_two_seeds_run_alike() {
    let mut hashes: Vec<u64> = (1..=SEEDS).map(|seed| run(WorldOptions::from_seed(seed)).hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len() as u64, SEEDS);
}

#[test]
fn a_seed_that_is_none_is_told_in_one_sentence_with_status_2() {
    let output = Command::new(env!("CARGO_BIN_EXE_klamm-sim")).args(["run", "banana"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.trim(), "'banana' is no seed: a seed is a number such as 17 or 0x1f");
}
