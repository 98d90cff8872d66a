//! One seed is one run: the same in every process, and another one as soon as a single decision differs.
//!
//! It must not know what a run does.

#![expect(clippy::unwrap_used, reason = "a test may panic where it cannot go on")]

use std::io::IoSlice;
use std::path::Path;
use std::process::Command;

use klamm::env::{Connection, Disk, Interest, Listener, OpenMode, Selector, Token};
use klamm::types::Instant;
use klamm_sim::keyed::{Select, Site};
use klamm_sim::run::run;
use klamm_sim::{Crash, World, WorldOptions};

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
            options.overrides.values.insert(Select::Site(site), 1);
            run(options).hash != plain.hash
        });
        assert!(changed, "{site:?} does not matter");
    }
}

#[test]
fn the_readme_shows_how_seed_17_ends() {
    let report = run(WorldOptions::from_seed(17));
    let line = format!("ok seed=17 events={} hash={:016x}", report.events, report.hash);
    let readme = include_str!("../../README.md");
    assert!(readme.lines().any(|shown| shown == line), "README.md does not show `{line}`");
}

/// The hash of a world in which this was written to the disk, and that to a client, after the clients came in this order.
fn hash_of(written: &[u8], answered: &[u8], order: [u64; 2]) -> u64 {
    let world = World::new(WorldOptions::calm(4));
    let disk = world.disk();
    let file = disk.open(Path::new("/file"), OpenMode::Create).unwrap();
    file.append(&[IoSlice::new(written)]).unwrap();
    let mut selector = world.selector(0);
    let mut listener = world.listen(([10, 0, 0, 1], 9092).into(), 4).unwrap();
    let connect = |identity: u64| world.connect(identity, ([10, 0, 0, 2], 5_000).into(), ([10, 0, 0, 1], 9092).into());
    let clients = [1, 2].map(connect);
    world.advance_to(Instant(1_000_000_000));
    let mut connections = [listener.accept().unwrap().0, listener.accept().unwrap().0];
    connections[0].write_vectored(&[IoSlice::new(answered)]).unwrap();
    for index in order {
        let token = Token { index: u32::try_from(index).unwrap(), generation: 0 };
        let connection = &mut connections[usize::try_from(index).unwrap()];
        selector.register(connection, token, Interest::ReadableWritable).unwrap();
    }
    let mut events = Vec::new();
    selector.poll(&mut events, None).unwrap();
    assert_eq!(events.len(), 2);
    drop(clients);
    world.trace_hash()
}

#[test]
fn a_changed_byte_on_the_disk_or_to_a_client_and_two_swapped_events_change_the_hash() {
    let plain = hash_of(b"record", b"answer", [0, 1]);
    assert_eq!(plain, hash_of(b"record", b"answer", [0, 1]));
    assert_ne!(plain, hash_of(b"recorD", b"answer", [0, 1]));
    assert_ne!(plain, hash_of(b"record", b"answeR", [0, 1]));
    assert_ne!(plain, hash_of(b"record", b"answer", [1, 0]));
}

#[test]
fn what_a_power_cut_leaves_and_a_moved_wall_clock_are_in_the_hash() {
    let hash = |crashes: bool, milliseconds: i64| {
        let world = World::new(WorldOptions::calm(4));
        let file = world.disk().open(Path::new("/file"), OpenMode::Create).unwrap();
        file.append(&[IoSlice::new(b"record")]).unwrap();
        world.jump_wall(milliseconds);
        if crashes {
            world.crash(Crash::Power);
        }
        world.trace_hash()
    };
    assert_ne!(hash(false, 1), hash(false, 2));
    assert_ne!(hash(false, 1), hash(true, 1));
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
    assert_eq!(said.trim(), "'banana' is no seed: a seed is a number such as 17 or 0x1f, or the hash of a commit");
}
