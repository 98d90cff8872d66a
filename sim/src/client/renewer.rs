//! A client that deletes a topic and makes it anew under the same name, again and again: what the former one held never comes back, be it by its name or by its
//! id, and what was acknowledged in the present one is there.
//!
//! One request at a time. A name of which the answer to a change was lost is given up, since that change may still come.

use std::collections::{BTreeMap, BTreeSet};

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::create_topics::{CreatableTopic, CreateTopicsRequest, CreateTopicsResponse};
use klamm::protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse};
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use klamm::protocol::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message, RecordsField};
use klamm::record::{BatchIterator, RecordBatchBuilder};
use klamm::types::TopicId;

use super::dialogue::Dialogue;
use super::link::Link;
use super::versions::ANY;
use super::{ClientConnection, ClientContext, Habits, Value};
use crate::checker::Violation;
use crate::keyed::Site;

/// The versions of Produce and Fetch that name topics by their names, and those that do so by their ids.
const BY_NAME: std::ops::RangeInclusive<i16> = 0..=12;
const BY_ID: std::ops::RangeInclusive<i16> = 13..=i16::MAX;
/// The version of CreateTopics that tells the new topic's id.
const TELLS_ID: std::ops::RangeInclusive<i16> = 7..=7;
const BYTES_MAX: i32 = 1 << 20;
const TIMEOUT_MS: i32 = 300_000;
const PACE_NS_MAX: u64 = 10_000_000;

/// What one renewer is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RenewerProfile {
    pub(crate) client: u32,
    /// Topics that it makes.
    pub(crate) rounds: u32,
    pub(crate) habits: Habits,
}

/// What it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Create,
    Produce(Value),
    /// The records from this offset on.
    Read(i64),
    Delete,
    /// What is there under the id of the topic before.
    ReadFormer,
}

/// The client.
pub(crate) struct Renewer {
    profile: RenewerProfile,
    link: Link,
    task: Task,
    /// A request has no answer yet.
    is_open: bool,
    /// Counts the names.
    name: u32,
    id: Option<TopicId>,
    former_id: Option<TopicId>,
    /// What was acknowledged in the present topic, by offset.
    acknowledged: BTreeMap<i64, Value>,
    /// What was read so far, by offset.
    found: BTreeMap<i64, Option<Value>>,
    /// What may turn up in any topic of this name.
    unknown: BTreeSet<Value>,
    next_value: u32,
    rounds_left: u32,
}

impl Renewer {
    pub(crate) fn new(profile: RenewerProfile) -> Renewer {
        Renewer {
            profile,
            link: Link::new(profile.client, profile.habits),
            task: Task::Create,
            is_open: false,
            name: 0,
            id: None,
            former_id: None,
            acknowledged: BTreeMap::new(),
            found: BTreeMap::new(),
            unknown: BTreeSet::new(),
            next_value: 0,
            rounds_left: profile.rounds,
        }
    }

    fn topic(&self) -> String {
        format!("renewed-{}-{}", self.profile.client, self.name)
    }

    fn ask_records(
        &self,
        context: &ClientContext<'_>,
        connection: &mut ClientConnection,
        (topic, topic_id, fetch_offset): (&str, TopicId, i64),
        will_do: &std::ops::RangeInclusive<i16>,
    ) {
        let partitions = vec![FetchPartition { fetch_offset, partition_max_bytes: BYTES_MAX, ..Default::default() }];
        let topics = vec![FetchTopic { topic, topic_id, partitions }];
        let request = FetchRequest { max_bytes: BYTES_MAX, session_epoch: -1, topics, ..Default::default() };
        connection.send(context, connection.api(context, ApiKey::Fetch, will_do), &request, true);
    }

    /// One answer brings the records of one segment at most: it reads on up to the high watermark, and judges then.
    fn take_records(&mut self, context: &mut ClientContext<'_>, response: &FetchResponse<'_>) {
        let Task::Read(from) = self.task else { return };
        if from == 0 {
            self.found.clear();
        }
        let data = response.responses.first().and_then(|topic| topic.partitions.first());
        let data = data.filter(|data| data.error_code == ErrorCode::None.code());
        let Some((data, RecordsField::Bytes(records))) = data.map(|data| (data, data.records)) else {
            return self.go_on(context);
        };
        let mut next = from;
        for batch in BatchIterator::new(records).map_while(Result::ok) {
            for record in batch.records_in(batch.body()).map_while(Result::ok) {
                self.found.insert(record.offset.0, record.value.and_then(Value::from_bytes));
            }
            next = batch.next_offset().0;
        }
        if next > from && next < data.high_watermark {
            self.task = Task::Read(next);
            return;
        }
        if next >= data.high_watermark {
            self.check_records(context);
        }
        self.go_on(context);
    }

    /// What is read is of this topic, and what was acknowledged in it is read.
    fn check_records(&self, context: &mut ClientContext<'_>) {
        let found = &self.found;
        let is_own = |(offset, value): (&i64, &Option<Value>)| {
            value.is_some_and(|value| self.acknowledged.get(offset) == Some(&value) || self.unknown.contains(&value))
        };
        let foreign = found.iter().find(|entry| !is_own(*entry)).map(|(offset, _)| *offset);
        let lost = self.acknowledged.keys().find(|offset| !found.contains_key(offset)).copied();
        let name = self.topic();
        match (foreign, lost) {
            (Some(offset), _) => context.history.violate(Violation::FormerRecord { name, offset }),
            (None, Some(offset)) => context.history.violate(Violation::RenewedLost { name, offset }),
            (None, None) => {}
        }
    }

