//! Clauses about files and directories that need no crash.
//!
//! It must not know who made them.

use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use klamm::env::{Disk, DiskError, DiskFile, EntryKind, OpenMode};
use klamm::types::WallTime;

use crate::conformance::bench::pattern;
use crate::conformance::{Clause, Failure, Makers, Outcome, ensure, table};
use crate::flaw::Flaw;

pub(super) fn clauses<M: Makers>() -> Vec<Clause<M>> {
    let mut clauses = content_clauses();
    clauses.extend(name_clauses());
    clauses
}

fn content_clauses<M: Makers>() -> Vec<Clause<M>> {
    table! { Clause:
        appended_bytes_are_read, AppendOverwrites,
            "Appends add up, and every byte is read back.";
        pieces_are_appended_in_order, AppendSkipsSecondPiece,
            "The pieces of one append lie one after the other.";
        appending_nothing_changes_nothing, AppendOverwrites,
            "Appending no bytes changes nothing.";
        reading_starts_at_the_offset, ReadShifted,
            "Reading starts at the offset.";
        reading_stops_at_the_end, ReadPadsWithZeroes,
            "Reading stops at the file's end and says how much it read.";
        length_counts_every_byte, LengthIsSyncedLength,
            "The length counts what was appended, synced or not.";
        truncating_cuts, TruncateIgnored,
            "Truncating cuts, and the next append goes on at the cut.";
        missing_file_is_not_found, OpenAlwaysCreates,
            "Opening a missing file to read or write says that it is not there.";
        create_keeps_what_is_there, CreateEmpties,
            "Opening to create keeps the bytes of a file that is there.";
        create_empty_empties, CreateEmptyKeeps,
            "Opening to create empty empties a file that is there.";
        file_needs_its_directory, CreateDirectoryIsShallow,
            "A file needs its directory, which is made with all above it, more than once if need be.";
        handles_share_the_file, AppendOverwrites,
            "Two handles of a file see the same bytes, and appends of both go to the end.";
        reopened_file_is_appended_to, AppendOverwrites,
            "Appending to a reopened file goes on at its end.";
    }
}

fn name_clauses<M: Makers>() -> Vec<Clause<M>> {
    table! { Clause:
        list_is_sorted, ListUnsorted,
            "A list is sorted by name and tells kind and length.";
        missing_directory_is_not_found, RemoveMissingSucceeds,
            "Listing, renaming or removing what is not there says so.";
        rename_moves, RenameCopies,
            "Renaming leaves nothing under the old name.";
        rename_replaces, RenameKeepsTarget,
            "Renaming onto a file replaces it.";
        rename_of_directory_takes_all_along, RenameCopies,
            "Renaming a directory takes along what is in it.";
        open_file_survives_rename, RemovedFileUnreadable,
            "An open file stays the same file under a new name, and readable after its removal.";
        removed_file_stays_readable, RemovedFileUnreadable,
            "A removed file stays readable for those who hold it open.";
        directory_is_removed_with_content, RemoveDirectoryWantsEmpty,
            "Removing a directory removes all that is in it.";
        lock_is_exclusive, LockShared,
            "A lock has one holder.";
        lock_ends_with_its_value, LockNeverReleased,
            "A lock ends with its value.";
        modified_time_is_kept, SetModifiedIgnored,
            "The time of the last change can be set.";
        syncs_change_nothing_visible, AppendOverwrites,
            "Syncs of a file, a directory and everything change nothing that is seen.";
        read_handle_does_not_append, ReadHandleAppends,
            "A file that was opened to read cannot be appended to.";
        growing_cut_adds_zeroes, GrowingCutIgnored,
            "Cutting a file beyond its end adds zeroes.";
        full_directory_is_not_replaced, FullDirectoryReplaced,
            "Renaming a directory onto one that holds files is refused.";
        directory_is_not_removed_as_a_file, RemoveFileTakesDirectories,
            "Removing a file refuses a directory.";
        missing_directory_is_not_synced, MissingDirectorySynced,
            "Syncing a directory that is not there says so.";
        total_holds_what_is_free, MoreFreeThanTotal,
            "No more space is free than there is.";
        renaming_onto_itself_changes_nothing, RenameOntoItselfRemoves,
            "Renaming a file onto itself changes nothing.";
    }
}

