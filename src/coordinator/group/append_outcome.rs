//! What becomes of an append: its records take effect, or they fail, or they are late; and whoever waited for them is answered.
//!
//! It must not know the log, nor how long is late.

use crate::coordinator::group::JoinAnswer;
use crate::coordinator::group::classic_group::{ClassicGroup, GroupState};
use crate::coordinator::group::completion::{
    Append, Completion, CoordinatorResult, StaticMemberReplaced, response_error,
};
use crate::coordinator::group::group_coordinator::GroupCoordinator;
use crate::coordinator::group::member::Parked;
use crate::coordinator::group::rebalance::{Turn, join_answer};
use crate::coordinator::group::records::GroupRecord;
use crate::error_code::ErrorCode;
use crate::marks::Mark;
use crate::types::{Now, Offset, ProducerId, Ticket};

impl GroupCoordinator {
    /// The records of `append` are durable, the first of them at `base_offset`, the others following. Returns what waited for them.
    pub fn appended(
        &mut self,
        now: Now,
        append: Append,
        base_offset: Offset,
        producer_id: ProducerId,
    ) -> CoordinatorResult {
        self.in_flight.end(&append.records);
        for (offset, record) in (base_offset.0..).zip(&append.records) {
            self.replay(Offset(offset), producer_id, record);
            self.follow(now, record);
        }
        let mut result = CoordinatorResult::default();
        for completion in append.completions {
            match completion {
                Completion::Answer(ticket, answer) => result.answer(ticket, answer),
                Completion::GroupCreated { .. } => {}
                Completion::Assigned { group_id, generation, assignments } => {
                    // The group may have moved on while the record was on its way; then its members have been told already.
                    self.with_group(now, &group_id, &mut result, |turn, group| {
                        if group.is_in(GroupState::CompletingRebalance) && group.generation == generation {
                            turn.assign(group, &assignments);
                        } else {
                            Mark::AssignmentOvertaken.reached();
                        }
                    });
                }
                Completion::StaticMemberReplaced(replaced) => {
                    let group_id = replaced.group_id.clone();
                    self.with_group(now, &group_id, &mut result, |turn, group| {
                        turn.static_member_replaced(group, &replaced);
                    });
                }
            }
        }
        result
    }

    /// The append failed for good with `error`: durable state stays as it is, and whoever waited is told.
    pub fn append_failed(&mut self, now: Now, append: Append, error: ErrorCode) -> CoordinatorResult {
        self.in_flight.end(&append.records);
        let error = response_error(error);
        let mut result = CoordinatorResult::default();
        for completion in append.completions {
            match completion {
                Completion::GroupCreated { group_id, .. } => {
                    self.with_group(now, &group_id, &mut result, |turn, group| turn.dissolve(group, error));
                    Mark::GroupDissolved.reached();
                    self.groups.remove(&group_id);
                    if self.durable.knows(&group_id) {
                        self.groups.insert(group_id.clone(), ClassicGroup::new(group_id, now.wall));
                    }
                }
                other => self.refuse(now, other, error, &mut result),
            }
        }
        result
    }

    /// The records are not durable in time (`offsets.commit.timeout.ms`): whoever waits is told as if they had failed, and the members
    /// go on from there. The records take effect later all the same.
    pub fn append_late(&mut self, now: Now, append: &mut Append) -> CoordinatorResult {
        let error = response_error(ErrorCode::RequestTimedOut);
        let mut result = CoordinatorResult::default();
        for completion in std::mem::take(&mut append.completions) {
            match completion {
                Completion::GroupCreated { group_id, ticket } => {
                    self.with_group(now, &group_id, &mut result, |turn, group| turn.refuse_join(group, ticket, error));
                    // If the record fails, there is still a group to dissolve.
                    append.completions.push(Completion::GroupCreated { group_id, ticket });
                }
                other => self.refuse(now, other, error, &mut result),
            }
        }
        result
    }

