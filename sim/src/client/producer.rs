//! A producer: writes values that tell who wrote them, pipelined, and notes what it was told about each.
//!
//! It never sends a value twice: a value without an answer stays unknown for ever, which makes the check exact.

use std::collections::VecDeque;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::protocol::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use klamm::protocol::{ApiKey, Decoder, Message, RecordsField};
use klamm::record::RecordBatchBuilder;
use klamm::types::Instant;

use super::connection::later;
use super::{Client, ClientConnection, ClientContext, ConnectionNews, Value};
use crate::checker::{Acks, SendId, Violation};
use crate::keyed::Site;

const METADATA_VERSION: i16 = 9;
const PRODUCE_VERSION: i16 = 9;
const RETRY_NS: u64 = 20_000_000;

/// What one producer is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProducerProfile {
    pub(crate) client: u32,
    pub(crate) acks: Acks,
    /// Requests that may be unanswered at once.
    pub(crate) pipeline_max: usize,
    pub(crate) batches: u32,
    pub(crate) records_per_batch_max: u32,
}

/// A producer.
pub(crate) struct Producer {
    profile: ProducerProfile,
    topic: &'static str,
    connection: Option<ClientConnection>,
    attempt: u32,
    retry_at: Option<Instant>,
    partitions: Vec<i32>,
    asked_metadata: bool,
    next_sequence: u32,
    batches_left: u32,
    in_flight: VecDeque<(i32, Vec<SendId>)>,
}

impl Producer {
    pub(crate) fn new(profile: ProducerProfile, topic: &'static str) -> Producer {
        Producer {
            profile,
            topic,
            connection: None,
            attempt: 0,
            retry_at: None,
            partitions: Vec::new(),
            asked_metadata: false,
            next_sequence: 0,
            batches_left: profile.batches,
            in_flight: VecDeque::new(),
        }
    }

    fn connect(&mut self, context: &ClientContext<'_>) {
        self.attempt += 1;
        self.asked_metadata = false;
        self.partitions.clear();
        self.connection = Some(ClientConnection::open(self.profile.client, self.attempt, context));
    }

    fn lose_connection(&mut self, context: &mut ClientContext<'_>) {
        self.connection = None;
        for (_, sends) in self.in_flight.drain(..) {
            sends.into_iter().for_each(|send| context.history.unknown(send));
        }
        self.retry_at = Some(later(context, RETRY_NS));
    }

    fn ask_metadata(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        let topics = Some(vec![MetadataRequestTopic { name: Some(self.topic), ..Default::default() }]);
        let request = MetadataRequest { topics, ..Default::default() };
        connection.send(ApiKey::Metadata, METADATA_VERSION, &request, true);
        self.asked_metadata = true;
    }

    fn may_produce(&self) -> bool {
        !self.partitions.is_empty() && self.batches_left > 0 && self.in_flight.len() < self.profile.pipeline_max
    }

    fn produce(&mut self, context: &mut ClientContext<'_>) {
        let Some(connection) = &mut self.connection else { return };
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        let partition = self.partitions[draw.below(self.partitions.len() as u64) as usize];
        let records = draw.part(0).between(1, u64::from(self.profile.records_per_batch_max));
        let mut builder = RecordBatchBuilder::new();
        let mut sends = Vec::new();
        for _ in 0..records {
            let value = Value { client: self.profile.client, sequence: self.next_sequence };
            self.next_sequence += 1;
            let bytes = value.to_bytes();
            let timestamp = context.world.now().wall.0;
            builder.append(timestamp, None, Some(&bytes)).expect("a small batch can be built");
            sends.push(context.history.sent(value, self.profile.acks, partition, connection.identity()));
        }
        let batch = builder.build().expect("a small batch can be built");
        let partition_data = vec![PartitionProduceData { index: partition, records: RecordsField::Bytes(&batch) }];
        let request = ProduceRequest {
            acks: self.profile.acks.to_wire(),
            timeout_ms: 30_000,
            topic_data: vec![TopicProduceData { name: self.topic, partition_data, ..Default::default() }],
            ..Default::default()
        };
        let is_answered = self.profile.acks != Acks::None;
        let correlation_id = connection.send(ApiKey::Produce, PRODUCE_VERSION, &request, is_answered);
        self.batches_left -= 1;
        if is_answered {
            self.in_flight.push_back((correlation_id, sends));
        } else {
            sends.into_iter().for_each(|send| context.history.unknown(send));
        }
    }

