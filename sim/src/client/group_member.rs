//! A member of a classic group: finds the coordinator, joins, syncs, fetches and commits offsets, heartbeats, and leaves at last.
//!
//! It commits what a consumer may have read by then, under a name of its own for each commit, so that what is fetched later is recognised.
//! Now and then it is late: it commits or heartbeats for the generation before, as a client does that had it under way when the group moved on.
//! A static one (KIP-345) now and then starts again and takes its former self's place, who speaks once more and must be fenced. It must not know who else
//! is in the group.

use std::ops::RangeInclusive;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
use klamm::protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use klamm::protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use klamm::protocol::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse, MemberIdentity};
use klamm::protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
};
use klamm::protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics, OffsetFetchResponse,
};
use klamm::protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message};
use klamm::types::{Instant, TopicId};

use super::link::{Link, LinkNews, Next};
use super::versions::{ANY, by_name_unless};
use super::{Client, ClientConnection, ClientContext, Habits};
use crate::checker::{CommitId, INSTANCE_PREFIX, Violation};
use crate::keyed::Site;

const GROUP: &str = "group";
/// The first version of OffsetCommit and OffsetFetch that names topics by their ids.
const IDS_FROM: i16 = 10;
const PACE_NS_MAX: u64 = 40_000_000;
const SESSION_MS: i32 = 1_000;
const REBALANCE_MS: i32 = 2_000;
const NANOS_PER_MS: u64 = 1_000_000;
/// An answer that comes so late to a JoinGroup or a SyncGroup has waited for other members.
const PARKED_MS_MIN: u64 = 600;
/// From this version on a commit has a leader epoch.
const COMMIT_EPOCH_FROM: i16 = 6;
/// From this version on it is told with the committed offset.
const FETCHED_EPOCH_FROM: i16 = 5;
/// The first versions of each API that know static members.
const JOIN_STATIC_FROM: i16 = 5;
const COMMIT_STATIC_FROM: i16 = 7;
const STATIC_FROM: i16 = 3;
/// How often one that was given an id does not come back with it, in parts of a million.
const FORGETS_PARTS: u32 = 200_000;
/// How often a member is late, in parts of a million.
const LATE_PARTS: u32 = 200_000;

/// What one member is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupMemberProfile {
    pub(crate) client: u32,
    /// Heartbeats, commits and fetches before it leaves.
    pub(crate) rounds: u32,
    /// It has an instance id, under which it comes back.
    pub(crate) is_static: bool,
    pub(crate) habits: Habits,
}

/// A static member before it started again.
#[derive(Clone, Debug)]
struct FormerSelf {
    member_id: String,
    generation: i32,
    /// In which start of the broker, and when, it was told last that it is alive in a group that was settled.
    settled: Option<(u32, Instant)>,
}

/// What it asks next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Find,
    Metadata,
    Join,
    Sync,
    /// The committed offsets.
    Committed,
    /// The ends of its partitions; then it commits them, or not.
    Ends {
        commits: bool,
    },
    Commit,
    Heartbeat,
    /// A heartbeat of its former self.
    Twin,
    Leave,
}

/// One of its partitions.
#[derive(Clone, Copy, Debug)]
struct Owned {
    partition: i32,
    /// What a consumer may have read up to.
    end: i64,
    /// The commit that was fetched last, if it was acknowledged.
    committed: Option<i64>,
}

