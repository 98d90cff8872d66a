//! The simulated disk against a model of what a power cut may take: random work on a few files, with faults, cuts and kills.
#![expect(clippy::unwrap_used, reason = "a test may panic where it cannot go on")]

use std::collections::BTreeMap;
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use klamm::env::{Disk, DiskFile, OpenMode};
use klamm_sim::keyed::{Mode, Overrides, Site, Swarm};
use klamm_sim::{Crash, Destroyed, SimDisk, World, WorldOptions};

/// What is known of one file.
#[derive(Default)]
struct Known {
    file: Option<Arc<dyn DiskFile>>,
    /// What readers see.
    seen: Vec<u8>,
    /// What a power cut must leave: bytes that were synced and not cut since.
    sure: usize,
    /// Where bytes begin of which a failed sync may have lost some, whatever a later sync says.
    doubt: Option<usize>,
    /// Whether its entry is durable.
    entry: bool,
}

struct Work {
    world: World,
    disk: SimDisk,
    files: BTreeMap<PathBuf, Known>,
    draws: u64,
}

impl Work {
    fn new(options: WorldOptions) -> Work {
        let world = World::new(options);
        let disk = world.disk();
        let files = (0..3).map(|index| (PathBuf::from(format!("/{index}")), Known::default())).collect();
        Work { world, disk, files, draws: 0 }
    }

    fn draw(&mut self, bound: u64) -> u64 {
        self.draws += 1;
        self.world.value(Site::ClientAction, self.draws).below(bound)
    }

    fn step(&mut self) {
        let index = self.draw(3);
        let path = PathBuf::from(format!("/{index}"));
        let (action, size) = (self.draw(20), self.draw(1_500));
        match action {
            0 => self.crash(Crash::Power),
            1 => self.crash(Crash::Process),
            2 => {
                if self.disk.sync_directory(Path::new("/")).is_ok() {
                    self.files.values_mut().for_each(|known| known.entry |= known.file.is_some());
                }
            }
            3..6 => self.change(&path, |known, file| {
                let bytes = size.min(known.seen.len() as u64);
                if file.truncate(bytes).is_ok() {
                    known.seen.truncate(usize::try_from(bytes).unwrap());
                    known.sure = known.sure.min(known.seen.len());
                    known.doubt = known.doubt.filter(|doubt| *doubt < known.seen.len());
                }
            }),
            6..10 => self.change(&path, |known, file| {
                if file.sync().is_ok() {
                    known.sure = known.doubt.unwrap_or(known.seen.len());
                } else if known.sure < known.seen.len() {
                    known.doubt = Some(known.doubt.unwrap_or(known.sure));
                }
            }),
            _ => self.change(&path, |known, file| {
                let bytes: Vec<u8> = (0..size).map(|at| u8::try_from((at * 7 + size) & 0xff).unwrap()).collect();
                let before = known.seen.len() as u64;
                if file.append(&[IoSlice::new(&bytes)]).is_ok() {
                    known.seen.extend_from_slice(&bytes);
                } else if file.bytes().is_ok_and(|length| length > before) {
                    // A torn append, which the caller cuts away.
                    let torn = usize::try_from(file.bytes().unwrap() - before).unwrap();
                    if file.truncate(before).is_err() {
                        known.seen.extend_from_slice(&bytes[..torn]);
                    }
                }
            }),
        }
    }

    /// Does something with a file, opening it if need be; what is seen afterwards must be what is known.
    fn change(&mut self, path: &Path, action: impl FnOnce(&mut Known, &Arc<dyn DiskFile>)) {
        let known = self.files.get_mut(path).unwrap();
        if known.file.is_none() {
            known.file = self.disk.open(path, OpenMode::Create).ok();
        }
        if let Some(file) = known.file.clone() {
            action(known, &file);
            let seen = self.disk.snapshot(path).unwrap_or_default() == known.seen;
            assert!(seen, "{path:?} is not seen as it was written");
        }
    }

    fn crash(&mut self, crash: Crash) {
        self.world.crash(crash);
        self.disk = self.world.disk();
        for (path, known) in &mut self.files {
            known.file = None;
            let left = self.disk.snapshot(path);
            match crash {
                Crash::Process if known.doubt.is_none() => {
                    assert!(left.as_deref().unwrap_or_default() == known.seen, "{path:?} changed by a kill")
                }
                // Pages whose sync failed may be dropped when the process that holds them ends.
                Crash::Process => {
                    let left = left.clone().unwrap_or_default();
                    assert!(left.len() >= known.sure, "{path:?}: {} of {} sure bytes", left.len(), known.sure);
                    assert!(left[..known.sure] == known.seen[..known.sure], "{path:?}: synced bytes changed by a kill");
                    known.sure = known.sure.min(left.len());
                    known.doubt = Some(known.sure);
                    known.seen = left;
                }
                Crash::Power if known.entry => {
                    let left = left.clone().unwrap_or_else(|| panic!("{path:?} is gone"));
                    assert!(left.len() >= known.sure, "{path:?}: {} of {} sure bytes", left.len(), known.sure);
                    assert!(left[..known.sure] == known.seen[..known.sure], "{path:?}: synced bytes changed");
                }
                Crash::Power => {}
            }
            if crash == Crash::Power {
                known.entry = left.is_some();
                known.seen = left.unwrap_or_default();
                known.sure = known.seen.len();
                known.doubt = None;
            }
        }
    }
}

