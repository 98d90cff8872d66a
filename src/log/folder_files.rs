//! What lies in a partition's folder, after the leftovers of a crash are put in order: deletions are finished, replacements are
//! completed or undone.
//!
//! It must not read records, except to learn how far a replacing segment reaches.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::env::{Disk, DiskEntry, DiskError, EntryKind, OpenMode};
use crate::log::batch_scanner::{BatchScanner, LOOKUP_CHUNK_BYTES, ScanError};
use crate::log::error::LogError;
use crate::log::log_file_name::{
    CLEANED, DELETED, LOG, OFFSET_INDEX, SNAPSHOT, SWAP, TIME_INDEX, TRANSACTION_INDEX, parse_file_name,
};
use crate::log::log_segment::SegmentBytes;
use crate::log::new_log_file::NEW_LOG_FILE;
use crate::log::offset_index::OFFSET_ENTRY_BYTES;
use crate::log::time_index::TIME_ENTRY_BYTES;
use crate::log::transaction_index::TRANSACTION_ENTRY_BYTES;
use crate::marks::Mark;
use crate::types::Offset;
use crate::zoo::{self, Bug};

/// Ends the name of a file that was to replace another.
const TEMPORARY: &str = ".tmp";

/// The segments and snapshots of a folder.
#[derive(Debug, Default)]
pub(super) struct FolderFiles {
    /// Lengths of the files of each segment, by base offset.
    pub(super) segments: BTreeMap<Offset, SegmentBytes>,
    /// Segments whose indexes are missing or torn.
    pub(super) without_indexes: BTreeSet<Offset>,
    /// Offsets of the snapshots of producer state.
    pub(super) snapshots: BTreeSet<Offset>,
    /// Whether the log is newer than the checkpoints of its log directory.
    pub(super) is_new: bool,
}

impl FolderFiles {
    /// Puts the folder in order, in the steps of Kafka's `LogLoader`, and says what is left.
    pub(super) fn tidy_up(disk: &dyn Disk, directory: &Path) -> Result<FolderFiles, LogError> {
        let mut entries = files_of(disk, directory)?;
        if remove_temporaries(disk, directory, &entries)? {
            entries = files_of(disk, directory)?;
        }
        if complete_swaps(disk, directory, &entries)? {
            entries = files_of(disk, directory)?;
        }
        let is_new = entries.iter().any(|entry| entry.name == NEW_LOG_FILE);
        let mut files = FolderFiles { is_new, ..FolderFiles::default() };
        for entry in &entries {
            match parse_file_name(&entry.name) {
                Some((offset, LOG)) => files.segments.entry(offset).or_default().log = entry.bytes,
                Some((offset, SNAPSHOT)) => drop(files.snapshots.insert(offset)),
                _ => {}
            }
        }
        let mut indexed: BTreeMap<Offset, u32> = BTreeMap::new();
        for entry in &entries {
            let Some((offset, suffix @ (OFFSET_INDEX | TIME_INDEX | TRANSACTION_INDEX))) = parse_file_name(&entry.name)
            else {
                continue;
            };
            let Some(bytes) = files.segments.get_mut(&offset) else {
                Mark::IndexWithoutSegment.reached();
                disk.remove_file(&directory.join(&entry.name))?;
                continue;
            };
            let (length, entry_bytes) = match suffix {
                OFFSET_INDEX => (&mut bytes.offset_index, OFFSET_ENTRY_BYTES),
                TIME_INDEX => (&mut bytes.time_index, TIME_ENTRY_BYTES),
                _ => (&mut bytes.transaction_index, TRANSACTION_ENTRY_BYTES),
            };
            *length = entry.bytes;
            if entry.bytes % entry_bytes as u64 != 0 {
                files.without_indexes.insert(offset);
            }
            *indexed.entry(offset).or_default() += u32::from(suffix != TRANSACTION_INDEX);
        }
        let missing = files.segments.keys().filter(|base| indexed.get(base) != Some(&2));
        files.without_indexes.extend(missing);
        Ok(files)
    }
}

fn files_of(disk: &dyn Disk, directory: &Path) -> Result<Vec<DiskEntry>, DiskError> {
    Ok(disk.list(directory)?.into_iter().filter(|entry| entry.kind == EntryKind::File).collect())
}

