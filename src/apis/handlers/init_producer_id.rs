//! InitProducerId: a producer id for an idempotent producer (KIP-98).
//!
//! Transactions are not served: a transactional id is refused for good, so that no client waits for a coordinator that never comes. It must
//! not know how ids are kept apart over restarts.

use crate::apis::answer::{Answer, Completion, Outcome};
use crate::apis::api_request::ApiRequest;
use crate::apis::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::limits::DECISION_TIMEOUT_MS;
use crate::marks::Mark;
use crate::protocol::DecodeError;
use crate::protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use crate::types::{Now, ProducerId};

/// Gives out an id, or waits for a block of them.
pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: InitProducerIdRequest<'_> = request.decode()?;
    if let Some(error) = refusal(&message) {
        return Ok(respond(request, Err(error)).into());
    }
    let mut ids = apis.producer_ids();
    if let Some(id) = ids.take() {
        return Ok(respond(request, Ok(id)).into());
    }
    if request.is_retry {
        return Ok(respond(request, Err(ErrorCode::CoordinatorLoadInProgress)).into());
    }
    let deadline = now.instant.after_ms(i64::from(DECISION_TIMEOUT_MS));
    let is_first = ids.wait(deadline, Box::new(request.again()));
    drop(ids);
    if !is_first {
        Mark::ProducerIdsAwaited.reached();
    }
    apis.watch_deadline(deadline);
    match if is_first { apis.ask_producer_ids(now) } else { Ok(()) } {
        Ok(()) => Ok(Answer::Retry.into()),
        Err(error) => {
            // Whoever has joined the wait meanwhile hears of it, too.
            let waiting = apis.producer_ids().take_waiting();
            let others = waiting.into_iter().filter(|other| other.ticket != request.ticket);
            let completions =
                others.map(|other| Completion { ticket: other.ticket, answer: respond(&other, Err(error)) }).collect();
            Ok(Outcome { answer: respond(request, Err(error)), completions })
        }
    }
}

fn refusal(message: &InitProducerIdRequest<'_>) -> Option<ErrorCode> {
    let has_id = message.producer_id != -1;
    let has_epoch = message.producer_epoch != -1;
    match message.transactional_id {
        Some("") => Some(ErrorCode::InvalidRequest),
        Some(_) => Some(ErrorCode::TransactionalIdAuthorizationFailed),
        None if has_id != has_epoch => Some(ErrorCode::InvalidRequest),
        None => None,
    }
}

fn respond(request: &ApiRequest, id: Result<ProducerId, ErrorCode>) -> Answer {
    let (error, id, epoch) = match id {
        Ok(id) => (ErrorCode::None, id.0, 0),
        Err(error) => (error, -1, -1),
    };
    request.respond(&InitProducerIdResponse {
        error_code: error.code(),
        producer_id: id,
        producer_epoch: epoch,
        ..Default::default()
    })
}
