//! ListGroups, DescribeGroups and DeleteGroups: what administrators see of groups and do to them.
//!
//! It must not know the other coordinators, over which the caller collects.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use crate::coordinator::group::GroupAnswer;
use crate::coordinator::group::answers::{DeleteGroupsAnswer, DescribedGroup, DescribedMember, ListedGroup};
use crate::coordinator::group::classic_group::{ClassicGroup, GroupState};
use crate::coordinator::group::completion::CoordinatorResult;
use crate::coordinator::group::group_coordinator::GroupCoordinator;
use crate::coordinator::group::group_offsets::tombstone;
use crate::coordinator::group::records::GroupRecord;
use crate::coordinator::group::timers::Timer;
use crate::error_code::ErrorCode;
use crate::types::Ticket;
use crate::zoo::{self, Bug};

/// The type's name on the wire.
const GROUP_TYPE: &str = "classic";

/// An empty filter lets everything through; case does not matter.
fn passes(filter: &[&str], name: &str) -> bool {
    filter.is_empty() || filter.iter().any(|wanted| wanted.eq_ignore_ascii_case(name))
}

impl GroupCoordinator {
    /// ListGroups: the groups of this coordinator, by id, whose state and type pass.
    pub fn list_groups(&self, states: &[&str], types: &[&str]) -> Vec<ListedGroup> {
        self.groups
            .values()
            .filter(|group| passes(states, group.state().name()) && passes(types, GROUP_TYPE))
            .map(|group| ListedGroup {
                group_id: group.group_id.clone(),
                protocol_type: group.protocol_type.clone().unwrap_or_default(),
                state: group.state().name(),
                group_type: GROUP_TYPE,
            })
            .collect()
    }

    /// DescribeGroups, of one group.
    pub fn describe_group(&self, group_id: &str) -> DescribedGroup {
        let Some(group) = self.groups.get(group_id) else {
            return DescribedGroup {
                error: ErrorCode::GroupIdNotFound,
                group_id: Arc::from(group_id),
                state: GroupState::Dead.name(),
                protocol_type: Arc::from(""),
                protocol: Arc::from(""),
                members: Vec::new(),
            };
        };
        let is_stable = group.is_in(GroupState::Stable);
        let members = group
            .members()
            .map(|member| DescribedMember {
                member_id: member.member_id.clone(),
                group_instance_id: member.group_instance_id.clone(),
                client_id: member.client_id.clone(),
                client_host: member.client_host.clone(),
                metadata: if is_stable { member.metadata(group.protocol.as_deref()) } else { Bytes::new() },
                assignment: member.assignment.clone(),
            })
            .collect();
        DescribedGroup {
            error: ErrorCode::None,
            group_id: group.group_id.clone(),
            state: group.state().name(),
            protocol_type: group.protocol_type.clone().unwrap_or_default(),
            protocol: group.protocol.clone().filter(|_| is_stable).unwrap_or_default(),
            members,
        }
    }

    /// DeleteGroups, of those that belong to this coordinator: with all their offsets, if they have no members. One that is
    /// named twice is answered once.
    pub fn handle_delete_groups(&mut self, ticket: Ticket, group_ids: &[&str]) -> CoordinatorResult {
        let mut result = CoordinatorResult::default();
        let mut seen = BTreeSet::new();
        let mut groups = Vec::with_capacity(group_ids.len());
        for group_id in group_ids.iter().filter(|group_id| seen.insert(**group_id)) {
            let error = match self.groups.get(*group_id) {
                None => ErrorCode::GroupIdNotFound,
                Some(group) if !group.is_in(GroupState::Empty) => ErrorCode::NonEmptyGroup,
                Some(group) => {
                    result.append(self.group_tombstones(group));
                    self.forget_pending_joins(group_id);
                    ErrorCode::None
                }
            };
            groups.push((Arc::from(*group_id), error));
        }
        if let Some(append) = &mut result.append {
            append.atomic = false;
        }
        result.answer_after_append(ticket, GroupAnswer::DeleteGroups(DeleteGroupsAnswer { groups }));
        result
    }

    /// Who was given a member id and has not come back keeps no group alive: to them, it is one that is gone.
    fn forget_pending_joins(&mut self, group_id: &str) {
        let Some(group) = self.groups.get_mut(group_id).filter(|_| !zoo::is(Bug::PendingKeepsGroup)) else { return };
        for member_id in std::mem::take(&mut group.pending_joins) {
            self.timers.cancel(&Timer::Session(group.group_id.clone(), member_id));
        }
    }

    /// The records that delete a group and its offsets.
    fn group_tombstones(&self, group: &ClassicGroup) -> Vec<GroupRecord> {
        let offsets = self.durable.offsets();
        let group_id = &group.group_id;
        let mut its = offsets.pending_of_group(group_id);
        its.extend(offsets.of_group(group_id).map(|(topic, partition, _)| (topic.clone(), partition)));
        its.extend(self.in_flight.of_group(group_id).map(|(topic, partition)| (topic.clone(), partition)));
        let mut records: Vec<GroupRecord> =
            its.iter().map(|(topic, partition)| tombstone(group_id, topic, *partition)).collect();
        records.push(GroupRecord::GroupMetadata { group_id: group_id.clone(), value: None });
        records
    }
}
