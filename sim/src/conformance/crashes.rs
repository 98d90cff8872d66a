//! Clauses that only a simulated machine can be asked: power cuts, kills, full disks, failing syncs, exact edges.
//!
//! It must not know how the machine decides. A clause that says "may" looks for a seed that shows it; one that says "never" for a
//! seed that breaks it.

use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use klamm::env::{Connection, Disk, DiskError, DiskFile, Interest, OpenMode, SyncJob};

use crate::conformance::bench::{Pair, Stop, expect_silence, pattern};
use crate::conformance::makers::durable_directory;
use crate::conformance::{Failure, Makers, Outcome, Peer, SimMakers, SimulatedClause, Worlds, ensure, table};
use crate::flaw::Flaw;
use crate::keyed::Site;
use crate::world::Crash;

/// How many seeds a clause looks at.
const SEEDS: u64 = 60;

/// Every clause that only simulated makers can be asked.
pub(super) fn simulated_clauses() -> Vec<SimulatedClause> {
    let mut clauses = table! { SimulatedClause:
        synced_bytes_survive, SyncIgnored,
            "Bytes synced before a power cut are there after it.";
        sync_all_reaches_everything, SyncAllIsShallow,
            "A sync of everything keeps every file and entry below.";
        directory_sync_keeps_entries, DirectorySyncIgnored,
            "A synced directory keeps its entries and renames.";
        unsynced_bytes_may_go, PowerKeepsUnsynced,
            "Bytes that were not synced may be gone after a power cut.";
        unsynced_bytes_may_tear, PowerNeverTears,
            "An append that was not synced may be torn at any byte, and hold other bytes.";
        new_entry_may_go, PowerKeepsEntries,
            "A new file whose directory was not synced may be gone, though the file was.";
        removed_file_may_return, PowerKeepsEntries,
            "A removed file whose directory was not synced may be back.";
        cut_may_be_undone, PowerKeepsUnsynced,
            "A truncation that was not synced may be undone, one that was never is.";
        rename_is_whole, RenameHalfDone,
            "After a power cut a replaced name holds the old or the new file, never none.";
        moved_file_is_somewhere, MoveLosesFile,
            "After a power cut a file that was moved between directories is in one of them, if not in both.";
        kill_keeps_what_was_written, KillLosesWritten,
            "A killed process loses nothing that it had written.";
        failed_sync_poisons, PoisonForgotten,
            "After a failed sync every append and sync of the file is refused.";
        failed_sync_is_not_healed, FailedSyncHeals,
            "What a failed sync lost may stay lost, though a later process syncs with success.";
        sync_covers_what_was_before_it, SyncCoversLaterBytes,
            "A sync that takes time covers what was written before it began, not what came meanwhile.";
        full_disk_says_full, SpaceNeverEnds,
            "A full disk says so, leaves at most a torn append, and takes appends again when space is back.";
        free_space_falls, FreeBytesConstant,
            "Free space falls with each append and rises with each removal.";
        dead_process_holds_nothing, DeadHandlesWork,
            "What a dead process held does nothing any more.";
        lock_ends_with_the_process, LockOutlivesProcess,
            "A lock ends with its process.";
        killed_process_ends_its_connections, DropSaysNothing,
            "The peers of a killed process see the end.";
        power_cut_is_silent, PowerCutSaysEnd,
            "The peers of a machine without power see nothing until they speak, and then a reset.";
        undrained_connection_is_silent, LevelTriggered,
            "A connection that was not drained shows no second edge.";
    };
    clauses.extend(super::medium::clauses());
    clauses
}

