//! Questions about groups: by their only member, by one who is none, and by an admin.
//!
//! It must not know what lies in partitions.

use klamm::protocol::ApiKey;
use klamm::protocol::messages::delete_groups::DeleteGroupsRequest;
use klamm::protocol::messages::describe_groups::DescribeGroupsRequest;
use klamm::protocol::messages::find_coordinator::FindCoordinatorRequest;
use klamm::protocol::messages::heartbeat::HeartbeatRequest;
use klamm::protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol};
use klamm::protocol::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use klamm::protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use klamm::protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use klamm::protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use klamm::protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment};
use klamm::types::TopicId;

use super::{ANY, Question, partition, topic, version};
use crate::client::versions::by_name_unless;
use crate::keyed::Draw;
use crate::reference::{Group, ReferenceBroker};

/// Longer than any run.
const SESSION_MS: i32 = 1_800_000;
const REBALANCE_MS: i32 = 60_000;
/// The first version that names topics by their ids.
const OFFSET_IDS_FROM: i16 = 10;
/// The first version that may ask for all that a group has committed.
const OFFSETS_OF_ALL_FROM: i16 = 2;

/// One of two groups; now and then one that nobody has.
fn group_of(draw: Draw, client: u32) -> String {
    match draw.part(50).below(16) {
        0 => "nobody".to_string(),
        1..12 => format!("examined-{client}-0"),
        _ => format!("examined-{client}-1"),
    }
}

/// Generation and id of the group's member; now and then a wrong one.
fn member_of(draw: Draw, known: &ReferenceBroker, group_id: &str) -> (i32, String) {
    let group = known.groups.get(group_id);
    let generation = group.map_or(-1, |group| group.generation);
    let member_id = group.and_then(|group| group.member.as_ref()).map_or("nobody", |member| &member.id);
    match draw.part(51).below(12) {
        0 => (generation + 1, member_id.to_owned()),
        1 => (generation, "nobody".to_string()),
        _ => (generation, member_id.to_owned()),
    }
}

pub(super) fn find(draw: Draw, client: u32, question: &mut Question<'_, '_>) {
    let group_id = group_of(draw, client);
    let request = FindCoordinatorRequest { key: &group_id, coordinator_keys: vec![&group_id], ..Default::default() };
    question.send((ApiKey::FindCoordinator, version(draw, ApiKey::FindCoordinator, ANY)), &request);
}

/// Nobody waits for anybody: a group has one member, and who was given an id comes back with it before another one joins.
pub(super) fn join(draw: Draw, client: u32, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let group_id = group_of(draw, client);
    let group = known.groups.get(&group_id);
    let own = |group: &Group| group.member.as_ref().map(|member| member.id.clone()).or_else(|| group.pending.clone());
    let own = group.and_then(own);
    let is_stranger = draw.part(52).below(16) == 0;
    let member_id = if is_stranger { "nobody".to_string() } else { own.clone().unwrap_or_default() };
    let speaks_otherwise = group.is_some_and(|group| group.member.is_some()) && draw.part(53).below(12) == 0;
    let (group_id, session_timeout_ms) = match draw.part(54).below(16) {
        0 => (String::new(), SESSION_MS),
        1 => (group_id, 5),
        _ => (group_id, SESSION_MS),
    };
    let metadata = [draw.part(55).below(2) as u8];
    let request = JoinGroupRequest {
        group_id: &group_id,
        session_timeout_ms,
        rebalance_timeout_ms: REBALANCE_MS,
        member_id: &member_id,
        protocol_type: if speaks_otherwise { "other" } else { "sim" },
        protocols: vec![JoinGroupRequestProtocol { name: "range", metadata: &metadata }],
        ..Default::default()
    };
    question.send((ApiKey::JoinGroup, version(draw, ApiKey::JoinGroup, ANY)), &request);
}

pub(super) fn sync(draw: Draw, client: u32, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let group_id = group_of(draw, client);
    let (generation_id, member_id) = member_of(draw, known, &group_id);
    let assignments = vec![SyncGroupRequestAssignment { member_id: &member_id, assignment: &[1, 2, 3] }];
    let protocol_name = if draw.part(52).below(12) == 0 { "none" } else { "range" };
    let request = SyncGroupRequest {
        group_id: &group_id,
        generation_id,
        member_id: &member_id,
        protocol_type: Some("sim"),
        protocol_name: Some(protocol_name),
        assignments,
        ..Default::default()
    };
    question.send((ApiKey::SyncGroup, version(draw, ApiKey::SyncGroup, ANY)), &request);
}

pub(super) fn heartbeat(draw: Draw, client: u32, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let group_id = group_of(draw, client);
    let (generation_id, member_id) = member_of(draw, known, &group_id);
    let request = HeartbeatRequest { group_id: &group_id, generation_id, member_id: &member_id, ..Default::default() };
    question.send((ApiKey::Heartbeat, version(draw, ApiKey::Heartbeat, ANY)), &request);
}

