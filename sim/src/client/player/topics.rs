//! What scenes about topics share: a topic that is there and led, records that are written to it, and records that are read.
//!
//! It must not know what a scene does with them.

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::create_topics::{CreatableTopic, CreatableTopicConfig, CreateTopicsRequest};
use klamm::protocol::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsResponse, DeleteRecordsTopic,
};
use klamm::protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse};
use klamm::protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse,
};
use klamm::protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::protocol::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use klamm::protocol::{ApiKey, RecordsField};
use klamm::record::RecordBatchBuilder;
use klamm::types::{ProducerEpoch, ProducerId, TopicId};

use super::stage::{Answer, Otherwise, Played, Stage, same, told};
use crate::client::versions::ANY;

/// Who does what is not the scene's matter.
const STAGE_HAND: usize = 100;
const TIMEOUT_MS: i32 = 30_000;
/// The versions of Metadata that tell the id of a topic.
const TELLS_ID: std::ops::RangeInclusive<i16> = 10..=i16::MAX;
/// The versions of Produce and Fetch that name topics by their names.
pub(super) const BY_NAME: std::ops::RangeInclusive<i16> = 0..=12;
/// The timestamps that stand for the first offset and the one behind the last.
pub(super) const EARLIEST: i64 = -2;
pub(super) const LATEST: i64 = -1;
/// The kind of resource that a topic is.
pub(super) const RESOURCE: i8 = 2;
/// Where the value of a configuration comes from: the topic itself, or nobody has set it.
pub(super) const OWN: i8 = 1;
pub(super) const DEFAULT: i8 = 5;
/// What has no log yet is tried again every second.
const LOOKS_MAX: u32 = 50;
const LOOK_MS: u64 = 200;

/// Makes a topic, and waits until all its partitions are led.
pub(super) async fn create(stage: &Stage, name: &'static str, num_partitions: i32) -> Played<TopicId> {
    create_with(stage, name, num_partitions, []).await
}

