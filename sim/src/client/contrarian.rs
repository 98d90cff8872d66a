//! A producer that is wrong on purpose: each of its batches has one fault, and it knows the error that Kafka answers. Sound batches come between, so that what
//! lies in its topics is known to the record.
//!
//! One request at a time. Topics of which the answer to their creation was lost are given up. It must not know what a fault looks like on the wire.

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::create_topics::{
    CreatableTopic, CreatableTopicConfig, CreateTopicsRequest, CreateTopicsResponse,
};
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use klamm::protocol::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message, RecordsField};
use klamm::record::BatchIterator;
use klamm::types::{Instant, TopicId};

use super::contrary::{Contrary, MESSAGE_BYTES_MAX, OFF_MS_MAX, sound};
use super::link::{Link, LinkNews, Next};
use super::{Client, ClientConnection, ClientContext, Habits, Value};
use crate::checker::{RefusedBatches, Violation, refused};
use crate::keyed::{Draw, Site};

const BY_NAME: std::ops::RangeInclusive<i16> = 0..=12;
/// The version of CreateTopics that tells the new topic's id.
const TELLS_ID: std::ops::RangeInclusive<i16> = 7..=7;
const BYTES_MAX: i32 = 1 << 20;
const TIMEOUT_MS: i32 = 300_000;
const PACE_NS_MAX: u64 = 10_000_000;
/// The topics: one whose times are the producer's, and one whose times are the broker's.
const TOPICS: usize = 2;
const OF_BROKER: usize = 1;

/// What one contrarian is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContrarianProfile {
    pub(crate) client: u32,
    /// Batches that are wrong.
    pub(crate) rounds: u32,
    pub(crate) habits: Habits,
}

/// What it asks; a topic is told by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Create,
    Sound(usize, Value),
    Contrary(usize, Contrary, i16),
    /// The records from this offset on.
    Read(usize, i64),
}

/// The client.
pub(crate) struct Contrarian {
    profile: ContrarianProfile,
    link: Link,
    task: Task,
    /// Counts the names.
    name: u32,
    ids: [TopicId; TOPICS],
    batches: [RefusedBatches; TOPICS],
    /// The connection on which a batch was refused that wanted no acknowledgement: nothing comes on it any more.
    doomed: Option<u64>,
    next_value: u32,
    rounds_left: u32,
    is_done: bool,
}

impl Contrarian {
    pub(crate) fn new(profile: ContrarianProfile) -> Contrarian {
        Contrarian {
            profile,
            link: Link::new(profile.client, profile.habits),
            task: Task::Create,
            name: 0,
            ids: [TopicId::ZERO; TOPICS],
            batches: Default::default(),
            doomed: None,
            next_value: 0,
            rounds_left: profile.rounds,
            is_done: false,
        }
    }

    fn topic(&self, place: usize) -> String {
        format!("contrary-{}-{}-{place}", self.profile.client, self.name)
    }

