//! Log directories that are disks of their own: each fails, goes and comes back as a whole.
#![expect(clippy::unwrap_used, reason = "a test may panic where it cannot go on")]

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use klamm::env::{Disk, DiskFile, OpenMode};
use klamm_sim::keyed::Site;
use klamm_sim::{Crash, World, WorldOptions};

const ALWAYS: u32 = 1_000_000;

/// Two disks, each with a file that is durable.
fn two_disks() -> World {
    let world = World::new(WorldOptions::calm(1));
    let paths = ["/data", "/data2"].map(PathBuf::from);
    world.set_log_directories(&paths, true);
    let disk = world.disk();
    for path in &paths {
        disk.create_directory(path).unwrap();
        let file = disk.open(&path.join("a"), OpenMode::Create).unwrap();
        file.append(&[IoSlice::new(b"here")]).unwrap();
        disk.sync_all(path).unwrap();
    }
    disk.sync_all(Path::new("/")).unwrap();
    world.let_disks_go_missing();
    world
}

fn open(world: &World, path: &str) -> Option<Arc<dyn DiskFile>> {
    world.disk().open(Path::new(path), OpenMode::Write).ok()
}

#[test]
fn a_disk_that_fails_refuses_every_call_until_it_is_mended_and_leaves_the_others_alone() {
    let world = two_disks();
    let (first, second) = (open(&world, "/data/a").unwrap(), open(&world, "/data2/a").unwrap());
    world.set_fault_rate(Site::DiskFails, ALWAYS);
    second.append(&[IoSlice::new(b"!")]).unwrap_err();
    first.append(&[IoSlice::new(b"!")]).unwrap();
    assert!(second.read_at(0, &mut [0; 4]).is_err() && world.disk().list(Path::new("/data2")).is_err());
    assert!(open(&world, "/data2/a").is_none() && open(&world, "/data/a").is_some());
    assert!(world.is_disk_in_trouble(Path::new("/data2")) && !world.is_disk_in_trouble(Path::new("/data")));
    world.calm_down();
    assert_eq!(second.read_at(0, &mut [0; 4]).unwrap(), 4);
}

#[test]
fn a_directory_that_is_moved_away_is_reached_by_open_files_only_and_comes_back_with_what_they_wrote() {
    let world = two_disks();
    let file = open(&world, "/data2/a").unwrap();
    world.set_fault_rate(Site::DirectoryRemoved, ALWAYS);
    file.append(&[IoSlice::new(b"!")]).unwrap();
    assert!(open(&world, "/data2/a").is_none());
    assert!(world.disk().free_bytes(Path::new("/data2")).unwrap_err().is_not_found());
    file.sync().unwrap();
    world.mend_disks();
    assert_eq!(world.disk().snapshot(Path::new("/data2/a")).unwrap(), b"here!");
}

#[test]
fn a_missing_disk_outlives_power_cuts_and_is_mounted_beside_what_was_made_in_its_place() {
    let world = two_disks();
    world.set_fault_rate(Site::DiskMissing, ALWAYS);
    world.crash(Crash::Power);
    assert!(world.is_disk_in_trouble(Path::new("/data")), "one at a time");
    assert!(open(&world, "/data/a").is_none() && open(&world, "/data2/a").is_some());
    world.disk().create_directory(Path::new("/data")).unwrap();
    world.disk().sync_directory(Path::new("/")).unwrap();
    world.set_fault_rate(Site::DiskMissing, 0);
    world.mend_disks();
    world.crash(Crash::Power);
    let names: Vec<String> = world.log_directories().iter().map(|path| path.display().to_string()).collect();
    assert_eq!(names, ["/data", "/data2", "/data-back"]);
    assert_eq!(world.disk().snapshot(Path::new("/data-back/a")).unwrap(), b"here");
}

#[test]
fn a_disk_is_full_alone() {
    let world = two_disks();
    world.set_fault_rate(Site::SpaceEnds, ALWAYS);
    let free = |path| world.disk().free_bytes(Path::new(path)).unwrap();
    assert!(free("/data2") < 10_000);
    world.set_fault_rate(Site::SpaceEnds, 0);
    assert!(free("/data") > 1_000_000 && free("/data2") < 10_000);
}
