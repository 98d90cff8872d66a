//! A client that writes more into a topic than may be kept: by size, or with times that are long past. It looks what is left, and in the end whether enough has gone.
//!
//! One request at a time. A topic whose creation was not confirmed is given up, and so is one that a restart of the broker has outlived: in a topic with few records it is
//! seen best whether old ones go. It comes only where old records are looked for often. It must not know how long a segment is kept for its own sake: the
//! history does.

use std::collections::BTreeMap;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::create_topics::{
    CreatableTopic, CreatableTopicConfig, CreateTopicsRequest, CreateTopicsResponse,
};
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use klamm::protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use klamm::protocol::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message, RecordsField};
use klamm::record::{BatchIterator, RecordBatchBuilder};
use klamm::types::Instant;

use super::link::{Link, LinkNews, Next};
use super::versions::ANY;
use super::{Client, ClientConnection, ClientContext, Habits, Value};
use crate::checker::{Found, RetainedRecords, Retention, Violation};
use crate::keyed::Site;

const BY_NAME: std::ops::RangeInclusive<i16> = 0..=12;
const EARLIEST: i64 = -2;
const BYTES_MAX: i32 = 1 << 20;
const TIMEOUT_MS: i32 = 300_000;
const PACE_NS_MAX: u64 = 15_000_000;
/// What is old is looked for ten times in so much time.
const SETTLE_NS: u64 = 1_000_000_000;
const DAY_MS: i64 = 86_400_000;
/// How long records are kept: longer than the wall clock is ever off. Old ones are older by far.
const KEPT_MS: i64 = 10 * DAY_MS;
const OLD_MS: i64 = 100 * DAY_MS;
const SEGMENT_BYTES: u64 = 1_000;
const KEPT_BYTES: u64 = 2_000;

/// What one hoarder is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HoarderProfile {
    pub(crate) client: u32,
    /// Records.
    pub(crate) rounds: u32,
    pub(crate) by_age: bool,
    pub(crate) habits: Habits,
}

/// What it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Create,
    Produce(Value, i64),
    /// Where the log begins.
    Start,
    /// The records from this offset on.
    Read(i64),
}

/// The client.
pub(crate) struct Hoarder {
    profile: HoarderProfile,
    link: Link,
    task: Task,
    /// Counts the names.
    name: u32,
    records: RetainedRecords,
    /// The start of the broker in which the topic was made.
    made_in: u32,
    start: i64,
    found: Found,
    next_value: u32,
    rounds_left: u32,
    /// Nothing is written any more, and all has had its time.
    has_settled: bool,
    is_done: bool,
}

fn nothing_kept(profile: HoarderProfile) -> RetainedRecords {
    let retention = if profile.by_age { Retention::Young } else { Retention::Bytes(KEPT_BYTES) };
    RetainedRecords::new(retention, SEGMENT_BYTES)
}

impl Hoarder {
    pub(crate) fn new(profile: HoarderProfile) -> Hoarder {
        Hoarder {
            profile,
            link: Link::new(profile.client, profile.habits),
            task: Task::Create,
            name: 0,
            records: nothing_kept(profile),
            made_in: 0,
            start: 0,
            found: BTreeMap::new(),
            next_value: 0,
            rounds_left: profile.rounds,
            has_settled: false,
            is_done: false,
        }
    }

    fn topic(&self) -> String {
        format!("hoarded-{}-{}", self.profile.client, self.name)
    }

