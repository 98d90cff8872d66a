//! What time does to groups: sessions and phases that end, offsets that grow old; and the beginning and end of the coordinator itself.
//!
//! It must not know a clock. Sessions and phases run on monotonic time; only the age of offsets is a matter of wall time.

use std::sync::Arc;

use crate::coordinator::group::answers::{JoinAnswer, SyncAnswer};
use crate::coordinator::group::classic_group::{ClassicGroup, GroupState};
use crate::coordinator::group::completion::CoordinatorResult;
use crate::coordinator::group::group_coordinator::GroupCoordinator;
use crate::coordinator::group::group_offsets::tombstone;
use crate::coordinator::group::member::Parked;
use crate::coordinator::group::offsets::CommittedOffset;
use crate::coordinator::group::rebalance::Turn;
use crate::coordinator::group::records::GroupRecord;
use crate::coordinator::group::timers::Timer;
use crate::error_code::ErrorCode;
use crate::marks::Mark;
use crate::types::{Instant, Now, WallTime};
use crate::zoo::{self, Bug};

impl GroupCoordinator {
    /// All records have been replayed: the groups come to life. No time passes for them before [`GroupCoordinator::opened`].
    pub fn loaded(&mut self, now: Now) {
        for (group_id, metadata) in self.durable.groups() {
            self.groups.insert(group_id.clone(), ClassicGroup::from_record(group_id.clone(), metadata));
        }
        for group_id in self.durable.offsets().group_ids() {
            let simple = || ClassicGroup::new(group_id.clone(), now.wall);
            self.groups.entry(group_id.clone()).or_insert_with(simple);
        }
    }

    /// Clients may ask from now on: every member has a whole session to be heard of.
    pub fn opened(&mut self, now: Now) -> CoordinatorResult {
        let mut result = CoordinatorResult::default();
        let members_max = self.settings.members_max;
        for group in self.groups.values_mut() {
            let mut turn = Turn {
                now,
                settings: &self.settings,
                timers: &mut self.timers,
                parked: &mut self.parked,
                result: &mut result,
            };
            for member_id in group.member_ids() {
                Mark::GroupOutlivesBroker.reached();
                turn.schedule_session(group, &member_id);
            }
            if group.member_count() > members_max || group.member_count() > 0 && zoo::is(Bug::LoadedGroupRebalances) {
                turn.prepare_rebalance(group);
            }
        }
        self.schedule_retention(now);
        result
    }

    /// The coordinator is given up: whoever waits is told to look for another one. Nothing else may be asked of it after this.
    pub fn unload(&mut self, now: Now) -> CoordinatorResult {
        let mut result = CoordinatorResult::default();
        for group_id in self.groups.keys().cloned().collect::<Vec<_>>() {
            self.with_group(now, &group_id, &mut result, |turn, group| turn.give_up(group));
        }
        self.groups.clear();
        result
    }

    /// Does what is due at `now`.
    pub fn expire(&mut self, now: Now) -> CoordinatorResult {
        let mut result = CoordinatorResult::default();
        while let Some(timer) = self.timers.pop_due(now.instant) {
            match timer {
                Timer::Join(group_id) => {
                    self.with_group(now, &group_id, &mut result, |turn, group| turn.join_timed_out(group));
                }
                Timer::Sync(group_id) => {
                    self.with_group(now, &group_id, &mut result, |turn, group| turn.sync_timed_out(group));
                }
                Timer::Session(group_id, member_id) => {
                    self.with_group(now, &group_id, &mut result, |turn, group| {
                        turn.session_timed_out(group, &member_id);
                    });
                }
                Timer::Retention => {
                    self.remove_old(now, &mut result);
                    self.schedule_retention(now);
                }
            }
        }
        if let Some(append) = &mut result.append {
            append.atomic = false;
        }
        result
    }

