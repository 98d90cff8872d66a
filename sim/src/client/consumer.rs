//! A consumer: reads every partition of a topic from its start and notes every record that it sees.
//!
//! It must not know who wrote what; the history compares.

use std::collections::BTreeMap;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::protocol::{ApiKey, Decoder, Message, RecordsField};
use klamm::record::BatchIterator;
use klamm::types::Instant;

use super::connection::later;
use super::{Client, ClientConnection, ClientContext, ConnectionNews, Value};
use crate::checker::{Seen, Violation};
use crate::keyed::Site;

const METADATA_VERSION: i16 = 9;
const FETCH_VERSION: i16 = 12;
const RETRY_NS: u64 = 20_000_000;
const WAIT_MS_MAX: i32 = 100;

/// A consumer.
pub(crate) struct Consumer {
    client: u32,
    topic: &'static str,
    connection: Option<ClientConnection>,
    attempt: u32,
    retry_at: Option<Instant>,
    /// Where it stands in each partition; empty until the partitions are known.
    positions: BTreeMap<i32, i64>,
    /// Whether it is at the end of each partition, as of its last fetch.
    at_end: BTreeMap<i32, bool>,
    /// It reads up to the end once, then it is done; else it goes on until the run is calm.
    is_final: bool,
    is_done: bool,
}

impl Consumer {
    pub(crate) fn new(client: u32, topic: &'static str, is_final: bool) -> Consumer {
        Consumer {
            client,
            topic,
            connection: None,
            attempt: 0,
            retry_at: None,
            positions: BTreeMap::new(),
            at_end: BTreeMap::new(),
            is_final,
            is_done: false,
        }
    }

    fn ask(&mut self, context: &ClientContext<'_>) {
        let Some(connection) = &mut self.connection else { return };
        if self.positions.is_empty() {
            let topics = Some(vec![MetadataRequestTopic { name: Some(self.topic), ..Default::default() }]);
            let request = MetadataRequest { topics, ..Default::default() };
            connection.send(ApiKey::Metadata, METADATA_VERSION, &request, true);
            return;
        }
        let draw = context.world.value(Site::ClientAction, u64::from(self.client));
        let partitions = self.positions.iter().map(|(partition, offset)| FetchPartition {
            partition: *partition,
            fetch_offset: *offset,
            partition_max_bytes: i32::try_from(draw.part(0).between(1, 4_000)).unwrap_or(1),
            ..Default::default()
        });
        let topics = vec![FetchTopic { topic: self.topic, partitions: partitions.collect(), ..Default::default() }];
        let request = FetchRequest {
            max_wait_ms: WAIT_MS_MAX,
            min_bytes: 1,
            max_bytes: 1 << 20,
            session_epoch: -1,
            topics,
            ..Default::default()
        };
        connection.send(ApiKey::Fetch, FETCH_VERSION, &request, true);
    }

    /// Takes an answer; `false` if it makes no sense.
    fn take_answer(&mut self, context: &mut ClientContext<'_>, api_key: ApiKey, version: i16, body: &[u8]) -> bool {
        let mut decoder = Decoder::new(body);
        if api_key == ApiKey::Metadata {
            let Ok(response) = MetadataResponse::decode(&mut decoder, version) else { return false };
            let topic = response.topics.iter().find(|topic| topic.name == Some(self.topic) && topic.error_code == 0);
            let partitions = topic.map(|topic| topic.partitions.as_slice()).unwrap_or_default();
            self.positions = partitions.iter().map(|partition| (partition.partition_index, 0)).collect();
            return true;
        }
        let Ok(response) = FetchResponse::decode(&mut decoder, version) else { return false };
        response.responses.iter().flat_map(|topic| &topic.partitions).all(|partition| {
            let RecordsField::Bytes(records) = partition.records else { return false };
            match ErrorCode::from_code(partition.error_code) {
                ErrorCode::None => {
                    self.take_records(context, partition.partition_index, partition.high_watermark, records)
                }
                ErrorCode::OffsetOutOfRange => {
                    // What was read before a power cut may be gone: start again.
                    self.positions.insert(partition.partition_index, 0);
                    true
                }
                _ => true,
            }
        })
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
                if offset < *position {
                    continue;
                }
                let epoch = batch.partition_leader_epoch().0;
                let value = record.value.and_then(Value::from_bytes);
                context.history.seen(
                    Seen { client: self.client, partition, epoch, offset, high_watermark },
                    *position,
                    value,
                );
                *position = offset + 1;
            }
        }
        self.at_end.insert(partition, *position >= high_watermark);
        true
    }

    fn has_read_all(&self) -> bool {
        !self.positions.is_empty() && self.positions.keys().all(|partition| self.at_end.get(partition) == Some(&true))
    }
}

impl Client for Consumer {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if self.is_done {
            return None;
        }
        if let Some(at) = self.retry_at.filter(|at| *at > context.world.now().instant) {
            return Some(at);
        }
        self.retry_at = None;
        if self.connection.is_none() {
            self.attempt += 1;
            self.connection = Some(ClientConnection::open(self.client, self.attempt, context));
        }
        loop {
            if self.connection.as_ref().is_some_and(|connection| connection.outstanding() == 0) {
                self.ask(context);
            }
            let Some(connection) = &mut self.connection else { return None };
            match connection.pump(context) {
                ConnectionNews::Answer(_, api_key, version, body) => {
                    if !self.take_answer(context, api_key, version, &body) {
                        context.history.violate(Violation::UnreadableAnswer { client: self.client });
                    }
                    if context.is_calm && (!self.is_final || self.has_read_all()) {
                        self.is_done = true;
                        self.connection = None;
                        return None;
                    }
                    if self.positions.is_empty() {
                        self.retry_at = Some(later(context, RETRY_NS));
                        return self.retry_at;
                    }
                }
                ConnectionNews::Nothing => return None,
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

    fn waits_for(&self) -> String {
        format!("consumer {}: at {:?}", self.client, self.positions)
    }
}
