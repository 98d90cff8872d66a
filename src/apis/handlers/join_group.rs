//! JoinGroup: a member wants to be part of the next generation.
//!
//! It must not know how a group decides; it makes the versions' differences into fields.

use std::net::IpAddr;

use crate::apis::answer::{Answer, Outcome};
use crate::apis::api_request::{ApiRequest, respond};
use crate::apis::group_answer::outcome;
use crate::apis::kafka_apis::KafkaApis;
use crate::coordinator::group::{JoinAnswer, JoinProtocol, JoinRequest};
use crate::protocol::DecodeError;
use crate::protocol::messages::join_group::{JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember};
use crate::types::{Now, Ticket};

pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: JoinGroupRequest<'_> = request.decode()?;
    let version = request.version();
    let client_host = client_host(request.peer.ip());
    let protocols = message.protocols.iter();
    let join = JoinRequest {
        group_id: message.group_id,
        member_id: message.member_id,
        group_instance_id: message.group_instance_id,
        client_id: &request.client_id(),
        client_host: &client_host,
        session_timeout_ms: message.session_timeout_ms,
        rebalance_timeout_ms: if version == 0 { message.session_timeout_ms } else { message.rebalance_timeout_ms },
        protocol_type: message.protocol_type,
        protocols: protocols
            .map(|protocol| JoinProtocol { name: protocol.name, metadata: protocol.metadata })
            .collect(),
        requires_known_member_id: version >= 4,
        supports_skipping_assignment: version >= 9,
    };
    let groups = apis.groups();
    let asked = groups.ask(now, message.group_id, |coordinator| {
        coordinator.handle_join(now, request.ticket, &join, &mut || groups.draw())
    });
    Ok(outcome(request.ticket, asked, |error| {
        respond_joined(request.ticket, &JoinAnswer::refusal(message.member_id, error))
    }))
}

/// The address as Kafka prints it, which it keeps with the member: behind a slash, and for version 6 without any abbreviation.
fn client_host(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => format!("/{address}"),
        IpAddr::V6(address) => {
            let segments: Vec<String> = address.segments().iter().map(|segment| format!("{segment:x}")).collect();
            format!("/{}", segments.join(":"))
        }
    }
}

/// The answer to a JoinGroup. Versions below 7 have an empty name where later ones have none.
pub(crate) fn respond_joined(ticket: Ticket, answer: &JoinAnswer) -> Answer {
    let protocol_name = answer.protocol_name.as_deref().filter(|name| !name.is_empty());
    let members = answer.members.iter().map(|member| JoinGroupResponseMember {
        member_id: &member.member_id,
        group_instance_id: member.group_instance_id.as_deref(),
        metadata: &member.metadata,
    });
    let response = JoinGroupResponse {
        throttle_time_ms: 0,
        error_code: answer.error.code(),
        generation_id: answer.generation,
        protocol_type: answer.protocol_type.as_deref(),
        protocol_name: if ticket.api_version < 7 { Some(protocol_name.unwrap_or_default()) } else { protocol_name },
        leader: &answer.leader,
        skip_assignment: answer.skip_assignment,
        member_id: &answer.member_id,
        members: members.collect(),
    };
    respond(ticket, &response)
}

#[cfg(test)]
mod tests {
    use super::client_host;

    #[test]
    fn a_members_host_is_written_as_kafka_writes_it() {
        assert_eq!(client_host("127.0.0.1".parse().unwrap()), "/127.0.0.1");
        assert_eq!(client_host("::1".parse().unwrap()), "/0:0:0:0:0:0:0:1");
        assert_eq!(client_host("::ffff:10.0.0.1".parse().unwrap()), "/10.0.0.1");
    }
}
