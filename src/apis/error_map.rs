//! From the rooms' own errors to the protocol's codes: one place, so that the same fault always has the same code.
//!
//! It must not know which API asks.

use crate::error_code::ErrorCode;
use crate::log::log_validator::ValidationError;
use crate::log::{AppendError, ReadError};

impl From<&AppendError> for ErrorCode {
    fn from(error: &AppendError) -> ErrorCode {
        match error {
            AppendError::InvalidRecord(_) => ErrorCode::InvalidRecord,
            AppendError::Corrupt(_) => ErrorCode::CorruptMessage,
            AppendError::TooLarge { .. } => ErrorCode::MessageTooLarge,
            AppendError::ListTooLarge { .. } => ErrorCode::RecordListTooLarge,
            AppendError::InvalidProducerEpoch { .. } => ErrorCode::InvalidProducerEpoch,
            AppendError::OutOfOrderSequence { .. } => ErrorCode::OutOfOrderSequenceNumber,
            AppendError::InvalidTransactionState(_) => ErrorCode::InvalidTxnState,
            AppendError::CoordinatorFenced { .. } => ErrorCode::TransactionCoordinatorFenced,
            AppendError::OffsetsExhausted => ErrorCode::UnknownServerError,
            AppendError::DiskFull | AppendError::Offline | AppendError::Disk(_) => ErrorCode::KafkaStorageError,
            AppendError::Deleted => ErrorCode::UnknownTopicOrPartition,
        }
    }
}

impl From<&ValidationError> for ErrorCode {
    fn from(error: &ValidationError) -> ErrorCode {
        match error {
            ValidationError::Corrupt(_) | ValidationError::Checksum(_) => ErrorCode::CorruptMessage,
            ValidationError::ZstdNotAllowed => ErrorCode::UnsupportedCompressionType,
            ValidationError::TooLarge { .. } => ErrorCode::MessageTooLarge,
            ValidationError::InvalidTimestamps(_) => ErrorCode::InvalidTimestamp,
            ValidationError::NoBatch
            | ValidationError::MoreThanOneBatch
            | ValidationError::OldMagic(_)
            | ValidationError::BaseOffset(_)
            | ValidationError::OffsetRange { .. }
            | ValidationError::RecordCount(_)
            | ValidationError::CountMismatch { .. }
            | ValidationError::ControlBatch
            | ValidationError::Sequence(_)
            | ValidationError::Unreadable(_)
            | ValidationError::InvalidRecords(_) => ErrorCode::InvalidRecord,
        }
    }
}

impl From<&ReadError> for ErrorCode {
    fn from(error: &ReadError) -> ErrorCode {
        match error {
            ReadError::OffsetOutOfRange { .. } => ErrorCode::OffsetOutOfRange,
            // A consumer that fetches ends with it; a storage error it would take for a passing trouble, and wait for ever without a word.
            ReadError::Damaged { .. } => ErrorCode::CorruptMessage,
            ReadError::Offline | ReadError::Disk(_) => ErrorCode::KafkaStorageError,
            ReadError::Deleted => ErrorCode::UnknownTopicOrPartition,
        }
    }
}
