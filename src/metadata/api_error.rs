//! What a decision comes to: records to append, and an answer for each item that was asked for.
//!
//! It must not know the wire messages that carry the answers.

use crate::error_code::ErrorCode;

use super::record::MetadataRecord;

/// Most records that one operation may write, so that it stays one batch (Kafka: 10 000).
pub(super) const RECORDS_PER_OPERATION_MAX: usize = 10_000;

/// Why an item was refused: code and text as Kafka 4.4 gives them, since tools and people read both.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code:?}: {}", message.as_deref().unwrap_or("-"))]
pub struct ApiError {
    /// The code.
    pub code: ErrorCode,
    /// The text; null on the wire where Kafka sends none.
    pub message: Option<String>,
}

impl ApiError {
    /// An error with a text.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> ApiError {
        ApiError { code, message: Some(message.into()) }
    }

    /// An error without a text.
    pub fn without_message(code: ErrorCode) -> ApiError {
        ApiError { code, message: None }
    }

    pub(super) fn too_many_records() -> ApiError {
        ApiError::new(ErrorCode::PolicyViolation, "Unable to perform excessively large batch operation.")
    }
}

/// Records that make a decision true once they are in the log, and the answer to give then. No records: nothing needs to be appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerResult<T> {
    /// What to append, as one batch.
    pub records: Vec<MetadataRecord>,
    /// What to answer, in the order of the request.
    pub response: T,
}

/// For each item of a request what came of it, in the request's order.
pub type ItemResults<K, V> = Vec<(K, Result<V, ApiError>)>;

impl<K, V> ControllerResult<ItemResults<K, V>> {
    /// The result of many items: with too many records no item happens.
    pub(super) fn bounded(records: Vec<MetadataRecord>, mut response: ItemResults<K, V>) -> Self {
        if records.len() <= RECORDS_PER_OPERATION_MAX {
            return ControllerResult { records, response };
        }
        for (_, result) in &mut response {
            *result = Err(ApiError::too_many_records());
        }
        ControllerResult { records: Vec::new(), response }
    }

    /// The same answers without any effect (`validate_only`).
    pub(super) fn without_effect_if(mut self, validate_only: bool) -> Self {
        if validate_only {
            self.records.clear();
        }
        self
    }
}
