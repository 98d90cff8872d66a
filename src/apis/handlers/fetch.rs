//! Fetch: reads batches from where the client stands, now or when there are enough of them.
//!
//! It must not know how batches are found.

use std::sync::Arc;

use crate::apis::answer::{Answer, Outcome};
use crate::apis::api_request::{ApiRequest, respond_with_extents};
use crate::apis::delayed_fetch::{FetchPlan, PartitionPlan, TopicPlan};
use crate::apis::kafka_apis::KafkaApis;
use crate::apis::partition::Partition;
use crate::apis::replica_manager::{Fetched, FetchedPartition};
use crate::error_code::ErrorCode;
use crate::log::FetchIsolation;
use crate::protocol::messages::fetch::{
    FetchPartition, FetchRequest, FetchResponse, FetchTopic, FetchableTopicResponse, PartitionData,
};
use crate::protocol::{DecodeError, RecordsField};
use crate::types::{Now, Offset, PartitionIndex, Ticket};

/// Answers at once if there is enough, or an error, or no time to wait; else parks.
pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: FetchRequest<'_> = request.decode()?;
    let plan = plan(apis, request.version(), &message);
    let replica_manager = apis.replica_manager();
    let fetched = replica_manager.fetch(&plan);
    let is_empty = plan.topics.is_empty();
    if message.max_wait_ms <= 0 || is_empty || fetched.bytes >= plan.bytes_min || fetched.has_read_error {
        return Ok(respond_fetched(request.ticket, &plan, fetched).into());
    }
    let completions = replica_manager.park_fetch(now, request.ticket, message.max_wait_ms, plan);
    Ok(Outcome { answer: Answer::Later, completions })
}

fn plan(apis: &KafkaApis, version: i16, message: &FetchRequest<'_>) -> FetchPlan {
    let bytes_max = usize_or_zero(message.max_bytes).min(apis.settings().request.fetch_bytes_max);
    FetchPlan {
        topics: message.topics.iter().map(|topic| plan_topic(apis, version, topic)).collect(),
        isolation: if message.isolation_level == 1 {
            FetchIsolation::TransactionCommitted
        } else {
            FetchIsolation::HighWatermark
        },
        bytes_min: usize_or_zero(message.min_bytes).min(bytes_max),
        bytes_max,
    }
}

fn plan_topic(apis: &KafkaApis, version: i16, topic: &FetchTopic<'_>) -> TopicPlan {
    let partitions = topic.partitions.iter().map(|partition| plan_partition(apis, version, topic, partition));
    TopicPlan { name: Arc::from(topic.topic), topic_id: topic.topic_id, partitions: partitions.collect() }
}

fn plan_partition(apis: &KafkaApis, version: i16, topic: &FetchTopic<'_>, partition: &FetchPartition) -> PartitionPlan {
    let index = PartitionIndex(partition.partition);
    let source = if version >= 13 {
        apis.replica_manager().find_by_id(topic.topic_id, index).ok_or(ErrorCode::UnknownTopicId)
    } else {
        apis.replica_manager().find(topic.topic, index).ok_or(ErrorCode::UnknownTopicOrPartition)
    };
    let is_current = |found: &Arc<Partition>| found.check_leader_epoch(partition.current_leader_epoch);
    PartitionPlan {
        index,
        source: source.and_then(|found| is_current(&found).map(|()| found)),
        offset: Offset(partition.fetch_offset),
        bytes_max: usize_or_zero(partition.partition_max_bytes),
    }
}

fn usize_or_zero(number: i32) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// The answer to a fetch: records are holes that file ranges fill.
pub(crate) fn respond_fetched(ticket: Ticket, plan: &FetchPlan, fetched: Fetched) -> Answer {
    let mut found = fetched.partitions.iter();
    let responses = plan.topics.iter().map(|topic| FetchableTopicResponse {
        topic: &topic.name,
        topic_id: topic.topic_id,
        partitions: topic.partitions.iter().zip(found.by_ref()).map(|(plan, found)| data_of(plan, found)).collect(),
    });
    let response = FetchResponse { responses: responses.collect(), ..Default::default() };
    let extents =
        fetched.partitions.iter().map(|partition| partition.records.clone()).filter(|records| !records.is_empty());
    respond_with_extents(ticket, &response, extents)
}

fn data_of(plan: &PartitionPlan, found: &FetchedPartition) -> PartitionData<'static> {
    let bytes = found.records.iter().map(crate::env::Piece::bytes).sum();
    PartitionData {
        partition_index: plan.index.0,
        error_code: found.error.code(),
        high_watermark: found.high_watermark.0,
        last_stable_offset: found.last_stable_offset.0,
        log_start_offset: found.log_start_offset.0,
        aborted_transactions: None,
        records: if bytes == 0 { RecordsField::Bytes(&[]) } else { RecordsField::Hole(bytes) },
        ..Default::default()
    }
}
