//! What no client may have: transactions, the broker's own topics, groups without a name, and what lies at the edge of what a version can ask.
//!
//! It must not know who asks such things in earnest.

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsResponse, DeleteRecordsTopic,
};
use klamm::protocol::messages::describe_groups::{DescribeGroupsRequest, DescribeGroupsResponse};
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use klamm::protocol::messages::find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
use klamm::protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use klamm::protocol::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse};
use klamm::protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use klamm::protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
};
use klamm::protocol::messages::offset_delete::{OffsetDeleteRequest, OffsetDeleteResponse};
use klamm::protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponse,
};
use klamm::protocol::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use klamm::protocol::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};
use klamm::protocol::{ApiKey, RecordsField};
use klamm::record::RecordBatchBuilder;
use klamm::types::{ProducerEpoch, ProducerId, TopicId};

use super::groups::{self, Joining};
use super::stage::{Otherwise, Played, Stage, same, told};
use super::topics::{self, BY_NAME};
use crate::client::versions::ANY;

const NAME: &str = "refusals";
const COMPACTED: &str = "refusals-compacted";
const OFFSETS: &str = "__consumer_offsets";
const GROUP_ID: &str = "refusals";
const ASKER: usize = 0;
/// The versions of Produce that tell which records are at fault.
const TELLS_RECORDS: std::ops::RangeInclusive<i16> = 8..=12;
const TRANSACTION: i8 = 1;
const SHARE: i8 = 2;
/// A broker that replicates, and a debugger.
const FOLLOWER: i32 = 5;
const DEBUGGER: i32 = -2;
const COMMITTED: i8 = 1;
const LATEST: i64 = -1;
const MAX_TIMESTAMP: i64 = -3;
const LATEST_TIERED: i64 = -5;
const TIMEOUT_MS: i32 = 30_000;
const ALL_OF_GROUP: i32 = 3_400;
const NO_OFFSET: i64 = -1;

pub(super) async fn play(stage: Stage) -> Played {
    let topic_id = topics::create(&stage, NAME, 1).await?;
    topics::create_with(&stage, COMPACTED, 1, Some(("cleanup.policy", "compact"))).await?;
    groups::find(&stage, ASKER, GROUP_ID).await?;
    groups::find(&stage, ASKER, "").await?;
    topics::produce(&stage, ASKER, NAME, b"first", 0).await?;
    no_transactions(&stage).await?;
    no_broker_topics(&stage).await?;
    records_at_fault(&stage).await?;
    offsets_by_special_times(&stage).await?;
    no_followers(&stage).await?;
    nameless_groups(&stage).await?;
    offsets_by_id(&stage, topic_id).await
}

async fn no_transactions(stage: &Stage) -> Played {
    for (key_type, expected) in
        [(TRANSACTION, ErrorCode::TransactionalIdAuthorizationFailed), (SHARE, ErrorCode::InvalidRequest)]
    {
        let answer = stage.call(ASKER, ApiKey::FindCoordinator, 1..=5, move |question| {
            question.put(&FindCoordinatorRequest { key: "own", key_type, coordinator_keys: vec!["own"] });
        });
        let answer = answer.await;
        let response = answer.read::<FindCoordinatorResponse<'_>>()?;
        let error = response.coordinators.first().map_or(response.error_code, |found| found.error_code);
        told("a coordinator of another kind", error, expected)?;
    }
    for (transactional_id, expected) in
        [("own", ErrorCode::TransactionalIdAuthorizationFailed), ("", ErrorCode::InvalidRequest)]
    {
        let answer = stage.call(ASKER, ApiKey::InitProducerId, ANY, move |question| {
            let transactional_id = Some(transactional_id);
            question.put(&InitProducerIdRequest {
                transactional_id,
                transaction_timeout_ms: 1_000,
                ..Default::default()
            });
        });
        told("a producer id for a transaction", answer.await.read::<InitProducerIdResponse>()?.error_code, expected)?;
    }
    let mut builder = RecordBatchBuilder::new().producer(ProducerId(1), ProducerEpoch(0), 0).transactional(true);
    builder.append(stage.wall_ms(), None, Some(b"none")).map_err(|error| Otherwise(error.to_string()))?;
    let bytes = builder.build().map_err(|error| Otherwise(error.to_string()))?;
    let unnamed = produced(stage, NAME, None, Some(bytes.clone())).await?;
    same("a batch of a transaction without a name", unnamed, ErrorCode::TransactionalIdAuthorizationFailed)?;
    let unverified = produced(stage, NAME, Some("own"), Some(bytes)).await?;
    same("a batch of a transaction that nobody has begun", unverified, ErrorCode::InvalidTxnState)
}

