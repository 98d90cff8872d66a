//! A client that commits offsets and lets them grow old: one that nobody holds, one whose end it names itself, and one of a member that stays for a while.
//! In a second life, after the broker has perhaps been down, it looks again and again until they are gone. Then it deletes the topic of all offsets: what is committed
//! there is gone with it, and the one that takes its place is empty.
//!
//! It comes when nothing is wrong any more, and must not know when an offset may go: the history does.

use std::ops::Range;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse};
use klamm::protocol::messages::find_coordinator::FindCoordinatorRequest;
use klamm::protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use klamm::protocol::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse, MemberIdentity};
use klamm::protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
};
use klamm::protocol::messages::offset_fetch::{OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse};
use klamm::protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message};
use klamm::types::Instant;

use super::link::{Link, LinkNews, Next};
use super::versions::ANY;
use super::{Client, ClientConnection, ClientContext, Habits};
use crate::checker::Violation;
use crate::keyed::Site;

/// What `offsets.retention.minutes` is set to.
const LIFE_MS: i64 = 60_000;
/// Whose offset nobody holds, who names its end, and whose offset a member holds.
const FREE: &str = "aged-free";
const LIMITED: &str = "aged-limited";
const HELD: &str = "aged-held";
/// Longer than the run.
const SESSION_MS: i32 = 1_800_000;
/// The versions of JoinGroup that give a member its id at once, those of OffsetCommit that name an end, and those that know topics by name.
const JOINS_AT_ONCE: std::ops::RangeInclusive<i16> = 0..=3;
const NAMES_END: std::ops::RangeInclusive<i16> = 2..=4;
const BY_NAME: std::ops::RangeInclusive<i16> = 0..=9;
const ONE_GROUP: std::ops::RangeInclusive<i16> = 0..=7;
const OFFSETS_TOPIC: &str = "__consumer_offsets";
const NO_OFFSET: i64 = -1;
/// What is committed.
const OFFSET: i64 = 7;
const MILLISECOND: u64 = 1_000_000;
/// A member stays for longer than any offset lives.
const STAYS_MS: i64 = LIFE_MS + 20_000;
const LOOKS_MS_MAX: u64 = 15_000;

