//! CreateTopics: makes topics, and answers when their records are durable. By then their logs exist, unless the disk has refused one.
//!
//! It must not know how topics are stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::Rng;

use crate::apis::answer::{Answer, Outcome};
use crate::apis::api_request::{ApiRequest, respond};
use crate::apis::config_schema::LayeredSchema;
use crate::apis::kafka_apis::KafkaApis;
use crate::apis::topic_creation::topic_defaults;
use crate::config::{ConfigEntry, Layers, describe_topic};
use crate::metadata::{ApiError, CreatableTopic, CreatedTopic, ItemResults, MetadataImage, create_topics, random_uuid};
use crate::protocol::DecodeError;
use crate::protocol::messages::create_topics::{
    CreatableTopic as AskedTopic, CreatableTopicConfigs, CreatableTopicResult, CreateTopicsRequest,
    CreateTopicsResponse,
};
use crate::types::{BrokerId, Now, PartitionIndex, Ticket};
use crate::zoo::{self, Bug};

/// The first version whose answer says what a new topic is like.
const FIRST_VERSION_WITH_CONFIGS: i16 = 5;

type Results = ItemResults<Arc<str>, CreatedTopic>;

/// Creates what can be created; with `validate_only` says what could.
pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: CreateTopicsRequest<'_> = request.decode()?;
    let topics: Vec<CreatableTopic> = message.topics.iter().map(creatable).collect();
    let defaults = topic_defaults(apis);
    let answer = apis.configs().with_layers(|layers| {
        let schema = LayeredSchema { layers };
        let decide = |image: &MetadataImage, mut random: &mut dyn Rng| {
            let mut draw = || random_uuid(&mut random);
            let is_test = message.validate_only && !zoo::is(Bug::ValidationCreates);
            create_topics(image, &schema, defaults, &mut draw, &topics, is_test)
        };
        let word = |results: &Results| word(request.ticket, layers, &topics, results);
        apis.decide(now, request.ticket, message.timeout_ms, decide, word, |error| {
            let refuse = |topic: &CreatableTopic| (Arc::clone(&topic.name), Err(ApiError::without_message(error)));
            word(&topics.iter().map(refuse).collect())
        })
    });
    Ok(answer.into())
}

fn creatable(topic: &AskedTopic<'_>) -> CreatableTopic {
    let assignments = topic.assignments.iter().map(|assignment| {
        let brokers = assignment.broker_ids.iter().copied().map(BrokerId).collect();
        (PartitionIndex(assignment.partition_index), brokers)
    });
    CreatableTopic {
        name: Arc::from(topic.name),
        num_partitions: if zoo::is(Bug::DefaultRefused) { topic.num_partitions.max(0) } else { topic.num_partitions },
        replication_factor: topic.replication_factor,
        assignments: assignments.collect(),
        configs: topic.configs.iter().map(|config| (Arc::from(config.name), config.value.map(Arc::from))).collect(),
    }
}

fn word(ticket: Ticket, layers: Layers<'_>, topics: &[CreatableTopic], results: &Results) -> Answer {
    let has_configs = ticket.api_version >= FIRST_VERSION_WITH_CONFIGS;
    let asked: BTreeMap<&Arc<str>, &CreatableTopic> = topics.iter().map(|topic| (&topic.name, topic)).collect();
    let configs: Vec<Vec<ConfigEntry>> = results
        .iter()
        .map(|(name, result)| match asked.get(name) {
            Some(topic) if has_configs && result.is_ok() => describe_topic(&overrides(topic), layers),
            _ => Vec::new(),
        })
        .collect();
    let topics = results.iter().zip(&configs).map(|((name, result), configs)| match result {
        Ok(created) => CreatableTopicResult {
            name,
            topic_id: created.topic_id,
            error_message: None,
            num_partitions: created.num_partitions,
            replication_factor: created.replication_factor,
            configs: Some(configs.iter().map(config_of).collect()),
            ..Default::default()
        },
        Err(error) => CreatableTopicResult {
            name,
            error_code: error.code.code(),
            error_message: error.message.as_deref(),
            ..Default::default()
        },
    });
    respond(ticket, &CreateTopicsResponse { topics: topics.collect(), ..Default::default() })
}

fn overrides(topic: &CreatableTopic) -> BTreeMap<String, String> {
    let configs = topic.configs.iter();
    configs.filter_map(|(name, value)| Some((name.to_string(), value.as_deref()?.to_owned()))).collect()
}

fn config_of(entry: &ConfigEntry) -> CreatableTopicConfigs<'_> {
    CreatableTopicConfigs {
        name: &entry.name,
        value: entry.value.as_deref(),
        read_only: entry.is_read_only,
        config_source: entry.source.code(),
        is_sensitive: entry.is_sensitive,
    }
}
