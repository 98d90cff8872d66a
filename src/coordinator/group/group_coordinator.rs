//! The coordinator of all groups of one partition of `__consumer_offsets`: its state, and the way records become state.
//!
//! It must not know the log that holds the records, nor the requests; those are in the `group_*` files beside this one.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::coordinator::group::JoinAnswer;
use crate::coordinator::group::classic_group::{ClassicGroup, GroupState};
use crate::coordinator::group::completion::{
    Append, Completion, CoordinatorResult, StaticMemberReplaced, response_error,
};
use crate::coordinator::group::in_flight::CommitsInFlight;
use crate::coordinator::group::offsets::{Offsets, Stored};
use crate::coordinator::group::parked::ParkedRequests;
use crate::coordinator::group::rebalance::{Turn, join_answer};
use crate::coordinator::group::records::{GroupMetadata, GroupRecord};
use crate::coordinator::group::settings::GroupSettings;
use crate::coordinator::group::timers::Timers;
use crate::error_code::ErrorCode;
use crate::types::{Now, Offset, ProducerId};

/// What the records say, and nothing else. Equal records make equal state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DurableState {
    groups: BTreeMap<Arc<str>, GroupMetadata>,
    offsets: Offsets,
}

impl DurableState {
    /// The last metadata record of each group that was not deleted.
    pub fn groups(&self) -> &BTreeMap<Arc<str>, GroupMetadata> {
        &self.groups
    }

    /// The offsets.
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// Whether any record tells of the group.
    fn knows(&self, group_id: &str) -> bool {
        self.groups.contains_key(group_id)
            || self.offsets.has_any(group_id)
            || self.offsets.has_open_transaction(group_id)
    }

    fn replay(&mut self, offset: Offset, producer_id: ProducerId, record: &GroupRecord) {
        match record {
            GroupRecord::OffsetCommit { group_id, topic, partition, value: Some(value) } => {
                let stored = Stored { record_offset: offset, value: value.clone() };
                self.offsets.put(producer_id, group_id, topic, *partition, stored);
            }
            GroupRecord::OffsetCommit { group_id, topic, partition, value: None } => {
                self.offsets.remove(group_id, topic, *partition);
            }
            GroupRecord::GroupMetadata { group_id, value: Some(value) } => {
                self.groups.insert(group_id.clone(), value.clone());
            }
            GroupRecord::GroupMetadata { group_id, value: None } => {
                self.groups.remove(group_id);
            }
        }
    }
}

/// Coordinates the groups of one partition.
///
/// To recover: [`replay`](GroupCoordinator::replay) and [`end_transaction`](GroupCoordinator::end_transaction) in the log's order, then
/// [`loaded`](GroupCoordinator::loaded). In operation each handler returns a [`CoordinatorResult`]. Every JoinGroup and SyncGroup is
/// answered once, unless its connection closes first.
#[derive(Debug)]
pub struct GroupCoordinator {
    pub(super) settings: GroupSettings,
    pub(super) durable: DurableState,
    /// The living groups. Soft: at least all that the durable state knows of.
    pub(super) groups: BTreeMap<Arc<str>, ClassicGroup>,
    pub(super) timers: Timers,
    pub(super) parked: ParkedRequests,
    pub(super) in_flight: CommitsInFlight,
    /// The group at which the search for old offsets goes on; `None` between searches.
    pub(super) retention_next: Option<Arc<str>>,
}

impl GroupCoordinator {
    /// A coordinator that knows no group.
    pub fn new(settings: GroupSettings) -> GroupCoordinator {
        GroupCoordinator {
            settings,
            durable: DurableState::default(),
            groups: BTreeMap::new(),
            timers: Timers::default(),
            parked: ParkedRequests::default(),
            in_flight: CommitsInFlight::default(),
            retention_next: None,
        }
    }

    /// What the records say. For comparing with a coordinator that was rebuilt from them.
    pub fn durable(&self) -> &DurableState {
        &self.durable
    }

    /// The state of a group, `Dead` if there is none.
    pub fn state(&self, group_id: &str) -> GroupState {
        self.groups.get(group_id).map_or(GroupState::Dead, ClassicGroup::state)
    }

    /// Takes in one record of the log: the only way to change durable state. `producer_id` is that of the batch, if it belongs to a
    /// transaction, else `NONE`.
    pub fn replay(&mut self, offset: Offset, producer_id: ProducerId, record: &GroupRecord) {
        self.durable.replay(offset, producer_id, record);
    }

    /// Takes in the end marker of a producer's transaction.
    pub fn end_transaction(&mut self, producer_id: ProducerId, is_committed: bool) {
        self.durable.offsets.end_transaction(producer_id, is_committed);
    }

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
                Completion::Answer(ticket, answer) => result.answer(ticket, answer.failed(error)),
                Completion::GroupCreated { group_id } => {
                    self.with_group(now, &group_id, &mut result, |turn, group| turn.dissolve(group, error));
                    self.groups.remove(&group_id);
                    if self.durable.knows(&group_id) {
                        self.groups.insert(group_id.clone(), ClassicGroup::new(group_id, now.wall));
                    }
                }
                Completion::Assigned { group_id, generation, .. } => {
                    self.with_group(now, &group_id, &mut result, |turn, group| {
                        if group.is_in(GroupState::CompletingRebalance) && group.generation == generation {
                            turn.drop_assignment(group, error);
                            turn.rebalance(group);
                        }
                    });
                }
                Completion::StaticMemberReplaced(replaced) => {
                    let group_id = replaced.group_id.clone();
                    self.with_group(now, &group_id, &mut result, |turn, group| {
                        turn.static_member_not_replaced(group, *replaced, error);
                    });
                }
            }
        }
        result
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

    /// Runs `act` on a living group, if there is one of that name.
    pub(super) fn with_group(
        &mut self,
        now: Now,
        group_id: &str,
        result: &mut CoordinatorResult,
        act: impl FnOnce(&mut Turn<'_>, &mut ClassicGroup),
    ) {
        if let Some(group) = self.groups.get_mut(group_id) {
            let mut turn =
                Turn { now, settings: &self.settings, timers: &mut self.timers, parked: &mut self.parked, result };
            act(&mut turn, group);
        }
    }
}

impl Turn<'_> {
    /// A group whose first record could not be written never was.
    fn dissolve(&mut self, group: &mut ClassicGroup, error: ErrorCode) {
        for member_id in group.member_ids() {
            if let Some(ticket) = group.take_join(&member_id).and_then(|parked| parked.ticket()) {
                self.answer_join(ticket, JoinAnswer::refusal(&member_id, error));
            }
        }
        for member_id in group.member_ids().into_iter().chain(group.pending_joins.clone()) {
            self.remove_member(group, &member_id);
        }
        self.forget_timers(group);
    }

    /// The new id of a static member is durable.
    fn static_member_replaced(&mut self, group: &mut ClassicGroup, replaced: &StaticMemberReplaced) {
        if !group.is_in(GroupState::Stable) {
            // A rebalance has begun in between: it answers the member when it ends.
            return;
        }
        let Some(ticket) = group.take_join(&replaced.member_id).and_then(|parked| parked.ticket()) else { return };
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
