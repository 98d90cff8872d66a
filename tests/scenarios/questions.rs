//! What the scenarios ask, as a client would: each of these is one request and its answer.
//!
//! It must not know what a scenario is about.

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::create_topics::{
    CreatableTopic, CreatableTopicConfig, CreateTopicsRequest, CreateTopicsResponse,
};
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use klamm::protocol::messages::find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
use klamm::protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use klamm::protocol::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use klamm::protocol::{ApiKey, RecordsField};
use klamm::record::{BatchIterator, Decompressor, RecordBatchBuilder};
use klamm_sim::{Broker, CallError, Connection};

/// The newest version that names topics.
pub(crate) const FETCH: (ApiKey, i16) = (ApiKey::Fetch, 12);
const TIMEOUT_MS: i32 = 30_000;
const BYTES_MAX: i32 = 1 << 20;
/// What asks for the first offset of a log.
const EARLIEST: i64 = -2;
/// Only when it is on the disk of all replicas.
const ACKS_ALL: i16 = -1;

/// Makes a topic with one partition.
pub(crate) fn create(broker: &mut Broker, connection: &mut Connection, name: &str, configs: &[(&str, &str)]) {
    let configs = configs.iter().map(|(name, value)| CreatableTopicConfig { name, value: Some(value) }).collect();
    let topic = CreatableTopic { name, num_partitions: 1, replication_factor: 1, configs, ..Default::default() };
    let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: TIMEOUT_MS, ..Default::default() };
    let answer = broker.call(connection, (ApiKey::CreateTopics, 7), &request).unwrap();
    let response: CreateTopicsResponse<'_> = answer.read().unwrap();
    assert_eq!(response.topics[0].error_code, ErrorCode::None.code());
}

/// Asks who coordinates a group, which makes the topic of the groups if it is not there.
pub(crate) fn find_coordinator(broker: &mut Broker, connection: &mut Connection, group: &str) {
    let request = FindCoordinatorRequest { coordinator_keys: vec![group], ..Default::default() };
    let answer = broker.call(connection, (ApiKey::FindCoordinator, 4), &request).unwrap();
    let response: FindCoordinatorResponse<'_> = answer.read().unwrap();
    assert_eq!(response.coordinators[0].error_code, ErrorCode::None.code());
}

/// Writes one record with acks=all, and says at which offset.
pub(crate) fn produce(
    broker: &mut Broker,
    connection: &mut Connection,
    name: &str,
    value: &[u8],
) -> Result<i64, CallError> {
    let mut batch = RecordBatchBuilder::new();
    batch.append(broker.now().wall.0, None, Some(value)).unwrap();
    let batch = batch.build().unwrap();
    let partition_data = vec![PartitionProduceData { index: 0, records: RecordsField::Bytes(&batch) }];
    let topic_data = vec![TopicProduceData { name, partition_data, ..Default::default() }];
    let request = ProduceRequest { acks: ACKS_ALL, timeout_ms: TIMEOUT_MS, topic_data, ..Default::default() };
    let answer = broker.call(connection, (ApiKey::Produce, 9), &request)?;
    let response: ProduceResponse<'_> = answer.read().unwrap();
    let partition = &response.responses[0].partition_responses[0];
    assert_eq!(partition.error_code, ErrorCode::None.code());
    Ok(partition.base_offset)
}

/// A fetch that waits for so many milliseconds if there is nothing from this offset on.
pub(crate) fn fetch_request(topic: &str, fetch_offset: i64, max_wait_ms: i32) -> FetchRequest<'_> {
    let partition = FetchPartition { fetch_offset, partition_max_bytes: BYTES_MAX, ..Default::default() };
    let topics = vec![FetchTopic { topic, partitions: vec![partition], ..Default::default() }];
    FetchRequest { max_wait_ms, min_bytes: 1, max_bytes: BYTES_MAX, topics, ..Default::default() }
}

/// The values from an offset on.
pub(crate) fn fetch(broker: &mut Broker, connection: &mut Connection, topic: &str, offset: i64) -> Vec<Vec<u8>> {
    let answer = broker.call(connection, FETCH, &fetch_request(topic, offset, 100)).unwrap();
    let response: FetchResponse<'_> = answer.read().unwrap();
    let partition = &response.responses[0].partitions[0];
    assert_eq!(partition.error_code, ErrorCode::None.code());
    let RecordsField::Bytes(records) = partition.records else { return Vec::new() };
    let mut decompressor = Decompressor::new();
    let mut values = Vec::new();
    for batch in BatchIterator::new(records) {
        let batch = batch.unwrap();
        let body = batch.decompressed_body(&mut decompressor, 1 << 20).unwrap();
        let records = batch.records_in(&body).map(|record| record.unwrap().value.unwrap_or_default().to_vec());
        values.extend(records);
    }
    values
}

/// The first offset that is there.
pub(crate) fn earliest(broker: &mut Broker, connection: &mut Connection, name: &str) -> i64 {
    let partitions = vec![ListOffsetsPartition { timestamp: EARLIEST, ..Default::default() }];
    let topics = vec![ListOffsetsTopic { name, partitions }];
    let request = ListOffsetsRequest { replica_id: -1, topics, ..Default::default() };
    let answer = broker.call(connection, (ApiKey::ListOffsets, 7), &request).unwrap();
    let response: ListOffsetsResponse<'_> = answer.read().unwrap();
    response.topics[0].partitions[0].offset
}
