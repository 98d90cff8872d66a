//! DescribeGroups: state, protocol and members of groups.
//!
//! It must not know how groups are kept.

use crate::apis::answer::{Answer, Outcome};
use crate::apis::answer_budget::AnswerBudget;
use crate::apis::api_request::ApiRequest;
use crate::apis::authorized_operations::GROUP_OPERATIONS;
use crate::apis::kafka_apis::KafkaApis;
use crate::coordinator::group::{DescribedGroup as Described, DescribedMember};
use crate::error_code::ErrorCode;
use crate::protocol::DecodeError;
use crate::protocol::messages::describe_groups::{
    DescribeGroupsRequest, DescribeGroupsResponse, DescribedGroup, DescribedGroupMember,
};

/// The first version that says by an error that a group does not exist; before, it is in state `Dead`.
const NOT_FOUND_VERSION_MIN: i16 = 6;

/// What a group takes in the answer beside its members.
const GROUP_BYTES: usize = 512;
/// What a member takes beside its metadata and its assignment.
const MEMBER_BYTES: usize = 512;

pub(crate) fn handle(apis: &KafkaApis, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: DescribeGroupsRequest<'_> = request.decode()?;
    let mut budget = AnswerBudget::new();
    let mut described: Vec<(&str, Result<Described, ErrorCode>)> = Vec::new();
    for group_id in message.groups.iter().copied() {
        let group = apis.groups().read(group_id, |coordinator| coordinator.describe_group(group_id));
        let members = group.as_ref().map_or(0, |group| group.members.iter().map(bytes_of).sum());
        if let Err(error) = budget.take(GROUP_BYTES + members) {
            return Ok(Answer::from(error).into());
        }
        described.push((group_id, group));
    }
    let not_found: Vec<String> = message.groups.iter().map(|group_id| format!("Group {group_id} not found.")).collect();
    let groups = described.iter().zip(&not_found).map(|((group_id, described), not_found)| match described {
        Ok(described) => {
            let mut group = wire_group(described);
            if described.error == ErrorCode::GroupIdNotFound {
                (group.error_code, group.error_message) = if request.version() >= NOT_FOUND_VERSION_MIN {
                    (described.error.code(), Some(not_found.as_str()))
                } else {
                    (ErrorCode::None.code(), None)
                };
            }
            if message.include_authorized_operations && group.error_code == ErrorCode::None.code() {
                group.authorized_operations = GROUP_OPERATIONS;
            }
            group
        }
        Err(error) => DescribedGroup { error_code: error.code(), group_id, ..Default::default() },
    });
    Ok(request.respond(&DescribeGroupsResponse { throttle_time_ms: 0, groups: groups.collect() }).into())
}

/// What a member takes in the answer.
fn bytes_of(member: &DescribedMember) -> usize {
    MEMBER_BYTES + member.metadata.len() + member.assignment.len()
}

fn wire_group(group: &Described) -> DescribedGroup<'_> {
    let members = group.members.iter().map(|member| DescribedGroupMember {
        member_id: &member.member_id,
        group_instance_id: member.group_instance_id.as_deref(),
        client_id: &member.client_id,
        client_host: &member.client_host,
        member_metadata: &member.metadata,
        member_assignment: &member.assignment,
    });
    DescribedGroup {
        error_code: group.error.code(),
        group_id: &group.group_id,
        group_state: group.state,
        protocol_type: &group.protocol_type,
        protocol_data: &group.protocol,
        members: members.collect(),
        ..Default::default()
    }
}
