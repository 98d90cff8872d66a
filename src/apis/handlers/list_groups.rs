//! ListGroups: the groups of this broker, perhaps only those of some states or types.
//!
//! It must not know how groups are kept.

use crate::apis::answer::Outcome;
use crate::apis::api_request::ApiRequest;
use crate::apis::kafka_apis::KafkaApis;
use crate::protocol::DecodeError;
use crate::protocol::messages::list_groups::{ListGroupsRequest, ListGroupsResponse, ListedGroup};

pub(crate) fn handle(apis: &KafkaApis, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: ListGroupsRequest<'_> = request.decode()?;
    let by_shard =
        apis.groups().read_all(|coordinator| coordinator.list_groups(&message.states_filter, &message.types_filter));
    let groups = by_shard.iter().flatten().map(|group| ListedGroup {
        group_id: &group.group_id,
        protocol_type: &group.protocol_type,
        group_state: group.state,
        group_type: group.group_type,
    });
    Ok(request.respond(&ListGroupsResponse { groups: groups.collect(), ..Default::default() }).into())
}
