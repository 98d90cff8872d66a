//! Groups from request to disk: what is answered when, and what a power cut leaves.
//!
//! It must not look into a coordinator, whose rules are tested in its own room.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;

use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;

use super::answer::{Answer, Completion};
use super::deadlines::Deadlines;
use super::group_coordinator_service::GroupCoordinatorService;
use super::group_shard::ShardSettings;
use super::log_directory::FollowedChange;
use super::test_apis::{NobodySleeps, TestApis, batch, whole};
use crate::coordinator::group::{DurableState, GroupSettings};
use crate::error_code::ErrorCode;
use crate::log::{AppendOrigin, Durability};
use crate::protocol::messages::delete_groups::{DeleteGroupsRequest, DeleteGroupsResponse};
use crate::protocol::messages::delete_topics::DeleteTopicsRequest;
use crate::protocol::messages::describe_groups::{DescribeGroupsRequest, DescribeGroupsResponse};
use crate::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchTopic};
use crate::protocol::messages::find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
use crate::protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use crate::protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use crate::protocol::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse, MemberIdentity};
use crate::protocol::messages::list_groups::{ListGroupsRequest, ListGroupsResponse};
use crate::protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
};
use crate::protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic, OffsetDeleteResponse,
};
use crate::protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponse,
};
use crate::protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use crate::protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};
use crate::protocol::{ApiKey, Decoder, Message, RecordsField};
use crate::record::RecordBatchBuilder;
use crate::types::{Now, Offset, PartitionIndex, Ticket, TopicId};

const NOT_COORDINATOR: i16 = 16;
const MEMBER_ID_REQUIRED: i16 = 79;
const GROUP_ID_NOT_FOUND: i16 = 69;
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;

/// A broker whose topic of groups is there, with few partitions, and a topic `t` with two.
fn broker() -> TestApis {
    let mut broker = bare_broker();
    assert_eq!(coordinator_error(&mut broker, 0), 0);
    broker.create("t", 2, &[]);
    broker
}

fn bare_broker() -> TestApis {
    TestApis::with(&["offsets.topic.num.partitions=4", "group.initial.rebalance.delay.ms=100"])
}

fn coordinator_error(broker: &mut TestApis, key_type: i8) -> i16 {
    let request = FindCoordinatorRequest { key_type, coordinator_keys: vec!["g"], ..Default::default() };
    let response = broker.ask(ApiKey::FindCoordinator, 6, &request);
    response.read::<FindCoordinatorResponse<'_>>().coordinators[0].error_code
}

fn commit_of<'a>(group_id: &'a str, topic: &'a str, partition_index: i32, offset: i64) -> OffsetCommitRequest<'a> {
    let partition = OffsetCommitRequestPartition { partition_index, committed_offset: offset, ..Default::default() };
    let topic = OffsetCommitRequestTopic { name: topic, partitions: vec![partition], ..Default::default() };
    OffsetCommitRequest { group_id, topics: vec![topic], ..Default::default() }
}

fn commit(broker: &mut TestApis, group_id: &str, partition: i32, offset: i64) -> i16 {
    let response = broker.ask(ApiKey::OffsetCommit, 9, &commit_of(group_id, "t", partition, offset));
    response.read::<OffsetCommitResponse<'_>>().topics[0].partitions[0].error_code
}

/// The group's offset in partition 0 of `t`.
fn committed(broker: &mut TestApis, group_id: &str) -> i64 {
    let topic = OffsetFetchRequestTopics { name: "t", partition_indexes: vec![0], ..Default::default() };
    let group = OffsetFetchRequestGroup { group_id, topics: Some(vec![topic]), ..Default::default() };
    let request = OffsetFetchRequest { groups: vec![group], ..Default::default() };
    let response = broker.ask_now(ApiKey::OffsetFetch, 9, &request);
    let response = response.read::<OffsetFetchResponse<'_>>();
    assert_eq!(response.groups[0].error_code, 0);
    response.groups[0].topics[0].partitions[0].committed_offset
}

fn join_of<'a>(group_id: &'a str, member_id: &'a str) -> JoinGroupRequest<'a> {
    JoinGroupRequest {
        group_id,
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 20_000,
        member_id,
        protocol_type: "consumer",
        protocols: vec![JoinGroupRequestProtocol { name: "range", metadata: b"" }],
        ..Default::default()
    }
}

