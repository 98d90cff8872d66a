//! SyncGroup: a member asks for its assignment; the leader brings everyone's.
//!
//! It must not know how a group decides.

use crate::apis::answer::{Answer, Outcome};
use crate::apis::api_request::{ApiRequest, respond};
use crate::apis::group_answer::outcome;
use crate::apis::kafka_apis::KafkaApis;
use crate::coordinator::group::{SyncAnswer, SyncRequest};
use crate::error_code::ErrorCode;
use crate::protocol::DecodeError;
use crate::protocol::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};
use crate::types::{Now, Ticket};

pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: SyncGroupRequest<'_> = request.decode()?;
    let refuse = |error| respond_synced(request.ticket, &SyncAnswer::refusal(error));
    let is_empty = |name: Option<&str>| name.is_none_or(str::is_empty);
    if request.version() >= 5 && (is_empty(message.protocol_type) || is_empty(message.protocol_name)) {
        return Ok(refuse(ErrorCode::InconsistentGroupProtocol).into());
    }
    let assignments = message.assignments.iter();
    let sync = SyncRequest {
        group_id: message.group_id,
        generation: message.generation_id,
        member_id: message.member_id,
        group_instance_id: message.group_instance_id,
        protocol_type: message.protocol_type,
        protocol_name: message.protocol_name,
        assignments: assignments.map(|assignment| (assignment.member_id, assignment.assignment)).collect(),
    };
    let asked =
        apis.groups().ask(now, message.group_id, |coordinator| coordinator.handle_sync(now, request.ticket, &sync));
    Ok(outcome(request.ticket, asked, refuse))
}

/// The answer to a SyncGroup.
pub(crate) fn respond_synced(ticket: Ticket, answer: &SyncAnswer) -> Answer {
    let response = SyncGroupResponse {
        throttle_time_ms: 0,
        error_code: answer.error.code(),
        protocol_type: answer.protocol_type.as_deref(),
        protocol_name: answer.protocol_name.as_deref(),
        assignment: &answer.assignment,
    };
    respond(ticket, &response)
}