fn written(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<Arc<dyn DiskFile>, Failure> {
    let file = disk.open(path, OpenMode::Create)?;
    file.append(&[IoSlice::new(bytes)])?;
    Ok(file)
}

/// A file of which `synced` is durable, entry included, and `unsynced` is not; then the power goes.
fn after_power_cut(worlds: &Worlds, seed: u64, synced: &[u8], unsynced: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
    let world = worlds.calm(seed);
    let directory = durable_directory(&world, "/data")?;
    let disk = world.disk();
    let path = directory.join("a");
    let file = written(&disk, &path, synced)?;
    file.sync()?;
    disk.sync_directory(&directory)?;
    file.append(&[IoSlice::new(unsynced)])?;
    world.crash(Crash::Power);
    Ok(disk.snapshot(&path))
}

fn synced_bytes_survive(worlds: &Worlds) -> Outcome {
    let synced = pattern(0, 3_000);
    for seed in 0..SEEDS {
        let left = after_power_cut(worlds, seed, &synced, &pattern(3_000, 3_000))?;
        let left = left.ok_or("a synced file is gone")?;
        ensure!(left.starts_with(&synced), "seed {seed}: of 3000 synced bytes and more, {} are left", left.len());
    }
    Ok(())
}

fn unsynced_bytes_may_go(worlds: &Worlds) -> Outcome {
    for seed in 0..SEEDS {
        if after_power_cut(worlds, seed, b"synced", b"unsynced")?.is_some_and(|left| left == b"synced") {
            return Ok(());
        }
    }
    Err("no seed loses unsynced bytes".into())
}

fn unsynced_bytes_may_tear(worlds: &Worlds) -> Outcome {
    let whole = pattern(0, 3_000);
    let (mut cut, mut other) = (false, false);
    for seed in 0..SEEDS {
        let left = after_power_cut(worlds, seed, &[], &whole)?.ok_or("the file is gone")?;
        cut |= !left.is_empty() && left.len() < whole.len() && whole.starts_with(&left);
        other |= left.len() == whole.len() && left != whole;
    }
    ensure!(cut && other, "cut in the middle: {cut}, other bytes: {other}");
    Ok(())
}

fn sync_all_reaches_everything(worlds: &Worlds) -> Outcome {
    for seed in 0..SEEDS {
        let world = worlds.calm(seed);
        let disk = world.disk();
        disk.create_directory(Path::new("/data/one/two"))?;
        written(&disk, Path::new("/data/one/two/a"), b"deep")?;
        written(&disk, Path::new("/data/b"), b"shallow")?;
        disk.sync_all(Path::new("/"))?;
        world.crash(Crash::Power);
        let deep = disk.snapshot(Path::new("/data/one/two/a"));
        let shallow = disk.snapshot(Path::new("/data/b"));
        let kept = deep.as_deref() == Some(b"deep") && shallow.as_deref() == Some(b"shallow");
        ensure!(kept, "seed {seed}: {deep:?} and {shallow:?} are left");
    }
    Ok(())
}

fn directory_sync_keeps_entries(worlds: &Worlds) -> Outcome {
    for seed in 0..SEEDS {
        let world = worlds.calm(seed);
        let directory = durable_directory(&world, "/data")?;
        let disk = world.disk();
        written(&disk, &directory.join("a.tmp"), b"new")?.sync()?;
        written(&disk, &directory.join("b"), b"x")?.sync()?;
        disk.rename(&directory.join("a.tmp"), &directory.join("a"))?;
        disk.sync_directory(&directory)?;
        world.crash(Crash::Power);
        let names: Vec<String> = world.disk().list(&directory)?.into_iter().map(|entry| entry.name).collect();
        ensure!(names == ["a", "b"], "seed {seed}: {names:?} are left");
        let left = disk.snapshot(&directory.join("a"));
        ensure!(left.as_deref() == Some(b"new"), "seed {seed}: {left:?} is left");
    }
    Ok(())
}

fn new_entry_may_go(worlds: &Worlds) -> Outcome {
    for seed in 0..SEEDS {
        let world = worlds.calm(seed);
        let directory = durable_directory(&world, "/data")?;
        written(&world.disk(), &directory.join("a"), b"x")?.sync()?;
        world.crash(Crash::Power);
        if world.disk().snapshot(&directory.join("a")).is_none() {
            return Ok(());
        }
    }
    Err("no seed loses a new entry".into())
}

fn removed_file_may_return(worlds: &Worlds) -> Outcome {
    for seed in 0..SEEDS {
        let world = worlds.calm(seed);
        let directory = durable_directory(&world, "/data")?;
        let (disk, path) = (world.disk(), directory.join("a"));
        written(&disk, &path, b"x")?.sync()?;
        disk.sync_directory(&directory)?;
        disk.remove_file(&path)?;
        world.crash(Crash::Power);
        if let Some(left) = disk.snapshot(&path) {
            ensure!(left == b"x", "seed {seed}: it came back as {left:?}");
            return Ok(());
        }
    }
    Err("no seed brings a removed file back".into())
}

fn cut_may_be_undone(worlds: &Worlds) -> Outcome {
    let mut undone = false;
    for seed in 0..SEEDS {
        let world = worlds.calm(seed);
        let directory = durable_directory(&world, "/data")?;
        let disk = world.disk();
        let files = [
            written(&disk, &directory.join("a"), b"0123456789")?,
            written(&disk, &directory.join("b"), b"0123456789")?,
        ];
        disk.sync_all(&directory)?;
        files.iter().try_for_each(|file| file.truncate(4))?;
        files[1].sync()?;
        world.crash(Crash::Power);
        let left = disk.snapshot(&directory.join("b"));
        ensure!(left.as_deref() == Some(b"0123"), "seed {seed}: a synced cut left {left:?}");
        undone |= disk.snapshot(&directory.join("a")).is_some_and(|left| left == b"0123456789");
    }
    ensure!(undone, "no seed undoes a cut");
    Ok(())
}

fn rename_is_whole(worlds: &Worlds) -> Outcome {
    let (mut old, mut new) = (false, false);
    for seed in 0..SEEDS {
        let world = worlds.calm(seed);
        let directory = durable_directory(&world, "/data")?;
        let (disk, path) = (world.disk(), directory.join("checkpoint"));
        written(&disk, &path, b"old")?.sync()?;
        disk.sync_directory(&directory)?;
        let temporary = directory.join("checkpoint.tmp");
        written(&disk, &temporary, b"new")?.sync()?;
        disk.rename(&temporary, &path)?;
        world.crash(Crash::Power);
        match disk.snapshot(&path).as_deref() {
            Some(b"old") => old = true,
            Some(b"new") => new = true,
            left => return Err(format!("seed {seed}: {left:?} is left").into()),
        }
    }
    ensure!(old && new, "old seen: {old}, new seen: {new}");
    Ok(())
}

fn moved_file_is_somewhere(worlds: &Worlds) -> Outcome {
    let (mut old, mut new) = (false, false);
    for seed in 0..SEEDS {
        let world = worlds.calm(seed);
        let (from, to) = (durable_directory(&world, "/one")?.join("a"), durable_directory(&world, "/two")?.join("a"));
        let disk = world.disk();
        written(&disk, &from, b"x")?;
        disk.sync_all(Path::new("/"))?;
        disk.rename(&from, &to)?;
        world.crash(Crash::Power);
        let places = [&from, &to].map(|path| disk.snapshot(path).is_some_and(|left| left == b"x"));
        ensure!(places != [false, false], "seed {seed}: the file is nowhere");
        old |= places[0];
        new |= places[1];
    }
    ensure!(old && new, "old place seen: {old}, new place seen: {new}");
    Ok(())
}

fn kill_keeps_what_was_written(worlds: &Worlds) -> Outcome {
    let world = worlds.calm(1);
    let disk = world.disk();
    disk.create_directory(Path::new("/data"))?;
    let _file = written(&disk, Path::new("/data/a"), b"written")?;
    world.crash(Crash::Process);
    let left = disk.snapshot(Path::new("/data/a"));
    ensure!(left.as_deref() == Some(b"written"), "{left:?} is left");
    Ok(())
}

fn failed_sync_poisons(worlds: &Worlds) -> Outcome {
    let world = worlds.always(1, Site::SyncFails);
    let disk = world.disk();
    let file = written(&disk, Path::new("/a"), b"x")?;
    let other = disk.open(Path::new("/a"), OpenMode::Write)?;
    ensure!(matches!(file.sync(), Err(DiskError::Io { .. })), "a failing sync succeeds");
    world.calm_down();
    let poisoned = |outcome| matches!(outcome, Err(DiskError::Poisoned { .. }));
    ensure!(poisoned(file.sync()), "a sync after a failed one is not refused");
    ensure!(poisoned(file.append(&[IoSlice::new(b"y")])), "an append after a failed sync is not refused");
    ensure!(poisoned(other.append(&[IoSlice::new(b"y")])), "another handle is not refused");
    Ok(())
}

fn failed_sync_is_not_healed(worlds: &Worlds) -> Outcome {
    for seed in 0..SEEDS {
        let world = worlds.always(seed, Site::SyncLosesPages);
        let (disk, path) = (world.disk(), Path::new("/a"));
        let file = written(&disk, path, b"lost")?;
        disk.sync_directory(Path::new("/"))?;
        ensure!(file.sync().is_err(), "a failing sync succeeds");
        world.calm_down();
        world.crash(Crash::Process);
        world.disk().open(path, OpenMode::Write)?.sync()?;
        world.crash(Crash::Power);
        if disk.snapshot(path).is_some_and(|left| left != b"lost") {
            return Ok(());
        }
    }
    Err("every later sync heals".into())
}

fn sync_covers_what_was_before_it(worlds: &Worlds) -> Outcome {
    let mut lost = false;
    for seed in 0..SEEDS {
        let world = worlds.calm(seed);
        let directory = durable_directory(&world, "/data")?;
        let (disk, path) = (world.disk(), directory.join("a"));
        let file = written(&disk, &path, b"before")?;
        disk.sync_directory(&directory)?;
        let sync = disk.begin_sync(&SyncJob::Files { files: vec![Arc::clone(&file)], directories: Vec::new() })?;
        file.append(&[IoSlice::new(b" after")])?;
        world.advance_to(sync.due);
        disk.finish_sync(sync)?;
        world.crash(Crash::Power);
        let left = disk.snapshot(&path).unwrap_or_default();
        ensure!(left.starts_with(b"before"), "seed {seed}: {left:?} is left");
        lost |= left == b"before";
    }
    ensure!(lost, "no seed loses what was appended during the sync");
    Ok(())
}

fn full_disk_says_full(worlds: &Worlds) -> Outcome {
    let world = worlds.calm(1);
    let disk = world.disk();
    let file = written(&disk, Path::new("/a"), &pattern(0, 100))?;
    disk.set_capacity(150);
    let outcome = file.append(&[IoSlice::new(&pattern(100, 100))]);
    ensure!(matches!(outcome, Err(DiskError::Full { .. })), "appending to a full disk: {outcome:?}");
    let left = disk.snapshot(Path::new("/a")).unwrap_or_default();
    ensure!(pattern(0, 200).starts_with(&left) && left.len() >= 100, "{} bytes are left", left.len());
    file.truncate(100)?;
    disk.set_capacity(1_000);
    file.append(&[IoSlice::new(&pattern(100, 100))])?;
    ensure!(disk.snapshot(Path::new("/a")) == Some(pattern(0, 200)), "other bytes after space was back");
    Ok(())
}

fn free_space_falls(worlds: &Worlds) -> Outcome {
    let world = worlds.calm(1);
    let (disk, root) = (world.disk(), Path::new("/"));
    let before = disk.free_bytes(root)?;
    let file = written(&disk, Path::new("/a"), &pattern(0, 1_000))?;
    let after = disk.free_bytes(root)?;
    ensure!(before - after == 1_000, "{before} bytes free before, {after} after an append of 1000");
    disk.remove_file(Path::new("/a"))?;
    ensure!(disk.free_bytes(root)? == after, "an open file's space was given back");
    drop(file);
    ensure!(disk.free_bytes(root)? == before, "a removed file's space was not given back");
    Ok(())
}

fn dead_process_holds_nothing(worlds: &Worlds) -> Outcome {
    let world = worlds.calm(1);
    let disk = world.disk();
    let mut makers = SimMakers::new(world.clone());
    let mut pair = Pair::registered(&mut makers)?;
    let file = written(&disk, Path::new("/a"), b"x")?;
    world.crash(Crash::Process);
    ensure!(file.append(&[IoSlice::new(b"y")]).is_err(), "a dead process appended");
    ensure!(disk.remove_file(Path::new("/a")).is_err(), "a dead process removed");
    ensure!(pair.connection.write_vectored(&[IoSlice::new(b"y")]).is_err(), "a dead process wrote");
    ensure!(disk.snapshot(Path::new("/a")).as_deref() == Some(b"x"), "a dead process changed a file");
    Ok(())
}

fn lock_ends_with_the_process(worlds: &Worlds) -> Outcome {
    let world = worlds.calm(1);
    let disk = world.disk();
    let held = disk.lock(Path::new("/.lock"))?;
    world.crash(Crash::Process);
    let disk = world.disk();
    let _again = disk.lock(Path::new("/.lock"))?;
    drop(held);
    ensure!(disk.lock(Path::new("/.lock")).is_err(), "a dead process released the lock of a living one");
    Ok(())
}

fn killed_process_ends_its_connections(worlds: &Worlds) -> Outcome {
    let mut makers = SimMakers::new(worlds.calm(1));
    let mut pair = Pair::registered(&mut makers)?;
    makers.world().crash(Crash::Process);
    makers.settle();
    match pair.peer.read(&mut [0; 16]) {
        Ok(0) => Ok(()),
        outcome => Err(format!("the peer of a killed process reads {outcome:?}").into()),
    }
}

fn power_cut_is_silent(worlds: &Worlds) -> Outcome {
    let mut makers = SimMakers::new(worlds.calm(1));
    let mut pair = Pair::registered(&mut makers)?;
    makers.world().crash(Crash::Power);
    makers.settle();
    let silent = pair.peer.read(&mut [0; 16]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
    ensure!(silent, "a machine without power spoke");
    pair.peer.write_all(b"anyone?")?;
    let reset = pair.peer.read(&mut [0; 16]).is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset);
    ensure!(reset, "a machine that forgot a connection did not reset it");
    Ok(())
}

fn undrained_connection_is_silent(worlds: &Worlds) -> Outcome {
    let mut makers = SimMakers::new(worlds.calm(1));
    let mut pair = Pair::drained(&mut makers, Interest::Readable)?;
    pair.peer.write_all(b"0123456789")?;
    pair.await_readable(&mut makers)?;
    pair.connection.read(&mut [0; 4])?;
    pair.peer.write_all(b"0123456789")?;
    let token = crate::conformance::bench::FIRST;
    expect_silence(&mut makers, &mut pair.selector, token)?;
    let mut bytes = Vec::new();
    ensure!(pair.read_some(&mut bytes) == Stop::Blocked && bytes.len() == 16, "{} bytes were left", bytes.len());
    pair.peer.write_all(b"more")?;
    pair.await_readable(&mut makers)
}
