//! A client that keeps several fetch sessions (KIP-227), and now and then says what does not fit: another epoch, another session, other names.
//!
//! One request at a time, so that it knows where each session stands. It must not know what is in the records.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message};
use klamm::types::TopicId;

use super::dialogue::Dialogue;
use super::link::Link;
use super::{ClientConnection, ClientContext, Habits};
use crate::checker::Violation;
use crate::keyed::{Draw, Site};

/// The versions of Fetch that have sessions and name topics by their names, and those that do so by their ids.
const BY_NAME: RangeInclusive<i16> = 7..=12;
const BY_ID: RangeInclusive<i16> = 13..=i16::MAX;
/// The versions of Metadata that tell the id of a topic.
const TELLS_ID: RangeInclusive<i16> = 10..=i16::MAX;
const INITIAL_EPOCH: i32 = 0;
const FINAL_EPOCH: i32 = -1;
const SESSIONS_MAX: usize = 4;
const BYTES_MAX: i32 = 5_000;
const PACE_NS_MAX: u64 = 10_000_000;

/// What one keeper is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionKeeperProfile {
    pub(crate) client: u32,
    /// Requests.
    pub(crate) rounds: u32,
    pub(crate) habits: Habits,
}

/// A session that it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Session {
    id: i32,
    next_epoch: i32,
    uses_topic_ids: bool,
    partitions: BTreeSet<i32>,
    /// The start of the broker that has given it.
    boot: u32,
}

/// How it uses a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Rightly,
    WithOtherEpoch,
    WithOtherId,
    WithOtherNames,
    /// It does not want this partition any more.
    Forgetting(i32),
    Closing,
}

/// What it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Metadata,
    Open { uses_topic_ids: bool },
    Use { place: usize, how: Use },
}

/// The client.
pub(crate) struct SessionKeeper {
    profile: SessionKeeperProfile,
    topic: &'static str,
    topic_id: TopicId,
    link: Link,
    task: Task,
    partitions: Vec<i32>,
    sessions: Vec<Session>,
    asked_in: u32,
    rounds_left: u32,
}

impl SessionKeeper {
    pub(crate) fn new(profile: SessionKeeperProfile, topic: &'static str) -> SessionKeeper {
        SessionKeeper {
            profile,
            topic,
            topic_id: TopicId::default(),
            link: Link::new(profile.client, profile.habits),
            task: Task::Metadata,
            partitions: Vec::new(),
            sessions: Vec::new(),
            asked_in: 0,
            rounds_left: profile.rounds,
        }
    }

    /// Fetches these partitions, each from this offset on, and forgets one, in the session that is named.
    fn fetch(
        &self,
        context: &ClientContext<'_>,
        connection: &mut ClientConnection,
        (session_id, session_epoch): (i32, i32),
        versions: &RangeInclusive<i16>,
        (partitions, forgotten): (Vec<FetchPartition>, Option<i32>),
    ) {
        let (topic, topic_id) = (self.topic, self.topic_id);
        let topics = if partitions.is_empty() { Vec::new() } else { vec![FetchTopic { topic, topic_id, partitions }] };
        let forget = |partition| ForgottenTopic { topic, topic_id, partitions: vec![partition] };
        let request = FetchRequest {
            max_bytes: BYTES_MAX,
            session_id,
            session_epoch,
            topics,
            forgotten_topics_data: forgotten.map(forget).into_iter().collect(),
            ..Default::default()
        };
        connection.send(context, connection.api(context, ApiKey::Fetch, versions), &request, true);
    }

    fn ask_in_session(
        &self,
        context: &ClientContext<'_>,
        connection: &mut ClientConnection,
        session: &Session,
        how: Use,
    ) {
        let epoch = match how {
            Use::WithOtherEpoch => session.next_epoch.wrapping_add(1),
            Use::Closing => FINAL_EPOCH,
            Use::Rightly | Use::WithOtherId | Use::WithOtherNames | Use::Forgetting(_) => session.next_epoch,
        };
        let id = if how == Use::WithOtherId { session.id ^ 1 } else { session.id };
        let uses_topic_ids = session.uses_topic_ids != (how == Use::WithOtherNames);
        let forgotten = if let Use::Forgetting(partition) = how { Some(partition) } else { None };
        let versions = if uses_topic_ids { BY_ID } else { BY_NAME };
        self.fetch(context, connection, (id, epoch), &versions, (Vec::new(), forgotten));
    }

    fn take_opened(&mut self, context: &ClientContext<'_>, uses_topic_ids: bool, response: &FetchResponse<'_>) {
        let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
        let partitions: BTreeSet<i32> = partitions.map(|partition| partition.partition_index).collect();
        if response.error_code == ErrorCode::None.code() && response.session_id != 0 && self.asked_in == context.boot {
            let (id, boot) = (response.session_id, self.asked_in);
            self.sessions.push(Session { id, next_epoch: 1, uses_topic_ids, partitions, boot });
        }
    }

