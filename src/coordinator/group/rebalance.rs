//! The course of a rebalance: from the first reason for one, through the join phase, to the assignment that every member gets.
//!
//! It must not know requests or durable state: it changes one living group, sets timers, and collects answers and records.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::coordinator::group::answers::{GroupAnswer, JoinAnswer, JoinedMember, SyncAnswer};
use crate::coordinator::group::classic_group::{ClassicGroup, GroupState, InitialRebalance};
use crate::coordinator::group::completion::CoordinatorResult;
use crate::coordinator::group::member::Parked;
use crate::coordinator::group::parked::ParkedRequests;
use crate::coordinator::group::records::GroupRecord;
use crate::coordinator::group::settings::GroupSettings;
use crate::coordinator::group::timers::{Timer, Timers};
use crate::error_code::ErrorCode;
use crate::marks::Mark;
use crate::types::{Now, Ticket};
use crate::zoo::{self, Bug};

/// What one turn of the coordinator has at hand beside the group it is about.
pub(super) struct Turn<'a> {
    pub(super) now: Now,
    pub(super) settings: &'a GroupSettings,
    pub(super) timers: &'a mut Timers,
    pub(super) parked: &'a mut ParkedRequests,
    pub(super) result: &'a mut CoordinatorResult,
}

/// The answer to a member that has joined the current generation.
pub(super) fn join_answer(group: &ClassicGroup, member_id: &Arc<str>) -> JoinAnswer {
    let members = if group.is_leader(member_id) {
        group
            .members()
            .map(|member| JoinedMember {
                member_id: member.member_id.clone(),
                group_instance_id: member.group_instance_id.clone(),
                metadata: member.metadata(group.protocol.as_deref()),
            })
            .collect()
    } else {
        Vec::new()
    };
    JoinAnswer {
        error: ErrorCode::None,
        generation: group.generation,
        protocol_type: group.protocol_type.clone(),
        protocol_name: group.protocol.clone(),
        leader: group.leader(),
        skip_assignment: false,
        member_id: member_id.clone(),
        members,
    }
}

