//! One partition as requests see it: which topic it belongs to, and its log.
//!
//! It must not know what a request wants.

use std::sync::Arc;

use super::replica_manager::LogKey;
use crate::log::UnifiedLog;

/// A partition with its log.
#[derive(Debug)]
pub(crate) struct Partition {
    /// Its topic's id and its number.
    pub(crate) key: LogKey,
    /// Where its records are.
    pub(crate) log: Arc<UnifiedLog>,
}