    /// What a session says to a request is determined, as long as its broker runs.
    fn take_from_session(
        &mut self,
        context: &mut ClientContext<'_>,
        (place, how): (usize, Use),
        response: &FetchResponse<'_>,
    ) {
        let Some(session) = self.sessions.get_mut(place) else { return };
        if session.boot != context.boot || self.asked_in != context.boot {
            self.sessions.clear();
            return;
        }
        let expected = match how {
            Use::Rightly | Use::Forgetting(_) | Use::Closing => ErrorCode::None,
            Use::WithOtherEpoch => ErrorCode::InvalidFetchSessionEpoch,
            Use::WithOtherId => ErrorCode::FetchSessionIdNotFound,
            Use::WithOtherNames => ErrorCode::FetchSessionTopicIdError,
        };
        let (client, found) = (self.profile.client, ErrorCode::from_code(response.error_code));
        if found != expected {
            return context.history.violate(Violation::SessionOtherwise { client, expected, found });
        }
        if found != ErrorCode::None || how == Use::Closing {
            // One that is closed is used once more, to hear that it is.
            if how == Use::Closing {
                self.sessions.remove(place);
            }
            return;
        }
        session.next_epoch += 1;
        if let Use::Forgetting(partition) = how {
            session.partitions.remove(&partition);
        }
        let mut told = response.responses.iter().flat_map(|topic| &topic.partitions);
        if let Some(partition) = told.find(|told| !session.partitions.contains(&told.partition_index)) {
            let partition = partition.partition_index;
            context.history.violate(Violation::ForgottenTold { client, partition });
        }
        if session.partitions.is_empty() {
            self.sessions.remove(place);
        }
    }

    /// What it does next.
    fn go_on(&mut self, context: &ClientContext<'_>) {
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        self.link.pause(context, draw.part(0).between(1, PACE_NS_MAX));
        if self.rounds_left == 0 {
            return self.link.leave();
        }
        self.rounds_left -= 1;
        self.task = self.choose(draw);
    }

    fn choose(&self, draw: Draw) -> Task {
        let count = u64::try_from(self.sessions.len()).unwrap_or(0);
        let place = usize::try_from(draw.part(1).below(count.max(1))).unwrap_or(0);
        match (draw.part(2).below(10), self.sessions.get(place)) {
            (0, _) => Task::Metadata,
            (1..4, _) if self.sessions.len() < SESSIONS_MAX => {
                Task::Open { uses_topic_ids: draw.part(3).below(2) == 0 }
            }
            (_, Some(session)) => Task::Use { place, how: how_to_use(session, draw) },
            (_, None) => Task::Open { uses_topic_ids: draw.part(3).below(2) == 0 },
        }
    }
}

fn how_to_use(session: &Session, draw: Draw) -> Use {
    match draw.part(5).below(12) {
        0 => Use::WithOtherEpoch,
        1 => Use::WithOtherId,
        2 => Use::WithOtherNames,
        3 => Use::Closing,
        4 | 5 => session.partitions.first().map_or(Use::Rightly, |partition| Use::Forgetting(*partition)),
        _ => Use::Rightly,
    }
}

fn wanted(partition: i32) -> FetchPartition {
    FetchPartition { partition, partition_max_bytes: BYTES_MAX, ..Default::default() }
}

impl Dialogue for SessionKeeper {
    fn link(&self) -> &Link {
        &self.link
    }

    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }

    fn stays_when_calm(&self) -> bool {
        false
    }

    fn ask(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        self.asked_in = context.boot;
        match self.task {
            Task::Metadata => {
                let topics = Some(vec![MetadataRequestTopic { name: Some(self.topic), ..Default::default() }]);
                let request = MetadataRequest { topics, allow_auto_topic_creation: true, ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::Metadata, &TELLS_ID), &request, true);
            }
            Task::Open { uses_topic_ids } => {
                let versions = if uses_topic_ids { BY_ID } else { BY_NAME };
                let all = self.partitions.iter().map(|partition| wanted(*partition)).collect();
                self.fetch(context, connection, (0, INITIAL_EPOCH), &versions, (all, None));
            }
            Task::Use { place, how } => match self.sessions.get(place) {
                Some(session) => self.ask_in_session(context, connection, session, how),
                None => self.fetch(context, connection, (0, FINAL_EPOCH), &BY_NAME, (Vec::new(), None)),
            },
        }
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) -> Result<(), DecodeError> {
        let decoder = &mut Decoder::new(body);
        match self.task {
            Task::Metadata => {
                let response = MetadataResponse::decode(decoder, version)?;
                let topic = response.topics.iter().find(|topic| topic.error_code == ErrorCode::None.code());
                let Some(topic) = topic else {
                    self.link.retry(context);
                    return Ok(());
                };
                self.topic_id = topic.topic_id;
                let partitions = topic.partitions.iter();
                self.partitions = partitions.map(|partition| partition.partition_index).collect();
                self.go_on(context);
            }
            Task::Open { uses_topic_ids } => {
                self.take_opened(context, uses_topic_ids, &FetchResponse::decode(decoder, version)?);
                self.go_on(context);
            }
            Task::Use { place, how } => {
                self.take_from_session(context, (place, how), &FetchResponse::decode(decoder, version)?);
                self.go_on(context);
            }
        }
        Ok(())
    }

    /// Whether a request in a session was heard nobody knows.
    fn connection_lost(&mut self, _: &mut ClientContext<'_>) {
        self.sessions.clear();
        self.task = Task::Metadata;
    }

    fn is_at(&self) -> String {
        format!("session keeper {} is at {:?}", self.profile.client, self.task)
    }
}
