//! DescribeConfigs: every value of a topic, a broker or a group, where it comes from, and what it would otherwise be.
//!
//! It must not know a single key.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::apis::answer::{Answer, Outcome};
use crate::apis::answer_budget::{AnswerBudget, AnswerTooLong};
use crate::apis::api_request::ApiRequest;
use crate::apis::broker_configs::owned;
use crate::apis::kafka_apis::KafkaApis;
use crate::config::{ConfigEntry, ConfigSynonym, describe_broker, describe_cluster, describe_group, describe_topic};
use crate::error_code::ErrorCode;
use crate::metadata::{ApiError, ConfigResource, ConfigResourceType, MetadataImage, validate_topic_name};
use crate::protocol::DecodeError;
use crate::protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResponse,
    DescribeConfigsResult, DescribeConfigsSynonym,
};

/// What a resource takes beside its entries, the text of a refusal included.
const RESOURCE_BYTES: usize = 256;

type Described = Result<Vec<ConfigEntry>, ApiError>;

/// Answers each resource by itself.
pub(crate) fn handle(apis: &KafkaApis, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: DescribeConfigsRequest<'_> = request.decode()?;
    let image = apis.image();
    let mut budget = AnswerBudget::new();
    let described = message.resources.iter().map(|resource| describe(apis, &image, resource, &mut budget));
    let described = match described.collect::<Result<Vec<Described>, AnswerTooLong>>() {
        Ok(described) => described,
        Err(error) => return Ok(Answer::from(error).into()),
    };
    let results = message.resources.iter().zip(&described).map(|(resource, described)| {
        let result = DescribeConfigsResult {
            resource_type: resource.resource_type,
            resource_name: resource.resource_name,
            ..Default::default()
        };
        match described {
            Ok(entries) => DescribeConfigsResult {
                configs: entries.iter().map(|entry| config_of(&message, entry)).collect(),
                ..result
            },
            Err(error) => DescribeConfigsResult {
                error_code: error.code.code(),
                error_message: Some(error.message.as_deref().unwrap_or_default()),
                ..result
            },
        }
    });
    Ok(request.respond(&DescribeConfigsResponse { results: results.collect(), ..Default::default() }).into())
}

/// One resource. All its entries are counted, even those that the client did not ask for: they were made all the same.
fn describe(
    apis: &KafkaApis,
    image: &MetadataImage,
    resource: &DescribeConfigsResource<'_>,
    budget: &mut AnswerBudget,
) -> Result<Described, AnswerTooLong> {
    let name = resource.resource_name;
    let mut described = match ConfigResourceType::from_id(resource.resource_type) {
        Some(ConfigResourceType::Topic) => describe_topic_of(apis, image, name),
        Some(ConfigResourceType::Broker) => describe_broker_of(apis, name),
        Some(ConfigResourceType::Group) => describe_group_of(apis, image, name),
        Some(ConfigResourceType::BrokerLogger) => refuse("The levels of loggers are not served."),
        Some(ConfigResourceType::ClientMetrics) => refuse("Subscriptions to client metrics are not served."),
        None => refuse(&format!("Unsupported resource type: {}", resource.resource_type)),
    };
    let entries = described.as_ref().map_or(0, |entries| entries.iter().map(bytes_of).sum());
    budget.take(RESOURCE_BYTES + entries)?;
    if let Ok(entries) = &mut described
        && let Some(keys) = resource.configuration_keys.as_ref().filter(|keys| !keys.is_empty())
    {
        let keys: BTreeSet<&str> = keys.iter().copied().collect();
        entries.retain(|entry| keys.contains(entry.name.as_str()));
    }
    Ok(described)
}

/// What an entry takes in memory.
fn bytes_of(entry: &ConfigEntry) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let synonyms = entry.synonyms.iter();
    let synonyms =
        synonyms.map(|synonym| size_of::<ConfigSynonym>() + synonym.name.len() + text(&synonym.value)).sum::<usize>();
    size_of::<ConfigEntry>() + entry.name.len() + text(&entry.value) + entry.documentation.len() + synonyms
}

fn describe_topic_of(apis: &KafkaApis, image: &MetadataImage, name: &str) -> Described {
    validate_topic_name(name).map_err(|error| ApiError::new(ErrorCode::InvalidTopicException, error.to_string()))?;
    let topic = image.topic(name).ok_or(ApiError::without_message(ErrorCode::UnknownTopicOrPartition))?;
    let overrides = owned(image.configs(&ConfigResource::topic(Arc::clone(&topic.name))));
    Ok(apis.configs().with_layers(|layers| describe_topic(&overrides, layers)))
}

/// The empty name stands for all brokers of the cluster.
fn describe_broker_of(apis: &KafkaApis, name: &str) -> Described {
    if name.is_empty() {
        return Ok(apis.configs().with_layers(describe_cluster));
    }
    match name.parse::<i32>() {
        Ok(id) if id == apis.broker_id().0 => Ok(apis.configs().with_layers(describe_broker)),
        Ok(_) => {
            let own = apis.broker_id();
            refuse(&format!("Unexpected broker id, expected {own} or empty string, but received {name}"))
        }
        Err(_) => refuse(&format!("Broker id must be an integer, but it is: {name}")),
    }
}

fn describe_group_of(apis: &KafkaApis, image: &MetadataImage, name: &str) -> Described {
    if name.is_empty() {
        return refuse("Group name must not be empty");
    }
    let resource = ConfigResource { resource_type: ConfigResourceType::Group, name: Arc::from(name) };
    let overrides = owned(image.configs(&resource));
    Ok(apis.configs().with_layers(|layers| describe_group(&overrides, layers)))
}

fn refuse(message: &str) -> Described {
    Err(ApiError::new(ErrorCode::InvalidRequest, message))
}

fn config_of<'a>(request: &DescribeConfigsRequest<'_>, entry: &'a ConfigEntry) -> DescribeConfigsResourceResult<'a> {
    let synonyms = entry.synonyms.iter().filter(|_| request.include_synonyms);
    DescribeConfigsResourceResult {
        name: &entry.name,
        value: entry.value.as_deref(),
        read_only: entry.is_read_only,
        config_source: entry.source.code(),
        is_sensitive: entry.is_sensitive,
        synonyms: synonyms.map(synonym_of).collect(),
        config_type: entry.config_type,
        documentation: Some(entry.documentation.as_str()).filter(|_| request.include_documentation),
    }
}

fn synonym_of(synonym: &ConfigSynonym) -> DescribeConfigsSynonym<'_> {
    DescribeConfigsSynonym { name: &synonym.name, value: synonym.value.as_deref(), source: synonym.source.code() }
}