/// A member.
pub(crate) struct GroupMember {
    profile: GroupMemberProfile,
    instance_id: Option<String>,
    /// Who it was before it started again, until the group has heard of it; and then until that one has spoken.
    before: Option<FormerSelf>,
    twin: Option<FormerSelf>,
    /// In which start of the broker, and when, it asked when it was told last that it is alive in a group that is settled.
    settled: Option<(u32, Instant)>,
    /// The generation in which it was given something.
    synced_in: Option<i32>,
    topic: &'static str,
    topic_id: TopicId,
    partition_count: i32,
    link: Link,
    task: Task,
    member_id: String,
    generation: i32,
    /// The generation that it was in before this one.
    generation_before: Option<i32>,
    /// What it asks next speaks for the generation before.
    is_late: bool,
    /// The open heartbeat speaks for a generation that is over.
    is_stale: bool,
    /// The start of the broker in which it asked, which alone can have answered, be the answer read after the next one.
    asked_in: u32,
    asked_at: Instant,
    /// The members that it assigns to, if it leads.
    members: Vec<String>,
    owned: Vec<Owned>,
    /// The commits that are on their way, and when the open fetch was sent.
    commits: Vec<(i32, CommitId)>,
    fetch_began: u64,
    /// It was sent in a calm run: no partition may be missing in the answer.
    fetches_all: bool,
    rounds_left: u32,
    /// It has left its connection right behind a join.
    has_vanished: bool,
    /// It may have left already, without having been told so.
    has_asked_to_leave: bool,
    is_done: bool,
}

impl GroupMember {
    pub(crate) fn new(profile: GroupMemberProfile, topic: &'static str) -> GroupMember {
        GroupMember {
            profile,
            instance_id: profile.is_static.then(|| format!("{INSTANCE_PREFIX}{}", profile.client)),
            before: None,
            twin: None,
            settled: None,
            synced_in: None,
            topic,
            topic_id: TopicId::default(),
            partition_count: 0,
            link: Link::new(profile.client, profile.habits),
            task: Task::Find,
            member_id: String::new(),
            generation: -1,
            generation_before: None,
            is_late: false,
            is_stale: false,
            asked_in: 0,
            asked_at: Instant(0),
            members: Vec::new(),
            owned: Vec::new(),
            commits: Vec::new(),
            fetch_began: 0,
            fetches_all: false,
            rounds_left: profile.rounds,
            has_vanished: false,
            has_asked_to_leave: false,
            is_done: false,
        }
    }

    fn connection_lost(&mut self) {
        // What was committed without an answer stays unknown for ever.
        self.commits.clear();
        self.is_late = false;
        self.task = Task::Find;
    }

    /// The versions that it may speak of an API that knows static members from this version on.
    fn speaking_from(&self, first: i16) -> RangeInclusive<i16> {
        if self.instance_id.is_some() { first..=i16::MAX } else { ANY }
    }

    /// A static member starts again: it has forgotten everything but its instance id.
    fn start_again(&mut self) {
        let (member_id, settled) = (std::mem::take(&mut self.member_id), self.settled.take());
        self.before = Some(FormerSelf { member_id, generation: self.generation, settled });
        (self.generation, self.generation_before, self.is_late) = (-1, None, false);
        self.members.clear();
        self.owned.clear();
    }

    /// The generation that a commit or a heartbeat speaks for.
    fn spoken_for(&self) -> i32 {
        self.generation_before.filter(|_| self.is_late).unwrap_or(self.generation)
    }

    fn ask(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        (self.asked_in, self.asked_at) = (context.boot, context.now());
        match self.task {
            Task::Find => self.ask_coordinator(context, connection),
            Task::Metadata => self.ask_metadata(context, connection),
            Task::Join => self.join(context, connection),
            Task::Sync => self.sync(context, connection),
            Task::Committed => self.ask_committed(context, connection),
            Task::Ends { .. } => self.ask_ends(context, connection),
            Task::Commit => self.commit(context, connection),
            Task::Heartbeat => {
                let (generation_id, member_id) = (self.spoken_for(), self.member_id.as_str());
                self.is_stale = context.history.groups().is_stale(context.boot, generation_id);
                let group_instance_id = self.instance_id.as_deref();
                let request = HeartbeatRequest { group_id: GROUP, generation_id, member_id, group_instance_id };
                let api = connection.api(context, ApiKey::Heartbeat, &self.speaking_from(STATIC_FROM));
                connection.send(context, api, &request, true);
            }
            Task::Twin => {
                let Some(twin) = &self.twin else { return };
                let (generation_id, member_id) = (twin.generation, twin.member_id.as_str());
                let group_instance_id = self.instance_id.as_deref();
                let request = HeartbeatRequest { group_id: GROUP, generation_id, member_id, group_instance_id };
                let api = connection.api(context, ApiKey::Heartbeat, &self.speaking_from(STATIC_FROM));
                connection.send(context, api, &request, true);
            }
            Task::Leave => {
                self.has_asked_to_leave = true;
                let (member_id, group_instance_id) = (self.member_id.as_str(), self.instance_id.as_deref());
                let members = vec![MemberIdentity { member_id, group_instance_id, ..Default::default() }];
                let request = LeaveGroupRequest { group_id: GROUP, member_id, members };
                let api = connection.api(context, ApiKey::LeaveGroup, &self.speaking_from(STATIC_FROM));
                connection.send(context, api, &request, true);
            }
        }
    }