    fn give_name_up(&mut self, context: &ClientContext<'_>) {
        self.name += 1;
        (self.id, self.former_id) = (None, None);
        self.acknowledged.clear();
        self.unknown.clear();
        self.task = Task::Create;
        self.link.retry(context);
    }

    /// What comes next in the topic that is there.
    fn go_on(&mut self, context: &ClientContext<'_>) {
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        self.link.pause(context, draw.part(0).between(1, PACE_NS_MAX));
        self.task = match draw.part(1).below(8) {
            0..3 => {
                self.next_value += 1;
                Task::Produce(Value { client: self.profile.client, sequence: self.next_value })
            }
            3 if self.former_id.is_some() => Task::ReadFormer,
            4 | 5 if self.rounds_left > 0 => {
                self.rounds_left -= 1;
                Task::Delete
            }
            _ => Task::Read(0),
        };
    }

    fn answer_lost(&mut self, context: &ClientContext<'_>) {
        match self.task {
            Task::Create | Task::Delete => self.give_name_up(context),
            Task::Produce(value) => {
                self.unknown.insert(value);
                self.task = Task::Read(0);
            }
            Task::Read(_) => self.task = Task::Read(0),
            Task::ReadFormer => {}
        }
    }
}

impl Dialogue for Renewer {
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
        self.is_open = true;
        let name = self.topic();
        match self.task {
            Task::Create => {
                let topic =
                    CreatableTopic { name: &name, num_partitions: 1, replication_factor: 1, ..Default::default() };
                let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: TIMEOUT_MS, ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::CreateTopics, &TELLS_ID), &request, true);
            }
            Task::Produce(value) => {
                let mut builder = RecordBatchBuilder::new();
                let bytes = value.to_bytes();
                builder.append(context.world.now().wall.0, None, Some(&bytes)).expect("a small batch can be built");
                let bytes = builder.build().expect("a small batch can be built");
                let partition_data = vec![PartitionProduceData { index: 0, records: RecordsField::Bytes(&bytes) }];
                let topic = TopicProduceData { name: &name, partition_data, ..Default::default() };
                let request =
                    ProduceRequest { acks: -1, timeout_ms: TIMEOUT_MS, topic_data: vec![topic], ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::Produce, &BY_NAME), &request, true);
            }
            Task::Read(from) => self.ask_records(context, connection, (&name, TopicId::ZERO, from), &BY_NAME),
            Task::ReadFormer => {
                self.ask_records(context, connection, ("", self.former_id.unwrap_or_default(), 0), &BY_ID);
            }
            Task::Delete => {
                // As old versions name it and as new ones do: which is written, the version decides.
                let topics = vec![DeleteTopicState { name: Some(&name), ..Default::default() }];
                let request = DeleteTopicsRequest { topics, topic_names: vec![&name], timeout_ms: TIMEOUT_MS };
                connection.send(context, connection.api(context, ApiKey::DeleteTopics, &ANY), &request, true);
            }
        }
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) -> Result<(), DecodeError> {
        self.is_open = false;
        let decoder = &mut Decoder::new(body);
        match self.task {
            Task::Create => {
                let response = CreateTopicsResponse::decode(decoder, version)?;
                let topic = response.topics.first().filter(|topic| topic.error_code == ErrorCode::None.code());
                self.id = topic.map(|topic| topic.topic_id);
                self.acknowledged.clear();
                if self.id.is_some() { self.go_on(context) } else { self.give_name_up(context) }
            }
            Task::Produce(value) => {
                let response = ProduceResponse::decode(decoder, version)?;
                let outcome = response.responses.first().and_then(|topic| topic.partition_responses.first());
                match outcome.filter(|outcome| outcome.error_code == ErrorCode::None.code()) {
                    Some(outcome) => drop(self.acknowledged.insert(outcome.base_offset, value)),
                    None => drop(self.unknown.insert(value)),
                }
                self.go_on(context);
            }
            Task::Read(_) => self.take_records(context, &FetchResponse::decode(decoder, version)?),
            Task::Delete => {
                let response = DeleteTopicsResponse::decode(decoder, version)?;
                let error = response.responses.first().map_or(-1, |topic| topic.error_code);
                if error == ErrorCode::None.code() {
                    self.former_id = self.id.take();
                    self.task = Task::ReadFormer;
                } else {
                    self.give_name_up(context);
                }
            }
            Task::ReadFormer => {
                let response = FetchResponse::decode(decoder, version)?;
                let data = response.responses.first().and_then(|topic| topic.partitions.first());
                if response.error_code == 0 && data.is_some_and(|data| data.error_code == ErrorCode::None.code()) {
                    context.history.violate(Violation::FormerTopicServed { name: self.topic() });
                }
                self.task = if self.id.is_some() { Task::Read(0) } else { Task::Create };
            }
        }
        Ok(())
    }

    fn connection_lost(&mut self, context: &mut ClientContext<'_>) {
        if std::mem::take(&mut self.is_open) {
            self.answer_lost(context);
        }
    }

    fn is_at(&self) -> String {
        format!("renewer {} is at {:?} of {}", self.profile.client, self.task, self.topic())
    }
}