/// What it asks; a group is told by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Find(&'static str),
    Join,
    Sync,
    Commit(&'static str),
    Fetch(&'static str),
    Leave,
    /// What is to be gone with its topic.
    CommitAgain,
    Delete,
    /// A coordinator, which makes the topic anew.
    FindAgain,
    FetchGone,
}

/// The client.
pub(crate) struct Ager {
    client: u32,
    topic: &'static str,
    link: Link,
    task: Task,
    /// How long the offset lives whose end is named.
    limited_ms: i64,
    member: Option<(String, i32)>,
    /// The wall clock when the first request of this life was sent, and when the open one was.
    began: Option<i64>,
    asked: i64,
    is_done: bool,
}

impl Ager {
    /// One that commits.
    pub(crate) fn committing(client: u32, topic: &'static str) -> Ager {
        Ager {
            client,
            topic,
            link: Link::new(client, Habits::none()),
            task: Task::Find(FREE),
            limited_ms: LIFE_MS,
            member: None,
            began: None,
            asked: 0,
            is_done: false,
        }
    }

    /// One that looks, and leaves in the member's name.
    pub(crate) fn looking(client: u32, topic: &'static str) -> Ager {
        Ager { task: Task::Fetch(FREE), ..Ager::committing(client, topic) }
    }

    fn ask(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        self.asked = context.world.now().wall.0;
        self.began.get_or_insert(self.asked);
        let api = |connection: &ClientConnection, api_key, will_do| connection.api(context, api_key, will_do);
        match self.task {
            Task::Find(_) | Task::FindAgain => {
                let key = if let Task::Find(group) = self.task { group } else { FREE };
                let request = FindCoordinatorRequest { key, coordinator_keys: vec![key], ..Default::default() };
                connection.send(context, api(connection, ApiKey::FindCoordinator, &ANY), &request, true);
            }
            Task::Join => {
                let metadata = subscription(self.topic);
                let request = JoinGroupRequest {
                    group_id: HELD,
                    session_timeout_ms: SESSION_MS,
                    rebalance_timeout_ms: SESSION_MS,
                    protocol_type: "consumer",
                    protocols: vec![JoinGroupRequestProtocol { name: "range", metadata: &metadata }],
                    ..Default::default()
                };
                connection.send(context, api(connection, ApiKey::JoinGroup, &JOINS_AT_ONCE), &request, true);
            }
            Task::Sync => {
                let (member_id, generation_id) = self.member.as_ref().map_or(("", -1), |(id, at)| (id, *at));
                let request = SyncGroupRequest {
                    group_id: HELD,
                    generation_id,
                    member_id,
                    protocol_type: Some("consumer"),
                    protocol_name: Some("range"),
                    assignments: vec![SyncGroupRequestAssignment { member_id, assignment: b"" }],
                    ..Default::default()
                };
                connection.send(context, api(connection, ApiKey::SyncGroup, &ANY), &request, true);
            }
            Task::Commit(group_id) => self.ask_commit(context, connection, group_id),
            Task::CommitAgain => self.ask_commit(context, connection, FREE),
            Task::Delete => {
                let topics = vec![DeleteTopicState { name: Some(OFFSETS_TOPIC), ..Default::default() }];
                let request = DeleteTopicsRequest { topics, topic_names: vec![OFFSETS_TOPIC], timeout_ms: SESSION_MS };
                connection.send(context, api(connection, ApiKey::DeleteTopics, &ANY), &request, true);
            }
            Task::Fetch(_) | Task::FetchGone => {
                let group_id = if let Task::Fetch(group) = self.task { group } else { FREE };
                let topic = OffsetFetchRequestTopic { name: self.topic, partition_indexes: vec![0] };
                let request = OffsetFetchRequest { group_id, topics: Some(vec![topic]), ..Default::default() };
                connection.send(context, api(connection, ApiKey::OffsetFetch, &ONE_GROUP), &request, true);
            }
            Task::Leave => {
                let member_id = context.history.aged().member().unwrap_or_default();
                let members = vec![MemberIdentity { member_id: &member_id, ..Default::default() }];
                let request = LeaveGroupRequest { group_id: HELD, member_id: &member_id, members };
                connection.send(context, connection.api(context, ApiKey::LeaveGroup, &ANY), &request, true);
            }
        }
    }

    fn ask_commit(&mut self, context: &ClientContext<'_>, connection: &mut ClientConnection, group_id: &'static str) {
        let draw = context.world.value(Site::ClientAction, u64::from(self.client));
        self.limited_ms = i64::try_from(draw.between(1_000, 100_000)).unwrap_or(LIFE_MS);
        let partition = OffsetCommitRequestPartition { committed_offset: OFFSET, ..Default::default() };
        let topic = OffsetCommitRequestTopic { name: self.topic, partitions: vec![partition], ..Default::default() };
        let member = self.member.as_ref().filter(|_| group_id == HELD);
        let request = OffsetCommitRequest {
            group_id,
            generation_id_or_member_epoch: member.map_or(-1, |(_, generation)| *generation),
            member_id: member.map_or("", |(id, _)| id),
            retention_time_ms: if group_id == LIMITED { self.limited_ms } else { -1 },
            topics: vec![topic],
            ..Default::default()
        };
        let will_do = if group_id == LIMITED { NAMES_END } else { BY_NAME };
        connection.send(context, connection.api(context, ApiKey::OffsetCommit, &will_do), &request, true);
    }

    /// The coordinator may not be there yet: what is refused is asked again.
    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) -> Result<(), DecodeError> {
        let decoder = &mut Decoder::new(body);
        let between = self.asked..context.world.now().wall.0;
        match self.task {
            Task::Find(FREE) => self.task = Task::Find(LIMITED),
            Task::Find(LIMITED) => self.task = Task::Find(HELD),
            Task::Find(_) => self.task = Task::Join,
            Task::Join => {
                let response = JoinGroupResponse::decode(decoder, version)?;
                self.take_joined(context, &response);
            }
            Task::Sync => {
                let error = SyncGroupResponse::decode(decoder, version)?.error_code;
                self.task = if error == ErrorCode::None.code() { Task::Commit(HELD) } else { Task::Join };
            }
            Task::Commit(group) => {
                let is_committed = is_committed(&OffsetCommitResponse::decode(decoder, version)?);
                self.take_committed(context, group, is_committed.then_some(between));
            }
            Task::Fetch(group) => {
                if let Some(found) = offset_in(&OffsetFetchResponse::decode(decoder, version)?) {
                    let violation = context.history.aged().found(group, found, between);
                    violation.into_iter().for_each(|violation| context.history.violate(violation));
                }
                self.look_on(context, group);
            }
            Task::CommitAgain => {
                let is_committed = is_committed(&OffsetCommitResponse::decode(decoder, version)?);
                self.go_on(context, is_committed, Task::Delete);
            }
            Task::Delete => {
                let response = DeleteTopicsResponse::decode(decoder, version)?;
                let error = response.responses.first().map_or(-1, |topic| topic.error_code);
                if error != ErrorCode::None.code() {
                    let (name, error) = (OFFSETS_TOPIC.to_owned(), ErrorCode::from_code(error));
                    context.history.violate(Violation::NotDone { name, error });
                }
                self.task = Task::FindAgain;
            }
            Task::FindAgain => self.task = Task::FetchGone,
            Task::FetchGone => {
                let found = offset_in(&OffsetFetchResponse::decode(decoder, version)?);
                if let Some(offset) = found.filter(|found| *found != NO_OFFSET) {
                    let name = OFFSETS_TOPIC.to_owned();
                    context.history.violate(Violation::FormerRecord { name, offset });
                }
                self.is_done = found.is_some();
                self.link.retry(context);
                self.task = Task::FindAgain;
            }
            Task::Leave => {
                let response = LeaveGroupResponse::decode(decoder, version)?;
                if response.error_code == ErrorCode::None.code() {
                    context.history.aged().let_go(HELD, between);
                }
                self.look_on(context, HELD);
            }
        }
        Ok(())
    }

    fn take_joined(&mut self, context: &mut ClientContext<'_>, response: &JoinGroupResponse<'_>) {
        if response.error_code == ErrorCode::None.code() {
            context.history.aged().holds(response.member_id);
            self.member = Some((response.member_id.to_owned(), response.generation_id));
            self.task = Task::Sync;
        } else {
            self.task = Task::Find(FREE);
            self.link.retry(context);
        }
    }

    /// An offset was committed between these moments, or refused.
    fn take_committed(&mut self, context: &mut ClientContext<'_>, group: &str, between: Option<Range<i64>>) {
        let Some(between) = between else { return self.link.retry(context) };
        let life_ms = if group == LIMITED { self.limited_ms } else { LIFE_MS };
        let since = (group != HELD).then_some(between);
        context.history.aged().committed(group, (OFFSET, life_ms), since);
        match group {
            HELD => self.task = Task::Commit(FREE),
            FREE => self.task = Task::Commit(LIMITED),
            _ => self.is_done = true,
        }
    }

    /// Looks at the next group whose offset may be there, the first of them after a while; a member leaves when all others are long gone.
    fn look_on(&mut self, context: &mut ClientContext<'_>, last: &'static str) {
        let next = [FREE, LIMITED, HELD].into_iter().skip_while(|group| *group != last).skip(1);
        let aged = context.history.aged();
        if let Some(next) = next.into_iter().find(|group| aged.is_any(group)) {
            self.task = Task::Fetch(next);
            return;
        }
        let has_stayed = self.began.is_some_and(|began| context.world.now().wall.0 - began > STAYS_MS);
        let leaves = has_stayed && aged.member().is_some() && last == HELD && self.task != Task::Leave;
        let first = [FREE, LIMITED, HELD].into_iter().find(|group| aged.is_any(group));
        match first {
            Some(_) if leaves => self.task = Task::Leave,
            Some(first) => {
                self.task = Task::Fetch(first);
                let draw = context.world.value(Site::ClientAction, u64::from(self.client));
                self.link.pause(context, draw.between(1, LOOKS_MS_MAX) * MILLISECOND);
            }
            None => self.task = Task::CommitAgain,
        }
    }

    /// The same once more, a little later, unless it is done.
    fn go_on(&mut self, context: &ClientContext<'_>, is_done: bool, next: Task) {
        if is_done {
            self.task = next;
        } else {
            self.link.retry(context);
        }
    }
}

