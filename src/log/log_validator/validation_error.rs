//! Why a producer's batch is refused.
//!
//! It must not know error codes: the numbers named here are what Kafka answers, for whoever maps them.

use crate::record::{BatchError, ScanError};
use crate::types::Offset;

/// Why nothing is appended. The number behind each is the error code that Kafka answers with.
#[derive(Debug, thiserror::Error)]
pub enum ValidationError {
    /// No bytes at all, or fewer than the batch claims to have (87).
    #[error("there is no whole record batch")]
    NoBatch,
    /// More than one whole batch (87).
    #[error("there is more than one record batch")]
    MoreThanOneBatch,
    /// A message of magic 0 or 1 (87).
    #[error("message format {0} is not accepted; only record batches of magic 2 are")]
    OldMagic(i8),
    /// zstd in a request that is too old for it (76).
    #[error("zstd needs a newer version of the produce request")]
    ZstdNotAllowed,
    /// Bytes that are no batch (2).
    #[error("the record batch is corrupt: {0}")]
    Corrupt(BatchError),
    /// The base offset is not 0 (87).
    #[error("the base offset of the record batch should be 0, but it is {0}")]
    BaseOffset(Offset),
    /// The batch is larger than the topic allows, as sent or after recompression, which ends with the first byte too many (10).
    #[error("the record batch has {bytes} bytes, more than the {bytes_max} that are allowed")]
    TooLarge {
        /// Length of the batch, as far as it is known.
        bytes: usize,
        /// `max.message.bytes`.
        bytes_max: usize,
    },
    /// The checksum is not that of the bytes (2).
    #[error("the record batch is corrupt: its checksum is {0:#010x}, but that is not the checksum of its bytes")]
    Checksum(u32),
    /// The last offset lies before the first (87).
    #[error("the record batch has an invalid offset range: [0, {last_offset_delta}]")]
    OffsetRange {
        /// As sent.
        last_offset_delta: i32,
    },
    /// The batch claims to have no records, or fewer (87).
    #[error("the record batch reports an invalid count of records: {0}")]
    RecordCount(i32),
    /// Offsets and count do not agree (87).
    #[error(
        "the record batch's offset range [0, {last_offset_delta}] does not fit its count of records, {record_count}"
    )]
    CountMismatch {
        /// As sent.
        last_offset_delta: i32,
        /// As sent.
        record_count: i32,
    },
    /// Control records from a client (87).
    #[error("clients are not allowed to write control records")]
    ControlBatch,
    /// A producer id, but no sequence number (87).
    #[error("invalid sequence number {0} in a record batch with a producer id")]
    Sequence(i32),
    /// The records cannot be read, or hold more than is allowed once decompressed (87).
    #[error(transparent)]
    Unreadable(#[from] ScanError),
    /// Records without a key on a compacted topic (87).
    #[error("one or more records have been rejected")]
    InvalidRecords(Vec<RejectedRecord>),
    /// Records with a timestamp out of range, and perhaps others (32).
    #[error("one or more records have been rejected due to an invalid timestamp")]
    InvalidTimestamps(Vec<RejectedRecord>),
}

/// One record that is not acceptable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRecord {
    /// Its place in the batch, counted from 0.
    pub batch_index: i32,
    /// Why, for the client.
    pub message: String,
}
