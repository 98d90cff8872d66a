//! Clauses about what the disk does to bytes that were synced, and about calls that it refuses or lets wait. Only a simulated machine can be asked.
//!
//! It must not know how the machine decides.

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use klamm::env::{Disk, DiskError, DiskFile, OpenMode, SyncJob};

use crate::conformance::bench::pattern;
use crate::conformance::{Failure, Outcome, SimulatedClause, Worlds, ensure, table};
use crate::flaw::Flaw;
use crate::keyed::Site;
use crate::world::{Crash, World};

/// Longer than any sync that completes.
const LONG_NS: u64 = 3_600_000_000_000;

pub(super) fn clauses() -> Vec<SimulatedClause> {
    table! { SimulatedClause:
        destroyed_bytes_are_in_the_ledger, LedgerForgets,
            "Synced bytes that read otherwise after a restart are in the ledger, with what they were.";
        vanished_files_are_in_the_ledger, LedgerForgets,
            "Files of a directory that is gone after a restart are in the ledger.";
        mirrored_bytes_stay, MirrorBreaks,
            "Synced bytes on a mirror stay as they are.";
        bad_sector_is_an_error, BadSectorReads,
            "A bad sector is an error for ever, and for its own bytes only, until it is replaced.";
        misread_is_not_repeated, MisreadRepeats,
            "What was read wrong on its way is read right the next time.";
        lost_write_back_shows_later, WriteBackNeverFails,
            "A sync whose error another handle was told succeeds, and the bytes are gone with the page cache.";
        read_only_mount_takes_no_change, ReadOnlyTakesChanges,
            "A file system that is mounted read-only refuses every change, and is read as before.";
        hung_sync_is_not_done, HungSyncCompletes,
            "A sync that hangs is not done within an hour.";
        slow_disk_takes_time, SlowDiskIsFast,
            "A call that waits for the disk takes time.";
    }
}

/// A world in which `site` always fires and every path is fragile, and a file of `bytes` in it that is synced.
fn fragile(worlds: &Worlds, site: Site, bytes: &[u8]) -> Result<(World, PathBuf), Failure> {
    let world = worlds.always(7, site);
    world.set_fragile(|path| path.starts_with("/data"));
    let (disk, path) = (world.disk(), PathBuf::from("/data/a"));
    disk.create_directory(Path::new("/data"))?;
    let file = disk.open(&path, OpenMode::Create)?;
    file.append(&[IoSlice::new(bytes)])?;
    file.sync()?;
    disk.sync_all(Path::new("/"))?;
    Ok((world, path))
}

fn read(world: &World, path: &Path, bytes: usize) -> Result<Vec<u8>, DiskError> {
    let mut buffer = vec![0; bytes];
    let count = world.disk().open(path, OpenMode::Read)?.read_at(0, &mut buffer)?;
    buffer.truncate(count);
    Ok(buffer)
}

fn destroyed_bytes_are_in_the_ledger(worlds: &Worlds) -> Outcome {
    for site in [Site::BitRotAtRest, Site::WritePhantom, Site::CacheLies] {
        let written = pattern(1, 3_000);
        let (world, path) = fragile(worlds, site, &written)?;
        world.crash(Crash::Power);
        let found = read(&world, &path, 3_000)?;
        let wrong = (0..3_000_u64).zip(written.iter().zip(&found)).filter(|(_, (was, is))| was != is);
        let wrong: Vec<u64> = wrong.map(|(at, _)| at).collect();
        ensure!(!wrong.is_empty(), "{site:?} changed nothing");
        let ledger = world.destroyed_since(0);
        let covers = |at: &u64| ledger.iter().any(|entry| entry.path == path && (entry.from..entry.to).contains(at));
        ensure!(wrong.iter().all(covers), "{site:?} changed bytes that are not in the ledger: {wrong:?}");
        let is_known = ledger.iter().all(|entry| *entry.bytes == *written && entry.how == site);
        ensure!(is_known, "the ledger does not say what {site:?} destroyed");
    }
    Ok(())
}

fn vanished_files_are_in_the_ledger(worlds: &Worlds) -> Outcome {
    let (world, path) = fragile(worlds, Site::DirectoryVanished, b"gone")?;
    world.crash(Crash::Process);
    ensure!(read(&world, &path, 4).is_err_and(|error| error.is_not_found()), "the directory is still there");
    let ledger = world.destroyed_since(0);
    ensure!(ledger.iter().any(|entry| entry.path == path && *entry.bytes == *b"gone"), "the ledger says {ledger:?}");
    Ok(())
}