#[test]
fn synced_bytes_survive_whatever_the_seed_does() {
    for seed in 0..150 {
        let mut work = Work::new(WorldOptions::from_seed(seed));
        (0..200).for_each(|_| work.step());
    }
}

#[test]
fn a_crash_before_any_effect_of_a_short_work_leaves_synced_bytes() {
    let effects = {
        let mut work = Work::new(WorldOptions::calm(5));
        (0..60).for_each(|_| work.step());
        work.world.disk_effects()
    };
    assert!(effects > 20, "{effects}");
    for effect in 1..=effects {
        let world = World::new(WorldOptions::calm(effect));
        world.crash_before_effect(effect, Crash::Power);
        let disk = world.disk();
        let mut sure = 0;
        let mut entry = false;
        if let Ok(file) = disk.open(Path::new("/a"), OpenMode::Create) {
            for round in 0..effects {
                drop(file.append(&[IoSlice::new(&[u8::try_from(round & 0xff).unwrap(); 100])]));
                if file.sync().is_ok() {
                    sure = round + 1;
                }
                entry |= disk.sync_directory(Path::new("/")).is_ok();
            }
        }
        assert_eq!(world.crashes(), 1, "effect {effect} was reached");
        assert_eq!(world.disk_effects(), effect, "a dead broker has no effects");
        if entry {
            let left = disk.snapshot(Path::new("/a")).unwrap();
            let expected: Vec<u8> = (0..sure).flat_map(|round| [u8::try_from(round & 0xff).unwrap(); 100]).collect();
            assert!(
                left.starts_with(&expected),
                "effect {effect}: {sure} rounds were synced, {} bytes left",
                left.len()
            );
        }
    }
}

/// What a file holds, read until two reads agree, since one may go wrong on its way.
fn read_surely(disk: &SimDisk, path: &Path) -> Vec<u8> {
    let read = || {
        let mut bytes = vec![0; 20_000];
        let count = disk.open(path, OpenMode::Read)?.read_at(0, &mut bytes)?;
        bytes.truncate(count);
        Ok::<_, klamm::env::DiskError>(bytes)
    };
    let reads: Vec<Vec<u8>> = (0..200).filter_map(|_| read().ok()).collect();
    reads.windows(2).find(|pair| pair[0] == pair[1]).unwrap_or_else(|| panic!("{path:?} cannot be read"))[0].clone()
}

#[test]
fn every_synced_byte_that_is_not_there_is_in_the_ledger() {
    let mut destroyed = 0;
    for seed in 0..400 {
        let swarm = Swarm::with_mode(seed, Mode::AllOn);
        let world = World::new(WorldOptions { seed, swarm, overrides: Overrides::default(), flaw: None });
        world.set_fragile(|path| path.starts_with("/"));
        let (disk, path) = (world.disk(), Path::new("/a"));
        let Ok(file) = disk.open(path, OpenMode::Create) else { continue };
        let (mut written, mut sure) = (Vec::new(), Vec::new());
        for round in 0..20_u8 {
            let bytes = [round + 1; 300];
            if file.append(&[IoSlice::new(&bytes)]).is_err() {
                break;
            }
            written.extend(bytes);
            if file.sync().is_ok() {
                sure = written.clone();
            }
        }
        if disk.sync_directory(Path::new("/")).is_err() {
            continue;
        }
        world.crash(Crash::Power);
        world.replace_bad_sectors();
        let left = read_surely(&world.disk(), path);
        let ledger = world.destroyed_since(0);
        for (at, byte) in sure.iter().enumerate().filter(|(at, byte)| left.get(*at) != Some(byte)) {
            let covers = |entry: &Destroyed| (entry.from..entry.to).contains(&(at as u64));
            assert!(ledger.iter().any(covers), "seed {seed}: byte {at} was {byte}, and the ledger says {ledger:?}");
            destroyed += 1;
        }
    }
    assert!(destroyed > 1_000, "{destroyed} bytes were destroyed");
}
