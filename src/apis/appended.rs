//! What became of a client's batch: where it lies, or why it was not appended.
//!
//! It must not know how an answer is worded.

use crate::error_code::ErrorCode;
use crate::log::AppendError;
use crate::log::log_validator::ValidationError;
use crate::types::{Offset, WallTime};

/// What an append did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appended {
    pub(crate) base_offset: Offset,
    pub(crate) last_offset: Offset,
    pub(crate) log_start_offset: Offset,
    /// The broker's own timestamp, if the topic stamps records itself; of a repeated batch the one that it has.
    pub(crate) log_append_time: Option<WallTime>,
    /// Whoever appended has to ask for a sync, once for all that it appended.
    pub(crate) wants_sync: bool,
}

/// Why a batch was not appended.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) error: ErrorCode,
    pub(crate) message: Option<String>,
    /// What an operator should look for; `None` for what is the client's own matter.
    pub(crate) likely_cause: Option<&'static str>,
    /// Where the log starts, -1 for faults that are seen without a look at the log.
    pub(crate) log_start_offset: Offset,
    /// The records at fault: place in the batch, and what is wrong.
    pub(crate) record_errors: Vec<(i32, Option<String>)>,
}

impl Refusal {
    pub(super) fn of_append(error: &AppendError, log_start_offset: Offset) -> Refusal {
        let code = ErrorCode::from(error);
        let log_start_offset = if tells_log_start(code) { log_start_offset } else { Offset(-1) };
        let message = Some(error.to_string());
        Refusal { error: code, message, likely_cause: None, log_start_offset, record_errors: Vec::new() }
    }

    pub(super) fn of_batch(error: ValidationError, log_start_offset: Offset) -> Refusal {
        let (code, message) = (ErrorCode::from(&error), Some(error.to_string()));
        let is_of_request = matches!(
            error,
            ValidationError::NoBatch | ValidationError::MoreThanOneBatch | ValidationError::OldMagic(_)
        );
        let log_start_offset = if tells_log_start(code) && !is_of_request { log_start_offset } else { Offset(-1) };
        let likely_cause = likely_cause(&error);
        let record_errors = match error {
            ValidationError::InvalidRecords(rejected) | ValidationError::InvalidTimestamps(rejected) => {
                rejected.into_iter().map(|record| (record.batch_index, Some(record.message.to_string()))).collect()
            }
            _ => Vec::new(),
        };
        Refusal { error: code, message, likely_cause, log_start_offset, record_errors }
    }
}

fn likely_cause(error: &ValidationError) -> Option<&'static str> {
    match error {
        ValidationError::Checksum(_) => {
            Some("its checksum is not that of its bytes: they were changed on the way, or the producer is broken")
        }
        ValidationError::NoBatch | ValidationError::Corrupt(_) => {
            Some("its bytes are no record batch: they were changed on the way, or the producer is broken")
        }
        ValidationError::MoreThanOneBatch
        | ValidationError::BaseOffset(_)
        | ValidationError::OffsetRange { .. }
        | ValidationError::RecordCount(_)
        | ValidationError::CountMismatch { .. }
        | ValidationError::ControlBatch
        | ValidationError::Sequence(_) => Some("it is not as producers make them: the producer is broken"),
        ValidationError::Unreadable(_) => {
            Some("its records cannot be read, or are too much once decompressed: the producer is broken, or means harm")
        }
        ValidationError::OldMagic(_)
        | ValidationError::ZstdNotAllowed
        | ValidationError::TooLarge { .. }
        | ValidationError::InvalidRecords(_)
        | ValidationError::InvalidTimestamps(_) => None,
    }
}

/// Whether Kafka tells beside this error where the log starts: not for what a look at the bytes or at the log's state refuses.
fn tells_log_start(error: ErrorCode) -> bool {
    !matches!(
        error,
        ErrorCode::CorruptMessage
            | ErrorCode::MessageTooLarge
            | ErrorCode::RecordListTooLarge
            | ErrorCode::UnsupportedCompressionType
            | ErrorCode::KafkaStorageError
            | ErrorCode::UnknownTopicOrPartition
    )
}
