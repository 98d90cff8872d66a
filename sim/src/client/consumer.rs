//! A consumer: reads every partition of a topic from its start and notes every record that it sees.
//!
//! It must not know who wrote what; the history compares. When a partition has a new leader epoch it reads from the start again: what it
//! had read may be gone (KIP-320).

use std::collections::BTreeMap;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::protocol::{ApiKey, Decoder, Message, RecordsField};
use klamm::record::BatchIterator;
use klamm::types::{Instant, TopicId};

use super::connection::{earlier, later};
use super::habits::Whim;
use super::{Client, ClientConnection, ClientContext, ConnectionNews, Habits, Value};
use crate::checker::{Seen, Violation};
use crate::keyed::Site;

const METADATA_VERSION: i16 = 12;
const RETRY_NS: u64 = 20_000_000;

/// What one consumer is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConsumerProfile {
    pub(crate) client: u32,
    pub(crate) version: i16,
    pub(crate) wait_ms_max: i32,
    pub(crate) bytes_min: i32,
    pub(crate) habits: Habits,
}

/// Where a consumer stands in a partition.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    offset: i64,
    leader_epoch: i32,
    /// It has read up to the high watermark, as of its last fetch since the run is calm.
    at_end: bool,
    high_watermark: i64,
    log_start: i64,
}

/// A consumer.
pub(crate) struct Consumer {
    profile: ConsumerProfile,
    topic: &'static str,
    topic_id: TopicId,
    connection: Option<ClientConnection>,
    attempt: u32,
    retry_at: Option<Instant>,
    /// Whether this connection has asked for the metadata and got them.
    is_prepared: bool,
    positions: BTreeMap<i32, Position>,
    /// What a loss of unsynced records may take back is forgotten when there was one.
    losses: u32,
    losses_when_asked: u32,
    is_done: bool,
}

impl Consumer {
    pub(crate) fn new(profile: ConsumerProfile, topic: &'static str) -> Consumer {
        Consumer {
            profile,
            topic,
            topic_id: TopicId::default(),
            connection: None,
            attempt: 0,
            retry_at: None,
            is_prepared: false,
            positions: BTreeMap::new(),
            losses: 0,
            losses_when_asked: 0,
            is_done: false,
        }
    }

    fn ask(&mut self, context: &ClientContext<'_>) {
        let Some(connection) = &mut self.connection else { return };
        if connection.is_half_closed() {
            return;
        }
        if !self.is_prepared {
            let topics = Some(vec![MetadataRequestTopic { name: Some(self.topic), ..Default::default() }]);
            let request = MetadataRequest { topics, allow_auto_topic_creation: true, ..Default::default() };
            connection.send(context, (ApiKey::Metadata, METADATA_VERSION), &request, true);
            return;
        }
        self.losses_when_asked = context.history.losses();
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        let partition_bytes_max = i32::try_from(draw.part(0).between(1, 4_000)).unwrap_or(1);
        let partitions = self.positions.iter().map(|(partition, position)| FetchPartition {
            partition: *partition,
            fetch_offset: position.offset,
            partition_max_bytes: partition_bytes_max,
            ..Default::default()
        });
        let topics = vec![FetchTopic { topic: self.topic, topic_id: self.topic_id, partitions: partitions.collect() }];
        let request = FetchRequest {
            max_wait_ms: self.profile.wait_ms_max,
            min_bytes: self.profile.bytes_min,
            max_bytes: 1 << 20,
            session_epoch: -1,
            topics,
            ..Default::default()
        };
        connection.send(context, (ApiKey::Fetch, self.profile.version), &request, true);
    }

    /// Takes an answer; `false` if it makes no sense.
    fn take_answer(&mut self, context: &mut ClientContext<'_>, api_key: ApiKey, version: i16, body: &[u8]) -> bool {
        let mut decoder = Decoder::new(body);
        if api_key == ApiKey::Metadata {
            let Ok(response) = MetadataResponse::decode(&mut decoder, version) else { return false };
            self.take_metadata(&response);
            return true;
        }
        let Ok(response) = FetchResponse::decode(&mut decoder, version) else { return false };
        if response.error_code != ErrorCode::None.code() {
            self.is_prepared = false;
            return true;
        }
        let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
        let mut is_right = true;
        for partition in partitions {
            is_right &= self.take_partition(context, partition);
        }
        is_right
    }

    fn take_metadata(&mut self, response: &MetadataResponse<'_>) {
        let topic = response.topics.iter().find(|topic| topic.name == Some(self.topic) && topic.error_code == 0);
        let Some(topic) = topic else { return };
        self.topic_id = topic.topic_id;
        for partition in &topic.partitions {
            let fresh = Position { leader_epoch: partition.leader_epoch, ..Position::default() };
            let position = self.positions.entry(partition.partition_index).or_insert(fresh);
            if position.leader_epoch != partition.leader_epoch {
                *position = fresh;
            }
        }
        self.is_prepared = !self.positions.is_empty();
    }

    fn take_partition(&mut self, context: &mut ClientContext<'_>, data: &PartitionData<'_>) -> bool {
        let RecordsField::Bytes(records) = data.records else { return false };
        let Some(position) = self.positions.get_mut(&data.partition_index) else { return false };
        match ErrorCode::from_code(data.error_code) {
            ErrorCode::None => {}
            ErrorCode::OffsetOutOfRange => {
                // What was read before a power cut may be gone: start again.
                *position = Position { leader_epoch: position.leader_epoch, ..Position::default() };
                return true;
            }
            _ => {
                position.at_end = false;
                self.is_prepared = false;
                self.retry_at = Some(later(context, RETRY_NS));
                return true;
            }
        }
        let marks = [
            ("high watermark", position.high_watermark, data.high_watermark),
            ("log start", position.log_start, data.log_start_offset),
        ];
        for (what, before, after) in marks {
            if after < before && (what != "log start" || self.profile.version >= 5) {
                let (client, partition) = (self.profile.client, data.partition_index);
                context.history.violate(Violation::WentBack { client, partition, what, before, after });
            }
        }
        position.high_watermark = data.high_watermark;
        position.log_start = data.log_start_offset;
        self.take_records(context, data.partition_index, data.high_watermark, records)
    }

