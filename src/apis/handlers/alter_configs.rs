//! AlterConfigs: replaces all configurations of a resource; the incremental form supersedes it.
//!
//! It must not know a single key.

use std::sync::Arc;

use crate::apis::answer::{Answer, Outcome};
use crate::apis::api_request::{ApiRequest, respond};
use crate::apis::config_schema::LayeredSchema;
use crate::apis::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::limits::DECISION_TIMEOUT_MS;
use crate::metadata::{AlterConfigsResource, ApiError, ItemResults, alter_configs};
use crate::protocol::DecodeError;
use crate::protocol::messages::alter_configs::{
    AlterConfigsRequest, AlterConfigsResource as AskedResource, AlterConfigsResourceResponse, AlterConfigsResponse,
};
use crate::types::{Now, Ticket};

type Results = ItemResults<(i8, Arc<str>), ()>;

/// Replaces what can be replaced. The settings hold when it answers, unless it had to answer that the disk takes too long.
pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: AlterConfigsRequest<'_> = request.decode()?;
    let resources: Vec<AlterConfigsResource> = message.resources.iter().map(asked).collect();
    let answer = apis.configs().with_layers(|layers| {
        let schema = LayeredSchema { layers };
        apis.decide(
            now,
            request.ticket,
            DECISION_TIMEOUT_MS,
            |image, _| alter_configs(image, &schema, apis.broker_id(), &resources, message.validate_only),
            |results| word(request.ticket, results),
            |error| {
                let key = |asked: &AlterConfigsResource| (asked.resource_type, Arc::clone(&asked.resource_name));
                let refuse = |asked| (key(asked), Err(ApiError::without_message(error)));
                word(request.ticket, &resources.iter().map(refuse).collect())
            },
        )
    });
    Ok(answer.into())
}

fn asked(resource: &AskedResource<'_>) -> AlterConfigsResource {
    AlterConfigsResource {
        resource_type: resource.resource_type,
        resource_name: Arc::from(resource.resource_name),
        configs: resource.configs.iter().map(|config| (Arc::from(config.name), config.value.map(Arc::from))).collect(),
    }
}

fn word(ticket: Ticket, results: &Results) -> Answer {
    let responses = results.iter().map(|((resource_type, name), result)| {
        let error = result.as_ref().err();
        AlterConfigsResourceResponse {
            error_code: error.map_or(ErrorCode::None, |error| error.code).code(),
            error_message: error.and_then(|error| error.message.as_deref()),
            resource_type: *resource_type,
            resource_name: name,
        }
    });
    respond(ticket, &AlterConfigsResponse { responses: responses.collect(), ..Default::default() })
}
