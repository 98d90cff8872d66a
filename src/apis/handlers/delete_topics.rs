//! DeleteTopics: removes topics by name or by id.
//!
//! It must not know what becomes of their files.

use std::sync::Arc;

use crate::apis::answer::{Answer, Outcome};
use crate::apis::api_request::{ApiRequest, respond};
use crate::apis::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::metadata::{ApiError, DeletableTopicResult, DeleteTopic, delete_topics};
use crate::protocol::DecodeError;
use crate::protocol::messages::delete_topics::{
    DeletableTopicResult as TopicResult, DeleteTopicsRequest, DeleteTopicsResponse,
};
use crate::types::{Now, Ticket, TopicId};

/// The first version in which a client understands that topics cannot be deleted at all.
const FIRST_VERSION_WITH_DELETION_DISABLED: i16 = 3;

/// Deletes what can be deleted; the logs are out of reach when it answers.
pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: DeleteTopicsRequest<'_> = request.decode()?;
    let topics = asked_topics(&message);
    if !apis.settings().topic_creation.can_delete {
        let error = if request.version() < FIRST_VERSION_WITH_DELETION_DISABLED {
            ErrorCode::InvalidRequest
        } else {
            ErrorCode::TopicDeletionDisabled
        };
        return Ok(refuse_all(request.ticket, &topics, error).into());
    }
    let answer = apis.decide(
        now,
        request.ticket,
        message.timeout_ms,
        |image, _| delete_topics(image, &topics),
        |results| word(request.ticket, results),
        |error| refuse_all(request.ticket, &topics, error),
    );
    Ok(answer.into())
}

fn asked_topics(message: &DeleteTopicsRequest<'_>) -> Vec<DeleteTopic> {
    let by_name = message.topic_names.iter().map(|name| (Some(*name), TopicId::ZERO));
    let by_either = message.topics.iter().map(|topic| (topic.name, topic.topic_id));
    let asked = by_name.chain(by_either);
    asked.map(|(name, topic_id)| DeleteTopic { name: name.map(Arc::from), topic_id }).collect()
}

fn refuse_all(ticket: Ticket, topics: &[DeleteTopic], error: ErrorCode) -> Answer {
    let refuse = |topic: &DeleteTopic| DeletableTopicResult {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        result: Err(ApiError::without_message(error)),
    };
    word(ticket, &topics.iter().map(refuse).collect::<Vec<_>>())
}

fn word(ticket: Ticket, results: &[DeletableTopicResult]) -> Answer {
    let responses = results.iter().map(|topic| {
        let error = topic.result.as_ref().err();
        TopicResult {
            name: topic.name.as_deref(),
            topic_id: topic.topic_id,
            error_code: error.map_or(ErrorCode::None, |error| error.code).code(),
            error_message: error.and_then(|error| error.message.as_deref()),
        }
    });
    respond(ticket, &DeleteTopicsResponse { responses: responses.collect(), ..Default::default() })
}