    fn take_records(
        &mut self,
        context: &mut ClientContext<'_>,
        partition: i32,
        high_watermark: i64,
        records: &[u8],
    ) -> bool {
        let Some(position) = self.positions.get_mut(&partition) else { return false };
        for batch in BatchIterator::new(records) {
            // The last batch may be cut; nothing else may be wrong with what is served.
            let Ok(batch) = batch else { break };
            if !batch.crc_is_valid() {
                context.history.violate(Violation::DamagedBatch { partition, offset: batch.base_offset().0 });
                return true;
            }
            let Some(iterator) = batch.records() else { return false };
            for record in iterator {
                let Ok(record) = record else { return false };
                let offset = record.offset.0;
                if offset < position.offset {
                    continue;
                }
                let epoch = batch.partition_leader_epoch().0;
                let value = record.value.and_then(Value::from_bytes);
                context.history.seen(
                    Seen {
                        client: self.profile.client,
                        partition,
                        epoch,
                        offset,
                        high_watermark,
                        losses: self.losses_when_asked,
                    },
                    position.offset,
                    value,
                );
                position.offset = offset + 1;
            }
        }
        position.at_end = context.is_calm && position.offset >= high_watermark;
        true
    }

    fn has_read_all(&self) -> bool {
        self.is_prepared && self.positions.values().all(|position| position.at_end)
    }

    /// Follows a whim; says when it comes back if it goes away.
    fn indulge(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        match self.profile.habits.whim(context, self.profile.client) {
            Whim::Work => None,
            Whim::Sleep(nanoseconds) => Some(later(context, nanoseconds)),
            Whim::HalfClose => {
                if let Some(connection) = &mut self.connection {
                    connection.half_close();
                }
                None
            }
            Whim::Close => {
                self.connection = None;
                None
            }
            Whim::Reset => {
                self.connection.take().into_iter().for_each(ClientConnection::reset);
                None
            }
        }
    }

    fn forget_what_may_be_lost(&mut self, context: &ClientContext<'_>) {
        if self.losses != context.history.losses() {
            self.losses = context.history.losses();
            for position in self.positions.values_mut() {
                (position.high_watermark, position.log_start) = (0, 0);
            }
        }
    }

    fn deadline(&self, context: &ClientContext<'_>) -> Option<Instant> {
        let gives_up = self.connection.as_ref().and_then(|open| self.profile.habits.gives_up_at(context, open));
        earlier(gives_up, self.retry_at.filter(|at| *at > context.now()))
    }
}

impl Client for Consumer {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if self.is_done {
            return None;
        }
        self.forget_what_may_be_lost(context);
        let gives_up = self.connection.as_ref().is_some_and(|connection| {
            let gives_up_at = self.profile.habits.gives_up_at(context, connection);
            connection.is_of_the_past(context) || gives_up_at.is_some_and(|at| at <= context.now())
        });
        if gives_up {
            self.connection = None;
        }
        if let Some(back_at) = self.indulge(context) {
            return Some(back_at);
        }
        if let Some(at) = self.retry_at.filter(|at| *at > context.now() && self.connection.is_none()) {
            return Some(at);
        }
        if self.connection.is_none() {
            self.attempt += 1;
            self.is_prepared = false;
            self.connection = Some(ClientConnection::open(self.profile.client, self.attempt, context));
        }
        let mut has_asked = false;
        loop {
            let is_idle = self.connection.as_ref().is_some_and(|connection| connection.outstanding() == 0);
            if is_idle && self.retry_at.is_none_or(|at| at <= context.now()) {
                self.retry_at = None;
                self.ask(context);
                has_asked = true;
            }
            let Some(connection) = &mut self.connection else { return None };
            match connection.pump(context) {
                ConnectionNews::Answer(_, api_key, version, body) => {
                    if !self.take_answer(context, api_key, version, &body) {
                        context.history.violate(Violation::UnreadableAnswer { client: self.profile.client });
                    }
                    if context.is_calm && self.has_read_all() {
                        self.is_done = true;
                        self.connection = None;
                        return None;
                    }
                    if !self.is_prepared {
                        self.retry_at = Some(later(context, RETRY_NS));
                    }
                }
                ConnectionNews::Nothing if has_asked && self.profile.habits.runs_away(context, self.profile.client) => {
                    self.connection.take().into_iter().for_each(ClientConnection::reset);
                    return Some(context.now());
                }
                ConnectionNews::Nothing => return self.deadline(context),
                ConnectionNews::Over => {
                    self.connection = None;
                    self.retry_at = Some(later(context, RETRY_NS));
                    return self.retry_at;
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn waits_since(&self) -> Option<Instant> {
        self.connection.as_ref().and_then(ClientConnection::waits_since)
    }

    fn waits_for(&self) -> String {
        let positions = self.positions.iter().map(|(partition, position)| format!("{partition}@{}", position.offset));
        let positions = positions.collect::<Vec<_>>().join(" ");
        format!("consumer {}: at {positions}", self.profile.client)
    }
}