fn mirrored_bytes_stay(worlds: &Worlds) -> Outcome {
    for site in [Site::BitRotAtRest, Site::SectorUnreadable, Site::CacheLies, Site::DirectoryVanished] {
        let (world, path) = fragile(worlds, site, b"a")?;
        world.set_fragile(|_| false);
        let disk = world.disk();
        disk.create_directory(Path::new("/mirror"))?;
        let other = Path::new("/mirror/b");
        disk.open(other, OpenMode::Create)?.append(&[IoSlice::new(b"stays")])?;
        disk.sync_all(Path::new("/"))?;
        world.crash(Crash::Power);
        ensure!(read(&world, other, 5)? == b"stays", "{site:?} struck the mirror");
        ensure!(world.destroyed_since(0).iter().all(|entry| entry.path == path), "the ledger names the mirror");
    }
    Ok(())
}

fn bad_sector_is_an_error(worlds: &Worlds) -> Outcome {
    let (world, path) = fragile(worlds, Site::SectorUnreadable, &pattern(0, 2_000))?;
    world.crash(Crash::Process);
    world.calm_down();
    let ledger = world.destroyed_since(0);
    let bad = ledger.first().ok_or("no sector went bad")?;
    let at = |offset: u64| world.disk().open(&path, OpenMode::Read)?.read_at(offset, &mut [0]);
    for _ in 0..2 {
        ensure!(matches!(at(bad.from), Err(DiskError::Io { .. })), "a bad sector can be read");
    }
    let beside = if bad.from > 0 { bad.from - 1 } else { bad.to };
    ensure!(at(beside).is_ok(), "a good sector cannot be read");
    ensure!(world.replace_bad_sectors() && at(bad.from).is_ok(), "a new sector cannot be read");
    Ok(())
}

fn misread_is_not_repeated(worlds: &Worlds) -> Outcome {
    for site in [Site::BitRotOnRead, Site::ReadMisdirected] {
        let written = pattern(3, 2_000);
        let (world, path) = fragile(worlds, site, &written)?;
        let file = world.disk().open(&path, OpenMode::Read)?;
        let mut right = Vec::new();
        for _ in 0..4 {
            let mut buffer = vec![0; 2_000];
            file.read_at(0, &mut buffer)?;
            right.push(buffer == written);
        }
        ensure!(right == [false, true, false, true], "under {site:?} the reads were right: {right:?}");
    }
    Ok(())
}

fn lost_write_back_shows_later(worlds: &Worlds) -> Outcome {
    let (world, path) = fragile(worlds, Site::SyncErrorElsewhere, b"written")?;
    ensure!(read(&world, &path, 7)? == b"written", "the page cache has lost it already");
    world.crash(Crash::Process);
    ensure!(read(&world, &path, 7)? == [0; 7], "the bytes are there");
    ensure!(world.destroyed_since(0).iter().any(|entry| *entry.bytes == *b"written"), "they are not in the ledger");
    Ok(())
}

fn read_only_mount_takes_no_change(worlds: &Worlds) -> Outcome {
    let world = worlds.always(1, Site::ReadOnlyRemount);
    let (disk, path) = (world.disk(), Path::new("/a"));
    let file: Arc<dyn DiskFile> = disk.open(path, OpenMode::Create)?;
    ensure!(file.append(&[IoSlice::new(b"x")]).is_err(), "the append that finds the error succeeds");
    let left = file.bytes()?;
    let changes = [
        file.truncate(0),
        file.append(&[IoSlice::new(b"x")]),
        disk.open(Path::new("/b"), OpenMode::Create).map(drop),
        disk.create_directory(Path::new("/c")),
        disk.rename(path, Path::new("/d")),
        disk.remove_file(path),
    ];
    let taken: Vec<usize> = (0..).zip(&changes).filter(|(_, change)| change.is_ok()).map(|(index, _)| index).collect();
    ensure!(taken.is_empty(), "changes {taken:?} were taken");
    ensure!(disk.open(path, OpenMode::Read)?.bytes()? == left, "it cannot be read");
    world.calm_down();
    file.append(&[IoSlice::new(b"x")])?;
    Ok(())
}

fn hung_sync_is_not_done(worlds: &Worlds) -> Outcome {
    let world = worlds.always(1, Site::SyncNeverCompletes);
    let disk = world.disk();
    let file = disk.open(Path::new("/a"), OpenMode::Create)?;
    let sync = disk.begin_sync(&SyncJob::Files { files: vec![file], directories: Vec::new() })?;
    ensure!(sync.due.0 > world.now().instant.0 + LONG_NS, "it is done at {:?}", sync.due);
    Ok(())
}

fn slow_disk_takes_time(worlds: &Worlds) -> Outcome {
    let world = worlds.always(1, Site::DiskSlow);
    let file = world.disk().open(Path::new("/a"), OpenMode::Create)?;
    let before = world.now().instant;
    file.append(&[IoSlice::new(b"x")])?;
    let between = world.now().instant;
    file.read_at(0, &mut [0])?;
    ensure!(before < between && between < world.now().instant, "no time has passed");
    Ok(())
}
