//! Record batches: the unit that producers send, the log stores and consumers read, as pure functions over bytes.
//!
//! Reading order: [`BatchHeader`] (61 bytes), [`RecordBatch`] (header and body), [`Record`] (one record of a body),
//! [`RecordBatchBuilder`] (the way back). This room must not know the wire messages around a batch, files or time.

mod batch;
mod batch_header;
mod bounded_bytes;
mod compression;
mod control_record;
mod crc;
mod decompressed_input;
#[allow(clippy::module_inception, reason = "a file is named after its main type")]
mod record;
mod record_batch_builder;
mod record_scanner;
mod recompression;
mod varint;

#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod round_trip_tests;

pub use batch::{BatchIterator, RecordBatch};
pub use batch_header::{BatchError, BatchHeader, BatchPrefix, TimestampType, begins_with_transaction, is_old_message};
pub use bounded_bytes::BoundedBytes;
pub use compression::{Compression, CompressionError, CompressionType, Compressor, Decompressor};
pub use control_record::{ControlRecord, ControlRecordError, end_transaction_batch};
pub use crc::{Crc32c, crc32c, crc32c_of_parts};
pub use recompression::recompress;
pub use record::{Header, Headers, Record, RecordError, RecordIterator};
pub use record_batch_builder::{BuildError, RecordBatchBuilder};
pub use record_scanner::{RecordSummary, ScanError, ScanLimits, find_record, scan_records};
