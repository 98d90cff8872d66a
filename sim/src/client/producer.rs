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
use klamm::record::{CompressionType, Compressor, RecordBatchBuilder};
use klamm::types::{Instant, ProducerEpoch, ProducerId, TopicId};

use super::connection::later;
use super::link::{Link, LinkNews, Next};
use super::versions::{ANY, by_name_unless};
use super::{Client, ClientContext, Habits, Value};
use crate::checker::{Acks, Lane, SendId, Violation};
use crate::disk_volumes::Filled;
use crate::keyed::Site;

/// The first version that names topics by their ids.
const IDS_FROM: i16 = 13;
/// The first version in which Zstandard is taken.
const ZSTD_FROM: i16 = 7;
/// Longer than any run waits: an answer that comes at this timeout is one that was lost.
const TIMEOUT_MS: i32 = 300_000;
/// How long a producer stays that is not answered, on average.
const LINGER_NS: u64 = 3_000_000;
/// So many are too many.
const REFUSALS_MAX: u32 = 100;
/// No request may time out before this time.
const TIMEOUT: Instant = Instant(300_000_000_000);

/// What one producer is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProducerProfile {
    pub(crate) client: u32,
    pub(crate) acks: Acks,
    pub(crate) is_idempotent: bool,
    /// Requests that may be unanswered at once.
    pub(crate) pipeline_max: usize,
    pub(crate) batches: u32,
    pub(crate) records_per_batch_max: u32,
    pub(crate) compression: CompressionType,
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
    link: Link,
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
    /// Batches that went wrong since the run is calm, in partitions of which the disk has destroyed records.
    refusals: u32,
    /// It has sent what is not answered, and stays for a while to hear whether it is.
    lingers_until: Option<Instant>,
    compressor: Compressor,
}

impl Producer {
    pub(crate) fn new(profile: ProducerProfile, topic: &'static str) -> Producer {
        Producer {
            profile,
            topic,
            topic_id: TopicId::default(),
            link: Link::new(profile.client, profile.habits),
            partitions: Vec::new(),
            is_preparing: false,
            id: None,
            next_sequences: BTreeMap::new(),
            next_value: 0,
            next_number: 0,
            batches_left: profile.batches,
            waiting: BTreeMap::new(),
            in_flight: VecDeque::new(),
            refusals: 0,
            lingers_until: None,
            compressor: Compressor::new(),
        }
    }

    fn connection_lost(&mut self, context: &mut ClientContext<'_>) {
        self.lingers_until = None;
        for (_, batch) in std::mem::take(&mut self.in_flight) {
            self.outcome_unknown(context, batch);
        }
    }

    /// A plain producer leaves it at that; an idempotent one will send the batch again.
    fn outcome_unknown(&mut self, context: &mut ClientContext<'_>, batch: Batch) {
        batch.sends.iter().for_each(|send| context.history.unknown(*send));
        // A partition of which the disk has destroyed records may be offline for good.
        let is_offline = context.is_calm && context.history.destroyed().is_touched(batch.partition);
        self.refusals += u32::from(is_offline);
        if self.profile.is_idempotent && self.refusals <= REFUSALS_MAX {
            self.waiting.insert(batch.number, batch);
        }
    }

    /// Sends what must be answered before batches can go out: metadata, then a producer id.
    fn prepare(&mut self, context: &ClientContext<'_>) {
        let Some(connection) = self.link.open(context).filter(|_| !self.is_preparing) else { return };
        if self.partitions.is_empty() {
            let topics = Some(vec![MetadataRequestTopic { name: Some(self.topic), ..Default::default() }]);
            let request = MetadataRequest { topics, allow_auto_topic_creation: true, ..Default::default() };
            connection.send(context, connection.api(context, ApiKey::Metadata, &ANY), &request, true);
            self.is_preparing = true;
        } else if self.profile.is_idempotent && self.id.is_none() {
            let request = InitProducerIdRequest { transactional_id: None, ..Default::default() };
            connection.send(context, connection.api(context, ApiKey::InitProducerId, &ANY), &request, true);
            self.is_preparing = true;
        }
    }

