//! OffsetCommit: where a group has got to, answered when it is on the disk.
//!
//! Partitions that do not exist are refused here, since a coordinator does not know topics. It must not know how a group decides.

use std::sync::Arc;

use crate::apis::answer::{Answer, Outcome};
use crate::apis::answer_parts::AnswerPart;
use crate::apis::api_request::{ApiRequest, respond};
use crate::apis::group_answer::outcome;
use crate::apis::kafka_apis::KafkaApis;
use crate::coordinator::group::{
    CommitAnswer, CommitPartition, CommitRequest, CommitTopic, CommittedPartition, CommittedTopic,
};
use crate::error_code::ErrorCode;
use crate::metadata::{MetadataImage, TopicImage};
use crate::protocol::DecodeError;
use crate::protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use crate::types::{LeaderEpoch, Now, Offset, PartitionIndex, Ticket};

/// The first version that names topics by id.
const TOPIC_IDS_VERSION_MIN: i16 = 10;
/// The first version whose clients understand that a group does not exist.
const GROUP_ID_NOT_FOUND_VERSION_MIN: i16 = 9;

pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: OffsetCommitRequest<'_> = request.decode()?;
    let image = apis.image();
    let (topics, refused) = sort_out(&image, request.version(), &message);
    if topics.is_empty() {
        return Ok(respond_committed(request.ticket, &CommitAnswer { topics: refused }).into());
    }
    let commit = CommitRequest {
        group_id: message.group_id,
        generation: message.generation_id_or_member_epoch,
        member_id: message.member_id,
        group_instance_id: message.group_instance_id,
        retention_ms: Some(message.retention_time_ms).filter(|retention_ms| *retention_ms >= 0),
        understands_group_id_not_found: request.version() >= GROUP_ID_NOT_FOUND_VERSION_MIN,
        topics,
    };
    let groups = apis.groups();
    if !refused.is_empty() {
        groups.parts().keep(request.ticket, AnswerPart::Topics(refused));
    }
    let asked =
        groups.ask(now, message.group_id, |coordinator| coordinator.handle_commit(now, request.ticket, &commit));
    Ok(outcome(request.ticket, asked, |error| {
        groups.parts().take(request.ticket);
        let topics = message.topics.iter();
        let topics = topics.map(|topic| refusal(topic, topic.partitions.iter(), error)).collect();
        respond_committed(request.ticket, &CommitAnswer { topics })
    }))
}

/// Parts what exists from what does not.
fn sort_out<'a>(
    image: &'a MetadataImage,
    version: i16,
    message: &OffsetCommitRequest<'a>,
) -> (Vec<CommitTopic<'a>>, Vec<CommittedTopic>) {
    let (mut topics, mut refused) = (Vec::new(), Vec::new());
    for topic in &message.topics {
        let (found, unknown) = if version >= TOPIC_IDS_VERSION_MIN {
            (image.topic_by_id(topic.topic_id), ErrorCode::UnknownTopicId)
        } else {
            (image.topic(topic.name), ErrorCode::UnknownTopicOrPartition)
        };
        let Some(found) = found else {
            refused.push(refusal(topic, topic.partitions.iter(), unknown));
            continue;
        };
        let exists = |partition: &&OffsetCommitRequestPartition<'_>| {
            found.partitions.contains_key(&PartitionIndex(partition.partition_index))
        };
        let missing: Vec<_> = topic.partitions.iter().filter(|partition| !exists(partition)).collect();
        if !missing.is_empty() {
            let mut topic = refusal(topic, missing.into_iter(), ErrorCode::UnknownTopicOrPartition);
            (topic.name, topic.topic_id) = (Arc::clone(&found.name), found.topic_id);
            refused.push(topic);
        }
        let partitions: Vec<CommitPartition<'_>> =
            topic.partitions.iter().filter(exists).map(commit_partition).collect();
        if !partitions.is_empty() {
            topics.push(commit_topic(found, partitions));
        }
    }
    (topics, refused)
}

fn commit_topic<'a>(topic: &'a TopicImage, partitions: Vec<CommitPartition<'a>>) -> CommitTopic<'a> {
    CommitTopic { name: &topic.name, topic_id: topic.topic_id, partitions }
}

fn commit_partition<'a>(partition: &OffsetCommitRequestPartition<'a>) -> CommitPartition<'a> {
    CommitPartition {
        partition: PartitionIndex(partition.partition_index),
        offset: Offset(partition.committed_offset),
        leader_epoch: Some(LeaderEpoch(partition.committed_leader_epoch)).filter(|epoch| epoch.0 >= 0),
        metadata: partition.committed_metadata,
    }
}

fn refusal<'a, 'b: 'a>(
    topic: &OffsetCommitRequestTopic<'_>,
    partitions: impl Iterator<Item = &'a OffsetCommitRequestPartition<'b>>,
    error: ErrorCode,
) -> CommittedTopic {
    let partitions =
        partitions.map(|partition| CommittedPartition { partition: PartitionIndex(partition.partition_index), error });
    CommittedTopic { name: Arc::from(topic.name), topic_id: topic.topic_id, partitions: partitions.collect() }
}

/// The answer to an OffsetCommit.
pub(crate) fn respond_committed(ticket: Ticket, answer: &CommitAnswer) -> Answer {
    let partition = |partition: &CommittedPartition| OffsetCommitResponsePartition {
        partition_index: partition.partition.0,
        error_code: partition.error.code(),
    };
    let topics = answer.topics.iter().map(|topic| OffsetCommitResponseTopic {
        name: &topic.name,
        topic_id: topic.topic_id,
        partitions: topic.partitions.iter().map(partition).collect(),
    });
    respond(ticket, &OffsetCommitResponse { throttle_time_ms: 0, topics: topics.collect() })
}
