//! Classic groups of the reference broker, with at most one member: joined, synced, left, and the offsets that they have committed.
//!
//! It must not know time: sessions are longer than any run.

use std::collections::BTreeMap;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::delete_groups::{DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse};
use klamm::protocol::messages::describe_groups::{
    DescribeGroupsRequest, DescribeGroupsResponse, DescribedGroup, DescribedGroupMember,
};
use klamm::protocol::messages::find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
use klamm::protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use klamm::protocol::messages::join_group::{JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember};
use klamm::protocol::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse, MemberResponse};
use klamm::protocol::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};

use super::{ReferenceBroker, Topic, beside};

/// What the broker of a run is configured with.
const SESSION_MS: std::ops::RangeInclusive<i32> = 100..=1_800_000;
/// The first version in which a new member is given an id and asked to come back with it (KIP-394).
const ID_REQUIRED_FROM: i16 = 4;
/// The first version in which several members leave at once, and each is told of by itself.
const LEAVE_TOGETHER_FROM: i16 = 3;
/// The first version that tells by an error that there is no such group.
const NOT_FOUND_FROM: i16 = 6;

/// A group.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) generation: i32,
    /// The id of one who was told to come back with it.
    pub(crate) pending: Option<String>,
    pub(crate) member: Option<Member>,
    protocol_type: String,
    /// Offset, leader epoch and metadata, by topic and partition.
    pub(super) offsets: BTreeMap<(String, i32), (i64, i32, String)>,
}

/// The member, which leads the group.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: String,
    protocol: String,
    metadata: Vec<u8>,
    /// There is none until it has synced.
    assignment: Option<Vec<u8>>,
}

impl Group {
    /// Whether somebody is, or may become, a member under this id.
    fn knows(&self, member_id: &str) -> bool {
        self.pending.as_deref() == Some(member_id) || self.member_of(member_id).is_some()
    }

    fn member_of(&self, member_id: &str) -> Option<&Member> {
        self.member.as_ref().filter(|member| member.id == member_id)
    }

    /// Whether a member may speak for a generation.
    pub(super) fn check(&self, member_id: &str, generation: i32) -> Result<(), ErrorCode> {
        match self.member_of(member_id) {
            None => Err(ErrorCode::UnknownMemberId),
            Some(_) if self.generation != generation => Err(ErrorCode::IllegalGeneration),
            Some(_) => Ok(()),
        }
    }

    pub(super) fn is_completing(&self) -> bool {
        self.member.as_ref().is_some_and(|member| member.assignment.is_none())
    }

    /// The first of the partitions of which an offset is committed.
    pub(crate) fn first_committed(&self) -> Option<(String, i32)> {
        self.offsets.first_key_value().map(|(partition, _)| partition.clone())
    }

    /// Whether all topics that it has committed offsets of are among these.
    pub(crate) fn commits_are_for(&self, topics: &BTreeMap<String, Topic>) -> bool {
        self.offsets.keys().all(|(topic, _)| topics.contains_key(topic))
    }

    /// What kind of members it had last.
    pub(super) fn protocol_type(&self) -> &str {
        &self.protocol_type
    }

    pub(super) fn state(&self) -> &'static str {
        match &self.member {
            None => "Empty",
            Some(Member { assignment: None, .. }) => "CompletingRebalance",
            Some(Member { assignment: Some(_), .. }) => "Stable",
        }
    }

    fn join(&mut self, member_id: &str, request: &JoinGroupRequest<'_>) {
        let protocol = request.protocols.first();
        let (protocol, metadata) = protocol.map_or(("", &[][..]), |protocol| (protocol.name, protocol.metadata));
        // One who asks again before it has synced, and brings nothing new, is told the same again.
        let is_told_again = self.member_of(member_id).is_some_and(|member| {
            member.assignment.is_none() && member.protocol == protocol && member.metadata == metadata
        });
        if !is_told_again {
            self.generation += 1;
        }
        self.pending = self.pending.take().filter(|pending| pending != member_id);
        self.protocol_type = request.protocol_type.to_owned();
        let (protocol, metadata) = (protocol.to_owned(), metadata.to_vec());
        self.member = Some(Member { id: member_id.to_owned(), protocol, metadata, assignment: None });
    }

    fn leave(&mut self, member_id: &str) -> ErrorCode {
        if self.member_of(member_id).is_some() {
            self.member = None;
            // An empty generation follows.
            self.generation += 1;
        } else if self.pending.as_deref() == Some(member_id) {
            self.pending = None;
        } else {
            return ErrorCode::UnknownMemberId;
        }
        ErrorCode::None
    }
}