    fn ask(&mut self, context: &ClientContext<'_>, connection: &mut ClientConnection) {
        let name = self.topic();
        match self.task {
            Task::Create => {
                self.made_in = context.boot;
                self.ask_create(context, connection);
            }
            Task::Produce(value, timestamp) => {
                self.records.sent(value, timestamp >= context.world.now().wall.0 - KEPT_MS);
                let mut builder = RecordBatchBuilder::new();
                builder.append(timestamp, None, Some(&value.to_bytes())).expect("a small batch can be built");
                let bytes = builder.build().expect("a small batch can be built");
                let partition_data = vec![PartitionProduceData { index: 0, records: RecordsField::Bytes(&bytes) }];
                let topic_data = vec![TopicProduceData { name: &name, partition_data, ..Default::default() }];
                let request = ProduceRequest { acks: -1, timeout_ms: TIMEOUT_MS, topic_data, ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::Produce, &BY_NAME), &request, true);
            }
            Task::Start => {
                let partitions = vec![ListOffsetsPartition { timestamp: EARLIEST, ..Default::default() }];
                let topics = vec![ListOffsetsTopic { name: &name, partitions }];
                let request = ListOffsetsRequest { replica_id: -1, topics, ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::ListOffsets, &ANY), &request, true);
            }
            Task::Read(fetch_offset) => {
                let partition = FetchPartition { fetch_offset, partition_max_bytes: BYTES_MAX, ..Default::default() };
                let topics = vec![FetchTopic { topic: &name, partitions: vec![partition], ..Default::default() }];
                let request = FetchRequest { max_bytes: BYTES_MAX, session_epoch: -1, topics, ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::Fetch, &BY_NAME), &request, true);
            }
        }
    }

    fn ask_create(&self, context: &ClientContext<'_>, connection: &mut ClientConnection) {
        let (segment_bytes, kept_bytes, kept_ms) =
            (SEGMENT_BYTES.to_string(), KEPT_BYTES.to_string(), KEPT_MS.to_string());
        let with = |name, value| CreatableTopicConfig { name, value: Some(value) };
        let kept = if self.profile.by_age {
            with("retention.ms", kept_ms.as_str())
        } else {
            with("retention.bytes", kept_bytes.as_str())
        };
        let name = self.topic();
        let topic = CreatableTopic {
            name: &name,
            num_partitions: 1,
            replication_factor: 1,
            configs: vec![kept, with("internal.segment.bytes", &segment_bytes), with("file.delete.delay.ms", "50")],
            ..Default::default()
        };
        let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: TIMEOUT_MS, ..Default::default() };
        connection.send(context, connection.api(context, ApiKey::CreateTopics, &ANY), &request, true);
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) -> Result<(), DecodeError> {
        let decoder = &mut Decoder::new(body);
        match self.task {
            Task::Create => {
                let response = CreateTopicsResponse::decode(decoder, version)?;
                if response.topics.iter().any(|topic| topic.error_code != ErrorCode::None.code()) {
                    self.give_name_up(context);
                    return Ok(());
                }
                self.go_on(context);
            }
            Task::Produce(value, _) => {
                let response = ProduceResponse::decode(decoder, version)?;
                let told = response.responses.first().and_then(|topic| topic.partition_responses.first());
                if let Some(told) = told.filter(|told| told.error_code == ErrorCode::None.code()) {
                    self.records.acknowledged(told.base_offset, value);
                }
                self.go_on(context);
            }
            Task::Start => {
                let response = ListOffsetsResponse::decode(decoder, version)?;
                let told = response.topics.first().and_then(|topic| topic.partitions.first());
                match told.filter(|told| told.error_code == ErrorCode::None.code()) {
                    Some(told) => {
                        self.start = told.offset;
                        self.found.clear();
                        self.task = Task::Read(self.start);
                    }
                    None => self.go_on(context),
                }
            }
            Task::Read(from) => {
                let response = FetchResponse::decode(decoder, version)?;
                match self.take_records(context, from, &response) {
                    Some(next) => self.task = Task::Read(next),
                    None => self.go_on(context),
                }
            }
        }
        Ok(())
    }

    /// One answer brings the records of one segment at most: says where to read on, or judges at the high watermark.
    fn take_records(
        &mut self,
        context: &mut ClientContext<'_>,
        from: i64,
        response: &FetchResponse<'_>,
    ) -> Option<i64> {
        let data = response.responses.first().and_then(|topic| topic.partitions.first())?;
        let (ErrorCode::None, RecordsField::Bytes(records)) = (ErrorCode::from_code(data.error_code), data.records)
        else {
            return None;
        };
        let mut next = from;
        for batch in BatchIterator::new(records).map_while(Result::ok) {
            let record = batch.records_in(batch.body()).map_while(Result::ok).next();
            let value = record.and_then(|record| record.value).and_then(Value::from_bytes);
            self.found.insert(batch.base_offset().0, (value, batch.total_bytes() as u64));
            next = batch.next_offset().0;
        }
        if next < data.high_watermark {
            return Some(next).filter(|next| *next > from);
        }
        let wrong = self.records.verdict(self.start, &self.found);
        let wrong = wrong.or_else(|| self.records.last_verdict(&self.found).filter(|_| self.has_settled));
        wrong.into_iter().for_each(|wrong| context.history.violate(wrong.of(&self.topic())));
        None
    }

    fn give_name_up(&mut self, context: &ClientContext<'_>) {
        self.begin_anew();
        self.link.retry(context);
        self.is_done |= context.is_calm;
    }

    fn begin_anew(&mut self) {
        self.name += 1;
        self.records = nothing_kept(self.profile);
        (self.task, self.has_settled) = (Task::Create, false);
    }

    /// Another record, most often, or a look. When all is written and faults are over there is a last look, after a while.
    fn go_on(&mut self, context: &ClientContext<'_>) {
        if self.rounds_left == 0 {
            self.is_done |= self.has_settled;
            self.task = Task::Start;
            // A sync that began amid faults may keep the broker from looking for seconds.
            self.has_settled = context.is_calm && !context.world.is_sync_under_way();
            self.link.pause(context, SETTLE_NS);
            return;
        }
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        self.link.pause(context, draw.part(0).between(1, PACE_NS_MAX));
        if draw.part(1).below(6) == 0 {
            self.task = Task::Start;
            return;
        }
        self.rounds_left -= 1;
        self.next_value += 1;
        let now_ms = context.world.now().wall.0;
        let is_old = self.profile.by_age && draw.part(2).below(4) > 0;
        let timestamp = if is_old { now_ms - OLD_MS } else { now_ms };
        self.task = Task::Produce(Value { client: self.profile.client, sequence: self.next_value }, timestamp);
    }

    fn connection_lost(&mut self, context: &ClientContext<'_>) {
        match self.task {
            Task::Create => self.give_name_up(context),
            Task::Produce(..) | Task::Start | Task::Read(_) => self.task = Task::Start,
        }
    }
}

impl Client for Hoarder {
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
        if context.boot != self.made_in && self.task != Task::Create && self.link.outstanding() == 0 {
            self.begin_anew();
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
        format!("hoarder {} is at {:?} of {}", self.profile.client, self.task, self.topic())
    }
}