fn contents(file: &dyn DiskFile) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; usize::try_from(file.bytes()?).unwrap_or(usize::MAX) + 10];
    let count = file.read_at(0, &mut bytes)?;
    bytes.truncate(count);
    Ok(bytes)
}

fn create(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<Arc<dyn DiskFile>, Failure> {
    let file = disk.open(path, OpenMode::CreateEmpty)?;
    file.append(&[IoSlice::new(bytes)])?;
    Ok(file)
}

fn is_missing(disk: &dyn Disk, path: &Path) -> bool {
    matches!(disk.open(path, OpenMode::Read), Err(DiskError::NotFound { .. }))
}

fn appended_bytes_are_read<M: Makers>(makers: &mut M) -> Outcome {
    let file = create(&*makers.disk(), &makers.directory().join("a"), b"one")?;
    file.append(&[IoSlice::new(b" two")])?;
    file.append(&[IoSlice::new(&pattern(0, 100_000))])?;
    let expected = [b"one two".to_vec(), pattern(0, 100_000)].concat();
    ensure!(contents(&*file)? == expected, "other bytes were read");
    Ok(())
}

fn pieces_are_appended_in_order<M: Makers>(makers: &mut M) -> Outcome {
    let file = makers.disk().open(&makers.directory().join("a"), OpenMode::CreateEmpty)?;
    file.append(&[IoSlice::new(b"one"), IoSlice::new(b" two"), IoSlice::new(b""), IoSlice::new(b" three")])?;
    let bytes = contents(&*file)?;
    ensure!(bytes == b"one two three", "{bytes:?} were read");
    Ok(())
}

fn appending_nothing_changes_nothing<M: Makers>(makers: &mut M) -> Outcome {
    let file = create(&*makers.disk(), &makers.directory().join("a"), b"one")?;
    file.append(&[])?;
    file.append(&[IoSlice::new(b"")])?;
    ensure!(contents(&*file)? == b"one", "appending nothing changed the file");
    Ok(())
}

fn reading_starts_at_the_offset<M: Makers>(makers: &mut M) -> Outcome {
    let file = create(&*makers.disk(), &makers.directory().join("a"), b"0123456789")?;
    let mut buffer = [0; 4];
    let count = file.read_at(3, &mut buffer)?;
    ensure!(count == 4 && &buffer == b"3456", "{count} bytes, {buffer:?}");
    Ok(())
}

fn reading_stops_at_the_end<M: Makers>(makers: &mut M) -> Outcome {
    let file = create(&*makers.disk(), &makers.directory().join("a"), b"0123456789")?;
    let mut buffer = [7; 6];
    let count = file.read_at(8, &mut buffer)?;
    ensure!(count == 2 && buffer[..2] == *b"89", "{count} bytes, {buffer:?}");
    for offset in [10, 11, 1 << 40] {
        let count = file.read_at(offset, &mut buffer)?;
        ensure!(count == 0, "{count} bytes from beyond the end");
    }
    Ok(())
}

fn length_counts_every_byte<M: Makers>(makers: &mut M) -> Outcome {
    let file = create(&*makers.disk(), &makers.directory().join("a"), b"0123456789")?;
    let length = file.bytes()?;
    ensure!(length == 10, "the file is {length} bytes long");
    Ok(())
}

fn truncating_cuts<M: Makers>(makers: &mut M) -> Outcome {
    let file = create(&*makers.disk(), &makers.directory().join("a"), b"0123456789")?;
    file.truncate(4)?;
    ensure!(contents(&*file)? == b"0123", "the cut left other bytes");
    file.append(&[IoSlice::new(b"xy")])?;
    let bytes = contents(&*file)?;
    ensure!(bytes == b"0123xy", "{bytes:?} after the cut and an append");
    file.truncate(0)?;
    ensure!(file.bytes()? == 0, "a cut to nothing left something");
    Ok(())
}

fn missing_file_is_not_found<M: Makers>(makers: &mut M) -> Outcome {
    let path = makers.directory().join("missing");
    for mode in [OpenMode::Read, OpenMode::Write] {
        match makers.disk().open(&path, mode) {
            Err(error) if error.is_not_found() => {}
            outcome => return Err(format!("opening a missing file with {mode:?}: {outcome:?}").into()),
        }
    }
    Ok(())
}

fn create_keeps_what_is_there<M: Makers>(makers: &mut M) -> Outcome {
    let path = makers.directory().join("a");
    let file = makers.disk().open(&path, OpenMode::Create)?;
    ensure!(file.bytes()? == 0, "a new file is not empty");
    file.append(&[IoSlice::new(b"kept")])?;
    let again = makers.disk().open(&path, OpenMode::Create)?;
    ensure!(contents(&*again)? == b"kept", "opening to create lost the bytes");
    Ok(())
}

fn create_empty_empties<M: Makers>(makers: &mut M) -> Outcome {
    let path = makers.directory().join("a");
    create(&*makers.disk(), &path, b"old")?;
    let file = makers.disk().open(&path, OpenMode::CreateEmpty)?;
    ensure!(file.bytes()? == 0, "opening to create empty kept bytes");
    Ok(())
}

fn file_needs_its_directory<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, directory) = (makers.disk(), makers.directory());
    let deep = directory.join("one").join("two").join("three");
    let refused = disk.open(&deep.join("a"), OpenMode::Create).is_err_and(|error| error.is_not_found());
    ensure!(refused, "a file was made in a missing directory");
    disk.create_directory(&deep)?;
    disk.create_directory(&deep)?;
    create(&*disk, &deep.join("a"), b"x")?;
    Ok(())
}

