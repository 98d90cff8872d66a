//! Offsets on disk: segments, indexes, producer state, recovery, retention, in Kafka's own formats.
//!
//! It must not know protocol messages, nor who asks; all files are reached through `env::Disk`, all time comes as an argument.

mod append;
mod batch_header;
mod batch_scanner;
mod error;
mod index_file;
mod lazy_file;
mod log_file_name;
mod log_segment;
mod offset_index;
mod settings;
mod time_index;
mod unified_log;

pub use batch_header::BatchHeader;
pub use error::{AppendError, LogError, ReadError};
pub use settings::LogSettings;
pub use unified_log::UnifiedLog;
