//! FindCoordinator: who coordinates a group. The topic that keeps groups is made when the first client asks.
//!
//! Transactions and share groups are not coordinated here, and a client is told so at once: "not available" would have it ask again until
//! its own patience ends. It must not know groups.

use std::sync::Arc;

use crate::apis::answer::{Answer, Outcome};
use crate::apis::answer_budget::TOO_LONG;
use crate::apis::api_request::ApiRequest;
use crate::apis::kafka_apis::KafkaApis;
use crate::apis::topic_creation::create_automatically;
use crate::error_code::ErrorCode;
use crate::limits::ANSWER_BYTES_MAX;
use crate::metadata::{GROUP_METADATA_TOPIC_NAME, Location, Placement};
use crate::protocol::DecodeError;
use crate::protocol::messages::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};
use crate::types::Now;

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;

/// The address of a coordinator that is not there.
const NO_NODE: (i32, &str, i32) = (-1, "", -1);

pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: FindCoordinatorRequest<'_> = request.decode()?;
    if message.coordinator_keys.len().saturating_mul(size_of::<Coordinator<'_>>()) > ANSWER_BYTES_MAX {
        return Ok(Answer::Close(TOO_LONG).into());
    }
    let placement = Placement::new(apis.broker_id(), apis.image());
    if message.key_type == GROUP
        && placement.image().topic(GROUP_METADATA_TOPIC_NAME).is_none()
        && !request.is_retry
        && let Some(answer) = create_automatically(apis, now, request, &[Arc::from(GROUP_METADATA_TOPIC_NAME)])
    {
        return Ok(answer.into());
    }
    let (host, port) = apis.advertised(request);
    let here = (apis.broker_id().0, host.as_str(), port);
    let find = |key: &str| match find(&placement, message.key_type, key) {
        ErrorCode::None => (ErrorCode::None, here),
        error => (error, NO_NODE),
    };
    let response = if request.version() < 4 {
        let (error, (node_id, host, port)) = find(message.key);
        // Kafka's own text for success, which clients may show.
        let error_message = if error.is_none() { "NONE" } else { text_of(error) };
        FindCoordinatorResponse {
            error_code: error.code(),
            error_message: Some(error_message),
            node_id,
            host,
            port,
            ..Default::default()
        }
    } else {
        let coordinators = message.coordinator_keys.iter().map(|key| {
            let (error, (node_id, host, port)) = find(key);
            // Kafka has a text here only for a request that it refuses as a whole.
            let is_refused = !matches!(error, ErrorCode::None | ErrorCode::CoordinatorNotAvailable);
            let error_message = is_refused.then(|| text_of(error));
            let error_message = Some(error_message.unwrap_or_default());
            Coordinator { key, node_id, host, port, error_code: error.code(), error_message }
        });
        FindCoordinatorResponse { coordinators: coordinators.collect(), ..Default::default() }
    };
    Ok(request.respond(&response).into())
}

/// Whether the coordinator of `key` is here.
fn find(placement: &Placement, key_type: i8, key: &str) -> ErrorCode {
    match key_type {
        GROUP => match placement.coordinator(GROUP_METADATA_TOPIC_NAME, key) {
            (Location::Here { .. }, _) => ErrorCode::None,
            _ => ErrorCode::CoordinatorNotAvailable,
        },
        // The one error at which every client gives up at once; librdkafka asks on after all others.
        TRANSACTION => ErrorCode::TransactionalIdAuthorizationFailed,
        _ => ErrorCode::InvalidRequest,
    }
}

fn text_of(error: ErrorCode) -> &'static str {
    match error {
        ErrorCode::TransactionalIdAuthorizationFailed => {
            "this broker has no transactions: leave transactional.id unset (an idempotent producer needs none)"
        }
        ErrorCode::InvalidRequest => "this broker does not coordinate keys of that type",
        _ => "the coordinator is not available",
    }
}