fn handles_share_the_file<M: Makers>(makers: &mut M) -> Outcome {
    let path = makers.directory().join("a");
    let first = create(&*makers.disk(), &path, b"1")?;
    let second = makers.disk().open(&path, OpenMode::Write)?;
    second.append(&[IoSlice::new(b"2")])?;
    first.append(&[IoSlice::new(b"3")])?;
    let reader = makers.disk().open(&path, OpenMode::Read)?;
    for file in [first, second, reader] {
        let bytes = contents(&*file)?;
        ensure!(bytes == b"123", "a handle sees {bytes:?}");
    }
    Ok(())
}

fn reopened_file_is_appended_to<M: Makers>(makers: &mut M) -> Outcome {
    let path = makers.directory().join("a");
    drop(create(&*makers.disk(), &path, b"1")?);
    makers.disk().open(&path, OpenMode::Write)?.append(&[IoSlice::new(b"2")])?;
    let bytes = contents(&*makers.disk().open(&path, OpenMode::Read)?)?;
    ensure!(bytes == b"12", "the file holds {bytes:?}");
    Ok(())
}

fn list_is_sorted<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, directory) = (makers.disk(), makers.directory());
    ensure!(disk.list(&directory)?.is_empty(), "an empty directory lists something");
    for name in ["b", "a.log", "B", "c-10", "c-9"] {
        create(&*disk, &directory.join(name), name.as_bytes())?;
    }
    disk.create_directory(&directory.join("a"))?;
    let listed = disk.list(&directory)?;
    let names: Vec<&str> = listed.iter().map(|entry| entry.name.as_str()).collect();
    ensure!(names == ["B", "a", "a.log", "b", "c-10", "c-9"], "listed as {names:?}");
    for entry in &listed {
        let expected =
            if entry.name == "a" { (EntryKind::Directory, 0) } else { (EntryKind::File, entry.name.len() as u64) };
        ensure!((entry.kind, entry.bytes) == expected, "{entry:?}");
    }
    Ok(())
}

