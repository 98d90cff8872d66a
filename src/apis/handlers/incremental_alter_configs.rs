//! IncrementalAlterConfigs: sets, deletes, appends to and subtracts from single configurations (KIP-339).
//!
//! It must not know a single key.

use std::sync::Arc;

use crate::apis::answer::{Answer, Outcome};
use crate::apis::api_request::{ApiRequest, respond};
use crate::apis::config_schema::LayeredSchema;
use crate::apis::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::limits::DECISION_TIMEOUT_MS;
use crate::metadata::{
    AlterConfigOp, ApiError, IncrementalAlterConfigsResource, ItemResults, incremental_alter_configs,
};
use crate::protocol::DecodeError;
use crate::protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterConfigsResourceResponse, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};
use crate::types::{Now, Ticket};
use crate::zoo::{self, Bug};

type Results = ItemResults<(i8, Arc<str>), ()>;

/// Changes what can be changed; the settings hold when it answers.
pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: IncrementalAlterConfigsRequest<'_> = request.decode()?;
    let resources: Vec<IncrementalAlterConfigsResource> = message.resources.iter().map(asked).collect();
    let validate_only = message.validate_only && !zoo::is(Bug::ValidationAlters);
    let answer = apis.configs().with_layers(|layers| {
        let schema = LayeredSchema { layers };
        apis.decide(
            now,
            request.ticket,
            DECISION_TIMEOUT_MS,
            |image, _| incremental_alter_configs(image, &schema, apis.broker_id(), &resources, validate_only),
            |results| word(request.ticket, results),
            |error| {
                let key =
                    |asked: &IncrementalAlterConfigsResource| (asked.resource_type, Arc::clone(&asked.resource_name));
                let refuse = |asked| (key(asked), Err(ApiError::without_message(error)));
                word(request.ticket, &resources.iter().map(refuse).collect())
            },
        )
    });
    Ok(answer.into())
}

fn asked(resource: &AlterConfigsResource<'_>) -> IncrementalAlterConfigsResource {
    let configs = resource.configs.iter().map(|config| AlterConfigOp {
        name: Arc::from(config.name),
        operation: config.config_operation,
        value: config.value.map(Arc::from),
    });
    IncrementalAlterConfigsResource {
        resource_type: resource.resource_type,
        resource_name: Arc::from(resource.resource_name),
        configs: configs.collect(),
    }
}

fn word(ticket: Ticket, results: &Results) -> Answer {
    let is_bad = |error: &ApiError| error.code == ErrorCode::InvalidConfig;
    if zoo::is(Bug::BadConfigDisconnects) && results.iter().any(|(_, result)| result.as_ref().is_err_and(is_bad)) {
        return Answer::Close("a configuration that makes no sense");
    }
    let responses = results.iter().map(|((resource_type, name), result)| {
        let error = result.as_ref().err();
        AlterConfigsResourceResponse {
            error_code: error.map_or(ErrorCode::None, |error| error.code).code(),
            error_message: error.and_then(|error| error.message.as_deref()),
            resource_type: *resource_type,
            resource_name: name,
        }
    });
    respond(ticket, &IncrementalAlterConfigsResponse { responses: responses.collect(), ..Default::default() })
}