    fn ask(&mut self, context: &ClientContext<'_>, connection: &mut ClientConnection) {
        match self.task {
            Task::Create => self.ask_create(context, connection),
            Task::Sound(place, value) => {
                let records = sound(value, context.world.now().wall.0);
                let name = self.topic(place);
                self.ask_produce(context, connection, (&name, self.ids[place], 0), &records, (-1, None));
            }
            Task::Contrary(place, contrary, acks) => {
                self.next_value += 1;
                let value = Value { client: self.profile.client, sequence: self.next_value };
                let records = contrary.records(value, context.world.now().wall);
                let (name, id) = (self.topic(place), self.ids[place]);
                let (name, id, index) = match contrary {
                    Contrary::NoTopic => ("nothing", id, 0),
                    Contrary::BadName => ("a b", id, 0),
                    Contrary::NoId => (name.as_str(), TopicId([9; 16]), 0),
                    Contrary::NoPartition => (name.as_str(), id, 7),
                    _ => (name.as_str(), id, 0),
                };
                self.ask_produce(context, connection, (name, id, index), &records, (acks, Some(contrary)));
                if acks == 0 {
                    // Nothing is answered any more, whatever is asked behind it.
                    connection.may_be_closed();
                    self.doomed = Some(connection.identity());
                    self.task = Task::Read(place, 0);
                    self.ask(context, connection);
                }
            }
            Task::Read(place, fetch_offset) => {
                let partition = FetchPartition { fetch_offset, partition_max_bytes: BYTES_MAX, ..Default::default() };
                let name = self.topic(place);
                let topics = vec![FetchTopic { topic: &name, partitions: vec![partition], ..Default::default() }];
                let request = FetchRequest { max_bytes: BYTES_MAX, session_epoch: -1, topics, ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::Fetch, &BY_NAME), &request, true);
            }
        }
    }

    fn ask_create(&self, context: &ClientContext<'_>, connection: &mut ClientConnection) {
        let (bytes_max, off_ms_max) = (MESSAGE_BYTES_MAX.to_string(), OFF_MS_MAX.to_string());
        let with = |name, value| CreatableTopicConfig { name, value: Some(value) };
        let of_producer = vec![
            with("max.message.bytes", bytes_max.as_str()),
            with("cleanup.policy", "compact"),
            with("message.timestamp.before.max.ms", &off_ms_max),
            with("message.timestamp.after.max.ms", &off_ms_max),
        ];
        let of_broker = vec![
            with("max.message.bytes", &bytes_max),
            with("message.timestamp.type", "LogAppendTime"),
            with("compression.type", "uncompressed"),
        ];
        let names = [self.topic(0), self.topic(1)];
        let topics = names.iter().zip([of_producer, of_broker]).map(|(name, configs)| CreatableTopic {
            name,
            num_partitions: 1,
            replication_factor: 1,
            configs,
            ..Default::default()
        });
        let request = CreateTopicsRequest { topics: topics.collect(), timeout_ms: TIMEOUT_MS, ..Default::default() };
        connection.send(context, connection.api(context, ApiKey::CreateTopics, &TELLS_ID), &request, true);
    }

    fn ask_produce(
        &self,
        context: &ClientContext<'_>,
        connection: &mut ClientConnection,
        (name, topic_id, index): (&str, TopicId, i32),
        records: &[u8],
        (acks, contrary): (i16, Option<Contrary>),
    ) {
        let partition_data = vec![PartitionProduceData { index, records: RecordsField::Bytes(records) }];
        let topic_data = vec![TopicProduceData { name, topic_id, partition_data }];
        let request = ProduceRequest { acks, timeout_ms: TIMEOUT_MS, topic_data, ..Default::default() };
        let will_do = contrary.map_or(ApiKey::Produce.versions(), Contrary::versions);
        let api = connection.api(context, ApiKey::Produce, &will_do);
        connection.send(context, api, &request, acks != 0);
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) -> Result<(), DecodeError> {
        let decoder = &mut Decoder::new(body);
        if self.doomed.is_some() && self.doomed == self.link.identity() {
            context.history.violate(Violation::RefusalUnheard { client: self.profile.client });
        }
        match self.task {
            Task::Create => {
                let response = CreateTopicsResponse::decode(decoder, version)?;
                let there = response.topics.iter().filter(|topic| topic.error_code == ErrorCode::None.code());
                let ids: Vec<TopicId> = there.map(|topic| topic.topic_id).collect();
                match <[TopicId; TOPICS]>::try_from(ids) {
                    Ok(ids) => self.ids = ids,
                    Err(_) => {
                        self.give_names_up(context);
                        return Ok(());
                    }
                }
            }
            Task::Sound(place, value) => {
                let response = ProduceResponse::decode(decoder, version)?;
                let (error, offset) = outcome(&response);
                match error {
                    ErrorCode::None => self.batches[place].accepted(offset, value),
                    _ => self.batches[place].unknown(value),
                }
                if error != ErrorCode::None && context.is_disk_sound {
                    context.history.violate(Violation::NotDone { name: self.topic(place), error });
                }
            }
            Task::Contrary(_, contrary, _) => {
                let (error, _) = outcome(&ProduceResponse::decode(decoder, version)?);
                // Where the partition has no log for now, nobody looks at the batch.
                let is_excused = error == ErrorCode::KafkaStorageError && !context.is_disk_sound;
                let violation = refused(format!("{contrary:?}"), contrary.error(), error).filter(|_| !is_excused);
                violation.into_iter().for_each(|violation| context.history.violate(violation));
            }
            Task::Read(place, from) => {
                let response = FetchResponse::decode(decoder, version)?;
                if let Some(next) = self.take_records(context, (place, from), &response) {
                    self.task = Task::Read(place, next);
                    return Ok(());
                }
            }
        }
        self.go_on(context);
        Ok(())
    }

    /// One answer brings the records of one segment at most: says where to read on, or judges at the high watermark.
    fn take_records(
        &mut self,
        context: &mut ClientContext<'_>,
        (place, from): (usize, i64),
        response: &FetchResponse<'_>,
    ) -> Option<i64> {
        let data = response.responses.first().and_then(|topic| topic.partitions.first())?;
        let (ErrorCode::None, RecordsField::Bytes(records)) = (ErrorCode::from_code(data.error_code), data.records)
        else {
            return None;
        };
        let name = self.topic(place);
        let batches = &mut self.batches[place];
        if from == 0 {
            batches.begin_reading();
        }
        let mut next = from;
        for batch in BatchIterator::new(records).map_while(Result::ok) {
            for record in batch.records_in(batch.body()).map_while(Result::ok) {
                batches.found(record.offset.0, record.value.and_then(Value::from_bytes));
            }
            next = batch.next_offset().0;
        }
        if next > from && next < data.high_watermark {
            return Some(next);
        }
        let violation = batches.verdict(&name).filter(|_| next >= data.high_watermark);
        violation.into_iter().for_each(|violation| context.history.violate(violation));
        None
    }

    fn give_names_up(&mut self, context: &ClientContext<'_>) {
        self.name += 1;
        self.batches = Default::default();
        self.task = Task::Create;
        self.is_done |= context.is_calm;
        self.link.retry(context);
    }

    /// What was sound may be there; what was not is not, whoever heard of it.
    fn connection_lost(&mut self, context: &ClientContext<'_>) {
        match self.task {
            Task::Create => self.give_names_up(context),
            Task::Sound(place, value) => {
                self.batches[place].unknown(value);
                self.task = Task::Read(place, 0);
            }
            Task::Contrary(place, ..) | Task::Read(place, _) => self.task = Task::Read(place, 0),
        }
    }

    /// What comes next in one of the topics.
    fn go_on(&mut self, context: &ClientContext<'_>) {
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        self.link.pause(context, draw.part(0).between(1, PACE_NS_MAX));
        let place = usize::try_from(draw.part(1).below(TOPICS as u64)).unwrap_or(0);
        self.task = Task::Read(place, 0);
        self.is_done |= self.rounds_left == 0;
        match draw.part(2).below(8) {
            0 => {}
            1 => {
                self.next_value += 1;
                self.task = Task::Sound(place, Value { client: self.profile.client, sequence: self.next_value });
            }
            _ => {
                self.rounds_left = self.rounds_left.saturating_sub(1);
                self.task = contrary(draw.part(3), place);
            }
        }
    }
}

