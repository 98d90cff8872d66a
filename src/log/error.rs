//! What a log can answer instead of data, as types that the caller maps to the protocol's codes.
//!
//! It must not know error codes.

use crate::env::DiskError;
use crate::types::{Offset, TopicPartition};

/// Why an append did not happen. Nothing of it is in the log. Only if the log is offline after an [`AppendError::Disk`], a part may be in
/// its file: the outcome is unknown until the log is loaded again.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// There is no batch, or a malformed one (Kafka: INVALID_RECORD).
    #[error("invalid record: {0}")]
    InvalidRecord(&'static str),
    /// A batch is cut, or its checksum does not match (Kafka: CORRUPT_MESSAGE).
    #[error("corrupt batch: {0}")]
    Corrupt(&'static str),
    /// A batch is larger than `max.message.bytes` (Kafka: MESSAGE_TOO_LARGE).
    #[error("a batch of {bytes} bytes; {bytes_max} are allowed")]
    TooLarge {
        /// Its length.
        bytes: usize,
        /// What is allowed.
        bytes_max: usize,
    },
    /// All batches together are larger than `segment.bytes` (Kafka: RECORD_LIST_TOO_LARGE).
    #[error("{bytes} bytes of batches; a segment holds {bytes_max}")]
    ListTooLarge {
        /// Their length.
        bytes: usize,
        /// What a segment holds.
        bytes_max: usize,
    },
    /// A newer incarnation of the producer was seen (Kafka: INVALID_PRODUCER_EPOCH).
    #[error("the producer's epoch {epoch} is older than {known}")]
    InvalidProducerEpoch {
        /// The batch's epoch.
        epoch: i16,
        /// The known one.
        known: i16,
    },
    /// The sequence number leaves a gap, or repeats a batch that is no longer remembered (Kafka: OUT_OF_ORDER_SEQUENCE_NUMBER).
    #[error("sequence number {sequence} after {last}")]
    OutOfOrderSequence {
        /// The batch's first sequence number.
        sequence: i32,
        /// The last that was appended.
        last: i32,
    },
    /// A transactional batch without a transaction, or the other way round (Kafka: INVALID_TXN_STATE).
    #[error("invalid transaction state: {0}")]
    InvalidTransactionState(&'static str),
    /// An end marker of an older coordinator (Kafka: TRANSACTION_COORDINATOR_FENCED).
    #[error("the coordinator's epoch {epoch} is older than {known}")]
    CoordinatorFenced {
        /// The marker's coordinator epoch.
        epoch: i32,
        /// The known one.
        known: i32,
    },
    /// The partition has no more offsets. No client error: it takes 292 000 years at a million records a second.
    #[error("no offsets are left")]
    OffsetsExhausted,
    /// The disk is full, or nearly; nothing was appended, and a later try may succeed (Kafka: KAFKA_STORAGE_ERROR).
    #[error("the disk is full")]
    DiskFull,
    /// The log is offline after a disk error (Kafka: KAFKA_STORAGE_ERROR).
    #[error("the log is offline after a disk error, until the disk is mended and the broker started again")]
    Offline,
    /// The log was deleted (Kafka: UNKNOWN_TOPIC_OR_PARTITION).
    #[error("the log is deleted")]
    Deleted,
    /// A disk error (Kafka: KAFKA_STORAGE_ERROR).
    #[error(transparent)]
    Disk(DiskError),
}

/// Why a read has no data.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The offset is below the log start or above the log end (Kafka: OFFSET_OUT_OF_RANGE).
    #[error("offset {offset} is not in {log_start}..={log_end}")]
    OffsetOutOfRange {
        /// What was asked for.
        offset: Offset,
        /// The first offset.
        log_start: Offset,
        /// The offset after the last.
        log_end: Offset,
    },
    /// The bytes on disk are not those that were appended (Kafka: CORRUPT_MESSAGE).
    #[error("the batch with offset {offset}, at byte {position} of segment {segment}, is damaged")]
    Damaged {
        /// The first offset that cannot be served.
        offset: Offset,
        /// Base offset of its segment.
        segment: Offset,
        /// Where in the segment's file.
        position: u64,
    },
    /// The log is offline after a disk error (Kafka: KAFKA_STORAGE_ERROR).
    #[error("the log is offline after a disk error, until the disk is mended and the broker started again")]
    Offline,
    /// The log was deleted (Kafka: UNKNOWN_TOPIC_OR_PARTITION).
    #[error("the log is deleted")]
    Deleted,
    /// A disk error (Kafka: KAFKA_STORAGE_ERROR).
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// Why a log, or all logs of a directory, cannot be opened or changed.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A disk error.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A sync failed, so that nobody knows what is on disk: the broker must not go on.
    #[error(transparent)]
    Sync(DiskError),
    /// A file holds what it must not.
    #[error("{path}: {reason}")]
    Malformed {
        /// Which file.
        path: std::path::PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Directories, identities or topics contradict each other.
    #[error("{0}")]
    Inconsistent(String),
    /// There is no usable log directory.
    #[error("no log directory is usable: mend one of log.dirs, or name another")]
    NoDirectory,
    /// It may lie in a directory that cannot be used now, so that none is begun in its place.
    #[error(
        "{partition} may lie in {elsewhere}, which cannot be used: bring it back, or, if it is lost for good, take it out of log.dirs and \
         name its directory.id in klamm.log.dirs.given.up"
    )]
    Elsewhere {
        /// Which log.
        partition: TopicPartition,
        /// Where it may lie.
        elsewhere: String,
    },
    /// Its files could not be loaded, so that none is begun in its place.
    #[error(
        "the files of {partition} in {directory} could not be loaded: mend them, or move the folder away while the broker is down, after \
         which the partition begins anew, empty"
    )]
    Unreadable {
        /// Which log.
        partition: TopicPartition,
        /// The log directory in which it lies.
        directory: String,
    },
}

impl LogError {
    /// A file that holds what it must not.
    pub(super) fn malformed(path: &std::path::Path, reason: impl Into<String>) -> LogError {
        LogError::Malformed { path: path.to_path_buf(), reason: reason.into() }
    }
}
