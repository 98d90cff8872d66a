//! Why logs and metadata cannot be loaded.
//!
//! It must not know how an operator is told.

use crate::env::DiskError;
use crate::log::{LogError, ReadError};

/// A start that failed before any listener was opened.
#[derive(Debug, thiserror::Error)]
pub enum StartFailure {
    /// A log directory or a log in it cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The metadata log holds something that cannot be applied.
    #[error("the metadata log cannot be replayed: {reason}")]
    Metadata {
        /// What and where.
        reason: String,
    },
}
