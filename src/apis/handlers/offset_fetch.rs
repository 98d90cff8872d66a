//! OffsetFetch: the offsets that groups have committed, as far as they are on the disk.
//!
//! It must not know how offsets are kept.

use std::sync::Arc;

use crate::apis::answer::{Answer, Outcome};
use crate::apis::answer_budget::AnswerBudget;
use crate::apis::api_request::ApiRequest;
use crate::apis::kafka_apis::KafkaApis;
use crate::coordinator::group::{FetchRequest, FetchTopic, FetchedPartition, FetchedTopic};
use crate::error_code::ErrorCode;
use crate::metadata::MetadataImage;
use crate::protocol::DecodeError;
use crate::protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use crate::types::{LeaderEpoch, Offset, PartitionIndex, TopicId};

/// The first version with several groups in one request.
const GROUPS_VERSION_MIN: i16 = 8;
/// The first version that names topics by id.
const TOPIC_IDS_VERSION_MIN: i16 = 10;
/// The first version with an error of its own; before, it stands at each partition.
const TOP_LEVEL_ERROR_VERSION_MIN: i16 = 2;

/// What a group takes in the answer beside its topics.
const GROUP_BYTES: usize = 128;

/// One topic as asked in any version.
struct AskedTopic<'a> {
    name: &'a str,
    topic_id: TopicId,
    partitions: &'a [i32],
}

pub(crate) fn handle(apis: &KafkaApis, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: OffsetFetchRequest<'_> = request.decode()?;
    let answer = if request.version() < GROUPS_VERSION_MIN {
        one(apis, request, &message)
    } else {
        many(apis, request, &message)
    };
    Ok(answer.into())
}

fn one(apis: &KafkaApis, request: &ApiRequest, message: &OffsetFetchRequest<'_>) -> Answer {
    let asked: Option<Vec<AskedTopic<'_>>> = message.topics.as_ref().map(|topics| {
        let topics = topics.iter();
        topics
            .map(|topic| AskedTopic { name: topic.name, topic_id: TopicId::ZERO, partitions: &topic.partition_indexes })
            .collect()
    });
    let fetched = fetch(apis, request, message, message.group_id, asked.as_deref());
    let error = fetched.as_ref().err().copied().unwrap_or(ErrorCode::None);
    let fetched = match fetched {
        Ok(topics) => topics,
        Err(error) if request.version() < TOP_LEVEL_ERROR_VERSION_MIN => {
            asked.iter().flatten().map(|topic| refused(topic, topic.name, error)).collect()
        }
        Err(_) => Vec::new(),
    };
    let topics = fetched.iter().map(|topic| OffsetFetchResponseTopic {
        name: &topic.name,
        partitions: topic.partitions.iter().map(partition_of_one).collect(),
    });
    request.respond(&OffsetFetchResponse { topics: topics.collect(), error_code: error.code(), ..Default::default() })
}

fn many(apis: &KafkaApis, request: &ApiRequest, message: &OffsetFetchRequest<'_>) -> Answer {
    let mut budget = AnswerBudget::new();
    let mut fetched = Vec::new();
    for group in &message.groups {
        let asked: Option<Vec<AskedTopic<'_>>> = group.topics.as_ref().map(|topics| {
            let topics = topics.iter();
            topics
                .map(|topic| AskedTopic {
                    name: topic.name,
                    topic_id: topic.topic_id,
                    partitions: &topic.partition_indexes,
                })
                .collect()
        });
        let topics = fetch(apis, request, message, group.group_id, asked.as_deref());
        let bytes = topics.as_ref().map_or(0, |topics| topics.iter().map(bytes_of).sum());
        if let Err(error) = budget.take(GROUP_BYTES + bytes) {
            return error.into();
        }
        fetched.push((group.group_id, topics));
    }
    let groups = fetched.iter().map(|(group_id, fetched)| OffsetFetchResponseGroup {
        group_id,
        topics: fetched.iter().flatten().map(topic_of_many).collect(),
        error_code: fetched.as_ref().err().copied().unwrap_or(ErrorCode::None).code(),
    });
    request.respond(&OffsetFetchResponse { groups: groups.collect(), ..Default::default() })
}

