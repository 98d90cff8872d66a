//! `klamm-new-log`: marks the folder of a log that is newer than the checkpoints of its log directory. What they say under its name is
//! about a log of the same name that was deleted.
//!
//! It lies there before anything is appended, and goes when the checkpoints tell of the new log. It must not know what they say. Kafka, which
//! writes its checkpoints at each deletion, does not look at it.

use std::path::Path;

use crate::env::{Disk, DiskError, OpenMode};

/// The file's name.
pub(super) const NEW_LOG_FILE: &str = "klamm-new-log";

/// Marks a folder. It is owed a sync, before any record is.
pub(super) fn put(disk: &dyn Disk, folder: &Path) -> Result<(), DiskError> {
    disk.open(&folder.join(NEW_LOG_FILE), OpenMode::CreateEmpty).map(drop)
}

/// Takes the mark away, which is owed a sync.
pub(super) fn take(disk: &dyn Disk, folder: &Path) -> Result<(), DiskError> {
    match disk.remove_file(&folder.join(NEW_LOG_FILE)) {
        Err(error) if error.is_not_found() => Ok(()),
        result => result,
    }
}
