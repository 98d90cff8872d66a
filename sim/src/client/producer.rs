//! A producer: writes values that tell who wrote them, pipelined, and notes what it was told about each.
//!
//! A plain one never sends a value twice: a value without an answer stays unknown for ever, which makes the check exact. An idempotent one
//! sends each batch again, in order, until it is acknowledged. It must not know how its connection is cut.

use std::collections::{BTreeMap, VecDeque};

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::protocol::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use klamm::protocol::{ApiKey, Decoder, Message, RecordsField};
use klamm::record::RecordBatchBuilder;
use klamm::types::{Instant, ProducerEpoch, ProducerId, TopicId};

use super::connection::{earlier, later};
use super::habits::Whim;
use super::{Client, ClientConnection, ClientContext, ConnectionNews, Habits, Value};
use crate::checker::{Acks, Lane, SendId, Violation};
use crate::keyed::Site;

const METADATA_VERSION: i16 = 12;
const INIT_PRODUCER_ID_VERSION: i16 = 4;
const RETRY_NS: u64 = 20_000_000;
/// Longer than any run waits: an answer that comes at this timeout is one that was lost.
const TIMEOUT_MS: i32 = 300_000;

/// What one producer is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProducerProfile {
    pub(crate) client: u32,
    pub(crate) acks: Acks,
    pub(crate) is_idempotent: bool,
    pub(crate) version: i16,
    /// Requests that may be unanswered at once.
    pub(crate) pipeline_max: usize,
    pub(crate) batches: u32,
    pub(crate) records_per_batch_max: u32,
    pub(crate) habits: Habits,
}

/// A batch on its way.
struct Batch {
    number: u32,
    partition: i32,
    /// Of its first record, -1 without idempotence.
    base_sequence: i32,
    /// The number of its first value.
    first_value: u32,
    sends: Vec<SendId>,
    bytes: Vec<u8>,
}

/// A producer.
pub(crate) struct Producer {
    profile: ProducerProfile,
    topic: &'static str,
    topic_id: TopicId,
    connection: Option<ClientConnection>,
    attempt: u32,
    retry_at: Option<Instant>,
    partitions: Vec<i32>,
    /// A request that is no produce is open.
    is_preparing: bool,
    id: Option<(ProducerId, ProducerEpoch)>,
    next_sequences: BTreeMap<i32, i32>,
    next_value: u32,
    next_number: u32,
    batches_left: u32,
    /// Batches of an idempotent producer that are to be sent again, by number.
    waiting: BTreeMap<u32, Batch>,
    in_flight: VecDeque<(i32, Batch)>,
}

impl Producer {
    pub(crate) fn new(profile: ProducerProfile, topic: &'static str) -> Producer {
        Producer {
            profile,
            topic,
            topic_id: TopicId::default(),
            connection: None,
            attempt: 0,
            retry_at: None,
            partitions: Vec::new(),
            is_preparing: false,
            id: None,
            next_sequences: BTreeMap::new(),
            next_value: 0,
            next_number: 0,
            batches_left: profile.batches,
            waiting: BTreeMap::new(),
            in_flight: VecDeque::new(),
        }
    }

    fn connect(&mut self, context: &ClientContext<'_>) {
        self.attempt += 1;
        self.is_preparing = false;
        self.partitions.clear();
        let mut connection = ClientConnection::open(self.profile.client, self.attempt, context);
        if self.profile.acks == Acks::None {
            connection.may_be_closed();
        }
        self.connection = Some(connection);
    }

    fn lose_connection(&mut self, context: &mut ClientContext<'_>) {
        self.connection = None;
        for (_, batch) in std::mem::take(&mut self.in_flight) {
            self.outcome_unknown(context, batch);
        }
        self.retry_at = Some(later(context, RETRY_NS));
    }

    /// A plain producer leaves it at that; an idempotent one will send the batch again.
    fn outcome_unknown(&mut self, context: &mut ClientContext<'_>, batch: Batch) {
        batch.sends.iter().for_each(|send| context.history.unknown(*send));
        if self.profile.is_idempotent {
            self.waiting.insert(batch.number, batch);
        }
    }

