//! One partition as requests see it: its log and what its topic's configs say about batches.
//!
//! It must not know where configs come from.

use std::sync::Arc;

use super::replica_manager::LogKey;
use crate::log::UnifiedLog;
use crate::log::log_validator::ValidationSettings;

/// A partition, as of the configs that held when it was looked up.
#[derive(Debug)]
pub(crate) struct Partition {
    /// Its topic's id and its number.
    pub(crate) key: LogKey,
    /// Where its records are.
    pub(crate) log: Arc<UnifiedLog>,
    /// Which batches its topic takes.
    pub(crate) validation: ValidationSettings,
}
