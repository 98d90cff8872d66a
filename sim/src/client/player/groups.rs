//! What scenes about groups share: members that join, are given their parts, commit and leave, each on a connection of its own.
//!
//! It must not know what a scene is about. All versions that it speaks know static members, and give a new member its id before it counts.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::delete_groups::{DeleteGroupsRequest, DeleteGroupsResponse};
use klamm::protocol::messages::find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
use klamm::protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use klamm::protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use klamm::protocol::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse, MemberIdentity};
use klamm::protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
};
use klamm::protocol::messages::offset_fetch::{OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse};
use klamm::protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};

use super::stage::{Answer, Otherwise, Played, Stage, told};
use crate::client::versions::ANY;

const JOINS: std::ops::RangeInclusive<i16> = 5..=9;
const SYNCS: std::ops::RangeInclusive<i16> = 3..=5;
/// Those that say by which protocol.
const SYNCS_BY_PROTOCOL: std::ops::RangeInclusive<i16> = 5..=5;
const HEARTBEATS: std::ops::RangeInclusive<i16> = 3..=4;
const LEAVES: std::ops::RangeInclusive<i16> = 3..=5;
/// The versions of OffsetCommit that know static members, and those of OffsetFetch that ask for one group, by names of topics.
const COMMITS: std::ops::RangeInclusive<i16> = 7..=9;
const FETCHES: std::ops::RangeInclusive<i16> = 2..=7;
/// Longer than any scene.
pub(super) const SESSION_MS: i32 = 600_000;
const LOOKS_MAX: u32 = 50;
const LOOK_MS: u64 = 200;

/// Who wants to be in a group, and how.
#[derive(Clone, Debug)]
pub(super) struct Joining {
    pub(super) group: &'static str,
    pub(super) member_id: String,
    pub(super) instance: Option<&'static str>,
    pub(super) protocol_type: &'static str,
    /// Names, and what the member says in them.
    pub(super) protocols: Vec<(&'static str, Vec<u8>)>,
    pub(super) session_ms: i32,
    pub(super) rebalance_ms: i32,
}

impl Joining {
    /// A consumer that knows one protocol.
    pub(super) fn new(group: &'static str, rebalance_ms: i32) -> Joining {
        Joining {
            group,
            member_id: String::new(),
            instance: None,
            protocol_type: "consumer",
            protocols: vec![("range", Vec::new())],
            session_ms: SESSION_MS,
            rebalance_ms,
        }
    }

    /// The same under this id.
    pub(super) fn with_id(&self, member_id: &str) -> Joining {
        Joining { member_id: member_id.to_owned(), ..self.clone() }
    }
}

/// What a member is told when it has joined, or why it has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Joined {
    pub(super) error: ErrorCode,
    pub(super) generation: i32,
    pub(super) protocol: String,
    pub(super) leader: String,
    pub(super) member_id: String,
    pub(super) members: Vec<String>,
}

/// Waits until the group has a coordinator.
pub(super) async fn find(stage: &Stage, role: usize, group: &'static str) -> Played {
    for _ in 0..LOOKS_MAX {
        let answer = stage.call(role, ApiKey::FindCoordinator, ANY, move |question| {
            question.put(&FindCoordinatorRequest { key: group, coordinator_keys: vec![group], ..Default::default() });
        });
        let answer = answer.await;
        let response = answer.read::<FindCoordinatorResponse<'_>>()?;
        let is_found = response.coordinators.first().map_or(response.error_code, |found| found.error_code) == 0;
        // It may be about to read what it is to know.
        if is_found && committed(stage, role, group, Some("any")).await.is_ok() {
            return Ok(());
        }
        stage.rest(LOOK_MS).await;
    }
    Err(Otherwise(format!("group {group} has no coordinator")))
}

pub(super) fn ask_join(stage: &Stage, role: usize, joining: Joining) {
    stage.ask(role, ApiKey::JoinGroup, JOINS, move |question| {
        let protocols = joining.protocols.iter().map(|(name, metadata)| JoinGroupRequestProtocol { name, metadata });
        question.put(&JoinGroupRequest {
            group_id: joining.group,
            session_timeout_ms: joining.session_ms,
            rebalance_timeout_ms: joining.rebalance_ms,
            member_id: &joining.member_id,
            group_instance_id: joining.instance,
            protocol_type: joining.protocol_type,
            protocols: protocols.collect(),
            reason: None,
        });
    });
}

