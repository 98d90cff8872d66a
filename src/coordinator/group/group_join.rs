//! JoinGroup: new and returning members, dynamic and static.
//!
//! It must not know how a rebalance goes on from there, nor the wire version.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use crate::coordinator::group::classic_group::{ClassicGroup, GroupState};
use crate::coordinator::group::completion::{Completion, CoordinatorResult, StaticMemberReplaced};
use crate::coordinator::group::group_coordinator::GroupCoordinator;
use crate::coordinator::group::member::{Member, MemberProtocol, Parked};
use crate::coordinator::group::rebalance::{Turn, join_answer};
use crate::coordinator::group::records::GroupRecord;
use crate::coordinator::group::requests::{JoinProtocol, JoinRequest};
use crate::coordinator::group::{GroupAnswer, JoinAnswer, SyncAnswer};
use crate::error_code::ErrorCode;
use crate::marks::Mark;
use crate::types::{Now, Ticket};
use crate::zoo::{self, Bug};

/// The longest member id that fits into a string of the protocol, in bytes.
const MEMBER_ID_BYTES_MAX: usize = i16::MAX as usize;

/// A random UUID (version 4) in its text form.
fn uuid_text(random: u128) -> String {
    let bits = (random & !(0xf << 76) & !(0b11 << 62)) | (0x4 << 76) | (0b10 << 62);
    let hex = format!("{bits:032x}");
    let mut text = String::with_capacity(36);
    for (index, character) in hex.chars().enumerate() {
        if matches!(index, 8 | 12 | 16 | 20) {
            text.push('-');
        }
        text.push(character);
    }
    text
}

/// A new member id: the client's name for itself, or its instance id, and a UUID. A name at the protocol's limit is cut, since the
/// whole must fit into a string of the protocol too.
fn new_member_id(prefix: &str, random: u128) -> Arc<str> {
    let uuid = uuid_text(random);
    let end = prefix.floor_char_boundary(MEMBER_ID_BYTES_MAX - 1 - uuid.len());
    Arc::from(format!("{}-{uuid}", &prefix[..end]))
}

