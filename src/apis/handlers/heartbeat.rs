//! Heartbeat: a member is alive, and learns whether its generation still lasts.
//!
//! It must not know how a group decides.

use crate::apis::answer::{Answer, Outcome};
use crate::apis::api_request::{ApiRequest, respond};
use crate::apis::group_answer::outcome;
use crate::apis::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::protocol::DecodeError;
use crate::protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use crate::types::{Now, Ticket};

pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: HeartbeatRequest<'_> = request.decode()?;
    let heartbeat = crate::coordinator::group::HeartbeatRequest {
        group_id: message.group_id,
        generation: message.generation_id,
        member_id: message.member_id,
        group_instance_id: message.group_instance_id,
    };
    let asked = apis
        .groups()
        .ask(now, message.group_id, |coordinator| coordinator.handle_heartbeat(now, request.ticket, &heartbeat));
    Ok(outcome(request.ticket, asked, |error| respond_heartbeat(request.ticket, error)))
}

/// The answer to a Heartbeat.
pub(crate) fn respond_heartbeat(ticket: Ticket, error: ErrorCode) -> Answer {
    respond(ticket, &HeartbeatResponse { throttle_time_ms: 0, error_code: error.code() })
}
