//! Heartbeat, LeaveGroup, and connections that close: how a member stays or goes.
//!
//! It must not know what a rebalance does.

use std::sync::Arc;

use crate::coordinator::group::GroupAnswer;
use crate::coordinator::group::answers::{LeaveAnswer, LeftMember};
use crate::coordinator::group::classic_group::{ClassicGroup, GroupState};
use crate::coordinator::group::completion::CoordinatorResult;
use crate::coordinator::group::group_coordinator::GroupCoordinator;
use crate::coordinator::group::rebalance::Turn;
use crate::coordinator::group::requests::{HeartbeatRequest, LeaveRequest, LeavingMember};
use crate::coordinator::group::timers::Timer;
use crate::error_code::ErrorCode;
use crate::marks::Mark;
use crate::types::{ConnectionId, Now, Ticket};
use crate::zoo::{self, Bug};

impl GroupCoordinator {
    /// Heartbeat: keeps the session alive and tells the member whether to join again.
    pub fn handle_heartbeat(&mut self, now: Now, ticket: Ticket, request: &HeartbeatRequest<'_>) -> CoordinatorResult {
        let mut result = CoordinatorResult::default();
        let mut error = ErrorCode::UnknownMemberId;
        if request.group_id.is_empty() {
            error = ErrorCode::InvalidGroupId;
        }
        self.with_group(now, request.group_id, &mut result, |turn, group| error = turn.heartbeat(group, request));
        result.answer(ticket, GroupAnswer::Heartbeat(error));
        result
    }

    /// LeaveGroup, of one member or of several.
    pub fn handle_leave(&mut self, now: Now, ticket: Ticket, request: &LeaveRequest<'_>) -> CoordinatorResult {
        let mut result = CoordinatorResult::default();
        if request.group_id.is_empty() {
            let answer = LeaveAnswer { error: ErrorCode::InvalidGroupId, members: Vec::new() };
            return CoordinatorResult::answered(ticket, GroupAnswer::Leave(answer));
        }
        let mut members: Vec<LeftMember> = request
            .members
            .iter()
            .map(|member| LeftMember {
                member_id: Arc::from(member.member_id),
                group_instance_id: member.group_instance_id.map(Arc::from),
                error: ErrorCode::UnknownMemberId,
            })
            .collect();
        self.with_group(now, request.group_id, &mut result, |turn, group| {
            for (leaving, left) in request.members.iter().zip(&mut members) {
                left.error = turn.leave(group, leaving).err().unwrap_or(ErrorCode::None);
            }
            let has_anybody_left = members.iter().any(|left| left.error == ErrorCode::None);
            if has_anybody_left && !group.is_in(GroupState::Empty) {
                turn.rebalance(group);
            }
        });
        result.answer_after_append(ticket, GroupAnswer::Leave(LeaveAnswer { error: ErrorCode::None, members }));
        result
    }

    /// Nobody waits any more for what this connection has asked.
    pub fn connection_closed(&mut self, now: Now, connection: ConnectionId) {
        let Some((group_id, member_id)) = self.parked.take(connection) else { return };
        let mut nothing = CoordinatorResult::default();
        self.with_group(now, &group_id, &mut nothing, |turn, group| turn.abandon(group, &member_id, connection));
    }
}

impl Turn<'_> {
    /// Nobody waits any more for what a member has asked over this connection. It stays until its session ends, which runs from now.
    pub(super) fn abandon(&mut self, group: &mut ClassicGroup, member_id: &Arc<str>, connection: ConnectionId) {
        let is_abandoned = group.member_mut(member_id).is_some_and(|mut member| member.abandon(connection));
        let Some(member) = group.member(member_id).filter(|_| is_abandoned) else { return };
        Mark::MemberAbandoned.reached();
        let session_end = self.now.instant.after_ms(i64::from(member.session_timeout_ms));
        let timer = Timer::Session(group.group_id.clone(), member_id.clone());
        // A new member has a deadline already, which may be nearer.
        let nearer = self.timers.deadline(&timer).filter(|end| member.is_new && *end < session_end);
        self.timers.schedule(timer, nearer.unwrap_or(session_end));
    }

    fn heartbeat(&mut self, group: &ClassicGroup, request: &HeartbeatRequest<'_>) -> ErrorCode {
        if let Err(error) = group.validate_member(request.member_id, request.group_instance_id) {
            return error;
        }
        if request.generation != group.generation && !zoo::is(Bug::HeartbeatNotChecked) {
            Mark::HeartbeatStale.reached();
            return ErrorCode::IllegalGeneration;
        }
        match group.state() {
            GroupState::Empty | GroupState::Dead => ErrorCode::UnknownMemberId,
            GroupState::PreparingRebalance => {
                Mark::HeartbeatInRebalance.reached();
                self.schedule_session(group, request.member_id);
                ErrorCode::RebalanceInProgress
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                self.schedule_session(group, request.member_id);
                ErrorCode::None
            }
        }
    }

    fn leave(&mut self, group: &mut ClassicGroup, leaving: &LeavingMember<'_>) -> Result<(), ErrorCode> {
        if zoo::is(Bug::LeaveRefused) && group.state() == GroupState::PreparingRebalance {
            return Err(ErrorCode::RebalanceInProgress);
        }
        let member_id = if leaving.member_id.is_empty() {
            // An administrator knows a static member by its instance id only.
            let by_instance = leaving.group_instance_id.and_then(|instance_id| group.static_member_id(instance_id));
            by_instance.ok_or(ErrorCode::UnknownMemberId)?
        } else {
            if !group.pending_joins.contains(leaving.member_id) {
                group.validate_member(leaving.member_id, leaving.group_instance_id)?;
            }
            Arc::from(leaving.member_id)
        };
        self.remove_member(group, &member_id);
        Ok(())
    }
}
