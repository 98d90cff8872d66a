//! Questions about the cluster and its topics as few clients ask them: of all versions what only one can say, and of all mistakes those that are told of by an error.
//!
//! It must not know groups, nor configurations.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use klamm::protocol::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest, CreateTopicsResponse,
};
use klamm::protocol::messages::describe_cluster::{DescribeClusterRequest, DescribeClusterResponse};
use klamm::protocol::messages::describe_topic_partitions::{
    Cursor, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, TopicRequest,
};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::types::TopicId;

use super::stage::{Answer, Played, Stage, same, told};
use super::topics;
use crate::client::versions::ANY;

const FIRST: &str = "inquiries-a";
const SECOND: &str = "inquiries-b";
const ASKER: usize = 0;
/// What everybody may do, as sets of bits.
const ALL_OF_TOPIC: i32 = 3_576;
const ALL_OF_CLUSTER: i32 = 8_096;
const UNASKED: i32 = i32::MIN;
const NO_VERSION: i16 = 99;
/// As the scene's setting has it.
const ADVERTISED: &str = "broker.example:9092";
const NOTHING: i8 = 77;
const CONTROLLERS: i8 = 2;

pub(super) async fn play(stage: Stage) -> Played {
    let topic_id = topics::create(&stage, FIRST, 2).await?;
    topics::create(&stage, SECOND, 1).await?;
    let (cluster_id, node_id) = about_topics(&stage, topic_id).await?;
    about_the_cluster(&stage, cluster_id, node_id).await?;
    by_hand(&stage, node_id).await?;
    by_pages(&stage).await
}

/// Topics by id and all topics, what may be done to them, and who asks for them in a way that its version does not have. Says what the cluster and the broker are called.
async fn about_topics(stage: &Stage, topic_id: TopicId) -> Played<(String, i32)> {
    let one = MetadataRequestTopic { name: None, topic_id };
    let found = metadata(stage, 12..=i16::MAX, Some(vec![one]), true).await?;
    same("a topic by its id", &found.topics, &vec![(ErrorCode::None, FIRST.to_string(), ALL_OF_TOPIC)])?;
    let nobody = MetadataRequestTopic { name: None, topic_id: TopicId([7; 16]) };
    let missing = metadata(stage, 12..=i16::MAX, Some(vec![nobody]), true).await?;
    same(
        "a topic that is not there, by its id",
        &missing.topics,
        &vec![(ErrorCode::UnknownTopicId, String::new(), UNASKED)],
    )?;
    let nameless = MetadataRequestTopic { name: None, topic_id: TopicId::ZERO };
    let refused = metadata(stage, 12..=i16::MAX, Some(vec![nameless]), false).await?;
    same("a topic without name and id", refused.topics.first().map(|topic| topic.0), Some(ErrorCode::InvalidRequest))?;
    let both = MetadataRequestTopic { name: Some(FIRST), topic_id };
    let refused = metadata(stage, 10..=11, Some(vec![both]), false).await?;
    same("an id before there were ids", refused.topics.first().map(|topic| topic.0), Some(ErrorCode::InvalidRequest))?;
    let all = metadata(stage, 8..=10, None, true).await?;
    let has = |name: &str| all.topics.iter().any(|topic| topic == &(ErrorCode::None, name.to_string(), ALL_OF_TOPIC));
    same("all topics", (has(FIRST), has(SECOND), all.cluster_operations), (true, true, ALL_OF_CLUSTER))?;
    let all = metadata(stage, 2..=7, None, false).await?;
    let unasked = all.topics.iter().find(|topic| topic.1 == FIRST).map(|topic| topic.2);
    same("what may be done, unasked", (unasked, all.cluster_operations), (Some(UNASKED), UNASKED))?;
    same("where the broker is said to be", all.address.as_str(), ADVERTISED)?;
    Ok((all.cluster_id, all.node_id))
}

