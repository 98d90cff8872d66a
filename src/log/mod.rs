//! Offsets on disk: segments, indexes, producer state, recovery, retention, in Kafka's own formats.
//!
//! It must not know protocol messages, nor who asks; all files are reached through `env::Disk`, all time comes as an argument.

mod append;
mod appended_batches;
mod batch_scanner;
mod checkpoint_file;
mod clean_shutdown_file;
mod deleted_folders;
mod error;
mod failed_batches;
mod first_start;
mod folder_files;
mod index_file;
mod lazy_file;
mod leader_epoch_cache;
mod lifecycle;
mod log_checkpoint;
mod log_directory;
mod log_file_name;
mod log_loader;
mod log_manager;
mod log_segment;
pub mod log_validator;
mod meta_properties;
mod new_log_file;
mod offset_checkpoint;
mod offset_index;
mod partition_metadata_file;
mod producer_append_info;
mod producer_snapshot;
mod producer_state_entry;
mod producer_state_manager;
mod read;
mod recent_batches;
mod retention;
mod settings;
mod sync;
mod time_index;
mod timestamps;
mod transaction_index;
mod unified_log;

pub use append::{AppendInfo, AppendOrigin, Durability, TransactionContext};
pub use error::{AppendError, LogError, ReadError};
pub use failed_batches::FailedBatches;
pub use first_start::check_metadata_log;
pub use log_checkpoint::Checkpoint;
pub use log_manager::{LogDirectoryInfo, LogManager};
pub use producer_append_info::VerificationGuard;
pub use producer_state_manager::OpenTransaction;
pub use read::{FetchData, FetchIsolation};
pub use settings::{LogManagerSettings, LogSettings};
pub use sync::SyncPoint;
pub use timestamps::FoundTimestamp;
pub use transaction_index::AbortedTransaction;
pub use unified_log::UnifiedLog;

#[cfg(test)]
pub(crate) mod tests;
