//! DeleteRecords: moves the start of logs forward (KIP-107).
//!
//! The new start holds when it answers; as in Kafka it reaches the disk with the next checkpoint. It must not know how segments go.

use crate::apis::answer::{Completion, Outcome};
use crate::apis::api_request::ApiRequest;
use crate::apis::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::metadata::is_internal_topic;
use crate::protocol::DecodeError;
use crate::protocol::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsPartitionResult, DeleteRecordsRequest, DeleteRecordsResponse,
    DeleteRecordsTopicResult,
};
use crate::types::{Now, Offset, PartitionIndex};

/// What stands for the start of a log that is not told.
const NO_LOW_WATERMARK: i64 = -1;

/// Answers each partition by itself, and those who wait for records that are gone now.
pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: DeleteRecordsRequest<'_> = request.decode()?;
    let mut completions = Vec::new();
    let topics = message.topics.iter().map(|topic| DeleteRecordsTopicResult {
        name: topic.name,
        partitions: topic
            .partitions
            .iter()
            .map(|partition| delete(apis, now, topic.name, partition, &mut completions))
            .collect(),
    });
    let response = DeleteRecordsResponse { topics: topics.collect(), ..Default::default() };
    Ok(Outcome { answer: request.respond(&response), completions })
}

fn delete(
    apis: &KafkaApis,
    now: Now,
    topic: &str,
    asked: &DeleteRecordsPartition,
    completions: &mut Vec<Completion>,
) -> DeleteRecordsPartitionResult {
    let (low_watermark, error) = match log_start_moved(apis, now, topic, asked, completions) {
        Ok(log_start) => (log_start.0, ErrorCode::None),
        Err(error) => (NO_LOW_WATERMARK, error),
    };
    DeleteRecordsPartitionResult { partition_index: asked.partition_index, low_watermark, error_code: error.code() }
}

fn log_start_moved(
    apis: &KafkaApis,
    now: Now,
    topic: &str,
    asked: &DeleteRecordsPartition,
    completions: &mut Vec<Completion>,
) -> Result<Offset, ErrorCode> {
    let partition = apis.partition(topic, PartitionIndex(asked.partition_index))?;
    if is_internal_topic(topic) {
        return Err(ErrorCode::InvalidTopicException);
    }
    let settings = partition.log.settings();
    if settings.compact && !settings.delete {
        return Err(ErrorCode::PolicyViolation);
    }
    let log_start =
        partition.log.delete_records_before(Offset(asked.offset)).map_err(|error| ErrorCode::from(&error))?;
    completions.extend(apis.replica_manager().high_watermark_moved(now, partition.key));
    Ok(log_start)
}