/// The protocols in order. One that is named twice counts once, or it would seem to be supported by two members.
fn protocols_of(protocols: &[JoinProtocol<'_>]) -> Vec<MemberProtocol> {
    let mut seen = BTreeSet::new();
    protocols
        .iter()
        .filter(|protocol| seen.insert(protocol.name))
        .map(|protocol| MemberProtocol {
            name: Arc::from(protocol.name),
            metadata: Bytes::copy_from_slice(protocol.metadata),
        })
        .collect()
}

impl GroupCoordinator {
    /// JoinGroup. Usually parked until the join phase ends. `random` gives the bits of a new member id.
    pub fn handle_join(
        &mut self,
        now: Now,
        ticket: Ticket,
        request: &JoinRequest<'_>,
        random: &mut dyn FnMut() -> u128,
    ) -> CoordinatorResult {
        let refuse = |error| {
            let answer = GroupAnswer::Join(JoinAnswer::refusal(request.member_id, error));
            CoordinatorResult::answered(ticket, answer)
        };
        let session_timeouts_ms = self.settings.session_timeout_ms_min..=self.settings.session_timeout_ms_max;
        if request.group_id.is_empty() {
            return refuse(ErrorCode::InvalidGroupId);
        }
        if !session_timeouts_ms.contains(&request.session_timeout_ms) {
            return refuse(ErrorCode::InvalidSessionTimeout);
        }
        let is_new_group = !self.groups.contains_key(request.group_id);
        if is_new_group {
            if !request.member_id.is_empty() {
                return refuse(ErrorCode::UnknownMemberId);
            }
            let group_id: Arc<str> = Arc::from(request.group_id);
            self.groups.insert(group_id.clone(), ClassicGroup::new(group_id, now.wall));
        }

        let mut result = CoordinatorResult::default();
        self.with_group(now, request.group_id, &mut result, |turn, group| turn.join(group, ticket, request, random));
        if is_new_group {
            self.settle_new_group(request.group_id, ticket, &mut result);
        }
        result
    }

    /// A new group gets its first record, unless the join that made it was refused: then it never was.
    fn settle_new_group(&mut self, group_id: &str, ticket: Ticket, result: &mut CoordinatorResult) {
        let Some(group) = self.groups.get(group_id) else { return };
        if group.is_vacant() {
            self.groups.remove(group_id);
        } else if result.append.is_none() {
            let group_id = group.group_id.clone();
            // As it stood before its first member: without generation, protocol or leader.
            let empty = ClassicGroup::new(group_id.clone(), group.state_timestamp().unwrap_or_default());
            let value = Some(empty.to_record(|_| Bytes::new()));
            result.append([GroupRecord::GroupMetadata { group_id: group_id.clone(), value }]);
            result.after_append(Completion::GroupCreated { group_id, ticket });
        }
    }
}

impl Turn<'_> {
    fn join(
        &mut self,
        group: &mut ClassicGroup,
        ticket: Ticket,
        request: &JoinRequest<'_>,
        random: &mut dyn FnMut() -> u128,
    ) {
        let member_id = request.member_id;
        if !self.has_room_for(group, member_id) {
            self.remove_member(group, &Arc::from(member_id));
            self.answer_join(ticket, JoinAnswer::refusal("", ErrorCode::GroupMaxSizeReached));
        } else if !group.supports_protocols(request.protocol_type, &request.protocols) {
            self.answer_join(ticket, JoinAnswer::refusal(member_id, ErrorCode::InconsistentGroupProtocol));
        } else if member_id.is_empty() {
            let prefix = request.group_instance_id.unwrap_or(request.client_id);
            let new_member_id = new_member_id(prefix, random());
            match request.group_instance_id {
                Some(group_instance_id) => {
                    self.join_static(group, ticket, request, group_instance_id, new_member_id);
                }
                None => self.join_dynamic(group, ticket, request, new_member_id),
            }
        } else {
            self.rejoin(group, ticket, request);
        }
    }

    /// Whether the group takes this member in. While members join again, those who have done so count, so that a group that is too
    /// large since its bound was lowered loses those who come last.
    fn has_room_for(&self, group: &ClassicGroup, member_id: &str) -> bool {
        let members_max = self.settings.members_max.saturating_add(usize::from(zoo::is(Bug::GroupOneTooMany)));
        match group.state() {
            GroupState::Empty | GroupState::Dead => true,
            GroupState::PreparingRebalance => {
                group.member(member_id).is_some_and(|member| member.parked_join.is_some())
                    || group.parked_join_count() < members_max
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                group.has_member(member_id) || group.member_count() < members_max
            }
        }
    }

    fn join_dynamic(
        &mut self,
        group: &mut ClassicGroup,
        ticket: Ticket,
        request: &JoinRequest<'_>,
        new_member_id: Arc<str>,
    ) {
        if request.requires_known_member_id && group.pending_joins.len() >= self.settings.pending_members_max {
            self.answer_join(ticket, JoinAnswer::refusal("", ErrorCode::GroupMaxSizeReached));
        } else if request.requires_known_member_id {
            Mark::MemberIdGiven.reached();
            if !zoo::is(Bug::PendingMemberBlocks) {
                self.schedule_session_for(group, &new_member_id, request.session_timeout_ms);
            }
            self.answer_join(ticket, JoinAnswer::refusal(&new_member_id, ErrorCode::MemberIdRequired));
            group.pending_joins.insert(new_member_id);
        } else {
            self.add_member(group, ticket, request, new_member_id);
        }
    }

    fn join_static(
        &mut self,
        group: &mut ClassicGroup,
        ticket: Ticket,
        request: &JoinRequest<'_>,
        group_instance_id: &str,
        new_member_id: Arc<str>,
    ) {
        match group.static_member_id(group_instance_id) {
            Some(old_member_id) if !zoo::is(Bug::StaticTwinKept) => {
                self.replace_static_member(group, ticket, request, &old_member_id, new_member_id);
            }
            Some(_) | None => self.add_member(group, ticket, request, new_member_id),
        }
    }

    /// A new member, or one that comes back with the id it was given.
    fn add_member(&mut self, group: &mut ClassicGroup, ticket: Ticket, request: &JoinRequest<'_>, member_id: Arc<str>) {
        if let Some(initial) = &mut group.initial_rebalance {
            initial.new_member_added = true;
        }
        // A new member cannot send heartbeats yet, as it does not know its id. But it cannot wait for ever either.
        self.schedule_session_for(group, &member_id, self.settings.new_member_join_timeout_ms);
        group.insert(Member {
            member_id: member_id.clone(),
            group_instance_id: request.group_instance_id.map(Arc::from),
            client_id: Arc::from(request.client_id),
            client_host: Arc::from(request.client_host),
            rebalance_timeout_ms: request.rebalance_timeout_ms,
            session_timeout_ms: request.session_timeout_ms,
            protocol_type: Arc::from(request.protocol_type),
            protocols: protocols_of(&request.protocols),
            assignment: Bytes::new(),
            is_new: true,
            parked_join: None,
            parked_sync: None,
        });
        self.park_join(group, &member_id, ticket);
        self.rebalance(group);
    }

    /// JoinGroup of somebody who has a member id.
    fn rejoin(&mut self, group: &mut ClassicGroup, ticket: Ticket, request: &JoinRequest<'_>) {
        let member_id = request.member_id;
        if group.pending_joins.contains(member_id) {
            if request.group_instance_id.is_none() {
                self.add_member(group, ticket, request, Arc::from(member_id));
            } else {
                // Pending members are never static: whoever claims to be both has made its id up.
                self.answer_join(ticket, JoinAnswer::refusal(member_id, ErrorCode::UnknownMemberId));
            }
            return;
        }
        if let Err(error) = group.validate_member(member_id, request.group_instance_id) {
            Mark::RejoinUnknown.reached();
            self.answer_join(ticket, JoinAnswer::refusal(member_id, error));
            return;
        }
        let protocols = protocols_of(&request.protocols);
        let says_the_same = group.member(member_id).is_some_and(|member| member.protocols == protocols);
        let is_current = match group.state() {
            // It may not have received the first answer.
            GroupState::CompletingRebalance => says_the_same,
            // A leader joins again because something changed that its own metadata does not show, such as the partitions of a topic.
            GroupState::Stable => says_the_same && !group.is_leader(member_id),
            GroupState::PreparingRebalance | GroupState::Empty | GroupState::Dead => false,
        };
        if is_current {
            Mark::JoinAnsweredAgain.reached();
            let answer = join_answer(group, &Arc::from(member_id));
            self.answer_join(ticket, answer);
        } else {
            self.update_member(group, ticket, request, &Arc::from(member_id));
            self.rebalance(group);
        }
    }

    fn update_member(
        &mut self,
        group: &mut ClassicGroup,
        ticket: Ticket,
        request: &JoinRequest<'_>,
        member_id: &Arc<str>,
    ) {
        let protocols = protocols_of(&request.protocols);
        group.update_member(member_id, protocols, request.session_timeout_ms, request.rebalance_timeout_ms);
        if group.member(member_id).is_some_and(|member| member.is_new) {
            self.schedule_session_for(group, member_id, self.settings.new_member_join_timeout_ms);
        }
        self.park_join(group, member_id, ticket);
    }

    /// A static member starts again and takes the place of its former self, who is fenced. A stable group notices nothing of it, as
    /// long as the choice of protocol stays the same.
    fn replace_static_member(
        &mut self,
        group: &mut ClassicGroup,
        ticket: Ticket,
        request: &JoinRequest<'_>,
        old_member_id: &Arc<str>,
        new_member_id: Arc<str>,
    ) {
        let leader_before = group.leader();
        self.fence(group, old_member_id);
        let Some(before) = group.member(old_member_id).cloned() else { return };
        group.replace(old_member_id, Member { member_id: new_member_id.clone(), is_new: false, ..before.clone() });
        self.forget_session(group, old_member_id);
        self.update_member(group, ticket, request, &new_member_id);
        self.schedule_session(group, &new_member_id);

        match group.state() {
            GroupState::Stable
                if group.select_protocol() == group.protocol && !zoo::is(Bug::StaticReturnRebalances) =>
            {
                let value = Some(group.to_record(|member| member.assignment.clone()));
                self.result.append([GroupRecord::GroupMetadata { group_id: group.group_id.clone(), value }]);
                self.result.after_append(Completion::StaticMemberReplaced(Box::new(StaticMemberReplaced {
                    group_id: group.group_id.clone(),
                    member_id: new_member_id,
                    supports_skipping_assignment: request.supports_skipping_assignment,
                    leader_before,
                    before,
                })));
            }
            // The leader may have made an assignment for the former id already, which would leave the new one without any.
            _ => self.rebalance(group),
        }
    }

    /// What a former self has parked is refused.
    fn fence(&mut self, group: &mut ClassicGroup, member_id: &Arc<str>) {
        if let Some(ticket) = group.take_join(member_id).and_then(Parked::ticket) {
            self.answer_join(ticket, JoinAnswer::refusal(member_id, ErrorCode::FencedInstanceId));
        }
        if let Some(ticket) = group.take_sync(member_id).and_then(Parked::ticket) {
            self.answer_sync(ticket, SyncAnswer::refusal(ErrorCode::FencedInstanceId));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{new_member_id, uuid_text};

    #[test]
    fn a_member_ids_tail_is_a_random_uuid_of_version_4() {
        assert_eq!(uuid_text(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid_text(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }

    #[test]
    fn a_member_id_fits_the_protocol_however_long_the_clients_name_is() {
        assert_eq!(new_member_id("c", 0).as_ref(), "c-00000000-0000-4000-8000-000000000000");
        let id = new_member_id(&"\u{e9}".repeat(16_383), 0);
        assert!(id.len() <= 32_767 && id.ends_with("\u{e9}-00000000-0000-4000-8000-000000000000"));
    }
}