/// What Metadata says.
#[derive(Debug)]
struct Told {
    cluster_id: String,
    node_id: i32,
    address: String,
    cluster_operations: i32,
    /// Error, name, and what may be done.
    topics: Vec<(ErrorCode, String, i32)>,
}

async fn metadata(
    stage: &Stage,
    versions: std::ops::RangeInclusive<i16>,
    topics: Option<Vec<MetadataRequestTopic<'static>>>,
    asks_operations: bool,
) -> Played<Told> {
    let answer = stage.call(ASKER, ApiKey::Metadata, versions, move |question| {
        question.put(&MetadataRequest {
            topics,
            allow_auto_topic_creation: false,
            include_cluster_authorized_operations: asks_operations,
            include_topic_authorized_operations: asks_operations,
        });
    });
    let answer = answer.await;
    let response = answer.read::<MetadataResponse<'_>>()?;
    let topics = response.topics.iter().map(|topic| {
        let name = topic.name.unwrap_or_default().to_owned();
        (ErrorCode::from_code(topic.error_code), name, topic.topic_authorized_operations)
    });
    Ok(Told {
        cluster_id: response.cluster_id.unwrap_or_default().to_owned(),
        node_id: response.brokers.first().map_or(-1, |broker| broker.node_id),
        address: response.brokers.first().map(|broker| format!("{}:{}", broker.host, broker.port)).unwrap_or_default(),
        cluster_operations: response.cluster_authorized_operations,
        topics: topics.collect(),
    })
}

