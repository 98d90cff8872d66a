//! LeaveGroup: members go, by themselves or at an administrator's word.
//!
//! It must not know how a group decides.

use crate::apis::answer::{Answer, Outcome};
use crate::apis::api_request::{ApiRequest, respond};
use crate::apis::group_answer::outcome;
use crate::apis::kafka_apis::KafkaApis;
use crate::coordinator::group::{LeaveAnswer, LeaveRequest, LeavingMember};
use crate::error_code::ErrorCode;
use crate::protocol::DecodeError;
use crate::protocol::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse, MemberResponse};
use crate::types::{Now, Ticket};

/// The first version in which several members leave at once.
const BATCH_VERSION_MIN: i16 = 3;

pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: LeaveGroupRequest<'_> = request.decode()?;
    let members = if request.version() < BATCH_VERSION_MIN {
        vec![LeavingMember { member_id: message.member_id, group_instance_id: None }]
    } else {
        let members = message.members.iter();
        members
            .map(|member| LeavingMember { member_id: member.member_id, group_instance_id: member.group_instance_id })
            .collect()
    };
    let leave = LeaveRequest { group_id: message.group_id, members };
    let asked =
        apis.groups().ask(now, message.group_id, |coordinator| coordinator.handle_leave(now, request.ticket, &leave));
    Ok(outcome(request.ticket, asked, |error| {
        respond_left(request.ticket, &LeaveAnswer { error, members: Vec::new() })
    }))
}

/// The answer to a LeaveGroup. Before version 3 the only member's error is that of the request.
pub(crate) fn respond_left(ticket: Ticket, answer: &LeaveAnswer) -> Answer {
    let of_member = answer.members.first().map_or(ErrorCode::None, |member| member.error);
    let is_batch = ticket.api_version >= BATCH_VERSION_MIN;
    let error = if answer.error.is_none() && !is_batch { of_member } else { answer.error };
    let members = answer.members.iter().map(|member| MemberResponse {
        member_id: &member.member_id,
        group_instance_id: member.group_instance_id.as_deref(),
        error_code: member.error.code(),
    });
    respond(ticket, &LeaveGroupResponse { throttle_time_ms: 0, error_code: error.code(), members: members.collect() })
}
