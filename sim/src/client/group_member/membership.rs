//! How a member joins its group, hears that it is alive, and leaves.
//!
//! It must not know offsets.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use klamm::protocol::messages::leave_group::LeaveGroupResponse;
use klamm::protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};

use super::commits::Owned;
use super::{GROUP, GroupMember, NANOS_PER_MS, SESSION_MS, STATIC_FROM, Task};
use crate::checker::{Patience, Violation};
use crate::client::{ClientConnection, ClientContext};
use crate::keyed::Site;

const REBALANCE_MS: i32 = 2_000;
const PATIENCE: Patience =
    Patience { session_ms: SESSION_MS.unsigned_abs() as u64, rebalance_ms: REBALANCE_MS.unsigned_abs() as u64 };
/// An answer that comes so late to a JoinGroup or a SyncGroup has waited for other members.
const PARKED_MS_MIN: u64 = 600;
/// The first versions of each API that know static members.
const JOIN_STATIC_FROM: i16 = 5;
/// How often one that was given an id does not come back with it, in parts of a million.
const FORGETS_PARTS: u32 = 200_000;

impl GroupMember {
    pub(super) fn join(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        (self.settled, self.synced_in) = (None, None);
        context.history.groups().joining(self.profile.client);
        let request = JoinGroupRequest {
            group_id: GROUP,
            session_timeout_ms: SESSION_MS,
            rebalance_timeout_ms: REBALANCE_MS,
            member_id: &self.member_id,
            group_instance_id: self.instance_id.as_deref(),
            protocol_type: "sim",
            protocols: vec![JoinGroupRequestProtocol { name: "round-robin", metadata: b"" }],
            ..Default::default()
        };
        let api = connection.api(context, ApiKey::JoinGroup, &self.speaking_from(JOIN_STATIC_FROM));
        connection.send(context, api, &request, true);
    }

    /// The leader gives each partition to one member.
    pub(super) fn sync(&self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        let count = self.members.len().max(1);
        let shares: Vec<Vec<u8>> = (0..self.members.len())
            .map(|place| {
                let its = (0..self.partition_count).filter(|partition| *partition as usize % count == place);
                its.flat_map(i32::to_be_bytes).collect()
            })
            .collect();
        for (member_id, share) in self.members.iter().zip(&shares) {
            context.history.groups().assigned(self.generation, member_id, share);
        }
        let assignments = self.members.iter().zip(&shares);
        let request = SyncGroupRequest {
            group_id: GROUP,
            generation_id: self.generation,
            member_id: &self.member_id,
            group_instance_id: self.instance_id.as_deref(),
            protocol_type: Some("sim"),
            protocol_name: Some("round-robin"),
            assignments: assignments
                .map(|(member_id, assignment)| SyncGroupRequestAssignment { member_id, assignment })
                .collect(),
        };
        let api = connection.api(context, ApiKey::SyncGroup, &self.speaking_from(STATIC_FROM));
        connection.send(context, api, &request, true);
    }

    pub(super) fn take_join(&mut self, context: &mut ClientContext<'_>, response: &JoinGroupResponse<'_>) {
        let error = ErrorCode::from_code(response.error_code);
        if self.instance_id.is_none() && response.member_id != self.member_id {
            context.history.sessions().owes_nothing(response.member_id, self.asked_at);
        }
        if error == ErrorCode::GroupMaxSizeReached {
            context.history.sessions().may_be_out(&self.member_id);
        }
        self.task = match error {
            ErrorCode::None => {
                self.member_id = response.member_id.to_owned();
                self.generation_before = Some(self.generation).filter(|before| *before >= 0);
                self.generation = response.generation_id;
                self.settled = None;
                self.take_place(context);
                self.members = response.members.iter().map(|member| member.member_id.to_owned()).collect();
                if self.members.len() > self.profile.group_size_max {
                    let (generation, members) = (self.generation, self.members.len());
                    context.history.violate(Violation::GroupTooLarge { generation, members });
                }
                context.history.groups().joined(self.asked_in, self.generation);
                Task::Sync
            }
            ErrorCode::MemberIdRequired => {
                // Some forget it at once, and come as strangers again.
                let draw = context.world.value(Site::RunsAway, u64::from(self.profile.client));
                let forgets = !context.is_calm && draw.happens(FORGETS_PARTS);
                self.member_id = if forgets { String::new() } else { response.member_id.to_owned() };
                Task::Join
            }
            _ => self.after(context, response.error_code),
        };
    }

