//! Why logs and metadata cannot be loaded.
//!
//! It must not know how an operator is told.

use std::io::ErrorKind;

use crate::env::DiskError;
use crate::log::{LogError, ReadError};

/// A start that failed before any listener was opened.
#[derive(Debug, thiserror::Error)]
pub enum StartFailure {
    /// Another process uses a log directory.
    #[error("{}: another process uses this folder; is another broker running on it? change `log.dirs`", path.display())]
    Locked {
        /// The lock file.
        path: std::path::PathBuf,
    },
    /// A log directory or a log in it cannot be used.
    #[error("{}{}", .0, cure(.0))]
    Log(LogError),
    /// A log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The disk failed.
    #[error("{}{}", .0, disk_cure(.0))]
    Disk(#[from] DiskError),
    /// The metadata log holds something that cannot be applied.
    #[error("the metadata log cannot be replayed: {reason}")]
    Metadata {
        /// What and where.
        reason: String,
    },
}

/// What to do about a log directory that cannot be used, where the path is what is wrong with it.
fn cure(error: &LogError) -> &'static str {
    if let LogError::Disk(error) = error { disk_cure(error) } else { "" }
}

fn disk_cure(error: &DiskError) -> &'static str {
    let is_of_path = match error {
        DiskError::NotFound { .. } => true,
        DiskError::Io { source, .. } => matches!(
            source.kind(),
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::NotADirectory
        ),
        _ => false,
    };
    if is_of_path { "; `log.dirs` must name folders that this user may read and write" } else { "" }
}

impl From<LogError> for StartFailure {
    fn from(error: LogError) -> StartFailure {
        match error {
            LogError::Disk(DiskError::Locked { path }) => StartFailure::Locked { path },
            error => StartFailure::Log(error),
        }
    }
}