fn missing_directory_is_not_found<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, missing) = (makers.disk(), makers.directory().join("missing"));
    let outcomes = [
        ("list", disk.list(&missing).map(|_| ())),
        ("rename", disk.rename(&missing, &makers.directory().join("b"))),
        ("remove_file", disk.remove_file(&missing)),
        ("remove_directory", disk.remove_directory(&missing)),
        ("sync_directory", disk.sync_directory(&missing)),
    ];
    for (what, outcome) in outcomes {
        ensure!(matches!(&outcome, Err(error) if error.is_not_found()), "{what} of what is not there: {outcome:?}");
    }
    Ok(())
}

fn rename_moves<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, directory) = (makers.disk(), makers.directory());
    create(&*disk, &directory.join("a"), b"x")?;
    disk.create_directory(&directory.join("sub"))?;
    disk.rename(&directory.join("a"), &directory.join("b"))?;
    ensure!(is_missing(&*disk, &directory.join("a")), "the old name is still there");
    disk.rename(&directory.join("b"), &directory.join("sub").join("c"))?;
    ensure!(is_missing(&*disk, &directory.join("b")), "the old name is still there after a move");
    let bytes = contents(&*disk.open(&directory.join("sub").join("c"), OpenMode::Read)?)?;
    ensure!(bytes == b"x", "the new name holds {bytes:?}");
    Ok(())
}

fn rename_replaces<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, directory) = (makers.disk(), makers.directory());
    create(&*disk, &directory.join("a"), b"old")?;
    create(&*disk, &directory.join("a.tmp"), b"new")?;
    disk.rename(&directory.join("a.tmp"), &directory.join("a"))?;
    let bytes = contents(&*disk.open(&directory.join("a"), OpenMode::Read)?)?;
    ensure!(bytes == b"new", "the target holds {bytes:?}");
    ensure!(disk.list(&directory)?.len() == 1, "there is more than the target");
    Ok(())
}

fn rename_of_directory_takes_all_along<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, directory) = (makers.disk(), makers.directory());
    disk.create_directory(&directory.join("topic-0"))?;
    create(&*disk, &directory.join("topic-0").join("a"), b"x")?;
    disk.rename(&directory.join("topic-0"), &directory.join("topic-0.delete"))?;
    ensure!(is_missing(&*disk, &directory.join("topic-0").join("a")), "the old directory is still there");
    let bytes = contents(&*disk.open(&directory.join("topic-0.delete").join("a"), OpenMode::Read)?)?;
    ensure!(bytes == b"x", "the file in it holds {bytes:?}");
    Ok(())
}

fn open_file_survives_rename<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, directory) = (makers.disk(), makers.directory());
    let file = create(&*disk, &directory.join("a"), b"x")?;
    disk.rename(&directory.join("a"), &directory.join("b"))?;
    file.append(&[IoSlice::new(b"y")])?;
    let bytes = contents(&*disk.open(&directory.join("b"), OpenMode::Read)?)?;
    ensure!(bytes == b"xy", "the new name holds {bytes:?}");
    disk.remove_file(&directory.join("b"))?;
    ensure!(contents(&*file)? == b"xy", "the handle lost its bytes");
    Ok(())
}

fn removed_file_stays_readable<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, path) = (makers.disk(), makers.directory().join("a"));
    let file = create(&*disk, &path, b"still here")?;
    disk.remove_file(&path)?;
    ensure!(is_missing(&*disk, &path), "a removed file is still there");
    let again = create(&*disk, &path, b"another")?;
    ensure!(contents(&*file)? == b"still here", "a removed file changed");
    ensure!(contents(&*again)? == b"another", "a new file is the old one");
    Ok(())
}

fn directory_is_removed_with_content<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, directory) = (makers.disk(), makers.directory());
    let deep = directory.join("one").join("two");
    disk.create_directory(&deep)?;
    create(&*disk, &deep.join("a"), b"x")?;
    create(&*disk, &directory.join("one").join("b"), b"x")?;
    disk.remove_directory(&directory.join("one"))?;
    ensure!(disk.list(&directory)?.is_empty(), "something is left");
    Ok(())
}

fn lock_is_exclusive<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, path) = (makers.disk(), makers.directory().join(".lock"));
    let _held = disk.lock(&path)?;
    let refused = disk.lock(&path).is_err_and(|error| matches!(error, DiskError::Locked { .. }));
    ensure!(refused, "a second holder got the lock");
    Ok(())
}