/// Whether the only offset of a request was taken.
fn is_committed(response: &OffsetCommitResponse<'_>) -> bool {
    let partition = response.topics.first().and_then(|topic| topic.partitions.first());
    partition.is_some_and(|partition| partition.error_code == ErrorCode::None.code())
}

/// The only offset that was asked for, if the coordinator could say.
fn offset_in(response: &OffsetFetchResponse<'_>) -> Option<i64> {
    let partition = response.topics.first().and_then(|topic| topic.partitions.first());
    let told = partition.filter(|told| told.error_code == 0 && response.error_code == 0);
    told.map(|told| told.committed_offset)
}

/// What a consumer of one topic joins with.
fn subscription(topic: &str) -> Vec<u8> {
    let length = i16::try_from(topic.len()).unwrap_or(0).to_be_bytes();
    [&[0, 0, 0, 0, 0, 1][..], &length, topic.as_bytes(), &(-1_i32).to_be_bytes()].concat()
}

impl Client for Ager {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if self.is_done {
            self.link.close();
            return None;
        }
        if let Next::Rest(at) = self.link.begin(context, true).next {
            return Some(at);
        }
        loop {
            if let Some(mut connection) = self.link.take_idle(context) {
                self.ask(context, &mut connection);
                self.link.give_back(connection);
            }
            match self.link.pump(context, true) {
                LinkNews::Answer(_, _, version, body) => {
                    if self.take_answer(context, version, &body).is_err() {
                        context.history.violate(Violation::UnreadableAnswer { client: self.client });
                    }
                    if self.is_done {
                        self.link.close();
                        return None;
                    }
                }
                LinkNews::Rest(at) => return at,
                LinkNews::Lost(at) => return Some(at),
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
        format!("ager {} is at {:?}", self.client, self.task)
    }
}
