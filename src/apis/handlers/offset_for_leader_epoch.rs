//! OffsetForLeaderEpoch: where a leader epoch ended, so that a client finds out which of its records are gone (KIP-101, KIP-320).
//!
//! It must not know how epochs are kept.

use crate::apis::answer::Outcome;
use crate::apis::api_request::ApiRequest;
use crate::apis::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::protocol::DecodeError;
use crate::protocol::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
};
use crate::types::{LeaderEpoch, Offset, PartitionIndex};

/// Answers each partition by itself.
pub(crate) fn handle(apis: &KafkaApis, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: OffsetForLeaderEpochRequest<'_> = request.decode()?;
    let topics = message.topics.iter().map(|topic| OffsetForLeaderTopicResult {
        topic: topic.topic,
        partitions: topic.partitions.iter().map(|partition| answer(apis, topic.topic, partition)).collect(),
    });
    Ok(request.respond(&OffsetForLeaderEpochResponse { topics: topics.collect(), ..Default::default() }).into())
}

fn answer(apis: &KafkaApis, topic: &str, asked: &OffsetForLeaderPartition) -> EpochEndOffset {
    let answer = EpochEndOffset { partition: asked.partition, ..Default::default() };
    match end_offset(apis, topic, asked) {
        Ok(Some((epoch, end))) => EpochEndOffset { leader_epoch: epoch.0, end_offset: end.0, ..answer },
        Ok(None) => answer,
        Err(error) => EpochEndOffset { error_code: error.code(), ..answer },
    }
}

fn end_offset(
    apis: &KafkaApis,
    topic: &str,
    asked: &OffsetForLeaderPartition,
) -> Result<Option<(LeaderEpoch, Offset)>, ErrorCode> {
    let partition = apis.partition(topic, PartitionIndex(asked.partition))?;
    partition.check_leader_epoch(asked.current_leader_epoch)?;
    if partition.log.is_offline() {
        return Err(ErrorCode::KafkaStorageError);
    }
    Ok(partition.log.end_offset_for_epoch(LeaderEpoch(asked.leader_epoch)))
}