    /// What was to follow an append will not: whoever waited for it is told why.
    fn refuse(&mut self, now: Now, completion: Completion, error: ErrorCode, result: &mut CoordinatorResult) {
        match completion {
            Completion::Answer(ticket, answer) => {
                Mark::CommitNotWritten.reached();
                result.answer(ticket, answer.failed(error));
            }
            Completion::GroupCreated { .. } => {}
            Completion::Assigned { group_id, generation, .. } => {
                self.with_group(now, &group_id, result, |turn, group| {
                    if group.is_in(GroupState::CompletingRebalance) && group.generation == generation {
                        Mark::AssignmentNotWritten.reached();
                        turn.drop_assignment(group, error);
                        turn.rebalance(group);
                    }
                });
            }
            Completion::StaticMemberReplaced(replaced) => {
                let group_id = replaced.group_id.clone();
                self.with_group(now, &group_id, result, |turn, group| {
                    turn.static_member_not_replaced(group, *replaced, error);
                });
            }
        }
    }

    /// Lets the living groups follow a record that has just become durable.
    fn follow(&mut self, now: Now, record: &GroupRecord) {
        match record {
            GroupRecord::OffsetCommit { group_id, value: Some(_), .. } => {
                self.groups.entry(group_id.clone()).or_insert_with(|| ClassicGroup::new(group_id.clone(), now.wall));
            }
            GroupRecord::GroupMetadata { group_id, value: None } => {
                // Somebody may have joined or committed while the tombstone was on its way; then the group goes on.
                let is_idle = |group: &ClassicGroup| group.is_vacant() && group.is_in(GroupState::Empty);
                if self.groups.get(group_id).is_some_and(is_idle) && !self.durable.knows(group_id) {
                    self.groups.remove(group_id);
                }
            }
            GroupRecord::OffsetCommit { .. } | GroupRecord::GroupMetadata { .. } => {}
        }
    }
}

impl Turn<'_> {
    /// A group whose first record could not be written never was.
    fn dissolve(&mut self, group: &mut ClassicGroup, error: ErrorCode) {
        for member_id in group.member_ids() {
            if let Some(ticket) = group.take_join(&member_id).and_then(Parked::ticket) {
                self.answer_join(ticket, JoinAnswer::refusal(&member_id, error));
            }
        }
        for member_id in group.member_ids().into_iter().chain(group.pending_joins.clone()) {
            self.remove_member(group, &member_id);
        }
        self.forget_timers(group);
    }

    /// The join that made a group is answered before the group's record is on the disk. Its member stays, as one whose connection is gone.
    fn refuse_join(&mut self, group: &mut ClassicGroup, ticket: Ticket, error: ErrorCode) {
        let waiting = group.members().find(|member| member.parked_join == Some(Parked::For(ticket)));
        if let Some(member_id) = waiting.map(|member| member.member_id.clone()) {
            self.abandon(group, &member_id, ticket.connection);
            self.answer_join(ticket, JoinAnswer::refusal("", error));
        }
    }

    /// The new id of a static member is durable.
    fn static_member_replaced(&mut self, group: &mut ClassicGroup, replaced: &StaticMemberReplaced) {
        if !group.is_in(GroupState::Stable) {
            // A rebalance has begun in between: it answers the member when it ends.
            return;
        }
        let Some(ticket) = group.take_join(&replaced.member_id).and_then(Parked::ticket) else { return };
        let mut answer = join_answer(group, &replaced.member_id);
        if replaced.supports_skipping_assignment {
            answer.skip_assignment = group.is_leader(&replaced.member_id);
        } else {
            // A client that cannot be told to skip the assignment is told that its former self leads, so that it does not assign.
            answer.leader = replaced.leader_before.clone();
            answer.members.clear();
        }
        self.answer_join(ticket, answer);
    }

    /// The new id of a static member could not be written: its former self is back.
    fn static_member_not_replaced(
        &mut self,
        group: &mut ClassicGroup,
        replaced: StaticMemberReplaced,
        error: ErrorCode,
    ) {
        if !group.is_in(GroupState::Stable) {
            return;
        }
        let Some(parked) = group.take_join(&replaced.member_id) else { return };
        let before_id = replaced.before.member_id.clone();
        self.forget_session(group, &replaced.member_id);
        group.replace(&replaced.member_id, replaced.before);
        self.schedule_session(group, &before_id);
        if let Some(ticket) = parked.ticket() {
            self.answer_join(ticket, JoinAnswer::refusal("", error));
        }
    }
}