pub(super) async fn hear_joined(stage: &Stage, role: usize) -> Played<Joined> {
    joined_in(&stage.hear(role).await)
}

/// Two members join, again and again, until both are in one generation: the first to come may find itself alone.
pub(super) async fn gathered(stage: &Stage, members: [(usize, &Joining); 2]) -> Played<[Joined; 2]> {
    let roles = members.map(|(role, _)| role);
    members.iter().for_each(|(role, joining)| ask_join(stage, *role, (*joining).clone()));
    let mut joined: [Option<Joined>; 2] = [None, None];
    loop {
        let (role, answer) = stage.hear_any(&roles).await;
        let heard = joined_in(&answer)?;
        super::stage::same("a join", heard.error, ErrorCode::None)?;
        let is_alone = heard.members.len() == 1;
        for ((its, joining), place) in members.iter().zip(&mut joined).filter(|((its, _), _)| *its == role) {
            if is_alone {
                ask_join(stage, *its, (*joining).clone());
            } else {
                *place = Some(heard.clone());
            }
        }
        if let [Some(one), Some(other)] = &joined {
            super::stage::same("the generation", one.generation, other.generation)?;
            return Ok([one.clone(), other.clone()]);
        }
    }
}

fn joined_in(answer: &Answer) -> Played<Joined> {
    let response = answer.read::<JoinGroupResponse<'_>>()?;
    Ok(Joined {
        error: ErrorCode::from_code(response.error_code),
        generation: response.generation_id,
        protocol: response.protocol_name.unwrap_or_default().to_owned(),
        leader: response.leader.to_owned(),
        member_id: response.member_id.to_owned(),
        members: response.members.iter().map(|member| member.member_id.to_owned()).collect(),
    })
}

/// The id that a new member is given, with which it has to come back.
pub(super) async fn named(stage: &Stage, role: usize, joining: &Joining) -> Played<String> {
    ask_join(stage, role, joining.clone());
    let named = hear_joined(stage, role).await?;
    super::stage::same("a new member", named.error, ErrorCode::MemberIdRequired)?;
    Ok(named.member_id)
}

/// Members ask for their parts; the leader brings them.
pub(super) fn ask_sync(
    stage: &Stage,
    role: usize,
    joining: &Joining,
    generation_id: i32,
    parts: Vec<(String, Vec<u8>)>,
) {
    ask_sync_in(stage, role, SYNCS, joining, generation_id, parts);
}

/// A member asks for its part, and says by which protocol.
pub(super) fn ask_sync_by_protocol(stage: &Stage, role: usize, joining: &Joining, generation_id: i32) {
    ask_sync_in(stage, role, SYNCS_BY_PROTOCOL, joining, generation_id, Vec::new());
}

fn ask_sync_in(
    stage: &Stage,
    role: usize,
    versions: std::ops::RangeInclusive<i16>,
    joining: &Joining,
    generation_id: i32,
    parts: Vec<(String, Vec<u8>)>,
) {
    let joining = joining.clone();
    stage.ask(role, ApiKey::SyncGroup, versions, move |question| {
        let protocol_name = joining.protocols.first().map(|(name, _)| *name);
        let assignments =
            parts.iter().map(|(member_id, assignment)| SyncGroupRequestAssignment { member_id, assignment });
        question.put(&SyncGroupRequest {
            group_id: joining.group,
            generation_id,
            member_id: &joining.member_id,
            group_instance_id: joining.instance,
            protocol_type: Some(joining.protocol_type),
            protocol_name,
            assignments: assignments.collect(),
        });
    });
}

/// The error and the part of a member.
pub(super) async fn hear_synced(stage: &Stage, role: usize) -> Played<(ErrorCode, Vec<u8>)> {
    let answer = stage.hear(role).await;
    let response = answer.read::<SyncGroupResponse<'_>>()?;
    Ok((ErrorCode::from_code(response.error_code), response.assignment.to_vec()))
}