/// The offsets of one group: those asked for, or all. Topics whose id is not known come last.
fn fetch(
    apis: &KafkaApis,
    request: &ApiRequest,
    message: &OffsetFetchRequest<'_>,
    group_id: &str,
    asked: Option<&[AskedTopic<'_>]>,
) -> Result<Vec<FetchedTopic>, ErrorCode> {
    let image = apis.image();
    let by_id = request.version() >= TOPIC_IDS_VERSION_MIN;
    let (mut topics, mut unknown) = (Vec::new(), Vec::new());
    for topic in asked.unwrap_or_default() {
        let found = if by_id { image.topic_by_id(topic.topic_id) } else { image.topic(topic.name) };
        let partitions = || topic.partitions.iter().map(|partition| PartitionIndex(*partition)).collect();
        match found {
            Some(found) => {
                topics.push(FetchTopic { name: &found.name, topic_id: found.topic_id, partitions: partitions() });
            }
            // Offsets may outlive their topic for a while.
            None if !by_id => {
                topics.push(FetchTopic { name: topic.name, topic_id: TopicId::ZERO, partitions: partitions() });
            }
            None => unknown.push(refused(topic, "", ErrorCode::UnknownTopicId)),
        }
    }
    let fetch = FetchRequest { group_id, topics: asked.map(|_| topics), require_stable: message.require_stable };
    let mut fetched = apis.groups().read(group_id, |coordinator| coordinator.fetch_offsets(&fetch))?.topics;
    if by_id && asked.is_none() {
        name_by_id(&image, &mut fetched);
    }
    fetched.extend(unknown);
    Ok(fetched)
}

/// Offsets that were committed without the topic's id get its present one; where there is none, they cannot be told of by id.
fn name_by_id(image: &MetadataImage, topics: &mut Vec<FetchedTopic>) {
    for topic in topics.iter_mut().filter(|topic| topic.topic_id == TopicId::ZERO) {
        topic.topic_id = image.topic(&topic.name).map_or(TopicId::ZERO, |found| found.topic_id);
    }
    topics.retain(|topic| topic.topic_id != TopicId::ZERO);
}

fn refused(topic: &AskedTopic<'_>, name: &str, error: ErrorCode) -> FetchedTopic {
    let partitions = topic.partitions.iter().map(|partition| FetchedPartition {
        partition: PartitionIndex(*partition),
        offset: Offset(-1),
        leader_epoch: None,
        metadata: Arc::from(""),
        error,
    });
    FetchedTopic { name: Arc::from(name), topic_id: topic.topic_id, partitions: partitions.collect() }
}

/// What a topic takes in the answer.
fn bytes_of(topic: &FetchedTopic) -> usize {
    let partitions = topic.partitions.iter();
    let partitions =
        partitions.map(|partition| size_of::<FetchedPartition>() + partition.metadata.len()).sum::<usize>();
    size_of::<FetchedTopic>() + topic.name.len() + partitions
}

fn epoch_code(epoch: Option<LeaderEpoch>) -> i32 {
    epoch.map_or(-1, |epoch| epoch.0)
}

fn partition_of_one(partition: &FetchedPartition) -> OffsetFetchResponsePartition<'_> {
    OffsetFetchResponsePartition {
        partition_index: partition.partition.0,
        committed_offset: partition.offset.0,
        committed_leader_epoch: epoch_code(partition.leader_epoch),
        metadata: Some(&partition.metadata),
        error_code: partition.error.code(),
    }
}

fn topic_of_many(topic: &FetchedTopic) -> OffsetFetchResponseTopics<'_> {
    let partitions = topic.partitions.iter().map(|partition| OffsetFetchResponsePartitions {
        partition_index: partition.partition.0,
        committed_offset: partition.offset.0,
        committed_leader_epoch: epoch_code(partition.leader_epoch),
        metadata: Some(&partition.metadata),
        error_code: partition.error.code(),
    });
    OffsetFetchResponseTopics { name: &topic.name, topic_id: topic.topic_id, partitions: partitions.collect() }
}