/// Lets time pass, does what is due then, and returns who is answered.
fn after_ms(broker: &mut TestApis, milliseconds: i64) -> Vec<Completion> {
    broker.now = Now { instant: broker.now.instant.after_ms(milliseconds), ..broker.now };
    broker.apis.expire(broker.now)
}

/// The answer to `ticket` among these.
fn answer_to(ticket: Ticket, completions: Vec<Completion>) -> Option<Vec<u8>> {
    completions.into_iter().find_map(|completion| match completion.answer {
        Answer::Respond(pieces) if completion.ticket == ticket => Some(whole(&pieces)),
        _ => None,
    })
}

/// Reads the body of an answer in a version without flexible headers.
fn read<'a, M: Message<'a>>(bytes: &'a [u8], version: i16) -> M {
    M::decode(&mut Decoder::new(&bytes[4..]), version).unwrap()
}

/// A member that has joined and synced alone: its id, in generation 1.
fn lone_member(broker: &mut TestApis, group_id: &str) -> String {
    let (ticket, _) = broker.send(ApiKey::JoinGroup, 3, &join_of(group_id, ""));
    let bytes = answer_to(ticket, after_ms(broker, 100)).expect("the join phase is over");
    let joined: JoinGroupResponse<'_> = read(&bytes, 3);
    assert_eq!((joined.error_code, joined.generation_id), (0, 1));
    let member_id = joined.member_id.to_owned();
    let assignments = vec![SyncGroupRequestAssignment { member_id: &member_id, assignment: b"mine" }];
    let sync =
        SyncGroupRequest { group_id, generation_id: 1, member_id: &member_id, assignments, ..Default::default() };
    let response = broker.ask(ApiKey::SyncGroup, 3, &sync);
    assert_eq!(response.read::<SyncGroupResponse<'_>>().assignment, b"mine");
    member_id
}

fn durable(broker: &TestApis) -> Vec<DurableState> {
    broker.apis.groups().read_all(|coordinator| coordinator.durable().clone())
}

#[test]
fn the_first_client_that_asks_for_a_coordinator_makes_the_topic_of_groups() {
    let mut broker = bare_broker();
    let request = FindCoordinatorRequest { coordinator_keys: vec!["a", "b"], ..Default::default() };
    let response = broker.ask(ApiKey::FindCoordinator, 4, &request);
    let response = response.read::<FindCoordinatorResponse<'_>>();
    let found: Vec<_> =
        response.coordinators.iter().map(|found| (found.key, found.error_code, found.node_id, found.port)).collect();
    assert_eq!(found, [("a", 0, 1, 9092), ("b", 0, 1, 9092)]);
    let image = broker.apis.image();
    assert_eq!(image.topic("__consumer_offsets").unwrap().partition_count(), 4);
}

#[test]
fn transactions_and_share_groups_have_no_coordinator_here() {
    let mut broker = bare_broker();
    assert_eq!(
        coordinator_error(&mut broker, 1),
        53,
        "one at which every client gives up; librdkafka asks on after 42"
    );
    assert_eq!(coordinator_error(&mut broker, 2), 42);
    assert!(broker.apis.image().topic("__consumer_offsets").is_none());
}

#[test]
fn until_its_topic_exists_no_group_is_coordinated_here() {
    let mut broker = bare_broker();
    let join = broker.ask_now(ApiKey::JoinGroup, 9, &join_of("g", ""));
    assert_eq!(join.read::<JoinGroupResponse<'_>>().error_code, NOT_COORDINATOR);
    let describe =
        broker.ask_now(ApiKey::DescribeGroups, 6, &DescribeGroupsRequest { groups: vec!["g"], ..Default::default() });
    assert_eq!(describe.read::<DescribeGroupsResponse<'_>>().groups[0].error_code, NOT_COORDINATOR);
    let delete = broker.ask_now(ApiKey::DeleteGroups, 2, &DeleteGroupsRequest { groups_names: vec!["g"] });
    assert_eq!(delete.read::<DeleteGroupsResponse<'_>>().results[0].error_code, NOT_COORDINATOR);
    let list = broker.ask_now(ApiKey::ListGroups, 5, &ListGroupsRequest::default());
    let list = list.read::<ListGroupsResponse<'_>>();
    assert_eq!((list.error_code, list.groups.len()), (0, 0));
}

#[test]
fn a_commit_is_answered_and_seen_when_it_is_on_the_disk_and_not_before() {
    let mut broker = broker();
    let (ticket, outcome) = broker.send(ApiKey::OffsetCommit, 7, &commit_of("g", "t", 0, 42));
    assert!(matches!(outcome.answer, Answer::Later));
    assert_eq!(committed(&mut broker, "g"), -1);
    let bytes = answer_to(ticket, broker.sync()).expect("the sync answers it");
    assert_eq!(read::<OffsetCommitResponse<'_>>(&bytes, 7).topics[0].partitions[0].error_code, 0);
    assert_eq!(committed(&mut broker, "g"), 42);
}

#[test]
fn a_commit_that_the_log_does_not_take_is_refused_and_leaves_no_trace() {
    let mut broker = broker();
    assert_eq!(commit(&mut broker, "g", 0, 1), 0);
    broker.disk.faults.is_full.store(true, Ordering::Relaxed);
    assert_eq!(commit(&mut broker, "g", 0, 2), NOT_COORDINATOR);
    broker.disk.faults.is_full.store(false, Ordering::Relaxed);
    assert_eq!(committed(&mut broker, "g"), 1);
    assert_eq!(commit(&mut broker, "g", 0, 3), 0);
    assert_eq!(committed(&mut broker, "g"), 3);
}

#[test]
fn a_refused_append_is_told_after_those_that_were_written_before_it() {
    let mut broker = broker();
    let (first, _) = broker.send(ApiKey::OffsetCommit, 7, &commit_of("g", "t", 0, 1));
    broker.disk.faults.is_full.store(true, Ordering::Relaxed);
    let (second, outcome) = broker.send(ApiKey::OffsetCommit, 7, &commit_of("g", "t", 0, 2));
    assert!(matches!(outcome.answer, Answer::Later));
    let answered: Vec<Ticket> = broker.sync().iter().map(|completion| completion.ticket).collect();
    assert_eq!(answered, [first, second]);
}

#[test]
fn a_commit_that_is_not_on_the_disk_in_time_is_told_so_once_and_counts_when_it_is() {
    let mut broker = broker();
    let (ticket, outcome) = broker.send(ApiKey::OffsetCommit, 7, &commit_of("g", "t", 0, 3));
    assert!(matches!(outcome.answer, Answer::Later));
    assert!(answer_to(ticket, after_ms(&mut broker, 4_999)).is_none());
    assert!(broker.apis.next_deadline().is_some_and(|next| next <= broker.now.instant.after_ms(1)));
    let answer = answer_to(ticket, after_ms(&mut broker, 1)).expect("offsets.commit.timeout.ms is over");
    let response: OffsetCommitResponse<'_> = read(&answer, 7);
    assert_eq!(response.topics[0].partitions[0].error_code, ErrorCode::CoordinatorNotAvailable.code());
    assert!(answer_to(ticket, broker.sync()).is_none(), "nobody is answered twice");
    assert_eq!(committed(&mut broker, "g"), 3);
}

#[test]
fn an_assignment_that_is_not_on_the_disk_in_time_is_told_so_once() {
    let mut broker = broker();
    let (ticket, _) = broker.send(ApiKey::JoinGroup, 3, &join_of("g", ""));
    let bytes = answer_to(ticket, after_ms(&mut broker, 100)).expect("the join phase is over");
    let joined: JoinGroupResponse<'_> = read(&bytes, 3);
    let sync = SyncGroupRequest { group_id: "g", generation_id: 1, member_id: joined.member_id, ..Default::default() };
    let (ticket, outcome) = broker.send(ApiKey::SyncGroup, 3, &sync);
    assert!(matches!(outcome.answer, Answer::Later));
    assert!(answer_to(ticket, after_ms(&mut broker, 4_999)).is_none());
    assert!(broker.apis.next_deadline().is_some_and(|next| next <= broker.now.instant.after_ms(1)));
    let answer = answer_to(ticket, after_ms(&mut broker, 1)).expect("offsets.commit.timeout.ms is over");
    let response: SyncGroupResponse<'_> = read(&answer, 3);
    assert_eq!(response.error_code, ErrorCode::CoordinatorNotAvailable.code());
    assert!(answer_to(ticket, broker.sync()).is_none(), "nobody is answered twice");
}

#[test]
fn members_that_were_loaded_have_a_whole_session_however_long_the_start_took() {
    let mut broker = broker();
    let member_id = lone_member(&mut broker, "g");
    let mut broker = broker.restarted();
    let sync = SyncGroupRequest { group_id: "g", generation_id: 1, member_id: &member_id, ..Default::default() };
    after_ms(&mut broker, 50_000);
    after_ms(&mut broker, 9_999);
    let response = broker.ask(ApiKey::SyncGroup, 3, &sync);
    assert_eq!(response.read::<SyncGroupResponse<'_>>().assignment, b"mine");
    after_ms(&mut broker, 1);
    let response = broker.ask(ApiKey::SyncGroup, 3, &sync);
    assert_eq!(response.read::<SyncGroupResponse<'_>>().error_code, ErrorCode::UnknownMemberId.code());
}

#[test]
fn members_that_wait_for_others_are_sent_away_when_the_broker_stops_and_commits_are_answered() {
    let mut broker = broker();
    let (join, _) = broker.send(ApiKey::JoinGroup, 3, &join_of("g", ""));
    let (commit, outcome) = broker.send(ApiKey::OffsetCommit, 7, &commit_of("h", "t", 0, 3));
    assert!(matches!(outcome.answer, Answer::Later));
    let answer = answer_to(join, broker.apis.drain(broker.now)).expect("nobody else can come");
    assert_eq!(read::<JoinGroupResponse<'_>>(&answer, 3).error_code, NOT_COORDINATOR);
    let refused = broker.ask_now(ApiKey::JoinGroup, 3, &join_of("g", ""));
    assert_eq!(refused.read::<JoinGroupResponse<'_>>().error_code, NOT_COORDINATOR);
    let answer = answer_to(commit, broker.sync()).expect("it is on the disk");
    let response: OffsetCommitResponse<'_> = read(&answer, 7);
    assert_eq!(response.topics[0].partitions[0].error_code, 0);
}

#[test]
fn whoever_reads_the_log_of_groups_is_answered_by_a_commit_that_waits_for_no_sync() {
    let mut broker = TestApis::with(&["offsets.topic.num.partitions=1", "klamm.acks.all.fsync=false"]);
    broker.create("t", 1, &[]);
    assert_eq!(coordinator_error(&mut broker, 0), 0);
    let partition = FetchPartition { partition_max_bytes: 100, ..Default::default() };
    let topics = vec![FetchTopic { topic: "__consumer_offsets", partitions: vec![partition], ..Default::default() }];
    let fetch = FetchRequest { max_wait_ms: 60_000, min_bytes: 1, max_bytes: 1_000, topics, ..Default::default() };
    let (fetch, outcome) = broker.send(ApiKey::Fetch, 12, &fetch);
    assert!(matches!(outcome.answer, Answer::Later));
    let outcome = broker.send(ApiKey::OffsetCommit, 7, &commit_of("g", "t", 0, 3)).1;
    assert!(matches!(outcome.answer, Answer::Respond(_)));
    assert!(answer_to(fetch, outcome.completions).is_some());
}

#[test]
fn a_failed_sync_refuses_all_that_waited_for_it() {
    let mut broker = broker();
    broker.disk.faults.fails_sync.store(true, Ordering::Relaxed);
    assert_eq!(commit(&mut broker, "g", 0, 1), NOT_COORDINATOR);
    assert_eq!(committed(&mut broker, "g"), -1);
}

#[test]
fn groups_and_offsets_are_after_a_power_cut_what_they_were_before() {
    let mut broker = broker();
    let member_id = lone_member(&mut broker, "g");
    for (group_id, offset) in [("a", 1), ("b", 2), ("c", 3), ("a", 4)] {
        assert_eq!(commit(&mut broker, group_id, 0, offset), 0);
    }
    let before = durable(&broker);
    let mut broker = broker.after_power_cut();
    assert_eq!(durable(&broker), before);
    assert_eq!((committed(&mut broker, "a"), committed(&mut broker, "c")), (4, 3));
    let heartbeat = HeartbeatRequest { group_id: "g", generation_id: 1, member_id: &member_id, ..Default::default() };
    let response = broker.ask_now(ApiKey::Heartbeat, 4, &heartbeat);
    assert_eq!(response.read::<HeartbeatResponse>().error_code, 0);
}

#[test]
fn a_commit_takes_to_the_disk_what_its_consumer_has_read() {
    let produce = |broker: &mut TestApis| {
        let batch = batch(&[1, 2, 3]);
        let partition_data = vec![PartitionProduceData { index: 0, records: RecordsField::Bytes(&batch) }];
        let topic_data = vec![TopicProduceData { name: "t", partition_data, ..Default::default() }];
        let request = ProduceRequest { transactional_id: None, acks: 1, timeout_ms: 1_000, topic_data };
        broker.ask_now(ApiKey::Produce, 12, &request);
        assert_eq!(broker.log("t", 0).high_watermark(), Offset(3));
    };
    let mut careless = broker();
    produce(&mut careless);
    assert_eq!(careless.after_power_cut().log("t", 0).log_end_offset(), Offset(0));
    let mut careful = broker();
    produce(&mut careful);
    assert_eq!(commit(&mut careful, "g", 0, 3), 0);
    let mut careful = careful.after_power_cut();
    assert_eq!(careful.log("t", 0).log_end_offset(), Offset(3));
    assert_eq!(committed(&mut careful, "g"), 3);
}

#[test]
fn what_is_synced_already_is_not_synced_again_with_a_commit() {
    let mut broker = broker();
    broker.produce("t", &[1]);
    let (_, _) = broker.send(ApiKey::OffsetCommit, 9, &commit_of("g", "t", 0, 1));
    let (round, _) = broker.apis.begin_sync().expect("the commit waits for it");
    assert_eq!(round.keys().len(), 1);
}

#[test]
fn a_new_member_must_come_back_with_its_id_from_version_4_on() {
    let mut broker = broker();
    let refused = broker.ask_now(ApiKey::JoinGroup, 9, &join_of("g", ""));
    let refused = refused.read::<JoinGroupResponse<'_>>();
    assert_eq!((refused.error_code, refused.generation_id), (MEMBER_ID_REQUIRED, -1));
    assert!(refused.member_id.starts_with("test-"));
    let (ticket, outcome) = broker.send(ApiKey::JoinGroup, 5, &join_of("g", refused.member_id));
    assert!(matches!(outcome.answer, Answer::Later));
    let bytes = answer_to(ticket, after_ms(&mut broker, 100)).expect("the join phase is over");
    let joined: JoinGroupResponse<'_> = read(&bytes, 5);
    assert_eq!((joined.error_code, joined.leader, joined.members.len()), (0, refused.member_id, 1));
}

#[test]
fn a_member_that_leaves_ends_its_group() {
    let mut broker = broker();
    let member_id = lone_member(&mut broker, "g");
    let identity = |member_id| MemberIdentity { member_id, ..Default::default() };
    let leave =
        LeaveGroupRequest { group_id: "g", members: vec![identity(&member_id), identity("x")], ..Default::default() };
    let response = broker.ask(ApiKey::LeaveGroup, 5, &leave);
    let response = response.read::<LeaveGroupResponse<'_>>();
    let errors: Vec<i16> = response.members.iter().map(|member| member.error_code).collect();
    assert_eq!((response.error_code, errors), (0, vec![0, 25]));
    // In the first versions there is one member, and its error is the request's.
    let leave = LeaveGroupRequest { group_id: "g", member_id: &member_id, ..Default::default() };
    let response = broker.ask(ApiKey::LeaveGroup, 2, &leave);
    assert_eq!(response.read::<LeaveGroupResponse<'_>>().error_code, 25);
}

#[test]
fn a_group_that_waits_is_looked_at_when_its_time_has_come() {
    let mut broker = broker();
    assert!(after_ms(&mut broker, 0).is_empty(), "every coordinator begins");
    let (ticket, _) = broker.send(ApiKey::JoinGroup, 3, &join_of("g", ""));
    assert_eq!(broker.apis.next_deadline(), Some(broker.now.instant.after_ms(100)));
    assert!(after_ms(&mut broker, 99).is_empty());
    assert!(answer_to(ticket, after_ms(&mut broker, 1)).is_some());
}

#[test]
fn nobody_is_answered_on_a_connection_that_is_gone() {
    let mut broker = broker();
    let (ticket, _) = broker.send(ApiKey::JoinGroup, 3, &join_of("g", ""));
    broker.apis.connection_closed(broker.now, ticket.connection);
    assert!(after_ms(&mut broker, 100).is_empty());
}

#[test]
fn the_offsets_of_a_deleted_topic_go_with_it() {
    let mut broker = broker();
    assert_eq!(commit(&mut broker, "g", 0, 5), 0);
    let delete = DeleteTopicsRequest { topic_names: vec!["t"], timeout_ms: 1_000, ..Default::default() };
    broker.ask(ApiKey::DeleteTopics, 4, &delete);
    broker.create("t", 1, &[]);
    assert_eq!(committed(&mut broker, "g"), -1);
    assert!(durable(&broker).iter().all(|state| state.offsets().of_group("g").next().is_none()));
}

#[test]
fn partitions_that_do_not_exist_are_refused_beside_those_that_do() {
    let mut broker = broker();
    let mut request = commit_of("g", "t", 0, 1);
    request.topics.extend(commit_of("g", "t", 9, 1).topics);
    request.topics.extend(commit_of("g", "nowhere", 0, 1).topics);
    let response = broker.ask(ApiKey::OffsetCommit, 9, &request);
    let response = response.read::<OffsetCommitResponse<'_>>();
    let mut told: Vec<_> = response
        .topics
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|of| (topic.name, of.partition_index, of.error_code)))
        .collect();
    told.sort_unstable();
    let unknown = UNKNOWN_TOPIC_OR_PARTITION;
    assert_eq!(told, [("nowhere", 0, unknown), ("t", 0, 0), ("t", 9, unknown)]);

    let partitions = [0, 9].map(|partition_index| OffsetDeleteRequestPartition { partition_index }).to_vec();
    let topics = vec![OffsetDeleteRequestTopic { name: "t", partitions }];
    let response = broker.ask(ApiKey::OffsetDelete, 0, &OffsetDeleteRequest { group_id: "g", topics });
    let response = response.read::<OffsetDeleteResponse<'_>>();
    let told: Vec<_> = response.topics[0].partitions.iter().map(|of| (of.partition_index, of.error_code)).collect();
    assert_eq!((response.error_code, told), (0, vec![(9, unknown), (0, 0)]));
    assert_eq!(committed(&mut broker, "g"), -1);
}

#[test]
fn topics_are_named_by_their_id_from_version_10_on() {
    let mut broker = broker();
    let topic_id = broker.apis.image().topic("t").unwrap().topic_id;
    let mut request = commit_of("g", "", 0, 7);
    request.topics.extend(commit_of("g", "", 0, 7).topics);
    request.topics[0].topic_id = topic_id;
    request.topics[1].topic_id = TopicId([9; 16]);
    let response = broker.ask(ApiKey::OffsetCommit, 10, &request);
    let response = response.read::<OffsetCommitResponse<'_>>();
    let told: Vec<_> = response.topics.iter().map(|topic| (topic.topic_id, topic.partitions[0].error_code)).collect();
    assert_eq!(told, [(TopicId([9; 16]), 100), (topic_id, 0)]);

    let group = OffsetFetchRequestGroup { group_id: "g", topics: None, ..Default::default() };
    let request = OffsetFetchRequest { groups: vec![group], ..Default::default() };
    let response = broker.ask_now(ApiKey::OffsetFetch, 10, &request);
    let topics = &response.read::<OffsetFetchResponse<'_>>().groups[0].topics;
    assert_eq!((topics[0].topic_id, topics[0].partitions[0].committed_offset), (topic_id, 7));
}

#[test]
fn groups_of_several_coordinators_are_deleted_in_one_request_and_answered_once() {
    let mut broker = broker();
    let group_ids = ["a", "b", "c", "d", "e", "f"];
    for group_id in group_ids {
        assert_eq!(commit(&mut broker, group_id, 0, 1), 0);
    }
    let groups_names = group_ids.iter().copied().chain(["nobody"]).collect();
    let (ticket, outcome) = broker.send(ApiKey::DeleteGroups, 1, &DeleteGroupsRequest { groups_names });
    assert!(matches!(outcome.answer, Answer::Later) && outcome.completions.is_empty());
    let completions = broker.sync();
    assert_eq!(completions.iter().filter(|completion| completion.ticket == ticket).count(), 1);
    let bytes = answer_to(ticket, completions).unwrap();
    let response: DeleteGroupsResponse<'_> = read(&bytes, 1);
    let mut told: Vec<_> = response.results.iter().map(|result| (result.group_id, result.error_code)).collect();
    told.sort_unstable();
    let mut expected: Vec<_> = group_ids.iter().map(|group_id| (*group_id, 0)).collect();
    expected.push(("nobody", GROUP_ID_NOT_FOUND));
    assert_eq!(told, expected);
    let list = broker.ask_now(ApiKey::ListGroups, 4, &ListGroupsRequest::default());
    assert!(list.read::<ListGroupsResponse<'_>>().groups.is_empty());
}

#[test]
fn records_of_other_kinds_of_groups_do_not_keep_a_log_from_loading() {
    let mut broker = broker();
    assert_eq!(commit(&mut broker, "g", 0, 5), 0);
    for partition in 0..4 {
        let mut builder = RecordBatchBuilder::new();
        builder.append(1, Some(&[0, 3, 0, 1, b'g']), Some(&[0, 0, 0, 0])).unwrap();
        let batch = Bytes::from(builder.build().unwrap());
        let log = broker.log("__consumer_offsets", partition);
        log.append(broker.now, batch, AppendOrigin::Coordinator, Durability::Synced).unwrap();
    }
    assert_eq!(commit(&mut broker, "g", 1, 6), 0);
    assert_eq!(committed(&mut broker.after_power_cut(), "g"), 5);
}

#[test]
fn a_partition_whose_records_are_damaged_serves_no_groups_and_harms_no_others() {
    let mut broker = broker();
    let groups = ["a", "b", "c", "d"];
    for group_id in groups {
        assert_eq!(commit(&mut broker, group_id, 0, 5), 0);
    }
    let mut builder = RecordBatchBuilder::new();
    builder.append(1, Some(&[0, 1, 0]), None).unwrap();
    let batch = Bytes::from(builder.build().unwrap());
    let damaged = broker.apis.groups().shard_of("a").unwrap();
    let log = Arc::clone(&damaged.partition().log);
    log.append(broker.now, batch, AppendOrigin::Coordinator, Durability::Synced).unwrap();
    assert_eq!(commit(&mut broker, "a", 1, 6), 0);
    let mut broker = broker.after_power_cut();
    assert_eq!(commit(&mut broker, "a", 0, 7), NOT_COORDINATOR);
    assert_eq!(committed(&mut broker, "b"), 5);
}

#[test]
fn a_log_that_cannot_be_opened_does_not_lead_its_groups_to_another_coordinator() {
    let broker = broker();
    let wake = Arc::new(NobodySleeps);
    let service = GroupCoordinatorService::new(
        GroupSettings::default(),
        ShardSettings { durability: Durability::Synced, commit_timeout_ms: 5_000 },
        Arc::clone(broker.apis.replica_manager()),
        Arc::new(Deadlines::new(wake)),
        ChaCha12Rng::from_seed([0; 32]),
    );
    let find = |partition| broker.apis.replica_manager().find("__consumer_offsets", PartitionIndex(partition)).unwrap();
    let image = broker.apis.image();
    let follow = |added| drop(service.follow(broker.now, &image, &FollowedChange { added, removed: Vec::new() }));
    follow(vec![find(0)]);
    // "a" hashes to 97, so it belongs to partition 1 of 4.
    assert!(service.shard_of("a").is_err());
    follow(vec![find(1)]);
    assert_eq!(service.shard_of("a").unwrap().partition().key.partition, PartitionIndex(1));
}