impl ReferenceBroker {
    /// Where the only broker is, Metadata tells too.
    pub(super) fn coordinator_found<'a>(
        &'a mut self,
        _: i16,
        request: &FindCoordinatorRequest<'a>,
        told: &mut FindCoordinatorResponse<'a>,
    ) -> FindCoordinatorResponse<'a> {
        let mut judge = |error_code: i16| {
            let is_made = self.has_coordinator || error_code != ErrorCode::CoordinatorNotAvailable.code();
            self.has_coordinator = is_made;
            if is_made { 0 } else { error_code }
        };
        let mut right = told.clone();
        let first = told.coordinators.first();
        right.error_code = judge(told.error_code | first.map_or(0, |told| told.error_code));
        let (node_id, host, port) = match right.error_code {
            0 => {
                let node_id = self.node.learn_id(first.map_or(told.node_id, |told| told.node_id));
                let (host, port) = first.map_or((told.host, told.port), |told| (told.host, told.port));
                let (host, port) = self.node.address((host, port));
                (node_id, host, port)
            }
            _ => (-1, "", -1),
        };
        (right.node_id, right.host, right.port) = (node_id, host, port);
        for (coordinator, key) in right.coordinators.iter_mut().zip(&request.coordinator_keys) {
            (coordinator.key, coordinator.error_code) = (key, right.error_code);
            (coordinator.node_id, coordinator.host, coordinator.port) = (node_id, host, port);
        }
        right
    }

    pub(super) fn group_joined<'a>(
        &'a mut self,
        version: i16,
        request: &JoinGroupRequest<'a>,
        told: &mut JoinGroupResponse<'a>,
    ) -> JoinGroupResponse<'a> {
        if told.error_code == ErrorCode::NotCoordinator.code() {
            // A broker that stops sends away who waits to join; the group is what it was.
            return told.clone();
        }
        match self.join(version, request, told.member_id) {
            Ok((generation_id, member_id)) => {
                let protocol = request.protocols.first();
                let metadata = protocol.map_or(&[][..], |protocol| protocol.metadata);
                JoinGroupResponse {
                    generation_id,
                    protocol_type: Some(request.protocol_type),
                    protocol_name: protocol.map(|protocol| protocol.name),
                    leader: member_id,
                    member_id,
                    members: vec![JoinGroupResponseMember { member_id, metadata, ..Default::default() }],
                    ..Default::default()
                }
            }
            Err((error, member_id)) => JoinGroupResponse {
                error_code: error.code(),
                member_id,
                protocol_type: told.protocol_type,
                protocol_name: told.protocol_name,
                ..Default::default()
            },
        }
    }

    /// The generation and the id with which the member is in it. A new id is as it was told.
    fn join<'a>(
        &mut self,
        version: i16,
        request: &JoinGroupRequest<'a>,
        told_id: &'a str,
    ) -> Result<(i32, &'a str), (ErrorCode, &'a str)> {
        let (group_id, member_id) = (request.group_id, request.member_id);
        if group_id.is_empty() {
            return Err((ErrorCode::InvalidGroupId, member_id));
        }
        if !SESSION_MS.contains(&request.session_timeout_ms) {
            return Err((ErrorCode::InvalidSessionTimeout, member_id));
        }
        if !self.groups.contains_key(group_id) && !member_id.is_empty() {
            return Err((ErrorCode::UnknownMemberId, member_id));
        }
        let group = self.groups.entry(group_id.to_owned()).or_default();
        if group.member.is_some() && group.protocol_type != request.protocol_type {
            return Err((ErrorCode::InconsistentGroupProtocol, member_id));
        }
        if member_id.is_empty() && version >= ID_REQUIRED_FROM {
            group.pending = Some(told_id.to_owned());
            return Err((ErrorCode::MemberIdRequired, told_id));
        }
        if !member_id.is_empty() && !group.knows(member_id) {
            return Err((ErrorCode::UnknownMemberId, member_id));
        }
        let member_id = if member_id.is_empty() { told_id } else { member_id };
        group.join(member_id, request);
        Ok((group.generation, member_id))
    }

    pub(super) fn group_synced<'a>(
        &'a mut self,
        _: i16,
        request: &SyncGroupRequest<'a>,
        told: &mut SyncGroupResponse<'a>,
    ) -> SyncGroupResponse<'a> {
        let refuse = |error: ErrorCode| SyncGroupResponse {
            error_code: error.code(),
            protocol_type: told.protocol_type,
            protocol_name: told.protocol_name,
            ..Default::default()
        };
        if request.group_id.is_empty() {
            return refuse(ErrorCode::InvalidGroupId);
        }
        let group = self.groups.get_mut(request.group_id);
        let Some(group) = group else { return refuse(ErrorCode::UnknownMemberId) };
        if let Err(error) = group.check(request.member_id, request.generation_id) {
            return refuse(error);
        }
        let Some(member) = group.member.as_mut() else { return refuse(ErrorCode::UnknownMemberId) };
        let is_another = |asked: Option<&str>, own: &str| asked.is_some_and(|asked| asked != own);
        if is_another(request.protocol_type, &group.protocol_type)
            || is_another(request.protocol_name, &member.protocol)
        {
            return refuse(ErrorCode::InconsistentGroupProtocol);
        }
        let assigned = request.assignments.iter().find(|assigned| assigned.member_id == member.id);
        let assigned = assigned.map_or(&[][..], |assigned| assigned.assignment);
        let assignment = member.assignment.get_or_insert_with(|| assigned.to_vec());
        SyncGroupResponse {
            protocol_type: Some(&group.protocol_type),
            protocol_name: Some(&member.protocol),
            assignment,
            ..Default::default()
        }
    }

    pub(super) fn heartbeat_heard<'a>(
        &'a mut self,
        _: i16,
        request: &HeartbeatRequest<'a>,
        _: &mut HeartbeatResponse,
    ) -> HeartbeatResponse {
        let heard = match self.groups.get(request.group_id) {
            _ if request.group_id.is_empty() => Err(ErrorCode::InvalidGroupId),
            Some(group) => group.check(request.member_id, request.generation_id),
            None => Err(ErrorCode::UnknownMemberId),
        };
        let error_code = heard.err().unwrap_or(ErrorCode::None).code();
        HeartbeatResponse { error_code, ..Default::default() }
    }

    pub(super) fn group_left<'a>(
        &'a mut self,
        version: i16,
        request: &LeaveGroupRequest<'a>,
        _: &mut LeaveGroupResponse<'a>,
    ) -> LeaveGroupResponse<'a> {
        if request.group_id.is_empty() {
            return LeaveGroupResponse { error_code: ErrorCode::InvalidGroupId.code(), ..Default::default() };
        }
        let mut leave = |member_id: &str| {
            let group = self.groups.get_mut(request.group_id);
            group.map_or(ErrorCode::UnknownMemberId, |group| group.leave(member_id)).code()
        };
        if version < LEAVE_TOGETHER_FROM {
            return LeaveGroupResponse { error_code: leave(request.member_id), ..Default::default() };
        }
        let members = request.members.iter().map(|leaver| MemberResponse {
            member_id: leaver.member_id,
            group_instance_id: leaver.group_instance_id,
            error_code: leave(leaver.member_id),
        });
        LeaveGroupResponse { members: members.collect(), ..Default::default() }
    }

    pub(super) fn groups_described<'a>(
        &'a mut self,
        version: i16,
        request: &DescribeGroupsRequest<'a>,
        told: &mut DescribeGroupsResponse<'a>,
    ) -> DescribeGroupsResponse<'a> {
        told.groups.iter_mut().for_each(|told| told.error_message = None);
        let known = &self.groups;
        let groups = beside(&request.groups, &told.groups).map(|(group_id, told)| {
            let described = DescribedGroup { group_id, group_state: "Dead", ..Default::default() };
            let Some(group) = known.get(*group_id) else {
                let is_error = version >= NOT_FOUND_FROM;
                let error = if is_error { ErrorCode::GroupIdNotFound } else { ErrorCode::None };
                return DescribedGroup { error_code: error.code(), ..described };
            };
            // Where it comes from, the broker knows better, and what it was given before the group moved on is left open.
            let host = told.members.first().map_or("", |told| told.client_host);
            let before = told.members.first().map_or(&[][..], |told| told.member_assignment);
            let members = group.member.iter().map(|member| {
                // What a member brings and is given counts when all have been given something.
                let is_stable = member.assignment.is_some();
                DescribedGroupMember {
                    member_id: &member.id,
                    client_id: "sim",
                    client_host: host,
                    member_metadata: if is_stable { &member.metadata } else { &[] },
                    member_assignment: member.assignment.as_deref().unwrap_or(before),
                    ..Default::default()
                }
            });
            let stable = group.member.as_ref().filter(|member| member.assignment.is_some());
            DescribedGroup {
                group_state: group.state(),
                protocol_type: &group.protocol_type,
                protocol_data: stable.map_or("", |member| &member.protocol),
                members: members.collect(),
                ..described
            }
        });
        DescribeGroupsResponse { groups: groups.collect(), ..Default::default() }
    }

    pub(super) fn groups_deleted<'a>(
        &'a mut self,
        _: i16,
        request: &DeleteGroupsRequest<'a>,
        told: &mut DeleteGroupsResponse<'a>,
    ) -> DeleteGroupsResponse<'a> {
        told.results.iter_mut().for_each(|told| told.error_message = None);
        let results = request.groups_names.iter().map(|group_id| {
            let error = match self.groups.get(*group_id) {
                None => ErrorCode::GroupIdNotFound,
                Some(Group { member: Some(_), .. }) => ErrorCode::NonEmptyGroup,
                Some(_) => ErrorCode::None,
            };
            if error == ErrorCode::None {
                self.groups.remove(*group_id);
            }
            DeletableGroupResult { group_id, error_code: error.code(), error_message: None }
        });
        DeleteGroupsResponse { results: results.collect(), ..Default::default() }
    }
}