/// What a member is told when it says that it is alive.
pub(super) async fn heartbeat(stage: &Stage, role: usize, joining: &Joining, generation_id: i32) -> Played<ErrorCode> {
    let joining = joining.clone();
    let answer = stage.call(role, ApiKey::Heartbeat, HEARTBEATS, move |question| {
        let (group_id, group_instance_id) = (joining.group, joining.instance);
        question.put(&HeartbeatRequest { group_id, generation_id, member_id: &joining.member_id, group_instance_id });
    });
    Ok(ErrorCode::from_code(answer.await.read::<HeartbeatResponse>()?.error_code))
}

/// Lets a member leave, and says what came of it.
pub(super) async fn leave(stage: &Stage, role: usize, joining: &Joining) -> Played<ErrorCode> {
    let joining = joining.clone();
    let answer = stage.call(role, ApiKey::LeaveGroup, LEAVES, move |question| {
        let group_instance_id = joining.instance;
        let leaver = MemberIdentity { member_id: &joining.member_id, group_instance_id, ..Default::default() };
        question.put(&LeaveGroupRequest { group_id: joining.group, member_id: "", members: vec![leaver] });
    });
    let answer = answer.await;
    let response = answer.read::<LeaveGroupResponse<'_>>()?;
    told("a request to leave", response.error_code, ErrorCode::None)?;
    Ok(ErrorCode::from_code(response.members.first().map_or(-1, |member| member.error_code)))
}

/// Deletes a group, and says what came of it.
pub(super) async fn delete(stage: &Stage, role: usize, group_id: &'static str) -> Played<ErrorCode> {
    let answer = stage.call(role, ApiKey::DeleteGroups, ANY, move |question| {
        question.put(&DeleteGroupsRequest { groups_names: vec![group_id] });
    });
    let answer = answer.await;
    let response = answer.read::<DeleteGroupsResponse<'_>>()?;
    Ok(ErrorCode::from_code(response.results.first().map_or(-1, |result| result.error_code)))
}

/// Commits an offset for the first partition of a topic, and says what came of it.
pub(super) async fn commit(
    stage: &Stage,
    role: usize,
    joining: &Joining,
    generation: i32,
    offset: (&'static str, i64),
) -> Played<ErrorCode> {
    ask_commit(stage, role, joining, generation, offset);
    hear_committed(stage, role).await
}

pub(super) fn ask_commit(
    stage: &Stage,
    role: usize,
    joining: &Joining,
    generation: i32,
    (topic, offset): (&'static str, i64),
) {
    let joining = joining.clone();
    stage.ask(role, ApiKey::OffsetCommit, COMMITS, move |question| {
        let partition = OffsetCommitRequestPartition { committed_offset: offset, ..Default::default() };
        let topic = OffsetCommitRequestTopic { name: topic, partitions: vec![partition], ..Default::default() };
        question.put(&OffsetCommitRequest {
            group_id: joining.group,
            generation_id_or_member_epoch: generation,
            member_id: &joining.member_id,
            group_instance_id: joining.instance,
            topics: vec![topic],
            ..Default::default()
        });
    });
}

pub(super) async fn hear_committed(stage: &Stage, role: usize) -> Played<ErrorCode> {
    let answer = stage.hear(role).await;
    let response = answer.read::<OffsetCommitResponse<'_>>()?;
    let partition = response.topics.first().and_then(|topic| topic.partitions.first());
    Ok(ErrorCode::from_code(partition.map_or(-1, |partition| partition.error_code)))
}

/// What a group has committed for the first partition of a topic, or all that it has committed: topics and offsets.
pub(super) async fn committed(
    stage: &Stage,
    role: usize,
    group_id: &'static str,
    topic: Option<&'static str>,
) -> Played<Vec<(String, i64)>> {
    let answer = stage.call(role, ApiKey::OffsetFetch, FETCHES, move |question| {
        let wanted = |name| vec![OffsetFetchRequestTopic { name, partition_indexes: vec![0] }];
        question.put(&OffsetFetchRequest { group_id, topics: topic.map(wanted), ..Default::default() });
    });
    let answer = answer.await;
    offsets_in(&answer)
}

fn offsets_in(answer: &Answer) -> Played<Vec<(String, i64)>> {
    let response = answer.read::<OffsetFetchResponse<'_>>()?;
    told("a request for offsets", response.error_code, ErrorCode::None)?;
    let topics = response.topics.iter();
    let found =
        topics.flat_map(|topic| topic.partitions.iter().map(|found| (topic.name.to_owned(), found.committed_offset)));
    Ok(found.collect())
}