    /// Sends what must be answered before batches can go out: metadata, then a producer id.
    fn prepare(&mut self, context: &ClientContext<'_>) {
        let Some(connection) = &mut self.connection else { return };
        if self.is_preparing || connection.is_half_closed() {
            return;
        }
        if self.partitions.is_empty() {
            let topics = Some(vec![MetadataRequestTopic { name: Some(self.topic), ..Default::default() }]);
            let request = MetadataRequest { topics, allow_auto_topic_creation: true, ..Default::default() };
            connection.send(context, (ApiKey::Metadata, METADATA_VERSION), &request, true);
            self.is_preparing = true;
        } else if self.profile.is_idempotent && self.id.is_none() {
            let request = InitProducerIdRequest { transactional_id: None, ..Default::default() };
            connection.send(context, (ApiKey::InitProducerId, INIT_PRODUCER_ID_VERSION), &request, true);
            self.is_preparing = true;
        }
    }

    fn may_produce(&self, context: &ClientContext<'_>) -> bool {
        let is_ready = !self.is_preparing
            && !self.partitions.is_empty()
            && (!self.profile.is_idempotent || self.id.is_some())
            && self.retry_at.is_none_or(|at| at <= context.now())
            && self.connection.as_ref().is_some_and(|connection| !connection.is_half_closed());
        // What must be sent again goes first and in order: nothing newer may overtake a batch whose turn has come again.
        let overtakes = self
            .waiting
            .first_key_value()
            .is_some_and(|(first, _)| self.in_flight.iter().any(|(_, batch)| batch.number > *first));
        let has_work = !self.waiting.is_empty() || self.batches_left > 0;
        is_ready && has_work && !overtakes && self.in_flight.len() < self.profile.pipeline_max
    }

    fn produce(&mut self, context: &mut ClientContext<'_>) {
        let Some(batch) = self.waiting.pop_first().map(|(_, batch)| batch).or_else(|| self.next_batch(context)) else {
            return;
        };
        let partition_data =
            vec![PartitionProduceData { index: batch.partition, records: RecordsField::Bytes(&batch.bytes) }];
        // Which of name and id is written, the version decides.
        let topic = TopicProduceData { name: self.topic, topic_id: self.topic_id, partition_data };
        let Some(connection) = &mut self.connection else { return };
        let request = ProduceRequest {
            acks: self.profile.acks.to_wire(),
            timeout_ms: TIMEOUT_MS,
            topic_data: vec![topic],
            ..Default::default()
        };
        let is_answered = self.profile.acks != Acks::None;
        let correlation_id = connection.send(context, (ApiKey::Produce, self.profile.version), &request, is_answered);
        if is_answered {
            self.in_flight.push_back((correlation_id, batch));
        } else {
            batch.sends.into_iter().for_each(|send| context.history.unknown(send));
        }
    }

