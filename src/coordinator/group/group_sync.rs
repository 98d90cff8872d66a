//! SyncGroup: the leader brings the assignment, the others fetch their part.
//!
//! It must not know what an assignment says.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::coordinator::group::classic_group::{ClassicGroup, GroupState};
use crate::coordinator::group::completion::{Completion, CoordinatorResult};
use crate::coordinator::group::group_coordinator::GroupCoordinator;
use crate::coordinator::group::rebalance::Turn;
use crate::coordinator::group::records::GroupRecord;
use crate::coordinator::group::requests::SyncRequest;
use crate::coordinator::group::timers::Timer;
use crate::coordinator::group::{GroupAnswer, SyncAnswer};
use crate::error_code::ErrorCode;
use crate::marks::Mark;
use crate::types::{Now, Ticket};
use crate::zoo::{self, Bug};

/// A consumer's assignment has at least a version, the number of its topics and the length of its user data.
const PARSED_BYTES_MIN: usize = 10;

fn differs(said: Option<&str>, known: Option<&Arc<str>>) -> bool {
    matches!((said, known), (Some(said), Some(known)) if said != known.as_ref())
}

impl GroupCoordinator {
    /// SyncGroup. Parked until the leader's assignment is durable.
    pub fn handle_sync(&mut self, now: Now, ticket: Ticket, request: &SyncRequest<'_>) -> CoordinatorResult {
        let mut result = CoordinatorResult::default();
        let refuse = |error| CoordinatorResult::answered(ticket, GroupAnswer::Sync(SyncAnswer::refusal(error)));
        if request.group_id.is_empty() {
            return refuse(ErrorCode::InvalidGroupId);
        }
        if self.groups.get(request.group_id).is_none_or(|group| group.is_in(GroupState::Empty)) {
            return refuse(ErrorCode::UnknownMemberId);
        }
        self.with_group(now, request.group_id, &mut result, |turn, group| turn.sync(group, ticket, request));
        result
    }
}

impl Turn<'_> {
    fn sync(&mut self, group: &mut ClassicGroup, ticket: Ticket, request: &SyncRequest<'_>) {
        let member_id = request.member_id;
        if let Err(error) = Self::validate_sync(group, request) {
            self.answer_sync(ticket, SyncAnswer::refusal(error));
            return;
        }
        match group.state() {
            GroupState::PreparingRebalance => {
                Mark::SyncInNextRound.reached();
                self.answer_sync(ticket, SyncAnswer::refusal(ErrorCode::RebalanceInProgress));
            }
            GroupState::CompletingRebalance => {
                self.park_sync(group, &Arc::from(member_id), ticket);
                self.has_synced(group, member_id);
                if group.is_leader(member_id) {
                    self.store_assignment(group, request);
                }
            }
            GroupState::Stable => {
                Mark::SyncLate.reached();
                self.has_synced(group, member_id);
                let member = group.member(member_id).filter(|_| !zoo::is(Bug::AssignmentLost));
                let assignment = member.map(|member| member.assignment.clone()).unwrap_or_default();
                let answer = SyncAnswer {
                    error: ErrorCode::None,
                    protocol_type: group.protocol_type.clone(),
                    protocol_name: group.protocol.clone(),
                    assignment,
                };
                self.answer_sync(ticket, answer);
            }
            GroupState::Empty | GroupState::Dead => {
                self.answer_sync(ticket, SyncAnswer::refusal(ErrorCode::UnknownMemberId));
            }
        }
    }

    fn validate_sync(group: &ClassicGroup, request: &SyncRequest<'_>) -> Result<(), ErrorCode> {
        group.validate_member(request.member_id, request.group_instance_id)?;
        if request.generation != group.generation {
            return Err(ErrorCode::IllegalGeneration);
        }
        let is_inconsistent = differs(request.protocol_type, group.protocol_type.as_ref())
            || differs(request.protocol_name, group.protocol.as_ref());
        if is_inconsistent && !zoo::is(Bug::SyncByAnyProtocol) {
            Err(ErrorCode::InconsistentGroupProtocol)
        } else {
            Ok(())
        }
    }

    fn has_synced(&mut self, group: &mut ClassicGroup, member_id: &str) {
        group.pending_syncs.remove(member_id);
        if group.pending_syncs.is_empty() {
            self.timers.cancel(&Timer::Sync(group.group_id.clone()));
        }
    }

    /// Writes the leader's assignment. A member that it left out gets an empty one.
    fn store_assignment(&mut self, group: &ClassicGroup, request: &SyncRequest<'_>) {
        let assignments: BTreeMap<Arc<str>, Bytes> = request
            .assignments
            .iter()
            .filter(|(member_id, _)| group.has_member(member_id))
            .filter(|(_, assignment)| assignment.len() >= PARSED_BYTES_MIN || !zoo::is(Bug::AssignmentParsed))
            .map(|(member_id, assignment)| (Arc::from(*member_id), Bytes::copy_from_slice(assignment)))
            .collect();
        let value = group.to_record(|member| assignments.get(&member.member_id).cloned().unwrap_or_default());
        let group_id = group.group_id.clone();
        self.result.append([GroupRecord::GroupMetadata { group_id: group_id.clone(), value: Some(value) }]);
        self.result.after_append(Completion::Assigned { group_id, generation: group.generation, assignments });
    }
}