/// Who means another broker, or a controller, is told so.
async fn about_the_cluster(stage: &Stage, cluster_id: String, node_id: i32) -> Played {
    let meant = [
        (None, -1, ErrorCode::None),
        (Some(cluster_id.clone()), node_id, ErrorCode::None),
        (Some(cluster_id.clone()), node_id + 1, ErrorCode::RebootstrapRequired),
        (Some("another".to_string()), node_id, ErrorCode::RebootstrapRequired),
        (Some(cluster_id), -1, ErrorCode::InvalidRequest),
        (None, node_id, ErrorCode::InvalidRequest),
    ];
    for (cluster_id, node_id, expected) in meant {
        let answer = stage.call(ASKER, ApiKey::ApiVersions, 5..=5, move |question| {
            let (client_software_name, client_software_version) = ("sim", "1");
            let cluster_id = cluster_id.as_deref();
            question.put(&ApiVersionsRequest { client_software_name, client_software_version, cluster_id, node_id });
        });
        told("who is meant", answer.await.read::<ApiVersionsResponse<'_>>()?.error_code, expected)?;
    }
    asked_in_no_version(stage).await?;
    let kinds = [
        (1, ErrorCode::None),
        (CONTROLLERS, ErrorCode::MismatchedEndpointType),
        (NOTHING, ErrorCode::UnsupportedEndpointType),
    ];
    for (endpoint_type, expected) in kinds {
        let answer = stage.call(ASKER, ApiKey::DescribeCluster, 1..=2, move |question| {
            let include_cluster_authorized_operations = true;
            question.put(&DescribeClusterRequest {
                include_cluster_authorized_operations,
                endpoint_type,
                ..Default::default()
            });
        });
        let answer = answer.await;
        let response = answer.read::<DescribeClusterResponse<'_>>()?;
        told("a kind of brokers", response.error_code, expected)?;
        let operations = if expected == ErrorCode::None { ALL_OF_CLUSTER } else { UNASKED };
        same("what may be done to the cluster", response.cluster_authorized_operations, operations)?;
    }
    Ok(())
}

/// Who asks which versions there are in one that nobody has is told, in the oldest, which versions of the question there are.
async fn asked_in_no_version(stage: &Stage) -> Played {
    let answer = stage.call(ASKER, ApiKey::ApiVersions, NO_VERSION..=NO_VERSION, |question| {
        question.put(&ApiVersionsRequest::default());
    });
    let answer = Answer { version: 0, ..answer.await };
    let response = answer.read::<ApiVersionsResponse<'_>>()?;
    told("a version that nobody has", response.error_code, ErrorCode::UnsupportedVersion)?;
    let told: Vec<i16> = response.api_keys.iter().map(|range| range.api_key).collect();
    same("the only API that is told", told, vec![ApiKey::ApiVersions.code()])
}

/// A topic whose replicas somebody has chosen: only this broker can have them.
async fn by_hand(stage: &Stage, node_id: i32) -> Played {
    for (broker, expected) in [(node_id + 1, ErrorCode::InvalidReplicaAssignment), (node_id, ErrorCode::None)] {
        let answer = stage.call(ASKER, ApiKey::CreateTopics, ANY, move |question| {
            let assignments = vec![CreatableReplicaAssignment { partition_index: 0, broker_ids: vec![broker] }];
            let (num_partitions, replication_factor) = (-1, -1);
            let name = "inquiries-by-hand";
            let topic = CreatableTopic { name, num_partitions, replication_factor, assignments, ..Default::default() };
            question.put(&CreateTopicsRequest { topics: vec![topic], timeout_ms: 30_000, ..Default::default() });
        });
        let answer = answer.await;
        let response = answer.read::<CreateTopicsResponse<'_>>()?;
        told("replicas by hand", response.topics.first().map_or(-1, |topic| topic.error_code), expected)?;
    }
    Ok(())
}

/// Partitions by pages of one, each from where the one before has ended.
async fn by_pages(stage: &Stage) -> Played {
    let mut cursor: Option<(String, i32)> = None;
    let mut seen = Vec::new();
    for _ in 0..4 {
        let (page, next) = page(stage, &[FIRST, SECOND], cursor.take()).await?;
        seen.extend(page);
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    let whole = [(FIRST, 0), (FIRST, 1), (SECOND, 0)];
    same("all pages", (seen, cursor), (whole.map(|(name, index)| (0, name.to_string(), index)).to_vec(), None))?;
    let invalid = ErrorCode::InvalidRequest.code();
    let refused = [("elsewhere", 0), (FIRST, -1)];
    for (name, index) in refused {
        let (page, _) = page(stage, &[FIRST], Some((name.to_string(), index))).await?;
        same("a cursor to nowhere", page, vec![(invalid, FIRST.to_string(), -1)])?;
    }
    let (page, _) = page(stage, &["not a name"], None).await?;
    same("no name", page, vec![(ErrorCode::InvalidTopicException.code(), "not a name".to_string(), -1)])
}

type Page = (Vec<(i16, String, i32)>, Option<(String, i32)>);

/// Errors, names and indexes of one page, an index of −1 where a topic has no partition there, and where the next one begins.
async fn page(stage: &Stage, names: &[&'static str], cursor: Option<(String, i32)>) -> Played<Page> {
    let names = names.to_vec();
    let answer = stage.call(ASKER, ApiKey::DescribeTopicPartitions, ANY, move |question| {
        let topics = names.into_iter().map(|name| TopicRequest { name }).collect();
        let cursor = cursor
            .as_ref()
            .map(|(topic_name, partition_index)| Cursor { topic_name, partition_index: *partition_index });
        question.put(&DescribeTopicPartitionsRequest { topics, response_partition_limit: 1, cursor });
    });
    let answer = answer.await;
    let response = answer.read::<DescribeTopicPartitionsResponse<'_>>()?;
    let mut page = Vec::new();
    for topic in &response.topics {
        let name = topic.name.unwrap_or_default().to_owned();
        page.extend(
            topic.partitions.iter().map(|partition| (topic.error_code, name.clone(), partition.partition_index)),
        );
        if topic.partitions.is_empty() {
            page.push((topic.error_code, name, -1));
        }
    }
    Ok((page, response.next_cursor.map(|next| (next.topic_name.to_owned(), next.partition_index))))
}