/// The same with configurations: keys and their values.
pub(super) async fn create_with(
    stage: &Stage,
    name: &'static str,
    num_partitions: i32,
    configs: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> Played<TopicId> {
    let configs = configs.into_iter().map(|(name, value)| CreatableTopicConfig { name, value: Some(value) });
    let configs: Vec<CreatableTopicConfig<'static>> = configs.collect();
    let answer = stage.call(STAGE_HAND, ApiKey::CreateTopics, ANY, move |question| {
        let topic = CreatableTopic { name, num_partitions, replication_factor: 1, configs, ..Default::default() };
        question.put(&CreateTopicsRequest { topics: vec![topic], timeout_ms: TIMEOUT_MS, ..Default::default() });
    });
    drop(answer.await);
    appeared(stage, name, num_partitions).await
}

/// Waits until a topic is there and all its partitions are led.
pub(super) async fn appeared(stage: &Stage, name: &'static str, partitions: i32) -> Played<TopicId> {
    for _ in 0..LOOKS_MAX {
        if let Some(topic_id) = look(stage, name, partitions).await? {
            stage.leave(STAGE_HAND);
            return Ok(topic_id);
        }
        stage.rest(LOOK_MS).await;
    }
    Err(Otherwise(format!("topic {name} is not there, or has not {partitions} partitions")))
}

/// The id of a topic whose partitions are all led.
async fn look(stage: &Stage, name: &'static str, partitions: i32) -> Played<Option<TopicId>> {
    let answer = stage.call(STAGE_HAND, ApiKey::Metadata, TELLS_ID, move |question| {
        let topics = Some(vec![MetadataRequestTopic { name: Some(name), ..Default::default() }]);
        question.put(&MetadataRequest { topics, allow_auto_topic_creation: false, ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<MetadataResponse<'_>>()?;
    let topic = response.topics.iter().find(|topic| topic.name == Some(name) && topic.error_code == 0);
    let led = topic.map(|topic| topic.partitions.iter().filter(|partition| partition.error_code == 0).count());
    let are_led = led.is_some_and(|led| i32::try_from(led) == Ok(partitions));
    Ok(topic.filter(|_| are_led).map(|topic| topic.topic_id))
}

/// Asks for a topic to be deleted.
pub(super) fn ask_delete(stage: &Stage, name: &'static str) {
    stage.ask(STAGE_HAND, ApiKey::DeleteTopics, ANY, move |question| {
        let topics = vec![DeleteTopicState { name: Some(name), ..Default::default() }];
        question.put(&DeleteTopicsRequest { topics, topic_names: vec![name], timeout_ms: TIMEOUT_MS });
    });
}

/// It is deleted.
pub(super) async fn hear_deleted(stage: &Stage) -> Played {
    let answer = stage.hear(STAGE_HAND).await;
    stage.leave(STAGE_HAND);
    let response = answer.read::<DeleteTopicsResponse<'_>>()?;
    let error = response.responses.first().map_or(-1, |topic| topic.error_code);
    told("the deletion of a topic", error, ErrorCode::None)
}

/// Asks for a batch of one record with this value to be appended to the first partition.
pub(super) fn ask_produce(stage: &Stage, role: usize, name: &'static str, acks: i16, value: Vec<u8>) {
    ask_produce_at(stage, role, name, acks, value, stage.wall_ms());
}

/// The same with this timestamp.
pub(super) fn ask_produce_at(
    stage: &Stage,
    role: usize,
    name: &'static str,
    acks: i16,
    value: Vec<u8>,
    timestamp: i64,
) {
    stage.ask(role, ApiKey::Produce, BY_NAME, move |question| {
        let mut builder = RecordBatchBuilder::new();
        builder.append(timestamp, None, Some(&value)).expect("a batch of the scene can be built");
        let bytes = builder.build().expect("a batch of the scene can be built");
        let partition_data = vec![PartitionProduceData { index: 0, records: RecordsField::Bytes(&bytes) }];
        let topic_data = vec![TopicProduceData { name, partition_data, ..Default::default() }];
        let request = ProduceRequest { acks, timeout_ms: TIMEOUT_MS, topic_data, ..Default::default() };
        if acks == 0 { question.put_unanswered(&request) } else { question.put(&request) }
    });
}

/// Asks for a batch of one record of a producer, with its epoch and sequence, to be appended to the first partition.
pub(super) fn ask_produce_of(
    stage: &Stage,
    role: usize,
    name: &'static str,
    (producer_id, epoch, sequence): (i64, i16, i32),
    timestamp: i64,
) {
    stage.ask(role, ApiKey::Produce, BY_NAME, move |question| {
        let builder = RecordBatchBuilder::new();
        let mut builder = builder.producer(ProducerId(producer_id), ProducerEpoch(epoch), sequence);
        builder.append(timestamp, None, Some(b"of a producer")).expect("a batch of the scene can be built");
        let bytes = builder.build().expect("a batch of the scene can be built");
        let partition_data = vec![PartitionProduceData { index: 0, records: RecordsField::Bytes(&bytes) }];
        let topic_data = vec![TopicProduceData { name, partition_data, ..Default::default() }];
        question.put(&ProduceRequest { acks: -1, timeout_ms: TIMEOUT_MS, topic_data, ..Default::default() });
    });
}

/// The error and the base offset of the only partition of a produce.
pub(super) fn produced(answer: &Answer) -> Played<(ErrorCode, i64)> {
    let response = answer.read::<ProduceResponse<'_>>()?;
    let outcome = response.responses.first().and_then(|topic| topic.partition_responses.first());
    let outcome = outcome.map(|outcome| (ErrorCode::from_code(outcome.error_code), outcome.base_offset));
    outcome.ok_or_else(|| Otherwise("a produce is answered without its partition".to_string()))
}

/// Appends a record, which must be taken at this offset.
pub(super) async fn produce(stage: &Stage, role: usize, name: &'static str, value: &[u8], offset: i64) -> Played {
    ask_produce(stage, role, name, -1, value.to_vec());
    same("a produce", produced(&stage.hear(role).await)?, (ErrorCode::None, offset))
}

/// Appends a record with this timestamp, which must be taken at this offset.
pub(super) async fn produce_at(stage: &Stage, role: usize, name: &'static str, timestamp: i64, offset: i64) -> Played {
    ask_produce_at(stage, role, name, -1, b"record".to_vec(), timestamp);
    same("a produce", produced(&stage.hear(role).await)?, (ErrorCode::None, offset))
}

/// Deletes the records before an offset of the only partition.
pub(super) async fn delete_records(stage: &Stage, role: usize, name: &'static str, offset: i64) -> Played {
    let answer = stage.call(role, ApiKey::DeleteRecords, ANY, move |question| {
        let partitions = vec![DeleteRecordsPartition { partition_index: 0, offset }];
        let topics = vec![DeleteRecordsTopic { name, partitions }];
        question.put(&DeleteRecordsRequest { topics, timeout_ms: TIMEOUT_MS });
    });
    let answer = answer.await;
    let response = answer.read::<DeleteRecordsResponse<'_>>()?;
    let outcome = response.topics.first().and_then(|topic| topic.partitions.first());
    let outcome = outcome.map(|outcome| (ErrorCode::from_code(outcome.error_code), outcome.low_watermark));
    same("a deletion of records", outcome, Some((ErrorCode::None, offset)))
}

/// The error and the offset of the only partition at a timestamp.
pub(super) async fn offset_at(
    stage: &Stage,
    role: usize,
    name: &'static str,
    timestamp: i64,
) -> Played<(ErrorCode, i64)> {
    let answer = stage.call(role, ApiKey::ListOffsets, ANY, move |question| {
        let partitions = vec![ListOffsetsPartition { timestamp, ..Default::default() }];
        let topics = vec![ListOffsetsTopic { name, partitions }];
        question.put(&ListOffsetsRequest { replica_id: -1, topics, ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<ListOffsetsResponse<'_>>()?;
    let found = response.topics.first().and_then(|topic| topic.partitions.first());
    let found = found.map(|found| (ErrorCode::from_code(found.error_code), found.offset));
    found.ok_or_else(|| Otherwise("a look-up is answered without its partition".to_string()))
}

/// The value of a configuration of a topic, and where it comes from.
pub(super) async fn config(
    stage: &Stage,
    role: usize,
    resource_name: &'static str,
    key: &'static str,
) -> Played<(String, i8)> {
    let answer = stage.call(role, ApiKey::DescribeConfigs, ANY, move |question| {
        let configuration_keys = Some(vec![key]);
        let resource = DescribeConfigsResource { resource_type: RESOURCE, resource_name, configuration_keys };
        question.put(&DescribeConfigsRequest { resources: vec![resource], ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<DescribeConfigsResponse<'_>>()?;
    let told = response.results.first().and_then(|result| result.configs.first());
    let told = told.map(|config| (config.value.unwrap_or_default().to_owned(), config.config_source));
    told.ok_or_else(|| Otherwise(format!("nothing is told of {key} of {resource_name}")))
}