    fn next_batch(&mut self, context: &mut ClientContext<'_>) -> Option<Batch> {
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        let partition = *self.partitions.get(draw.below(self.partitions.len() as u64) as usize)?;
        let records = draw.part(0).between(1, u64::from(self.profile.records_per_batch_max));
        let mut builder = RecordBatchBuilder::new();
        let mut base_sequence = -1;
        let lane = match self.id {
            Some((id, epoch)) => {
                let sequence = self.next_sequences.entry(partition).or_insert(0);
                builder = builder.producer(id, epoch, *sequence);
                base_sequence = *sequence;
                *sequence += i32::try_from(records).unwrap_or(1);
                Lane::Idempotent(self.profile.client)
            }
            None => Lane::Connection(self.connection.as_ref()?.identity()),
        };
        let first_value = self.next_value;
        let mut sends = Vec::new();
        for _ in 0..records {
            let value = Value { client: self.profile.client, sequence: self.next_value };
            self.next_value += 1;
            let bytes = value.to_bytes();
            let timestamp = context.world.now().wall.0;
            builder.append(timestamp, None, Some(&bytes)).expect("a small batch can be built");
            sends.push(context.history.sent(value, self.profile.acks, partition, lane));
        }
        self.batches_left -= 1;
        let number = self.next_number;
        self.next_number += 1;
        let bytes = builder.build().expect("a small batch can be built");
        Some(Batch { number, partition, base_sequence, first_value, sends, bytes })
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, (id, key, version): (i32, ApiKey, i16), body: &[u8]) {
        let mut decoder = Decoder::new(body);
        let understood = match key {
            ApiKey::Metadata => MetadataResponse::decode(&mut decoder, version)
                .map(|response| self.take_metadata(context, &response))
                .is_ok(),
            ApiKey::InitProducerId => InitProducerIdResponse::decode(&mut decoder, version)
                .map(|response| self.take_producer_id(context, &response))
                .is_ok(),
            _ => match ProduceResponse::decode(&mut decoder, version) {
                Ok(response) => self.take_produced(context, id, &response),
                Err(_) => false,
            },
        };
        if !understood {
            context.history.violate(Violation::UnreadableAnswer { client: self.profile.client });
        }
    }

    fn take_metadata(&mut self, context: &ClientContext<'_>, response: &MetadataResponse<'_>) {
        self.is_preparing = false;
        let topic = response.topics.iter().find(|topic| topic.name == Some(self.topic));
        if let Some(topic) = topic.filter(|topic| topic.error_code == ErrorCode::None.code()) {
            self.topic_id = topic.topic_id;
            self.partitions = topic.partitions.iter().map(|partition| partition.partition_index).collect();
        }
        if self.partitions.is_empty() {
            // The topic is being made: ask again a little later.
            self.retry_at = Some(later(context, RETRY_NS));
        }
    }

    fn take_producer_id(&mut self, context: &ClientContext<'_>, response: &InitProducerIdResponse) {
        self.is_preparing = false;
        match ErrorCode::from_code(response.error_code) {
            ErrorCode::None => {
                self.id = Some((ProducerId(response.producer_id), ProducerEpoch(response.producer_epoch)));
            }
            _ => self.retry_at = Some(later(context, RETRY_NS)),
        }
    }

    fn take_produced(
        &mut self,
        context: &mut ClientContext<'_>,
        correlation_id: i32,
        response: &ProduceResponse<'_>,
    ) -> bool {
        let Some((expected, batch)) = self.in_flight.pop_front() else { return false };
        let outcome = response.responses.first().and_then(|topic| topic.partition_responses.first());
        let outcome = outcome.filter(|outcome| expected == correlation_id && outcome.index == batch.partition);
        let Some(outcome) = outcome else { return false };
        tracing::debug!(
            client = self.profile.client,
            batch = batch.number,
            partition = batch.partition,
            sequence = batch.base_sequence,
            error = outcome.error_code,
            offset = outcome.base_offset,
            "produced"
        );
        match ErrorCode::from_code(outcome.error_code) {
            ErrorCode::None => {
                for (index, send) in (0..).zip(batch.sends) {
                    context.history.acked(send, outcome.base_offset + index);
                }
            }
            error if self.profile.is_idempotent => {
                self.check_cause(context, &batch, error);
                self.check_sequence(context, &batch, error);
                self.retry_at = Some(later(context, RETRY_NS));
                self.outcome_unknown(context, batch);
            }
            // The batch may be on disk all the same: unknown is never "nothing happened".
            error @ (ErrorCode::KafkaStorageError | ErrorCode::RequestTimedOut | ErrorCode::UnknownServerError) => {
                self.check_cause(context, &batch, error);
                self.outcome_unknown(context, batch);
            }
            error => {
                self.check_cause(context, &batch, error);
                batch.sends.into_iter().for_each(|send| context.history.refused(send));
            }
        }
        true
    }

