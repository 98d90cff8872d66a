//! DeleteGroups: groups without members go, with their offsets. The groups of one request may belong to several coordinators.
//!
//! It must not know how a group decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::apis::answer::{Answer, Completion, Outcome};
use crate::apis::answer_parts::AnswerPart;
use crate::apis::api_request::{ApiRequest, respond};
use crate::apis::group_answer::outcome_of;
use crate::apis::group_shard::GroupShard;
use crate::apis::kafka_apis::KafkaApis;
use crate::coordinator::group::{DeleteGroupsAnswer, GroupAnswer};
use crate::error_code::ErrorCode;
use crate::protocol::DecodeError;
use crate::protocol::messages::delete_groups::{DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse};
use crate::types::{Now, PartitionIndex, Ticket};

pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: DeleteGroupsRequest<'_> = request.decode()?;
    let (groups, ticket) = (apis.groups(), request.ticket);
    let mut by_shard: BTreeMap<PartitionIndex, (Arc<GroupShard>, Vec<&str>)> = BTreeMap::new();
    let mut settled = Vec::new();
    for group_id in message.groups_names.iter().copied().collect::<BTreeSet<&str>>() {
        match groups.shard_of(group_id) {
            Ok(shard) => {
                let place = shard.partition().key.partition;
                by_shard.entry(place).or_insert_with(|| (shard, Vec::new())).1.push(group_id);
            }
            Err(error) => settled.push((Arc::from(group_id), error)),
        }
    }
    if by_shard.is_empty() {
        return Ok(respond_deleted(ticket, &DeleteGroupsAnswer { groups: settled }).into());
    }
    groups.parts().keep(ticket, AnswerPart::Groups { settled, left: by_shard.len() });
    let mut completions: Vec<Completion> = Vec::new();
    for (shard, group_ids) in by_shard.into_values() {
        let asked = groups.ask_shard(now, &shard, |coordinator| coordinator.handle_delete_groups(ticket, &group_ids));
        completions.extend(asked.unwrap_or_else(|error| give_up(apis, ticket, &group_ids, error)));
    }
    Ok(outcome_of(ticket, completions))
}

/// The groups of a coordinator that was given up in between.
fn give_up(apis: &KafkaApis, ticket: Ticket, group_ids: &[&str], error: ErrorCode) -> Vec<Completion> {
    let groups = group_ids.iter().map(|group_id| (Arc::from(*group_id), error)).collect();
    let answer = GroupAnswer::DeleteGroups(DeleteGroupsAnswer { groups });
    apis.groups().completions(vec![(ticket, answer)])
}

/// The answer to a DeleteGroups.
pub(crate) fn respond_deleted(ticket: Ticket, answer: &DeleteGroupsAnswer) -> Answer {
    let results = answer.groups.iter().map(|(group_id, error)| DeletableGroupResult {
        group_id,
        error_code: error.code(),
        ..Default::default()
    });
    respond(ticket, &DeleteGroupsResponse { throttle_time_ms: 0, results: results.collect() })
}