fn lock_ends_with_its_value<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, path) = (makers.disk(), makers.directory().join(".lock"));
    drop(disk.lock(&path)?);
    drop(disk.lock(&path)?);
    Ok(())
}

fn modified_time_is_kept<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, path) = (makers.disk(), makers.directory().join("a"));
    let file = create(&*disk, &path, b"x")?;
    let time = WallTime(1_234_567_890_123);
    file.set_modified(time)?;
    let read = disk.open(&path, OpenMode::Read)?.modified()?;
    ensure!(read == time, "last changed at {read:?}");
    Ok(())
}

fn syncs_change_nothing_visible<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, directory) = (makers.disk(), makers.directory());
    let file = create(&*disk, &directory.join("a"), b"one")?;
    file.sync()?;
    disk.sync_directory(&directory)?;
    file.append(&[IoSlice::new(b" two")])?;
    disk.sync_all(&directory)?;
    let bytes = contents(&*file)?;
    ensure!(bytes == b"one two", "the file holds {bytes:?}");
    ensure!(disk.free_bytes(&directory)? > 0, "no space is free");
    Ok(())
}

fn read_handle_does_not_append<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, path) = (makers.disk(), makers.directory().join("a"));
    create(&*disk, &path, b"one")?;
    let reader = disk.open(&path, OpenMode::Read)?;
    ensure!(reader.append(&[IoSlice::new(b"x")]).is_err(), "a reader appended");
    ensure!(reader.truncate(0).is_err(), "a reader truncated");
    ensure!(contents(&*reader)? == b"one", "a reader changed the file");
    Ok(())
}

fn growing_cut_adds_zeroes<M: Makers>(makers: &mut M) -> Outcome {
    let file = create(&*makers.disk(), &makers.directory().join("a"), b"abc")?;
    file.truncate(6)?;
    file.append(&[IoSlice::new(b"d")])?;
    let bytes = contents(&*file)?;
    ensure!(bytes == b"abc\0\0\0d", "{bytes:?} were read");
    Ok(())
}

fn full_directory_is_not_replaced<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, directory) = (makers.disk(), makers.directory());
    let (from, to) = (directory.join("from"), directory.join("to"));
    disk.create_directory(&from)?;
    disk.create_directory(&to)?;
    create(&*disk, &to.join("a"), b"x")?;
    ensure!(disk.rename(&from, &to).is_err(), "a directory with files was replaced");
    ensure!(!is_missing(&*disk, &to.join("a")), "its file is gone");
    Ok(())
}

fn directory_is_not_removed_as_a_file<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, directory) = (makers.disk(), makers.directory().join("b"));
    disk.create_directory(&directory)?;
    ensure!(disk.remove_file(&directory).is_err(), "a directory was removed as a file");
    ensure!(disk.list(&directory).is_ok(), "the directory is gone");
    Ok(())
}

fn missing_directory_is_not_synced<M: Makers>(makers: &mut M) -> Outcome {
    let outcome = makers.disk().sync_directory(&makers.directory().join("missing"));
    ensure!(matches!(outcome, Err(DiskError::NotFound { .. })), "syncing it gave {outcome:?}");
    Ok(())
}

fn total_holds_what_is_free<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, directory) = (makers.disk(), makers.directory());
    create(&*disk, &directory.join("a"), b"x")?;
    let (free, total) = (disk.free_bytes(&directory)?, disk.total_bytes(&directory)?);
    ensure!(free < total, "{free} of {total} bytes are free beside a file");
    Ok(())
}

fn renaming_onto_itself_changes_nothing<M: Makers>(makers: &mut M) -> Outcome {
    let (disk, path) = (makers.disk(), makers.directory().join("a"));
    let file = create(&*disk, &path, b"x")?;
    disk.rename(&path, &path)?;
    ensure!(!is_missing(&*disk, &path) && contents(&*file)? == b"x", "the file is gone");
    Ok(())
}