/// The error of a produce of these bytes, or of none.
async fn produced(
    stage: &Stage,
    name: &'static str,
    transactional_id: Option<&'static str>,
    bytes: Option<Vec<u8>>,
) -> Played<ErrorCode> {
    ask_produce(stage, BY_NAME, name, transactional_id, bytes);
    Ok(topics::produced(&stage.hear(ASKER).await)?.0)
}

fn ask_produce(
    stage: &Stage,
    versions: std::ops::RangeInclusive<i16>,
    name: &'static str,
    transactional_id: Option<&'static str>,
    bytes: Option<Vec<u8>>,
) {
    stage.ask(ASKER, ApiKey::Produce, versions, move |question| {
        let records = bytes.as_deref().map_or(RecordsField::Null, RecordsField::Bytes);
        let partition_data = vec![PartitionProduceData { index: 0, records }];
        let topic_data = vec![TopicProduceData { name, partition_data, ..Default::default() }];
        question.put(&ProduceRequest { transactional_id, acks: -1, timeout_ms: TIMEOUT_MS, topic_data });
    });
}

/// Of a batch that is refused for some of its records it is told which they are.
async fn records_at_fault(stage: &Stage) -> Played {
    let mut builder = RecordBatchBuilder::new();
    for key in [Some(&b"key"[..]), None, Some(b"key"), None] {
        builder.append(stage.wall_ms(), key, Some(b"value")).map_err(|error| Otherwise(error.to_string()))?;
    }
    let bytes = builder.build().map_err(|error| Otherwise(error.to_string()))?;
    ask_produce(stage, TELLS_RECORDS, COMPACTED, None, Some(bytes));
    let answer = stage.hear(ASKER).await;
    let response = answer.read::<ProduceResponse<'_>>()?;
    let told = response.responses.first().and_then(|topic| topic.partition_responses.first());
    let told = told.ok_or_else(|| Otherwise("a produce is answered without its partition".to_string()))?;
    let errors = told.record_errors.iter().map(|error| (error.batch_index, error.batch_index_error_message.is_some()));
    let found = (ErrorCode::from_code(told.error_code), errors.collect(), told.error_message.is_some());
    same("records without keys", found, (ErrorCode::InvalidRecord, vec![(1, true), (3, true)], true))
}

/// Nobody writes to the broker's own topics, or deletes what is in them; and a produce has records.
async fn no_broker_topics(stage: &Stage) -> Played {
    let mut builder = RecordBatchBuilder::new();
    builder.append(stage.wall_ms(), None, Some(b"none")).map_err(|error| Otherwise(error.to_string()))?;
    let bytes = builder.build().map_err(|error| Otherwise(error.to_string()))?;
    same("a produce to offsets", produced(stage, OFFSETS, None, Some(bytes)).await?, ErrorCode::InvalidTopicException)?;
    same("a produce of nothing", produced(stage, NAME, None, None).await?, ErrorCode::InvalidRecord)?;
    for (name, expected) in [(OFFSETS, ErrorCode::InvalidTopicException), (COMPACTED, ErrorCode::PolicyViolation)] {
        let answer = stage.call(ASKER, ApiKey::DeleteRecords, ANY, move |question| {
            let partitions = vec![DeleteRecordsPartition { partition_index: 0, offset: 0 }];
            let topics = vec![DeleteRecordsTopic { name, partitions }];
            question.put(&DeleteRecordsRequest { topics, timeout_ms: TIMEOUT_MS });
        });
        let answer = answer.await;
        let response = answer.read::<DeleteRecordsResponse<'_>>()?;
        let partition = response.topics.first().and_then(|topic| topic.partitions.first());
        told("a deletion of records", partition.map_or(-1, |found| found.error_code), expected)?;
    }
    Ok(())
}