    fn take_answer(
        &mut self,
        context: &mut ClientContext<'_>,
        correlation_id: i32,
        api_key: ApiKey,
        version: i16,
        body: &[u8],
    ) {
        let mut decoder = Decoder::new(body);
        let understood = match api_key {
            ApiKey::Metadata => {
                MetadataResponse::decode(&mut decoder, version).map(|response| self.take_metadata(&response)).is_ok()
            }
            _ => match ProduceResponse::decode(&mut decoder, version) {
                Ok(response) => self.take_produced(context, correlation_id, &response),
                Err(_) => false,
            },
        };
        if !understood {
            context.history.violate(Violation::UnreadableAnswer { client: self.profile.client });
        }
    }

    fn take_metadata(&mut self, response: &MetadataResponse<'_>) {
        let topic = response.topics.iter().find(|topic| topic.name == Some(self.topic));
        let topic = topic.filter(|topic| topic.error_code == ErrorCode::None.code());
        self.partitions = topic
            .map_or(Vec::new(), |topic| topic.partitions.iter().map(|partition| partition.partition_index).collect());
        self.asked_metadata = false;
    }

    fn take_produced(
        &mut self,
        context: &mut ClientContext<'_>,
        correlation_id: i32,
        response: &ProduceResponse<'_>,
    ) -> bool {
        let Some((expected, sends)) = self.in_flight.pop_front() else { return false };
        let outcome = response.responses.first().and_then(|topic| topic.partition_responses.first());
        let Some(outcome) = outcome.filter(|_| expected == correlation_id) else { return false };
        for (index, send) in sends.into_iter().enumerate() {
            match ErrorCode::from_code(outcome.error_code) {
                ErrorCode::None => context.history.acked(send, outcome.base_offset + index as i64),
                // The batch may be on disk all the same: unknown is never "nothing happened".
                ErrorCode::KafkaStorageError | ErrorCode::RequestTimedOut => context.history.unknown(send),
                _ => context.history.refused(send),
            }
        }
        true
    }
}

impl Client for Producer {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if self.is_done() {
            self.connection = None;
            return None;
        }
        if self.connection.is_none() {
            if let Some(at) = self.retry_at.filter(|at| *at > context.world.now().instant) {
                return Some(at);
            }
            self.retry_at = None;
            self.connect(context);
        }
        loop {
            if self.partitions.is_empty() && !self.asked_metadata {
                self.ask_metadata();
            }
            while self.may_produce() {
                self.produce(context);
            }
            let Some(connection) = &mut self.connection else { return self.retry_at };
            match connection.pump(context) {
                ConnectionNews::Answer(correlation_id, api_key, version, body) => {
                    self.take_answer(context, correlation_id, api_key, version, &body);
                    if self.partitions.is_empty() {
                        // The topic is being made: ask again a little later.
                        self.retry_at = Some(later(context, RETRY_NS));
                        return self.retry_at;
                    }
                }
                ConnectionNews::Nothing => return None,
                ConnectionNews::Over => {
                    self.lose_connection(context);
                    return self.retry_at;
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        let is_flushed = self.connection.as_ref().is_none_or(ClientConnection::is_flushed);
        self.batches_left == 0 && self.in_flight.is_empty() && is_flushed
    }

    fn waits_for(&self) -> String {
        let outstanding = self.connection.as_ref().map(ClientConnection::outstanding);
        format!(
            "producer {}: {} batches left, unanswered requests {outstanding:?}",
            self.profile.client, self.batches_left
        )
    }
}
