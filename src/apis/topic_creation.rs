//! Topics that come into being because somebody asks for them: by name in a Metadata request, or the broker's own.
//!
//! It must not know how topics are stored.

use std::sync::Arc;

use super::answer::Answer;
use super::api_request::ApiRequest;
use super::config_schema::LayeredSchema;
use super::kafka_apis::KafkaApis;
use crate::config::Settings;
use crate::metadata::{
    AdoptedTopic, CreatableTopic, GROUP_METADATA_TOPIC_NAME, TopicDefaults, create_topics, is_internal_topic,
    random_uuid,
};
use crate::types::Now;
use crate::zoo::{self, Bug};

/// Creates topics with the defaults and lets the request be handled once more when they exist. `None` if none could be made.
pub(crate) fn create_automatically(
    apis: &KafkaApis,
    now: Now,
    request: &ApiRequest,
    names: &[Arc<str>],
) -> Option<Answer> {
    let topics: Vec<CreatableTopic> = names.iter().map(|name| with_defaults(apis, name)).collect();
    create_and_retry(apis, now, request, &topics)
}

fn create_and_retry(apis: &KafkaApis, now: Now, request: &ApiRequest, topics: &[CreatableTopic]) -> Option<Answer> {
    apis.configs().with_layers(|layers| {
        let schema = LayeredSchema { layers };
        apis.decide_and_retry(now, request, |image, mut random| {
            let mut draw = || random_uuid(&mut random);
            create_topics(image, &schema, topic_defaults(apis), &mut draw, topics, false)
        })
    })
}

/// What stands for -1 in a request to create a topic.
pub(crate) fn topic_defaults(apis: &KafkaApis) -> TopicDefaults {
    let settings = apis.settings();
    TopicDefaults {
        partitions: settings.topic_creation.partitions,
        replication_factor: i16::try_from(settings.topic_creation.replication_factor).unwrap_or(i16::MAX),
    }
}

/// A topic as automatic creation makes it. The broker's own topics have settings of their own.
fn with_defaults(apis: &KafkaApis, name: &Arc<str>) -> CreatableTopic {
    let own = own_topic(&apis.settings(), name);
    let default = if zoo::is(Bug::DefaultsNotAsked) { 1 } else { -1 };
    let num_partitions = own.as_ref().map(|own| own.partitions_min).filter(|count| *count > 0).unwrap_or(default);
    let replication_factor = if own.is_some() { 1 } else { -1 };
    let configs = own.unwrap_or_default().configs.into_iter().map(|(key, value)| (key, Some(value))).collect();
    CreatableTopic { name: Arc::clone(name), num_partitions, replication_factor, assignments: Vec::new(), configs }
}

/// The partitions and the configurations of the broker's own topics; `None` for the topics of clients.
pub(crate) fn own_topic(settings: &Settings, name: &str) -> Option<AdoptedTopic> {
    let pair = |key: &str, value: &str| (Arc::from(key), Arc::from(value));
    if !is_internal_topic(name) || zoo::is(Bug::OwnTopicUsual) {
        return None;
    }
    let mut own = AdoptedTopic { partitions_min: 0, configs: vec![pair("cleanup.policy", "compact")] };
    if name == GROUP_METADATA_TOPIC_NAME {
        own.partitions_min = settings.offsets.topic_partitions;
        own.configs.push(pair("compression.type", "producer"));
        own.configs.push(pair("segment.bytes", &settings.offsets.topic_segment_bytes.to_string()));
    }
    Some(own)
}
