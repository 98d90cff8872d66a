//! DescribeTopicPartitions: topics and their partitions, page by page (KIP-966).
//!
//! It must not know how topics are stored.

use std::collections::BTreeSet;

use crate::apis::answer::Outcome;
use crate::apis::api_request::ApiRequest;
use crate::apis::authorized_operations::TOPIC_OPERATIONS;
use crate::apis::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::metadata::{MetadataImage, PartitionRegistration, TopicImage, is_internal_topic, validate_topic_name};
use crate::protocol::DecodeError;
use crate::protocol::messages::describe_topic_partitions::{
    Cursor, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
};
use crate::types::{BrokerId, PartitionIndex};
use crate::zoo::{self, Bug};

/// Answers from the cursor on until the page is full; no topics asks for all.
pub(crate) fn handle(apis: &KafkaApis, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: DescribeTopicPartitionsRequest<'_> = request.decode()?;
    let image = apis.image();
    if !is_valid(&message) {
        return Ok(request.respond(&refuse(&message)).into());
    }
    let from = message.cursor.as_ref().map_or("", |cursor| cursor.topic_name);
    let names: BTreeSet<&str> = match message.topics.as_slice() {
        [] => image.topics_from(from).map(|topic| &*topic.name).collect(),
        topics => topics.iter().map(|topic| topic.name).filter(|name| *name >= from).collect(),
    };
    let limit = usize::try_from(message.response_partition_limit).unwrap_or(0);
    let limit = limit.min(apis.settings().request.described_partitions_max).max(1);
    let first = message.cursor.as_ref().map_or(0, |cursor| cursor.partition_index);
    let start_of = |name: &str| if name == from { PartitionIndex(first) } else { PartitionIndex(0) };
    let response = page(apis, &image, &names, start_of, limit);
    Ok(request.respond(&response).into())
}

/// A cursor must point into what is asked for.
fn is_valid(message: &DescribeTopicPartitionsRequest<'_>) -> bool {
    let Some(cursor) = &message.cursor else { return true };
    let is_among = message.topics.is_empty() || message.topics.iter().any(|topic| topic.name == cursor.topic_name);
    is_among && cursor.partition_index >= 0
}

fn refuse<'a>(message: &DescribeTopicPartitionsRequest<'a>) -> DescribeTopicPartitionsResponse<'a> {
    let topics = message.topics.iter().map(|topic| DescribeTopicPartitionsResponseTopic {
        error_code: ErrorCode::InvalidRequest.code(),
        name: Some(topic.name),
        ..Default::default()
    });
    DescribeTopicPartitionsResponse { topics: topics.collect(), ..Default::default() }
}

/// As many partitions as fit, and a cursor to the first that does not.
fn page<'a>(
    apis: &KafkaApis,
    image: &'a MetadataImage,
    names: &BTreeSet<&'a str>,
    start_of: impl Fn(&str) -> PartitionIndex,
    limit: usize,
) -> DescribeTopicPartitionsResponse<'a> {
    let mut response = DescribeTopicPartitionsResponse::default();
    let mut left = limit;
    for name in names {
        if left == 0 {
            response.next_cursor = Some(Cursor { topic_name: name, partition_index: 0 });
            break;
        }
        let Some(topic) = image.topic(name) else {
            response.topics.push(missing(name));
            continue;
        };
        let mut partitions = topic.partitions.range(start_of(name)..);
        let described: Vec<_> =
            partitions.by_ref().take(left).map(|one| describe_partition(apis, topic, one)).collect();
        left -= described.len();
        response.topics.push(described_topic(topic, described));
        if let Some((next, _)) = partitions.next() {
            let partition_index = next.0 + i32::from(zoo::is(Bug::PageLeaps));
            response.next_cursor = Some(Cursor { topic_name: name, partition_index });
            break;
        }
    }
    response
}

fn described_topic(
    topic: &TopicImage,
    partitions: Vec<DescribeTopicPartitionsResponsePartition>,
) -> DescribeTopicPartitionsResponseTopic<'_> {
    DescribeTopicPartitionsResponseTopic {
        error_code: ErrorCode::None.code(),
        name: Some(&topic.name),
        topic_id: topic.topic_id,
        is_internal: is_internal_topic(&topic.name),
        partitions,
        topic_authorized_operations: TOPIC_OPERATIONS,
    }
}

fn missing(name: &str) -> DescribeTopicPartitionsResponseTopic<'_> {
    let error = match validate_topic_name(name) {
        Ok(()) => ErrorCode::UnknownTopicOrPartition,
        Err(_) => ErrorCode::InvalidTopicException,
    };
    DescribeTopicPartitionsResponseTopic {
        error_code: error.code(),
        name: Some(name),
        is_internal: is_internal_topic(name),
        topic_authorized_operations: TOPIC_OPERATIONS,
        ..Default::default()
    }
}

fn describe_partition(
    apis: &KafkaApis,
    topic: &TopicImage,
    (index, partition): (&PartitionIndex, &PartitionRegistration),
) -> DescribeTopicPartitionsResponsePartition {
    let ids = |brokers: &[BrokerId]| brokers.iter().map(|broker| broker.0).collect::<Vec<i32>>();
    let leadership = apis.leadership(topic.topic_id, *index, partition);
    DescribeTopicPartitionsResponsePartition {
        error_code: leadership.error.code(),
        partition_index: index.0,
        leader_id: leadership.leader_id,
        leader_epoch: partition.leader_epoch.0,
        replica_nodes: ids(&partition.replicas),
        isr_nodes: ids(&partition.isr),
        eligible_leader_replicas: Some(Vec::new()),
        last_known_elr: Some(Vec::new()),
        offline_replicas: leadership.offline_replicas,
    }
}