    /// What became of a join nobody knows. Where a group has a bound, it may be refused later than anything that is heard meanwhile.
    pub(super) fn join_lost(&self, context: &mut ClientContext<'_>) {
        if self.profile.group_size_max < usize::MAX {
            context.history.sessions().may_be_out(&self.member_id);
        }
    }

    /// Whoever is heard may not be unknown before its session is over, if it does what its group waits for.
    pub(super) fn note_heard(&mut self, context: &mut ClientContext<'_>, error: i16) {
        let (now, sessions) = (context.now(), context.history.sessions());
        match ErrorCode::from_code(error) {
            ErrorCode::None => {
                let is_settled = self.synced_in == Some(self.generation);
                self.settled = is_settled.then_some((self.asked_in, self.asked_at));
                sessions.heard(&self.member_id, self.asked_in, self.asked_at);
                if is_settled {
                    sessions.owes_nothing(&self.member_id, self.asked_at);
                }
            }
            ErrorCode::UnknownMemberId if !self.has_asked_to_leave => {
                let expelled = sessions.unknown(&self.member_id, self.asked_in, now, PATIENCE);
                expelled.into_iter().for_each(|violation| context.history.violate(violation));
            }
            _ => {}
        }
    }

    /// Nobody's session runs out while it waits for the others. Where nothing has gone wrong so far, only waiting takes so long.
    pub(super) fn check_patience(&self, context: &mut ClientContext<'_>, error: i16) {
        let waited_ms = context.now().0.saturating_sub(self.asked_at.0) / NANOS_PER_MS;
        let is_parked = waited_ms >= PARKED_MS_MIN && self.asked_in == context.boot && context.world.fired_count() == 0;
        if is_parked && error == ErrorCode::UnknownMemberId.code() {
            let member = self.member_id.clone();
            context.history.violate(Violation::WaitedInVain { member, waited_ms });
        }
    }

    pub(super) fn take_sync(&mut self, context: &mut ClientContext<'_>, response: &SyncGroupResponse<'_>) {
        if response.error_code == 0 {
            self.synced_in = Some(self.generation);
        }
        self.note_heard(context, response.error_code);
        if response.error_code != 0 {
            self.task = self.after(context, response.error_code);
            return;
        }
        self.is_late = false;
        self.rounds_left = self.rounds_left.saturating_sub(1);
        let given = context.history.groups().given(self.generation, &self.member_id, response.assignment);
        given.into_iter().for_each(|violation| context.history.violate(violation));
        let (partitions, _) = response.assignment.as_chunks::<4>();
        let partitions = partitions.iter().map(|partition| i32::from_be_bytes(*partition));
        self.owned = partitions.map(Owned::new).collect();
        for owned in &self.owned {
            let violation = context.history.groups().owns(self.generation, owned.partition, &self.member_id);
            violation.into_iter().for_each(|violation| context.history.violate(violation));
        }
        self.task = Task::Committed;
    }

    /// It has left if it is told so, or if the group does not know it any more.
    pub(super) fn take_leave(&mut self, context: &mut ClientContext<'_>, response: &LeaveGroupResponse<'_>) {
        let of_member = response.members.first().map_or(0, |member| member.error_code);
        let error = if response.error_code == 0 { of_member } else { response.error_code };
        match ErrorCode::from_code(error) {
            // A static one is fenced if it was given another id that it has not heard of.
            ErrorCode::None | ErrorCode::UnknownMemberId | ErrorCode::FencedInstanceId => self.link.leave(),
            ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable | ErrorCode::CoordinatorLoadInProgress => {
                self.task = self.again(context, Task::Find)
            }
            error => {
                let (client, member) = (self.profile.client, self.member_id.clone());
                context.history.violate(Violation::CannotLeave { client, member, error });
                self.link.leave();
            }
        }
    }
}
