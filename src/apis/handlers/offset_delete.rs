//! OffsetDelete: a group forgets where it has got to in some partitions.
//!
//! It must not know how a group decides.

use std::sync::Arc;

use crate::apis::answer::{Answer, Outcome};
use crate::apis::answer_parts::AnswerPart;
use crate::apis::api_request::{ApiRequest, respond};
use crate::apis::group_answer::outcome;
use crate::apis::kafka_apis::KafkaApis;
use crate::coordinator::group::{CommittedPartition, CommittedTopic, DeleteOffsetsAnswer, DeleteOffsetsRequest};
use crate::error_code::ErrorCode;
use crate::metadata::MetadataImage;
use crate::protocol::DecodeError;
use crate::protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteResponse, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use crate::types::{Now, PartitionIndex, Ticket, TopicId};

pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: OffsetDeleteRequest<'_> = request.decode()?;
    let (topics, refused) = sort_out(&apis.image(), &message);
    let groups = apis.groups();
    if !refused.is_empty() {
        groups.parts().keep(request.ticket, AnswerPart::Topics(refused));
    }
    let delete = DeleteOffsetsRequest { group_id: message.group_id, topics };
    let asked =
        groups.ask(now, message.group_id, |coordinator| coordinator.handle_delete_offsets(request.ticket, &delete));
    Ok(outcome(request.ticket, asked, |error| {
        groups.parts().take(request.ticket);
        respond_offsets_deleted(request.ticket, &DeleteOffsetsAnswer { error, topics: Vec::new() })
    }))
}

/// Parts what exists from what does not.
fn sort_out<'a>(
    image: &MetadataImage,
    message: &OffsetDeleteRequest<'a>,
) -> (Vec<(&'a str, Vec<PartitionIndex>)>, Vec<CommittedTopic>) {
    let (mut topics, mut refused) = (Vec::new(), Vec::new());
    for topic in &message.topics {
        let asked = topic.partitions.iter().map(|partition| PartitionIndex(partition.partition_index));
        let (known, unknown): (Vec<_>, Vec<_>) =
            asked.partition(|partition| image.partition(topic.name, *partition).is_some());
        if !unknown.is_empty() {
            let error = ErrorCode::UnknownTopicOrPartition;
            let partitions = unknown.into_iter().map(|partition| CommittedPartition { partition, error }).collect();
            refused.push(CommittedTopic { name: Arc::from(topic.name), topic_id: TopicId::ZERO, partitions });
        }
        if !known.is_empty() {
            topics.push((topic.name, known));
        }
    }
    (topics, refused)
}

/// The answer to an OffsetDelete.
pub(crate) fn respond_offsets_deleted(ticket: Ticket, answer: &DeleteOffsetsAnswer) -> Answer {
    let partition = |partition: &CommittedPartition| OffsetDeleteResponsePartition {
        partition_index: partition.partition.0,
        error_code: partition.error.code(),
    };
    let topics = answer.topics.iter().map(|topic| OffsetDeleteResponseTopic {
        name: &topic.name,
        partitions: topic.partitions.iter().map(partition).collect(),
    });
    let response =
        OffsetDeleteResponse { error_code: answer.error.code(), throttle_time_ms: 0, topics: topics.collect() };
    respond(ticket, &response)
}
