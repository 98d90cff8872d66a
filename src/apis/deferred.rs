//! What waits for a decision about the cluster.
//!
//! It must not know what is decided.

use super::answer::Answer;
use super::api_request::ApiRequest;
use crate::metadata::ProducerIdsBlock;
use crate::types::Ticket;

/// What waits for a decision of the controller to be durable.
pub(crate) enum Deferred {
    /// An answer that is already worded, and the one in its place if that is not in time.
    Answer { ticket: Ticket, answer: Answer, timed_out: Answer },
    /// A request that is handled once more, now that what it needed exists.
    Retry(Box<ApiRequest>),
    /// A block of producer ids.
    ProducerIds(ProducerIdsBlock),
}