/// Finishes deletions, and undoes replacements that were not complete: those from the first `.cleaned` file on. Says whether anything was removed.
///
/// A `.cleaned` file says that a replacement is not complete. So it goes last, when on the disk, too, the `.swap` files are gone: else a start that is cut short
/// would leave a replacement that seems to be complete.
fn remove_temporaries(disk: &dyn Disk, directory: &Path, entries: &[DiskEntry]) -> Result<bool, DiskError> {
    let cleaned = entries.iter().filter(|entry| entry.name.ends_with(CLEANED));
    let first_cleaned = cleaned.filter_map(|entry| parse_file_name(&entry.name)).map(|(offset, _)| offset).min();
    let is_from_cleaned =
        |name: &str| parse_file_name(name).zip(first_cleaned).is_some_and(|((offset, _), first)| offset >= first);
    let is_undone = |name: &str| {
        let is_incomplete = is_from_cleaned(name) && !zoo::is(Bug::HalfReplacementTaken);
        name.ends_with(SWAP) && (is_incomplete || zoo::is(Bug::ReplacementForgotten))
    };
    let is_leftover = |name: &str| [DELETED, CLEANED, TEMPORARY].iter().any(|ending| name.ends_with(ending));
    let has_undone = remove_those(disk, directory, entries, is_undone)?;
    if has_undone {
        disk.sync_directory(directory)?;
    }
    Ok(remove_those(disk, directory, entries, is_leftover)? || has_undone)
}

fn remove_those(
    disk: &dyn Disk,
    directory: &Path,
    entries: &[DiskEntry],
    is_doomed: impl Fn(&str) -> bool,
) -> Result<bool, DiskError> {
    let doomed = entries.iter().filter(|entry| is_doomed(&entry.name));
    let mut has_removed = false;
    for entry in doomed {
        Mark::LeftOverRemoved.reached();
        disk.remove_file(&directory.join(&entry.name))?;
        has_removed = true;
    }
    Ok(has_removed)
}

/// Puts complete replacements in the place of the segments whose offsets they cover. Says whether there were any.
fn complete_swaps(disk: &dyn Disk, directory: &Path, entries: &[DiskEntry]) -> Result<bool, LogError> {
    let swaps: Vec<&DiskEntry> = entries.iter().filter(|entry| entry.name.ends_with(SWAP)).collect();
    let mut covered: Option<(Offset, Offset)> = None;
    for entry in &swaps {
        let Some((base, suffix)) = parse_file_name(&entry.name) else { continue };
        if suffix.strip_suffix(SWAP) == Some(LOG) {
            let next = next_offset(disk, &directory.join(&entry.name), base, entry.bytes)?;
            let (from, to) = covered.unwrap_or((base, next));
            covered = Some((from.min(base), to.max(next)));
        }
    }
    if let Some((from, to)) = covered {
        for entry in entries {
            let Some((offset, suffix)) = parse_file_name(&entry.name) else { continue };
            let is_segment = [LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, SNAPSHOT].contains(&suffix);
            if is_segment && offset >= from && offset < to {
                disk.remove_file(&directory.join(&entry.name))?;
            }
        }
        // Else a power cut could keep the replacement under its new name, and beside it what it replaces.
        disk.sync_directory(directory)?;
    }
    for entry in &swaps {
        Mark::ReplacementCompleted.reached();
        let name = entry.name.strip_suffix(SWAP).unwrap_or(&entry.name);
        disk.rename(&directory.join(&entry.name), &directory.join(name))?;
    }
    Ok(!swaps.is_empty())
}

/// The offset behind the last whole batch of a file.
fn next_offset(disk: &dyn Disk, path: &Path, base: Offset, bytes: u64) -> Result<Offset, DiskError> {
    let file = disk.open(path, OpenMode::Read)?;
    let mut scanner = BatchScanner::new(&*file, 0, bytes, LOOKUP_CHUNK_BYTES);
    let mut next = base;
    loop {
        match scanner.next_header() {
            Ok(Some(batch)) => next = batch.header.next_offset(),
            Ok(None) | Err(ScanError::Damaged { .. }) => return Ok(next),
            Err(ScanError::Disk(error)) => return Err(error),
        }
    }
}
