//! `.kafka_cleanshutdown`: says that everything in a log directory was complete and on disk when the broker stopped.
//!
//! It must not know what is in the directory. The file is taken away before anything is loaded, so that a crash during the load counts
//! as unclean.

use std::path::Path;

use crate::env::{Disk, DiskError};
use crate::log::checkpoint_file::replace_text;
use crate::log::error::LogError;

/// The file's name.
const CLEAN_SHUTDOWN_FILE: &str = ".kafka_cleanshutdown";

/// Whether the file was there. It is gone, for good, when this returns.
pub(super) fn take(disk: &dyn Disk, directory: &Path) -> Result<bool, DiskError> {
    match disk.remove_file(&directory.join(CLEAN_SHUTDOWN_FILE)) {
        Err(error) if error.is_not_found() => Ok(false),
        result => {
            result?;
            disk.sync_directory(directory)?;
            Ok(true)
        }
    }
}

/// Makes the file, in the last step of a shutdown, and waits until it is on disk.
pub(super) fn put(disk: &dyn Disk, directory: &Path, broker_epoch: i64) -> Result<(), LogError> {
    let text = format!("{{\"version\":0,\"brokerEpoch\":{broker_epoch}}}");
    replace_text(disk, &directory.join(CLEAN_SHUTDOWN_FILE), &text)
}