    fn may_produce(&mut self, context: &ClientContext<'_>) -> bool {
        let is_ready = !self.is_preparing
            && !self.partitions.is_empty()
            && (!self.profile.is_idempotent || self.id.is_some())
            && self.link.open(context).is_some();
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
        let Some(connection) = self.link.open(context) else { return };
        if self.profile.acks == Acks::None {
            connection.may_be_closed();
        }
        let request = ProduceRequest {
            acks: self.profile.acks.to_wire(),
            timeout_ms: TIMEOUT_MS,
            topic_data: vec![topic],
            ..Default::default()
        };
        let is_answered = self.profile.acks != Acks::None;
        let named = by_name_unless(self.topic_id != TopicId::ZERO, IDS_FROM);
        let has_zstd = self.profile.compression == CompressionType::Zstd;
        let will_do = if has_zstd { ZSTD_FROM..=*named.end() } else { named };
        let api = connection.api(context, ApiKey::Produce, &will_do);
        let correlation_id = connection.send(context, api, &request, is_answered);
        self.link.has_asked();
        if is_answered {
            self.in_flight.push_back((correlation_id, batch));
        } else {
            batch.sends.into_iter().for_each(|send| context.history.unknown(send));
            let draw = context.world.value(Site::ClientHabit, u64::from(self.profile.client));
            let stays_ns = draw.part(2).exponential(LINGER_NS);
            self.link.pause(context, stays_ns);
            self.lingers_until = Some(later(context, stays_ns));
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
                Lane::Idempotent(self.profile.client, id.0)
            }
            None => Lane::Connection(self.link.identity()?),
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
        let compression = self.profile.compression.with_default_level();
        let bytes = match self.profile.compression {
            CompressionType::None => builder.build(),
            _ => builder.build_compressed(compression, &mut self.compressor),
        };
        let bytes = bytes.expect("a small batch can be built");
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
            self.link.retry(context);
        }
    }

    fn take_producer_id(&mut self, context: &ClientContext<'_>, response: &InitProducerIdResponse) {
        self.is_preparing = false;
        match ErrorCode::from_code(response.error_code) {
            ErrorCode::None => {
                self.id = Some((ProducerId(response.producer_id), ProducerEpoch(response.producer_epoch)));
            }
            _ => self.link.retry(context),
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
        let error = ErrorCode::from_code(outcome.error_code);
        if error == ErrorCode::RequestTimedOut && context.now() < TIMEOUT {
            context.history.violate(Violation::ExpiredEarly { client: self.profile.client });
        }
        match error {
            ErrorCode::None => {
                if self.profile.acks == Acks::All {
                    let (end, now) =
                        (outcome.base_offset + i64::try_from(batch.sends.len()).unwrap_or(0), context.now());
                    context.history.readable().told(batch.partition, end, now);
                }
                for (index, send) in (0..).zip(batch.sends) {
                    context.history.acked(send, outcome.base_offset + index);
                }
            }
            error if self.profile.is_idempotent && self.is_forgotten(context, batch.partition, error) => {
                self.begin_anew(context, batch);
            }
            error if self.profile.is_idempotent => {
                self.check_cause(context, &batch, error);
                self.check_sequence(context, &batch, error);
                self.link.retry(context);
                self.outcome_unknown(context, batch);
            }
            // The batch may be on disk all the same: unknown is never "nothing happened".
            error @ (ErrorCode::KafkaStorageError | ErrorCode::RequestTimedOut | ErrorCode::UnknownServerError) => {
                self.check_cause(context, &batch, error);
                // What is wrong now is mended in a while: all batches are not to be lost to it.
                self.link.retry(context);
                self.outcome_unknown(context, batch);
            }
            error => {
                self.check_cause(context, &batch, error);
                self.link.retry(context);
                batch.sends.into_iter().for_each(|send| context.history.refused(send));
            }
        }
        true
    }

    /// What is right is refused only if something is wrong with the disk.
    fn check_cause(&self, context: &mut ClientContext<'_>, batch: &Batch, error: ErrorCode) {
        if matches!(error, ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId) {
            let (client, partition) = (self.profile.client, batch.partition);
            context.history.violate(Violation::Denied { client, partition });
        }
        let folder = format!("{}-{}", self.topic, batch.partition);
        let is_served =
            context.are_others_sound && context.world.is_on_sound_disk(Filled { name: &folder, kind: ".log" });
        if (context.is_disk_sound || is_served) && !context.history.destroyed().is_touched(batch.partition) {
            let value = Value { client: self.profile.client, sequence: batch.first_value };
            context.history.violate(Violation::RefusedWithoutCause { value, error });
        }
    }

    /// Whether the partition has lost what it knew of this producer together with records that the disk has destroyed.
    fn is_forgotten(&self, context: &mut ClientContext<'_>, partition: i32, error: ErrorCode) -> bool {
        let is_of_sequence = matches!(
            error,
            ErrorCode::OutOfOrderSequenceNumber
                | ErrorCode::DuplicateSequenceNumber
                | ErrorCode::UnknownProducerId
                | ErrorCode::InvalidProducerEpoch
        );
        is_of_sequence && context.history.destroyed().is_touched(partition)
    }

    /// Gives a batch up and goes on under a new identity, as clients do whose sequence is broken.
    fn begin_anew(&mut self, context: &mut ClientContext<'_>, batch: Batch) {
        batch.sends.iter().for_each(|send| context.history.unknown(*send));
        self.id = None;
        self.next_sequences.clear();
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
}

impl Client for Producer {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        self.lingers_until = self.lingers_until.filter(|at| *at > context.now());
        if self.is_done() {
            self.link.close();
            return None;
        }
        let beginning = self.link.begin(context, false);
        if beginning.was_lost {
            self.connection_lost(context);
        }
        match beginning.next {
            Next::Rest(at) => return Some(at),
            Next::WorkAnew => {
                self.is_preparing = false;
                self.partitions.clear();
            }
            Next::Work => {}
        }
        loop {
            self.prepare(context);
            while self.may_produce(context) {
                self.produce(context);
            }
            match self.link.pump(context, false) {
                LinkNews::Answer(id, key, version, body) => {
                    self.take_answer(context, (id, key, version), &body);
                    if self.is_done() {
                        self.link.close();
                        return None;
                    }
                }
                LinkNews::Rest(at) => return at,
                LinkNews::Lost(at) => {
                    self.connection_lost(context);
                    return Some(at);
                }
            }
        }
    }

    /// One more batch: however bad it was, the broker takes records again.
    fn calm_begins(&mut self) {
        self.batches_left += 1;
    }

    fn is_done(&self) -> bool {
        self.batches_left == 0
            && self.in_flight.is_empty()
            && self.waiting.is_empty()
            && self.link.is_flushed()
            && self.lingers_until.is_none()
    }

    fn waits_since(&self) -> Option<Instant> {
        self.link.waits_since()
    }

    fn waits_for(&self) -> String {
        format!(
            "producer {}: {} batches left, {} to send again, {} requests open",
            self.profile.client,
            self.batches_left,
            self.waiting.len(),
            self.link.outstanding(),
        )
    }
}
