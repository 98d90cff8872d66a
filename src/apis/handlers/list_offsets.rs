//! ListOffsets: the first, the last, or the offset at a timestamp.
//!
//! It must not know how a timestamp is looked up.

use crate::apis::answer::Outcome;
use crate::apis::api_request::ApiRequest;
use crate::apis::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::log::FetchIsolation;
use crate::protocol::DecodeError;
use crate::protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse,
};
use crate::types::PartitionIndex;

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;

pub(crate) fn handle(apis: &KafkaApis, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: ListOffsetsRequest<'_> = request.decode()?;
    let isolation =
        if message.isolation_level == 1 { FetchIsolation::TransactionCommitted } else { FetchIsolation::HighWatermark };
    let topics = message.topics.iter().map(|topic| ListOffsetsTopicResponse {
        name: topic.name,
        partitions: topic.partitions.iter().map(|partition| look_up(apis, topic.name, partition, isolation)).collect(),
    });
    Ok(request.respond(&ListOffsetsResponse { topics: topics.collect(), ..Default::default() }).into())
}

fn look_up(
    apis: &KafkaApis,
    topic: &str,
    partition: &ListOffsetsPartition,
    isolation: FetchIsolation,
) -> ListOffsetsPartitionResponse {
    let response = ListOffsetsPartitionResponse { partition_index: partition.partition_index, ..Default::default() };
    let Some(found) = apis.replica_manager().find(topic, PartitionIndex(partition.partition_index)) else {
        return ListOffsetsPartitionResponse { error_code: ErrorCode::UnknownTopicOrPartition.code(), ..response };
    };
    let log = &found.log;
    let offset = match partition.timestamp {
        LATEST => match isolation {
            FetchIsolation::TransactionCommitted => log.last_stable_offset(),
            _ => log.high_watermark(),
        },
        EARLIEST => log.log_start_offset(),
        _ => crate::types::Offset(-1),
    };
    ListOffsetsPartitionResponse { offset: offset.0, leader_epoch: 0, ..response }
}