    /// When [`expire`](GroupCoordinator::expire) will next have something to do.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.timers.next_deadline()
    }

    fn schedule_retention(&mut self, now: Now) {
        // At least a millisecond ahead, or `expire` would find itself due again at once.
        let interval_ms =
            if self.retention_next.is_some() { 1 } else { self.settings.offsets_retention_check_interval_ms.max(1) };
        self.timers.schedule(Timer::Retention, now.instant.after_ms(interval_ms));
    }

    /// Deletes offsets that are too old, and groups that have neither members nor offsets; so many in one turn that it stays short.
    fn remove_old(&mut self, now: Now, result: &mut CoordinatorResult) {
        let from = self.retention_next.take().unwrap_or_default();
        let mut offsets_left = self.settings.retention_offsets_per_turn;
        for (group_id, group) in self.groups.range(from..) {
            if offsets_left == 0 {
                self.retention_next = Some(group_id.clone());
                return;
            }
            let seen = self.remove_old_of(group, now, result);
            offsets_left = offsets_left.saturating_sub(seen + 1);
        }
    }

    /// Deletes what is too old of one group. Returns how many offsets it has.
    fn remove_old_of(&self, group: &ClassicGroup, now: Now, result: &mut CoordinatorResult) -> usize {
        let offsets = self.durable.offsets();
        let group_id = &group.group_id;
        let mut has_kept_any =
            offsets.has_open_transaction(group_id) || self.in_flight.of_group(group_id).next().is_some();
        let mut seen = 0;
        for (topic, partition, committed) in offsets.of_group(group_id) {
            seen += 1;
            let is_held = group.is_subscribed_to(topic) && !zoo::is(Bug::HeldOffsetAges);
            let is_expired = !is_held
                && self.is_expired(group, committed, now.wall)
                && !offsets.is_pending(group_id, topic, partition)
                && !self.in_flight.contains(group_id, topic, partition);
            if is_expired {
                Mark::OffsetGrownOld.reached();
                result.append([tombstone(group_id, topic, partition)]);
            } else {
                has_kept_any = true;
            }
        }
        if !has_kept_any && group.is_in(GroupState::Empty) && group.is_vacant() {
            result.append([GroupRecord::GroupMetadata { group_id: group_id.clone(), value: None }]);
        }
        seen
    }

    /// An empty group's offsets age from the moment it became empty; those of a stable group of consumers, and those committed
    /// without membership, from their commit (KIP-211). An end that the client itself has set goes before all.
    fn is_expired(&self, group: &ClassicGroup, committed: &CommittedOffset, now: WallTime) -> bool {
        let from = match (&group.protocol_type, group.state()) {
            (None, _) => committed.commit_timestamp,
            (Some(_), GroupState::Empty) => group.state_timestamp().unwrap_or(committed.commit_timestamp),
            (Some(_), GroupState::Stable) if group.uses_consumer_protocol() && group.knows_subscription() => {
                committed.commit_timestamp
            }
            _ => return false,
        };
        match committed.expire_timestamp {
            Some(end) => now >= end,
            None => now.0.saturating_sub(from.0) >= self.settings.offsets_retention_ms,
        }
    }
}

impl Turn<'_> {
    /// Forgets the session of a member id that is no longer in use.
    pub(super) fn forget_session(&mut self, group: &ClassicGroup, member_id: &Arc<str>) {
        self.timers.cancel(&Timer::Session(group.group_id.clone(), member_id.clone()));
    }

    /// Forgets the phases of a group.
    pub(super) fn forget_timers(&mut self, group: &ClassicGroup) {
        self.timers.cancel(&Timer::Join(group.group_id.clone()));
        self.timers.cancel(&Timer::Sync(group.group_id.clone()));
    }

    fn give_up(&mut self, group: &mut ClassicGroup) {
        self.forget_timers(group);
        for member_id in group.member_ids() {
            self.forget_session(group, &member_id);
            if let Some(ticket) = group.take_join(&member_id).and_then(Parked::ticket) {
                Mark::JoinGivenUp.reached();
                self.answer_join(ticket, JoinAnswer::refusal(&member_id, ErrorCode::NotCoordinator));
            }
            if let Some(ticket) = group.take_sync(&member_id).and_then(Parked::ticket) {
                self.answer_sync(ticket, SyncAnswer::refusal(ErrorCode::NotCoordinator));
            }
        }
        group.transition_to(GroupState::Dead, self.now.wall);
    }
}