impl Turn<'_> {
    pub(super) fn answer_join(&mut self, ticket: Ticket, answer: JoinAnswer) {
        self.parked.answered(ticket);
        self.result.answer(ticket, GroupAnswer::Join(answer));
    }

    pub(super) fn answer_sync(&mut self, ticket: Ticket, answer: SyncAnswer) {
        self.parked.answered(ticket);
        self.result.answer(ticket, GroupAnswer::Sync(answer));
    }

    /// Parks a JoinGroup. One of the same member that was parked before is told to try again: its client has moved on.
    pub(super) fn park_join(&mut self, group: &mut ClassicGroup, member_id: &Arc<str>, ticket: Ticket) {
        if let Some(earlier) = group.park_join(member_id, ticket) {
            Mark::EarlierJoinAnswered.reached();
            self.answer_join(earlier, JoinAnswer::refusal(member_id, ErrorCode::RebalanceInProgress));
        }
        self.parked.insert(ticket, &group.group_id, member_id);
    }

    /// Parks a SyncGroup, likewise.
    pub(super) fn park_sync(&mut self, group: &mut ClassicGroup, member_id: &Arc<str>, ticket: Ticket) {
        if let Some(earlier) = group.park_sync(member_id, ticket) {
            self.answer_sync(earlier, SyncAnswer::refusal(ErrorCode::RebalanceInProgress));
        }
        self.parked.insert(ticket, &group.group_id, member_id);
    }

    /// Starts the member's session anew.
    pub(super) fn schedule_session(&mut self, group: &ClassicGroup, member_id: &str) {
        if let Some(member) = group.member(member_id) {
            self.schedule_session_for(group, &member.member_id, member.session_timeout_ms);
        }
    }

    pub(super) fn schedule_session_for(&mut self, group: &ClassicGroup, member_id: &Arc<str>, timeout_ms: i32) {
        let timer = Timer::Session(group.group_id.clone(), member_id.clone());
        let timeout_ms = if zoo::is(Bug::SessionCutShort) { timeout_ms / 8 } else { timeout_ms };
        self.timers.schedule(timer, self.now.instant.after_ms(i64::from(timeout_ms)));
    }

    fn schedule_join(&mut self, group: &ClassicGroup, delay_ms: i32) {
        let deadline = self.now.instant.after_ms(i64::from(delay_ms));
        self.timers.schedule(Timer::Join(group.group_id.clone()), deadline);
    }

    /// Takes a member or a pending one out of the group, with its timer, and refuses what it has parked.
    pub(super) fn remove_member(&mut self, group: &mut ClassicGroup, member_id: &Arc<str>) {
        self.timers.cancel(&Timer::Session(group.group_id.clone(), member_id.clone()));
        let Some(member) = group.remove(member_id) else { return };
        if let Some(ticket) = member.parked_join.and_then(Parked::ticket) {
            self.answer_join(ticket, JoinAnswer::refusal("", ErrorCode::UnknownMemberId));
        }
        if let Some(ticket) = member.parked_sync.and_then(Parked::ticket) {
            self.answer_sync(ticket, SyncAnswer::refusal(ErrorCode::UnknownMemberId));
        }
    }

    /// There is a reason to rebalance: starts one, or looks whether the one that runs is now complete.
    pub(super) fn rebalance(&mut self, group: &mut ClassicGroup) {
        if group.is_in(GroupState::PreparingRebalance) {
            self.maybe_complete_join(group);
        } else {
            self.prepare_rebalance(group);
        }
    }

    /// Starts a rebalance.
    pub(super) fn prepare_rebalance(&mut self, group: &mut ClassicGroup) {
        if group.is_in(GroupState::CompletingRebalance) {
            Mark::SyncsRefused.reached();
            self.drop_assignment(group, ErrorCode::RebalanceInProgress);
        }
        group.pending_syncs.clear();
        self.timers.cancel(&Timer::Sync(group.group_id.clone()));

        let is_initial = group.is_in(GroupState::Empty);
        group.transition_to(GroupState::PreparingRebalance, self.now.wall);
        if is_initial {
            let delay_ms = self.settings.initial_rebalance_delay_ms;
            let remaining_ms = group.rebalance_timeout_ms().saturating_sub(delay_ms).max(0);
            group.initial_rebalance = Some(InitialRebalance { delay_ms, remaining_ms, new_member_added: false });
            self.schedule_join(group, delay_ms);
        } else if group.has_all_members_joined() {
            self.complete_join(group);
        } else {
            self.schedule_join(group, group.rebalance_timeout_ms());
        }
    }

    /// Ends the join phase if everybody is here. The first rebalance of a group waits for its time in any case.
    pub(super) fn maybe_complete_join(&mut self, group: &mut ClassicGroup) {
        if group.is_in(GroupState::PreparingRebalance)
            && group.initial_rebalance.is_none()
            && group.has_all_members_joined()
        {
            self.complete_join(group);
        }
    }

    /// The time of the join phase is up.
    pub(super) fn join_timed_out(&mut self, group: &mut ClassicGroup) {
        if !group.is_in(GroupState::PreparingRebalance) {
            return;
        }
        let Some(initial) =
            group.initial_rebalance.filter(|initial| initial.new_member_added && initial.remaining_ms > 0)
        else {
            self.complete_join(group);
            return;
        };
        Mark::FirstRoundProlonged.reached();
        let delay_ms = self.settings.initial_rebalance_delay_ms.min(initial.remaining_ms);
        let remaining_ms = initial.remaining_ms.saturating_sub(initial.delay_ms).max(0);
        group.initial_rebalance = Some(InitialRebalance { delay_ms, remaining_ms, new_member_added: false });
        self.schedule_join(group, delay_ms);
    }

    /// Ends the join phase: whoever is not here and not static is out, and the next generation begins.
    pub(super) fn complete_join(&mut self, group: &mut ClassicGroup) {
        if !group.pending_joins.is_empty() && zoo::is(Bug::PendingMemberBlocks) {
            return self.schedule_join(group, group.rebalance_timeout_ms());
        }
        self.timers.cancel(&Timer::Join(group.group_id.clone()));
        for member_id in group.dynamic_members_not_joined() {
            self.remove_member(group, &member_id);
        }
        if !group.elect_joined_leader() && group.member_count() > 0 {
            // Only static members are left and none has come back. Their sessions, or the next round, will tell.
            self.schedule_join(group, group.rebalance_timeout_ms());
            return;
        }
        group.start_next_generation(self.now.wall);
        if group.is_in(GroupState::Empty) {
            Mark::GroupEmptied.reached();
            let value = Some(group.to_record(|_| Bytes::new()));
            self.result.append([GroupRecord::GroupMetadata { group_id: group.group_id.clone(), value }]);
            return;
        }
        for member_id in group.member_ids() {
            if let Some(ticket) = group.take_join(&member_id).and_then(Parked::ticket) {
                let answer = join_answer(group, &member_id);
                self.answer_join(ticket, answer);
            }
            self.schedule_session(group, &member_id);
            if let Some(mut member) = group.member_mut(&member_id) {
                member.set_known();
            }
            group.pending_syncs.insert(member_id);
        }
        let deadline = self.now.instant.after_ms(i64::from(group.rebalance_timeout_ms()));
        self.timers.schedule(Timer::Sync(group.group_id.clone()), deadline);
    }

    /// The time for SyncGroup is up: who has not sent one is out.
    pub(super) fn sync_timed_out(&mut self, group: &mut ClassicGroup) {
        let is_awaited = matches!(group.state(), GroupState::CompletingRebalance | GroupState::Stable);
        if !is_awaited || group.pending_syncs.is_empty() || zoo::is(Bug::AbsenteeAwaited) {
            return;
        }
        Mark::AbsenteesRemoved.reached();
        for member_id in std::mem::take(&mut group.pending_syncs) {
            self.remove_member(group, &member_id);
        }
        self.prepare_rebalance(group);
    }

    /// The session of a member is over, or the time within which a pending member was to come back.
    pub(super) fn session_timed_out(&mut self, group: &mut ClassicGroup, member_id: &Arc<str>) {
        let is_pending = group.pending_joins.contains(member_id);
        if !is_pending && group.member(member_id).is_none_or(|member| member.has_satisfied_heartbeat()) {
            return;
        }
        let mark = if is_pending { Mark::PendingJoinEnds } else { Mark::SessionEnds };
        mark.reached();
        self.remove_member(group, member_id);
        match group.state() {
            GroupState::Stable | GroupState::CompletingRebalance if !is_pending => self.rebalance(group),
            _ => self.maybe_complete_join(group),
        }
    }

    /// The leader's assignment is durable: every member gets its part.
    pub(super) fn assign(&mut self, group: &mut ClassicGroup, assignments: &BTreeMap<Arc<str>, Bytes>) {
        for member_id in group.member_ids() {
            let assignment = assignments.get(&member_id).cloned().unwrap_or_default();
            if let Some(mut member) = group.member_mut(&member_id) {
                member.set_assignment(assignment.clone());
            }
            let answer = SyncAnswer {
                error: ErrorCode::None,
                protocol_type: group.protocol_type.clone(),
                protocol_name: group.protocol.clone(),
                assignment,
            };
            self.answer_parked_sync(group, &member_id, answer);
        }
        group.transition_to(GroupState::Stable, self.now.wall);
    }

    /// There will be no assignment in this generation.
    pub(super) fn drop_assignment(&mut self, group: &mut ClassicGroup, error: ErrorCode) {
        for member_id in group.member_ids() {
            if let Some(mut member) = group.member_mut(&member_id) {
                member.set_assignment(Bytes::new());
            }
            self.answer_parked_sync(group, &member_id, SyncAnswer::refusal(error));
        }
    }

    /// Answers a parked SyncGroup. The session begins anew, because it may have run out unnoticed while the member waited.
    fn answer_parked_sync(&mut self, group: &mut ClassicGroup, member_id: &Arc<str>, answer: SyncAnswer) {
        if let Some(ticket) = group.take_sync(member_id).and_then(Parked::ticket) {
            self.answer_sync(ticket, answer);
            self.schedule_session(group, member_id);
        }
    }
}