    fn ask_coordinator(&self, context: &ClientContext<'_>, connection: &mut ClientConnection) {
        let request = FindCoordinatorRequest { key: GROUP, coordinator_keys: vec![GROUP], ..Default::default() };
        connection.send(context, connection.api(context, ApiKey::FindCoordinator, &ANY), &request, true);
    }

    fn ask_metadata(&self, context: &ClientContext<'_>, connection: &mut ClientConnection) {
        let topics = Some(vec![MetadataRequestTopic { name: Some(self.topic), ..Default::default() }]);
        let request = MetadataRequest { topics, allow_auto_topic_creation: true, ..Default::default() };
        connection.send(context, connection.api(context, ApiKey::Metadata, &ANY), &request, true);
    }

    fn join(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
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
    fn sync(&self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
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

    fn ask_committed(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        self.fetch_began = context.history.groups().tick();
        // In a calm run it asks for what others own too, so that every commit is looked for in the end.
        let partition_indexes: Vec<i32> = match context.is_calm {
            true => (0..self.partition_count).collect(),
            false => self.owned.iter().map(|owned| owned.partition).collect(),
        };
        self.fetches_all = context.is_calm;
        // One group, as old versions name it and as new ones do: which is written, the version decides.
        let of_one = vec![OffsetFetchRequestTopic { name: self.topic, partition_indexes: partition_indexes.clone() }];
        let topics = vec![OffsetFetchRequestTopics { name: self.topic, topic_id: self.topic_id, partition_indexes }];
        let group = OffsetFetchRequestGroup { group_id: GROUP, topics: Some(topics), ..Default::default() };
        let groups = vec![group];
        let request = OffsetFetchRequest { group_id: GROUP, topics: Some(of_one), groups, require_stable: false };
        let named = by_name_unless(self.topic_id != TopicId::ZERO, IDS_FROM);
        connection.send(context, connection.api(context, ApiKey::OffsetFetch, &named), &request, true);
    }

    fn ask_ends(&self, context: &ClientContext<'_>, connection: &mut ClientConnection) {
        let partitions = self.owned.iter().map(|owned| ListOffsetsPartition {
            partition_index: owned.partition,
            timestamp: -1,
            ..Default::default()
        });
        let topics = vec![ListOffsetsTopic { name: self.topic, partitions: partitions.collect() }];
        let request = ListOffsetsRequest { replica_id: -1, topics, ..Default::default() };
        connection.send(context, connection.api(context, ApiKey::ListOffsets, &ANY), &request, true);
    }

    fn commit(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        let generation = self.spoken_for();
        let named = by_name_unless(self.topic_id != TopicId::ZERO, IDS_FROM);
        let first = *self.speaking_from(COMMIT_STATIC_FROM).start();
        let api = connection.api(context, ApiKey::OffsetCommit, &(first..=*named.end()));
        // Any number serves to see whether it comes back.
        let leader_epoch = if api.1 >= COMMIT_EPOCH_FROM { generation } else { -1 };
        let groups = context.history.groups();
        self.commits = self
            .owned
            .iter()
            .map(|owned| {
                let offset = (owned.end, leader_epoch);
                (owned.partition, groups.committing(owned.partition, offset, (context.boot, generation)))
            })
            .collect();
        let names: Vec<String> = self.commits.iter().map(|(_, id)| id.to_string()).collect();
        let partitions = self.owned.iter().zip(&names).map(|(owned, name)| OffsetCommitRequestPartition {
            partition_index: owned.partition,
            committed_offset: owned.end,
            committed_metadata: Some(name),
            committed_leader_epoch: leader_epoch,
        });
        let topic =
            OffsetCommitRequestTopic { name: self.topic, topic_id: self.topic_id, partitions: partitions.collect() };
        let request = OffsetCommitRequest {
            group_id: GROUP,
            generation_id_or_member_epoch: generation,
            member_id: &self.member_id,
            group_instance_id: self.instance_id.as_deref(),
            topics: vec![topic],
            ..Default::default()
        };
        connection.send(context, api, &request, true);
    }

    /// Takes an answer and decides what comes next.
    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) -> Result<(), DecodeError> {
        let decoder = &mut Decoder::new(body);
        match self.task {
            Task::Find => {
                let response = FindCoordinatorResponse::decode(decoder, version)?;
                let of_key = response.coordinators.first().map_or(response.error_code, |found| found.error_code);
                self.task = match of_key {
                    0 if self.has_asked_to_leave => Task::Leave,
                    0 => Task::Metadata,
                    _ => self.again(context, Task::Find),
                };
            }
            Task::Metadata => {
                let response = MetadataResponse::decode(decoder, version)?;
                let topic =
                    response.topics.iter().find(|topic| topic.name == Some(self.topic) && topic.error_code == 0);
                self.task = match topic {
                    Some(topic) => {
                        self.topic_id = topic.topic_id;
                        self.partition_count = i32::try_from(topic.partitions.len()).unwrap_or(0);
                        self.begin_again(context)
                    }
                    None => self.again(context, Task::Metadata),
                };
            }
            Task::Join => {
                let response = JoinGroupResponse::decode(decoder, version)?;
                self.check_patience(context, response.error_code);
                self.take_join(context, &response);
            }
            Task::Sync => {
                let response = SyncGroupResponse::decode(decoder, version)?;
                self.check_patience(context, response.error_code);
                self.take_sync(context, &response);
            }
            Task::Committed => self.take_committed(context, version, &OffsetFetchResponse::decode(decoder, version)?),
            Task::Ends { commits } => self.take_ends(context, commits, &ListOffsetsResponse::decode(decoder, version)?),
            Task::Commit => self.take_commit(context, &OffsetCommitResponse::decode(decoder, version)?),
            Task::Heartbeat => {
                let response = HeartbeatResponse::decode(decoder, version)?;
                if response.error_code == 0 && self.is_stale {
                    context.history.violate(Violation::StaleHeartbeat { member: self.member_id.clone() });
                }
                self.note_heard(context, response.error_code);
                self.task = self.after(context, response.error_code);
            }
            Task::Twin => {
                let response = HeartbeatResponse::decode(decoder, version)?;
                self.take_twin(context, response.error_code);
            }
            Task::Leave => {
                let response = LeaveGroupResponse::decode(decoder, version)?;
                self.take_leave(context, &response);
            }
        }
        Ok(())
    }

    /// On a new connection some members go on as if nothing had happened since the last one; the group must know better.
    fn begin_again(&mut self, context: &ClientContext<'_>) -> Task {
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        if self.instance_id.is_some() && !self.member_id.is_empty() && !context.is_calm && draw.part(0).below(2) == 0 {
            self.start_again();
            return Task::Join;
        }
        let goes_on = std::mem::take(&mut self.has_vanished) || draw.below(3) == 0;
        if goes_on && !self.owned.is_empty() && !context.is_calm { Task::Ends { commits: true } } else { Task::Join }
    }

    /// Whether it leaves its connection right behind a join, so that it does not hear of the generation that it will be in.
    fn vanishes_from_join(&mut self, context: &ClientContext<'_>) -> bool {
        let may = self.task == Task::Join && !self.owned.is_empty() && !context.is_calm;
        self.has_vanished = may && context.world.value(Site::RunsAway, u64::from(self.profile.client)).happens(300_000);
        self.has_vanished
    }

    fn take_join(&mut self, context: &mut ClientContext<'_>, response: &JoinGroupResponse<'_>) {
        self.task = match ErrorCode::from_code(response.error_code) {
            ErrorCode::None => {
                self.member_id = response.member_id.to_owned();
                self.generation_before = Some(self.generation).filter(|before| *before >= 0);
                self.generation = response.generation_id;
                self.settled = None;
                self.take_place(context);
                self.members = response.members.iter().map(|member| member.member_id.to_owned()).collect();
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

    /// Its former self has spoken, and must not be heard while it is known itself.
    fn take_twin(&mut self, context: &mut ClientContext<'_>, error: i16) {
        let twin = self.twin.take();
        let is_of_now = self.settled.is_some_and(|(boot, _)| boot == self.asked_in && boot == context.boot);
        if let Some(twin) = twin.filter(|_| error == 0 && is_of_now) {
            context.history.violate(Violation::TwinAlive { member: twin.member_id });
        }
        self.task = self.next_round(context);
    }

    /// It has the place of its former self. If that was settled and alone, the group has noticed nothing of it.
    fn take_place(&mut self, context: &mut ClientContext<'_>) {
        let Some(before) = self.before.take().filter(|before| !before.member_id.is_empty()) else { return };
        let session_ns = u64::try_from(SESSION_MS).unwrap_or(0) * NANOS_PER_MS;
        let was_settled = before.settled.is_some_and(|(boot, at)| {
            boot == self.asked_in && boot == context.boot && context.now().0.saturating_sub(at.0) < session_ns
        });
        let (was, is) = (before.generation, self.generation);
        if was != is && was_settled && context.history.groups().is_alone(self.profile.client) {
            let member = self.member_id.clone();
            context.history.violate(Violation::StaticRebalance { member, was, is });
        }
        self.twin = Some(before);
    }

    /// Whoever is heard may not be unknown before its session is over.
    fn note_heard(&mut self, context: &mut ClientContext<'_>, error: i16) {
        let (now, sessions) = (context.now(), context.history.sessions());
        match ErrorCode::from_code(error) {
            ErrorCode::None => {
                let is_settled = self.synced_in == Some(self.generation);
                self.settled = is_settled.then_some((self.asked_in, self.asked_at));
                sessions.heard(&self.member_id, self.asked_in, self.asked_at);
            }
            ErrorCode::UnknownMemberId if !self.has_asked_to_leave => {
                let session_ms = u64::try_from(SESSION_MS).unwrap_or(0);
                let expelled = sessions.unknown(&self.member_id, self.asked_in, now, session_ms);
                expelled.into_iter().for_each(|violation| context.history.violate(violation));
            }
            _ => {}
        }
    }

    /// Nobody's session runs out while it waits for the others. Where nothing has gone wrong so far, only waiting takes so long.
    fn check_patience(&self, context: &mut ClientContext<'_>, error: i16) {
        let waited_ms = context.now().0.saturating_sub(self.asked_at.0) / NANOS_PER_MS;
        let is_parked = waited_ms >= PARKED_MS_MIN && self.asked_in == context.boot && context.world.fired_count() == 0;
        if is_parked && error == ErrorCode::UnknownMemberId.code() {
            let member = self.member_id.clone();
            context.history.violate(Violation::WaitedInVain { member, waited_ms });
        }
    }

    fn take_sync(&mut self, context: &mut ClientContext<'_>, response: &SyncGroupResponse<'_>) {
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
        self.owned = partitions.map(|partition| Owned { partition, end: 0, committed: None }).collect();
        for owned in &self.owned {
            let violation = context.history.groups().owns(self.generation, owned.partition, &self.member_id);
            violation.into_iter().for_each(|violation| context.history.violate(violation));
        }
        self.task = Task::Committed;
    }

    fn take_committed(&mut self, context: &mut ClientContext<'_>, version: i16, response: &OffsetFetchResponse<'_>) {
        let error = response.groups.first().map_or(response.error_code, |group| group.error_code);
        if error != 0 {
            self.task = self.after(context, error);
            return;
        }
        let of_one = response.topics.iter().flat_map(|topic| &topic.partitions);
        let found = |offset, leader_epoch| (offset, (version >= FETCHED_EPOCH_FROM).then_some(leader_epoch));
        let of_one = of_one.map(|one| {
            let found = found(one.committed_offset, one.committed_leader_epoch);
            (one.error_code, one.partition_index, found, one.metadata)
        });
        let grouped = response.groups.iter().flat_map(|group| &group.topics).flat_map(|topic| &topic.partitions);
        let grouped = grouped.map(|one| {
            let found = found(one.committed_offset, one.committed_leader_epoch);
            (one.error_code, one.partition_index, found, one.metadata)
        });
        let mut judged = 0;
        for (_, partition, found, name) in of_one.chain(grouped).filter(|(error, ..)| *error == 0) {
            let offset = found.0;
            let name = name.unwrap_or_default();
            judged += 1;
            match context.history.groups().fetched(self.fetch_began, partition, found, name) {
                Ok(is_acknowledged) => {
                    if let Some(owned) = self.owned.iter_mut().find(|owned| owned.partition == partition) {
                        owned.committed = is_acknowledged.then_some(offset);
                    }
                }
                Err(violation) => context.history.violate(violation),
            }
        }
        // With every fault over, every partition has an answer in the end.
        let is_whole = !self.fetches_all || judged == self.partition_count;
        self.task = if is_whole { Task::Ends { commits: false } } else { self.again(context, Task::Committed) };
    }

    fn take_ends(&mut self, context: &mut ClientContext<'_>, commits: bool, response: &ListOffsetsResponse<'_>) {
        let mut has_error = false;
        for listed in response.topics.iter().flat_map(|topic| &topic.partitions) {
            let (partition, end) = (listed.partition_index, listed.offset);
            let owned = self.owned.iter_mut().find(|owned| owned.partition == partition);
            let Some(owned) = owned.filter(|_| listed.error_code == 0) else {
                has_error = true;
                continue;
            };
            owned.end = end;
            let is_cut = context.history.destroyed().is_touched(partition);
            if let Some(committed) = owned.committed.take().filter(|committed| *committed > end && !is_cut) {
                context.history.violate(Violation::CommitAhead { partition, committed, end });
            }
        }
        self.task = if commits && !has_error { Task::Commit } else { self.after(context, 0) };
    }

    fn take_commit(&mut self, context: &mut ClientContext<'_>, response: &OffsetCommitResponse<'_>) {
        let outcomes = response.topics.iter().flat_map(|topic| &topic.partitions);
        let outcomes: Vec<(i32, i16)> = outcomes.map(|outcome| (outcome.partition_index, outcome.error_code)).collect();
        for (partition, id) in std::mem::take(&mut self.commits) {
            let outcome = outcomes.iter().find(|(of, _)| *of == partition);
            let Some((_, error)) = outcome else {
                context.history.violate(Violation::UnreadableAnswer { client: self.profile.client });
                continue;
            };
            match ErrorCode::from_code(*error) {
                ErrorCode::None => {
                    let violation = context.history.groups().committed(id);
                    violation.into_iter().for_each(|violation| context.history.violate(violation));
                }
                ErrorCode::IllegalGeneration
                | ErrorCode::UnknownMemberId
                | ErrorCode::FencedInstanceId
                | ErrorCode::RebalanceInProgress => {
                    context.history.groups().refused(id);
                }
                // It may be on the disk all the same.
                _ => {}
            }
        }
        self.task = self.after(context, outcomes.first().map_or(0, |(_, error)| *error));
    }

    /// It has left if it is told so, or if the group does not know it any more.
    fn take_leave(&mut self, context: &mut ClientContext<'_>, response: &LeaveGroupResponse<'_>) {
        let of_member = response.members.first().map_or(0, |member| member.error_code);
        let error = if response.error_code == 0 { of_member } else { response.error_code };
        match ErrorCode::from_code(error) {
            // A static one is fenced if it was given another id that it has not heard of.
            ErrorCode::None | ErrorCode::UnknownMemberId | ErrorCode::FencedInstanceId => self.is_done = true,
            ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable | ErrorCode::CoordinatorLoadInProgress => {
                self.task = self.again(context, Task::Find)
            }
            error => {
                let (client, member) = (self.profile.client, self.member_id.clone());
                context.history.violate(Violation::CannotLeave { client, member, error });
                self.is_done = true;
            }
        }
    }

    /// Tries the same again a little later.
    fn again(&mut self, context: &ClientContext<'_>, task: Task) -> Task {
        self.link.retry(context);
        task
    }

    /// What comes after an answer with this error.
    fn after(&mut self, context: &ClientContext<'_>, error: i16) -> Task {
        let was_late = std::mem::take(&mut self.is_late);
        match ErrorCode::from_code(error) {
            ErrorCode::None => self.next_round(context),
            // Of the generation before; of its own it knows nothing new.
            ErrorCode::IllegalGeneration if was_late => self.next_round(context),
            ErrorCode::RebalanceInProgress | ErrorCode::IllegalGeneration => {
                self.settled = None;
                Task::Join
            }
            ErrorCode::UnknownMemberId | ErrorCode::FencedInstanceId => {
                self.settled = None;
                self.member_id.clear();
                Task::Join
            }
            _ => self.again(context, Task::Find),
        }
    }

    fn next_round(&mut self, context: &ClientContext<'_>) -> Task {
        if self.rounds_left == 0 {
            return Task::Leave;
        }
        self.rounds_left -= 1;
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        self.link.pause(context, draw.part(0).between(1, PACE_NS_MAX));
        self.is_late = !context.is_calm && self.generation_before.is_some() && draw.part(1).happens(LATE_PARTS);
        if self.twin.is_some() && draw.part(2).below(2) == 0 {
            self.is_late = false;
            return Task::Twin;
        }
        if self.instance_id.is_some() && !context.is_calm && draw.part(3).below(6) == 0 {
            self.start_again();
            return Task::Join;
        }
        match draw.below(4) {
            0 => Task::Heartbeat,
            1 if !self.owned.is_empty() => Task::Committed,
            _ if !self.owned.is_empty() => Task::Ends { commits: true },
            _ => Task::Heartbeat,
        }
    }

    /// Whether the open request is one that may take long.
    fn may_wait(&self) -> bool {
        matches!(self.task, Task::Join | Task::Sync)
    }
}

impl Client for GroupMember {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if self.is_done {
            self.link.close();
            return None;
        }
        let beginning = self.link.begin(context, self.may_wait());
        if beginning.was_lost {
            self.connection_lost();
        }
        match beginning.next {
            Next::Rest(at) => return Some(at),
            Next::WorkAnew => self.task = Task::Find,
            Next::Work => {}
        }
        loop {
            if let Some(mut connection) = self.link.take_idle(context) {
                self.ask(context, &mut connection);
                self.link.give_back(connection);
                if self.vanishes_from_join(context) {
                    self.connection_lost();
                    return Some(self.link.run_away(context));
                }
            }
            match self.link.pump(context, self.may_wait()) {
                LinkNews::Answer(_, _, version, body) => {
                    if self.take_answer(context, version, &body).is_err() {
                        context.history.violate(Violation::UnreadableAnswer { client: self.profile.client });
                    }
                    if self.is_done {
                        self.link.close();
                        return None;
                    }
                }
                LinkNews::Rest(at) => return at,
                LinkNews::Lost(at) => {
                    self.connection_lost();
                    return Some(at);
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn waits_since(&self) -> Option<Instant> {
        self.link.waits_since()
    }

    fn waits_for(&self) -> String {
        format!("group member {} is at {:?} in generation {}", self.profile.client, self.task, self.generation)
    }
}