/// The record with the largest time, the end as others see it, and what is stored elsewhere: nothing.
async fn offsets_by_special_times(stage: &Stage) -> Played {
    let asked = [
        ((-1, COMMITTED), LATEST, 1),
        ((DEBUGGER, 0), LATEST, 1),
        ((-1, 0), MAX_TIMESTAMP, 0),
        ((DEBUGGER, 0), MAX_TIMESTAMP, 0),
        ((-1, 0), LATEST_TIERED, NO_OFFSET),
    ];
    for ((replica_id, isolation_level), timestamp, expected) in asked {
        let answer = stage.call(ASKER, ApiKey::ListOffsets, 9..=i16::MAX, move |question| {
            let partitions = vec![ListOffsetsPartition { timestamp, ..Default::default() }];
            let topics = vec![ListOffsetsTopic { name: NAME, partitions }];
            question.put(&ListOffsetsRequest { replica_id, isolation_level, topics, ..Default::default() });
        });
        let answer = answer.await;
        let response = answer.read::<ListOffsetsResponse<'_>>()?;
        let found = response.topics.first().and_then(|topic| topic.partitions.first());
        let found = found.map(|found| (ErrorCode::from_code(found.error_code), found.offset));
        same(&format!("the offset for {timestamp}"), found, Some((ErrorCode::None, expected)))?;
    }
    Ok(())
}

/// No broker follows this one. What is asked for twice is told once, as it was asked for last.
async fn no_followers(stage: &Stage) -> Played {
    let twice = [3, 0];
    for (replica_id, error) in [(FOLLOWER, ErrorCode::NotLeaderOrFollower), (-1, ErrorCode::None)] {
        let answer = stage.call(ASKER, ApiKey::Fetch, BY_NAME, move |question| {
            let wanted =
                |fetch_offset| FetchPartition { fetch_offset, partition_max_bytes: 1_000, ..Default::default() };
            let topics = vec![FetchTopic { topic: NAME, partitions: twice.map(wanted).to_vec(), ..Default::default() }];
            question.put(&FetchRequest { replica_id, max_bytes: 1_000, topics, ..Default::default() });
        });
        let answer = answer.await;
        let response = answer.read::<FetchResponse<'_>>()?;
        let partitions: Vec<_> = response.responses.iter().flat_map(|topic| &topic.partitions).collect();
        let found = partitions.first().map_or(response.error_code, |partition| partition.error_code);
        told("a fetch", found, error)?;
        if error == ErrorCode::None {
            same("partitions that were asked for twice", partitions.len(), 1)?;
        }
    }
    Ok(())
}

