//! Why logs and metadata cannot be loaded.
//!
//! It must not know how an operator is told.

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
    #[error("{0}; `log.dirs` must name folders that this user may read and write, of one cluster and one node")]
    Log(LogError),
    /// A log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The disk failed.
    #[error("{0}; `log.dirs` must name folders that this user may read and write")]
    Disk(#[from] DiskError),
    /// The metadata log holds something that cannot be applied.
    #[error("the metadata log cannot be replayed: {reason}")]
    Metadata {
        /// What and where.
        reason: String,
    },
}

impl From<LogError> for StartFailure {
    fn from(error: LogError) -> StartFailure {
        match error {
            LogError::Disk(DiskError::Locked { path }) => StartFailure::Locked { path },
            error => StartFailure::Log(error),
        }
    }
}
