//! Metadata: brokers, topics, and who leads which partition; makes topics that a client asks for, where it may.
//!
//! It must not know how topics are stored.

use std::sync::Arc;

use crate::apis::answer::Outcome;
use crate::apis::api_request::ApiRequest;
use crate::apis::kafka_apis::KafkaApis;
use crate::apis::topic_creation::create_automatically;
use crate::error_code::ErrorCode;
use crate::metadata::{MetadataImage, PartitionRegistration, TopicImage, is_internal_topic, validate_topic_name};
use crate::protocol::DecodeError;
use crate::protocol::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition,
    MetadataResponseTopic,
};
use crate::types::{BrokerId, Now, PartitionIndex, TopicId};

/// Answers from the newest image; a topic that is missing and may be made is made first.
pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: MetadataRequest<'_> = request.decode()?;
    let image = apis.image();
    let missing = missing_topics(apis, &image, &message);
    if !missing.is_empty()
        && !request.is_retry
        && let Some(answer) = create_automatically(apis, now, request, &missing)
    {
        return Ok(answer.into());
    }
    let (host, port) = apis.advertised(request);
    let settings = apis.settings();
    let topics = match &message.topics {
        None => all_topics(&image),
        Some(topics) if topics.is_empty() && request.version() == 0 => all_topics(&image),
        Some(topics) => topics.iter().map(|topic| describe(&image, topic)).collect(),
    };
    let response = MetadataResponse {
        brokers: vec![MetadataResponseBroker {
            node_id: apis.broker_id().0,
            host: &host,
            port,
            rack: settings.node.rack.as_deref(),
        }],
        cluster_id: Some(image.cluster_id()),
        controller_id: apis.broker_id().0,
        topics,
        ..Default::default()
    };
    Ok(request.respond(&response).into())
}

/// Names that are asked for, may exist, and do not.
fn missing_topics(apis: &KafkaApis, image: &MetadataImage, message: &MetadataRequest<'_>) -> Vec<Arc<str>> {
    if !message.allow_auto_topic_creation || !apis.settings().topic_creation.is_automatic {
        return Vec::new();
    }
    let asked = message.topics.iter().flatten().filter(|topic| topic.topic_id == TopicId::ZERO);
    let names = asked.filter_map(|topic| topic.name);
    names.filter(|name| image.topic(name).is_none() && validate_topic_name(name).is_ok()).map(Arc::from).collect()
}

fn all_topics(image: &MetadataImage) -> Vec<MetadataResponseTopic<'_>> {
    image.topics().map(|topic| described(topic)).collect()
}

fn describe<'a>(image: &'a MetadataImage, asked: &MetadataRequestTopic<'a>) -> MetadataResponseTopic<'a> {
    if asked.topic_id != TopicId::ZERO {
        return match image.topic_by_id(asked.topic_id) {
            Some(topic) => described(topic),
            None => MetadataResponseTopic {
                error_code: ErrorCode::UnknownTopicId.code(),
                name: None,
                topic_id: asked.topic_id,
                ..Default::default()
            },
        };
    }
    let name = asked.name.unwrap_or_default();
    if let Some(topic) = image.topic(name) {
        return described(topic);
    }
    let error = if validate_topic_name(name).is_err() {
        ErrorCode::InvalidTopicException
    } else {
        ErrorCode::UnknownTopicOrPartition
    };
    MetadataResponseTopic {
        error_code: error.code(),
        name: Some(name),
        is_internal: is_internal_topic(name),
        ..Default::default()
    }
}

fn described(topic: &TopicImage) -> MetadataResponseTopic<'_> {
    MetadataResponseTopic {
        error_code: ErrorCode::None.code(),
        name: Some(&topic.name),
        topic_id: topic.topic_id,
        is_internal: is_internal_topic(&topic.name),
        partitions: topic.partitions.iter().map(|(index, partition)| describe_partition(*index, partition)).collect(),
        ..Default::default()
    }
}

fn describe_partition(index: PartitionIndex, partition: &PartitionRegistration) -> MetadataResponsePartition {
    let ids = |brokers: &[BrokerId]| brokers.iter().map(|broker| broker.0).collect::<Vec<i32>>();
    let error = if partition.leader.is_none() { ErrorCode::LeaderNotAvailable } else { ErrorCode::None };
    MetadataResponsePartition {
        error_code: error.code(),
        partition_index: index.0,
        leader_id: partition.leader.map_or(-1, |leader| leader.0),
        leader_epoch: partition.leader_epoch.0,
        replica_nodes: ids(&partition.replicas),
        isr_nodes: ids(&partition.isr),
        offline_replicas: Vec::new(),
    }
}