    /// What is right is refused only if something is wrong with the disk.
    fn check_cause(&self, context: &mut ClientContext<'_>, batch: &Batch, error: ErrorCode) {
        if context.is_disk_sound {
            let value = Value { client: self.profile.client, sequence: batch.first_value };
            context.history.violate(Violation::RefusedWithoutCause { value, error });
        }
    }

    /// A batch with no open one before it must find the sequence as the producer left it.
    fn check_sequence(&self, context: &mut ClientContext<'_>, batch: &Batch, error: ErrorCode) {
        let error = match error {
            ErrorCode::OutOfOrderSequenceNumber => "OUT_OF_ORDER_SEQUENCE_NUMBER",
            ErrorCode::DuplicateSequenceNumber => "DUPLICATE_SEQUENCE_NUMBER",
            ErrorCode::UnknownProducerId => "UNKNOWN_PRODUCER_ID",
            ErrorCode::InvalidProducerEpoch => "INVALID_PRODUCER_EPOCH",
            _ => return,
        };
        let (client, partition) = (self.profile.client, batch.partition);
        let open = self.waiting.values().chain(self.in_flight.iter().map(|(_, batch)| batch));
        if !open.into_iter().any(|other| other.partition == partition && other.number < batch.number) {
            context.history.violate(Violation::SequenceBroken { client, partition, error });
        }
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
            Whim::Reset | Whim::Close if self.connection.is_none() => None,
            whim => {
                let connection = self.connection.take().filter(|_| whim == Whim::Reset);
                connection.into_iter().for_each(ClientConnection::reset);
                self.lose_connection(context);
                self.retry_at
            }
        }
    }

    fn deadline(&self, context: &ClientContext<'_>) -> Option<Instant> {
        let gives_up = self.connection.as_ref().and_then(|open| self.profile.habits.gives_up_at(context, open));
        earlier(gives_up, self.retry_at.filter(|at| *at > context.now()))
    }
}

impl Client for Producer {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if self.is_done() {
            self.connection = None;
            return None;
        }
        let deadline = self.deadline(context);
        let is_hopeless = self.connection.as_ref().is_some_and(|connection| connection.is_of_the_past(context));
        if is_hopeless || (self.connection.is_some() && deadline.is_some_and(|deadline| deadline <= context.now())) {
            self.lose_connection(context);
        }
        if let Some(back_at) = self.indulge(context) {
            return Some(back_at);
        }
        if self.connection.is_none() {
            if let Some(at) = self.retry_at.filter(|at| *at > context.now()) {
                return Some(at);
            }
            self.connect(context);
        }
        let mut has_asked = false;
        loop {
            if self.retry_at.is_none_or(|at| at <= context.now()) {
                self.prepare(context);
            }
            while self.may_produce(context) {
                self.produce(context);
                has_asked = true;
            }
            let Some(connection) = &mut self.connection else { return self.retry_at };
            match connection.pump(context) {
                ConnectionNews::Answer(id, key, version, body) => {
                    self.take_answer(context, (id, key, version), &body);
                    if self.is_done() {
                        self.connection = None;
                        return None;
                    }
                }
                ConnectionNews::Nothing if has_asked && self.profile.habits.runs_away(context, self.profile.client) => {
                    self.connection.take().into_iter().for_each(ClientConnection::reset);
                    self.lose_connection(context);
                    return self.retry_at;
                }
                ConnectionNews::Nothing => return self.deadline(context),
                ConnectionNews::Over => {
                    self.lose_connection(context);
                    return self.retry_at;
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        let is_flushed = self.connection.as_ref().is_none_or(ClientConnection::is_flushed);
        self.batches_left == 0 && self.in_flight.is_empty() && self.waiting.is_empty() && is_flushed
    }

    fn waits_since(&self) -> Option<Instant> {
        self.connection.as_ref().and_then(ClientConnection::waits_since)
    }

    fn waits_for(&self) -> String {
        format!(
            "producer {}: {} batches left, {} to send again, {} requests open",
            self.profile.client,
            self.batches_left,
            self.waiting.len(),
            self.connection.as_ref().map_or(0, ClientConnection::outstanding),
        )
    }
}
