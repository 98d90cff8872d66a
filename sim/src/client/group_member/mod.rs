//! A member of a classic group: finds the coordinator, joins, syncs, fetches and commits offsets, heartbeats, and leaves at last.
//!
//! It commits what a consumer may have read by then, under a name of its own for each commit, so that what is fetched later is recognised.
//! Now and then it is late: it commits or heartbeats for the generation before, as a client does that had it under way when the group moved on.
//! A static one (KIP-345) now and then starts again and takes its former self's place, who speaks once more and must be fenced. It must not know who else
//! is in the group.

mod commits; // what it commits and finds committed
mod former_self; // who it was before it started again
mod membership; // how it joins and leaves

use std::ops::RangeInclusive;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
use klamm::protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use klamm::protocol::messages::join_group::JoinGroupResponse;
use klamm::protocol::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse, MemberIdentity};
use klamm::protocol::messages::list_offsets::ListOffsetsResponse;
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::protocol::messages::offset_commit::OffsetCommitResponse;
use klamm::protocol::messages::offset_fetch::OffsetFetchResponse;
use klamm::protocol::messages::sync_group::SyncGroupResponse;
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message};
use klamm::types::{Instant, TopicId};

use commits::Owned;
use former_self::FormerSelf;

use super::dialogue::Dialogue;
use super::link::Link;
use super::versions::ANY;
use super::{ClientConnection, ClientContext, Habits};
use crate::checker::{CommitId, INSTANCE_PREFIX, Violation};
use crate::keyed::Site;

const GROUP: &str = "group";
const PACE_NS_MAX: u64 = 40_000_000;
const SESSION_MS: i32 = 1_000;
const NANOS_PER_MS: u64 = 1_000_000;
const STATIC_FROM: i16 = 3;
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
    /// No more members are in the group.
    pub(crate) group_size_max: usize,
    pub(crate) habits: Habits,
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
        }
    }

    /// The versions that it may speak of an API that knows static members from this version on.
    fn speaking_from(&self, first: i16) -> RangeInclusive<i16> {
        if self.instance_id.is_some() { first..=i16::MAX } else { ANY }
    }

    /// The generation that a commit or a heartbeat speaks for.
    fn spoken_for(&self) -> i32 {
        self.generation_before.filter(|_| self.is_late).unwrap_or(self.generation)
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
}

impl Dialogue for GroupMember {
    fn link(&self) -> &Link {
        &self.link
    }

    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }

    /// Whether the open request is one that may take long.
    fn may_wait(&self) -> bool {
        matches!(self.task, Task::Join | Task::Sync)
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

    /// Whether it leaves its connection right behind a join, so that it does not hear of the generation that it will be in.
    fn runs_away(&mut self, context: &ClientContext<'_>) -> bool {
        let may = self.task == Task::Join && !self.owned.is_empty() && !context.is_calm;
        self.has_vanished = may && context.world.value(Site::RunsAway, u64::from(self.profile.client)).happens(300_000);
        self.has_vanished
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

    fn connection_lost(&mut self, context: &mut ClientContext<'_>) {
        if self.task == Task::Join {
            self.join_lost(context);
        }
        // What was committed without an answer stays unknown for ever.
        self.commits.clear();
        self.is_late = false;
        self.task = Task::Find;
    }

    fn is_at(&self) -> String {
        format!("group member {} is at {:?} in generation {}", self.profile.client, self.task, self.generation)
    }
}