/// Something that this topic refuses, most often with an acknowledgement.
fn contrary(draw: Draw, place: usize) -> Task {
    let refused: Vec<Contrary> =
        Contrary::ALL.into_iter().filter(|contrary| contrary.is_refused_by(place == OF_BROKER)).collect();
    let contrary = refused[usize::try_from(draw.below(refused.len() as u64)).unwrap_or(0)];
    let acks = if contrary == Contrary::Acks { 2 } else { [-1, -1, -1, 1, 1, 0][draw.part(0).below(6) as usize] };
    Task::Contrary(place, contrary, acks)
}

/// What became of the only batch of a request, and where it lies.
fn outcome(response: &ProduceResponse<'_>) -> (ErrorCode, i64) {
    let told = response.responses.first().and_then(|topic| topic.partition_responses.first());
    told.map_or((ErrorCode::UnknownServerError, -1), |told| (ErrorCode::from_code(told.error_code), told.base_offset))
}

impl Client for Contrarian {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if self.is_done {
            self.link.close();
            return None;
        }
        let has_open = self.link.outstanding() > 0;
        let beginning = self.link.begin(context, false);
        if beginning.was_lost && has_open {
            self.connection_lost(context);
        }
        if let Next::Rest(at) = beginning.next {
            return Some(at);
        }
        loop {
            if let Some(mut connection) = self.link.take_idle(context) {
                self.ask(context, &mut connection);
                self.link.give_back(connection);
            }
            let has_open = self.link.outstanding() > 0;
            match self.link.pump(context, false) {
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
                    if has_open {
                        self.connection_lost(context);
                    }
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
        format!("contrarian {} is at {:?}", self.profile.client, self.task)
    }
}
