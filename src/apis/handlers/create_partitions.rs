//! CreatePartitions: gives topics more partitions, and answers when those can be used.
//!
//! It must not know how topics are stored.

use std::sync::Arc;

use crate::apis::answer::{Answer, Outcome};
use crate::apis::api_request::{ApiRequest, respond};
use crate::apis::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::metadata::{ApiError, CreatePartitionsTopic, ItemResults, create_partitions};
use crate::protocol::DecodeError;
use crate::protocol::messages::create_partitions::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic as AskedTopic, CreatePartitionsTopicResult,
};
use crate::types::{BrokerId, Now, Ticket};
use crate::zoo::{self, Bug};

/// Adds what can be added; with `validate_only` says what could.
pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: CreatePartitionsRequest<'_> = request.decode()?;
    let topics: Vec<CreatePartitionsTopic> = message.topics.iter().map(asked).collect();
    let answer = apis.decide(
        now,
        request.ticket,
        message.timeout_ms,
        |image, _| {
            create_partitions(image, &topics, message.validate_only && !zoo::is(Bug::ValidationCreatesPartitions))
        },
        |results| word(request.ticket, results),
        |error| {
            let refuse =
                |topic: &CreatePartitionsTopic| (Arc::clone(&topic.name), Err(ApiError::without_message(error)));
            word(request.ticket, &topics.iter().map(refuse).collect())
        },
    );
    Ok(answer.into())
}

fn asked(topic: &AskedTopic<'_>) -> CreatePartitionsTopic {
    let brokers = |ids: &[i32]| ids.iter().copied().map(BrokerId).collect::<Vec<_>>();
    CreatePartitionsTopic {
        name: Arc::from(topic.name),
        count: topic.count,
        assignments: topic
            .assignments
            .as_ref()
            .map(|assignments| assignments.iter().map(|assignment| brokers(&assignment.broker_ids)).collect()),
    }
}

fn word(ticket: Ticket, results: &ItemResults<Arc<str>, ()>) -> Answer {
    let results = results.iter().map(|(name, result)| {
        let error = result.as_ref().err();
        CreatePartitionsTopicResult {
            name,
            error_code: error.map_or(ErrorCode::None, |error| error.code).code(),
            error_message: error.and_then(|error| error.message.as_deref()),
        }
    });
    respond(ticket, &CreatePartitionsResponse { results: results.collect(), ..Default::default() })
}