async fn nameless_groups(stage: &Stage) -> Played {
    let nameless = Joining { member_id: "nobody".to_string(), ..Joining::new("", TIMEOUT_MS) };
    same("a heartbeat", groups::heartbeat(stage, ASKER, &nameless, 1).await?, ErrorCode::InvalidGroupId)?;
    let answer = stage.call(ASKER, ApiKey::LeaveGroup, ANY, |question| {
        question.put(&LeaveGroupRequest { group_id: "", member_id: "nobody", members: Vec::new() });
    });
    told("a leave", answer.await.read::<LeaveGroupResponse<'_>>()?.error_code, ErrorCode::InvalidGroupId)?;
    for (group_id, protocol_type, expected) in [
        ("", Some("consumer"), ErrorCode::InvalidGroupId),
        (GROUP_ID, None, ErrorCode::InconsistentGroupProtocol),
        (GROUP_ID, Some("consumer"), ErrorCode::UnknownMemberId),
    ] {
        let answer = stage.call(ASKER, ApiKey::SyncGroup, 5..=5, move |question| {
            let protocol_name = protocol_type.map(|_| "range");
            question.put(&SyncGroupRequest {
                group_id,
                member_id: "nobody",
                protocol_type,
                protocol_name,
                ..Default::default()
            });
        });
        told("a sync", answer.await.read::<SyncGroupResponse<'_>>()?.error_code, expected)?;
    }
    let answer = stage.call(ASKER, ApiKey::OffsetDelete, ANY, |question| {
        question.put(&OffsetDeleteRequest { group_id: "", topics: Vec::new() });
    });
    told("a deletion", answer.await.read::<OffsetDeleteResponse<'_>>()?.error_code, ErrorCode::InvalidGroupId)?;
    // Who speaks no protocol makes no group.
    let speechless = Joining { protocols: Vec::new(), ..Joining::new("refusals-none", TIMEOUT_MS) };
    groups::find(stage, ASKER, speechless.group).await?;
    groups::ask_join(stage, ASKER, speechless);
    same("a join", groups::hear_joined(stage, ASKER).await?.error, ErrorCode::InconsistentGroupProtocol)
}

/// A commit for a partition that is there and one that is not: each is answered, and the one is taken.
async fn commits_by_halves(stage: &Stage) -> Played {
    let answer = stage.call(ASKER, ApiKey::OffsetCommit, 7..=9, |question| {
        let partition = |partition_index| OffsetCommitRequestPartition {
            partition_index,
            committed_offset: 1,
            ..Default::default()
        };
        let topics = vec![OffsetCommitRequestTopic {
            name: NAME,
            partitions: [0, 7].map(partition).to_vec(),
            ..Default::default()
        }];
        question.put(&OffsetCommitRequest { group_id: GROUP_ID, topics, ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<OffsetCommitResponse<'_>>()?;
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    let mut found: Vec<(i32, i16)> = partitions.map(|told| (told.partition_index, told.error_code)).collect();
    found.sort_unstable();
    same("a commit by halves", found, vec![(0, 0), (7, ErrorCode::UnknownTopicOrPartition.code())])
}

/// Offsets of topics by their ids: of one that is there, of one that is not, and all of a group, whose operations are told too.
async fn offsets_by_id(stage: &Stage, topic_id: TopicId) -> Played {
    commits_by_halves(stage).await?;
    let nobody = TopicId([7; 16]);
    let unknown = ErrorCode::UnknownTopicId.code();
    let asked = [
        (Some(vec![topic_id, nobody]), vec![(topic_id, 1, 0), (nobody, NO_OFFSET, unknown)]),
        (None, vec![(topic_id, 1, 0)]),
    ];
    for (ids, expected) in asked {
        let answer = stage.call(ASKER, ApiKey::OffsetFetch, 10..=10, move |question| {
            let wanted =
                |topic_id| OffsetFetchRequestTopics { topic_id, partition_indexes: vec![0], ..Default::default() };
            let topics = ids.map(|ids| ids.into_iter().map(wanted).collect());
            let groups = vec![OffsetFetchRequestGroup { group_id: GROUP_ID, topics, ..Default::default() }];
            question.put(&OffsetFetchRequest { groups, require_stable: true, ..Default::default() });
        });
        let answer = answer.await;
        let response = answer.read::<OffsetFetchResponse<'_>>()?;
        let topics = response.groups.iter().flat_map(|group| &group.topics);
        let found = topics.flat_map(|topic| {
            topic.partitions.iter().map(|found| (topic.topic_id, found.committed_offset, found.error_code))
        });
        same("offsets by id", found.collect::<Vec<_>>(), expected)?;
    }
    let answer = stage.call(ASKER, ApiKey::DescribeGroups, 3..=6, |question| {
        question.put(&DescribeGroupsRequest { groups: vec![GROUP_ID], include_authorized_operations: true });
    });
    let answer = answer.await;
    let response = answer.read::<DescribeGroupsResponse<'_>>()?;
    let operations = response.groups.first().map(|group| (group.group_state, group.authorized_operations));
    same("what may be done to a group", operations, Some(("Empty", ALL_OF_GROUP)))
}