pub(super) fn leave(draw: Draw, client: u32, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let group_id = group_of(draw, client);
    let (_, member_id) = member_of(draw, known, &group_id);
    let leaver = |member_id| MemberIdentity { member_id, ..Default::default() };
    let mut members = vec![leaver(member_id.as_str())];
    match draw.part(52).below(6) {
        0 => members.insert(0, leaver("stranger")),
        1 => members.push(leaver("stranger")),
        _ => {}
    }
    let request = LeaveGroupRequest { group_id: &group_id, member_id: &member_id, members };
    question.send((ApiKey::LeaveGroup, version(draw, ApiKey::LeaveGroup, ANY)), &request);
}

pub(super) fn commit(draw: Draw, client: u32, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let group_id = group_of(draw, client);
    let (name, topic_id, allowed) = topic(draw, known, OFFSET_IDS_FROM);
    let has_member = known.groups.get(&group_id).is_some_and(|group| group.member.is_some());
    let (generation, member_id) = match has_member && draw.part(52).below(6) > 0 {
        true => member_of(draw, known, &group_id),
        false => (-1, String::new()),
    };
    let metadata = "m".repeat(if draw.part(53).below(12) == 0 { 5_000 } else { 3 });
    let asked = OffsetCommitRequestPartition {
        partition_index: partition(draw, known, &name),
        committed_offset: i64::try_from(draw.part(54).below(100)).unwrap_or(0),
        committed_metadata: Some(&metadata),
        ..Default::default()
    };
    let topic = OffsetCommitRequestTopic { name: &name, topic_id, partitions: vec![asked] };
    let request = OffsetCommitRequest {
        group_id: &group_id,
        generation_id_or_member_epoch: generation,
        member_id: &member_id,
        topics: vec![topic],
        ..Default::default()
    };
    question.send((ApiKey::OffsetCommit, version(draw, ApiKey::OffsetCommit, allowed)), &request);
}

pub(super) fn fetch_offsets(draw: Draw, client: u32, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let group_id = group_of(draw, client);
    let (name, topic_id, allowed) = topic(draw, known, OFFSET_IDS_FROM);
    let partition_indexes = vec![partition(draw, known, &name)];
    // Offsets for topics that are gone may be there for a while.
    let are_there = known.groups.get(&group_id).is_none_or(|group| group.commits_are_for(&known.topics));
    let wants_all = are_there && draw.part(53).below(4) == 0;
    let knows_ids = known.topics.values().all(|topic| topic.id != TopicId::ZERO);
    let allowed = match wants_all {
        true => OFFSETS_OF_ALL_FROM..=*by_name_unless(knows_ids, OFFSET_IDS_FROM).end(),
        false => allowed,
    };
    let topics = OffsetFetchRequestTopics { name: &name, topic_id, partition_indexes: partition_indexes.clone() };
    let topics = (!wants_all).then(|| vec![topics]);
    let group = OffsetFetchRequestGroup { group_id: &group_id, topics, ..Default::default() };
    let request = OffsetFetchRequest {
        group_id: &group_id,
        topics: (!wants_all).then(|| vec![OffsetFetchRequestTopic { name: &name, partition_indexes }]),
        groups: vec![group],
        ..Default::default()
    };
    let version = version(draw, ApiKey::OffsetFetch, allowed);
    let is_of_many = version >= 8;
    let request = match is_of_many {
        true => OffsetFetchRequest { topics: Some(Vec::new()), ..request },
        false => OffsetFetchRequest { groups: Vec::new(), ..request },
    };
    question.send((ApiKey::OffsetFetch, version), &request);
}

pub(super) fn describe(draw: Draw, client: u32, question: &mut Question<'_, '_>) {
    let group_id = group_of(draw, client);
    let request = DescribeGroupsRequest { groups: vec![&group_id], ..Default::default() };
    question.send((ApiKey::DescribeGroups, version(draw, ApiKey::DescribeGroups, ANY)), &request);
}

pub(super) fn delete(draw: Draw, client: u32, question: &mut Question<'_, '_>) {
    let group_id = group_of(draw, client);
    let request = DeleteGroupsRequest { groups_names: vec![&group_id] };
    question.send((ApiKey::DeleteGroups, version(draw, ApiKey::DeleteGroups, ANY)), &request);
}

pub(super) fn delete_offsets(draw: Draw, client: u32, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let group_id = group_of(draw, client);
    // Most often one that was committed.
    let committed = known.groups.get(&group_id).and_then(Group::first_committed).filter(|_| draw.part(52).below(4) > 0);
    let (name, partition_index) = committed.unwrap_or_else(|| {
        let (name, _, _) = topic(draw, known, 0);
        let partition_index = partition(draw, known, &name);
        (name, partition_index)
    });
    let partitions = vec![OffsetDeleteRequestPartition { partition_index }];
    let topics = vec![OffsetDeleteRequestTopic { name: &name, partitions }];
    let request = OffsetDeleteRequest { group_id: &group_id, topics };
    question.send((ApiKey::OffsetDelete, version(draw, ApiKey::OffsetDelete, ANY)), &request);
}
