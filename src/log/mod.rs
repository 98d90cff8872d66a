//! Offsets on disk: segments, indexes, producer state, recovery, retention, in Kafka's own formats.
//!
//! It must not know protocol messages, nor who asks; all files are reached through `env::Disk`, all time comes as an argument.

mod append;
mod batch_scanner;
mod checkpoint_file;
mod error;
mod index_file;
mod lazy_file;
mod log_file_name;
mod log_loader;
mod log_manager;
mod log_segment;
pub mod log_validator;
mod offset_index;
mod read;
mod recent_batches;
mod settings;
mod sync;
#[cfg(test)]
mod test_disk;
mod time_index;
mod unified_log;

pub use append::{AppendInfo, AppendOrigin, Durability};
pub use error::{AppendError, LogError, ReadError};
pub use log_manager::LogManager;
pub use read::{FetchData, FetchIsolation};
pub use settings::LogSettings;
pub use sync::SyncPoint;
pub use unified_log::UnifiedLog;

#[cfg(test)]
mod unified_log_tests;
