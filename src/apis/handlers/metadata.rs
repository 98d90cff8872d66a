//! Metadata: brokers, topics, and who leads which partition; makes topics that a client asks for, where it may.
//!
//! It must not know how topics are stored.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::apis::answer::Outcome;
use crate::apis::api_request::ApiRequest;
use crate::apis::authorized_operations::{CLUSTER_OPERATIONS, TOPIC_OPERATIONS};
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
use crate::zoo::{self, Bug};

/// The first version that may ask by id; those before it that have the field must leave it empty.
const FIRST_VERSION_BY_ID: i16 = 12;

/// What a request asks for. Each topic is answered once.
enum Asked<'a> {
    All,
    Names(BTreeSet<&'a str>),
    Ids(BTreeSet<TopicId>),
}

/// Answers from the newest image; a topic that is missing and may be made is made first.
pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: MetadataRequest<'_> = request.decode()?;
    let topics = message.topics.as_deref();
    if request.version() < FIRST_VERSION_BY_ID && topics.unwrap_or_default().iter().any(is_by_id) {
        return Ok(request.respond(&refuse(topics.unwrap_or_default())).into());
    }
    let asked = asked(request.version(), topics);
    if matches!(asked, Asked::Names(_)) && topics.unwrap_or_default().iter().any(|topic| topic.name.is_none()) {
        return Ok(request.respond(&refuse(topics.unwrap_or_default())).into());
    }
    let image = apis.image();
    let missing = missing_topics(apis, &image, &message, &asked);
    if !missing.is_empty()
        && !request.is_retry
        && let Some(answer) = create_automatically(apis, now, request, &missing)
    {
        return Ok(answer.into());
    }
    let (host, port) = apis.advertised(request);
    let settings = apis.settings();
    let mut topics = describe(apis, &image, &asked);
    if message.include_topic_authorized_operations {
        let known = topics.iter_mut().filter(|topic| topic.name.is_some());
        known.for_each(|topic| topic.topic_authorized_operations = TOPIC_OPERATIONS);
    }
    let default = MetadataResponse::default();
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
        cluster_authorized_operations: match message.include_cluster_authorized_operations {
            true => CLUSTER_OPERATIONS,
            false => default.cluster_authorized_operations,
        },
        ..default
    };
    Ok(request.respond(&response).into())
}

fn is_by_id(topic: &MetadataRequestTopic<'_>) -> bool {
    topic.name.is_none() || topic.topic_id != TopicId::ZERO
}

/// Refuses a request that names topics in a way that its version does not have, or neither by name nor by id (Kafka answers the latter
/// with -1).
fn refuse<'a>(topics: &[MetadataRequestTopic<'a>]) -> MetadataResponse<'a> {
    let refuse = |topic: &MetadataRequestTopic<'a>| MetadataResponseTopic {
        error_code: ErrorCode::InvalidRequest.code(),
        name: Some(topic.name.unwrap_or_default()),
        topic_id: topic.topic_id,
        ..Default::default()
    };
    MetadataResponse { topics: topics.iter().map(refuse).collect(), ..Default::default() }
}

/// Null asks for all, and so does an empty list in version 0. If any id is given, names count for nothing.
fn asked<'a>(version: i16, topics: Option<&[MetadataRequestTopic<'a>]>) -> Asked<'a> {
    match topics {
        None => Asked::All,
        Some([]) if version == 0 => Asked::All,
        Some(topics) => {
            let ids: BTreeSet<TopicId> =
                topics.iter().map(|topic| topic.topic_id).filter(|id| *id != TopicId::ZERO).collect();
            match ids.is_empty() {
                true => Asked::Names(topics.iter().filter_map(|topic| topic.name).collect()),
                false => Asked::Ids(ids),
            }
        }
    }
}

/// Names that are asked for, may exist, and do not.
fn missing_topics(
    apis: &KafkaApis,
    image: &MetadataImage,
    message: &MetadataRequest<'_>,
    asked: &Asked<'_>,
) -> Vec<Arc<str>> {
    let is_allowed = message.allow_auto_topic_creation && apis.settings().topic_creation.is_automatic;
    let Asked::Names(names) = asked else { return Vec::new() };
    let missing = names.iter().filter(|name| image.topic(name).is_none() && validate_topic_name(name).is_ok());
    missing.filter(|_| is_allowed).map(|name| Arc::from(*name)).collect()
}

fn describe<'a>(apis: &KafkaApis, image: &'a MetadataImage, asked: &Asked<'a>) -> Vec<MetadataResponseTopic<'a>> {
    match asked {
        Asked::All => image.topics().map(|topic| described(apis, topic)).collect(),
        Asked::Names(names) => {
            let told = names.iter().filter(|name| !zoo::is(Bug::MissingTopicUntold) || image.topic(name).is_some());
            told.map(|name| describe_name(apis, image, name)).collect()
        }
        Asked::Ids(ids) => ids.iter().map(|id| describe_id(apis, image, *id)).collect(),
    }
}

fn describe_id<'a>(apis: &KafkaApis, image: &'a MetadataImage, topic_id: TopicId) -> MetadataResponseTopic<'a> {
    match image.topic_by_id(topic_id) {
        Some(topic) => described(apis, topic),
        None => MetadataResponseTopic {
            error_code: ErrorCode::UnknownTopicId.code(),
            name: None,
            topic_id,
            ..Default::default()
        },
    }
}

fn describe_name<'a>(apis: &KafkaApis, image: &'a MetadataImage, name: &'a str) -> MetadataResponseTopic<'a> {
    if let Some(topic) = image.topic(name) {
        return described(apis, topic);
    }
    let error = match validate_topic_name(name) {
        Ok(()) => ErrorCode::UnknownTopicOrPartition,
        Err(_) => ErrorCode::InvalidTopicException,
    };
    MetadataResponseTopic {
        error_code: error.code(),
        name: Some(name),
        is_internal: is_internal_topic(name),
        ..Default::default()
    }
}

fn described<'a>(apis: &KafkaApis, topic: &'a TopicImage) -> MetadataResponseTopic<'a> {
    let partitions = topic.partitions.iter();
    MetadataResponseTopic {
        error_code: ErrorCode::None.code(),
        name: Some(&topic.name),
        topic_id: topic.topic_id,
        is_internal: is_internal_topic(&topic.name),
        partitions: partitions.map(|(index, partition)| describe_partition(apis, topic, *index, partition)).collect(),
        ..Default::default()
    }
}

fn describe_partition(
    apis: &KafkaApis,
    topic: &TopicImage,
    index: PartitionIndex,
    partition: &PartitionRegistration,
) -> MetadataResponsePartition {
    let ids = |brokers: &[BrokerId]| brokers.iter().map(|broker| broker.0).collect::<Vec<i32>>();
    let leadership = apis.leadership(topic.topic_id, index, partition);
    MetadataResponsePartition {
        error_code: leadership.error.code(),
        partition_index: index.0,
        leader_id: leadership.leader_id,
        leader_epoch: partition.leader_epoch.0,
        replica_nodes: ids(&partition.replicas),
        isr_nodes: ids(&partition.isr),
        offline_replicas: leadership.offline_replicas,
    }
}
