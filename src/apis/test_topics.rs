//! How topics come, grow, are described and go, as a client sees it.

use super::answer::Answer;
use super::test_apis::{TestApis, whole};
use crate::error_code::ErrorCode;
use crate::protocol::messages::create_partitions::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic,
};
use crate::protocol::messages::create_topics::{
    CreatableTopic, CreatableTopicConfig, CreateTopicsRequest, CreateTopicsResponse,
};
use crate::protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse};
use crate::protocol::messages::describe_cluster::{DescribeClusterRequest, DescribeClusterResponse};
use crate::protocol::messages::describe_log_dirs::{
    DescribableLogDirTopic, DescribeLogDirsRequest, DescribeLogDirsResponse,
};
use crate::protocol::messages::describe_topic_partitions::{
    Cursor, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, TopicRequest,
};
use crate::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use crate::protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use crate::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use crate::protocol::{ApiKey, Decoder, Message};
use crate::types::{PartitionIndex, Ticket, TopicId};

fn new_topic(name: &str, num_partitions: i32) -> CreatableTopic<'_> {
    CreatableTopic { name, num_partitions, replication_factor: -1, ..Default::default() }
}

fn creation<'a>(topics: Vec<CreatableTopic<'a>>) -> CreateTopicsRequest<'a> {
    CreateTopicsRequest { topics, ..Default::default() }
}

fn named(name: &str) -> MetadataRequestTopic<'_> {
    MetadataRequestTopic { name: Some(name), ..Default::default() }
}

/// The error code and id of each topic that Metadata answers, by name.
fn metadata(apis: &mut TestApis, version: i16, request: &MetadataRequest<'_>) -> Vec<(i16, String, TopicId)> {
    let response = apis.ask(ApiKey::Metadata, version, request);
    let response: MetadataResponse<'_> = response.read();
    let topics = response.topics.iter();
    topics.map(|topic| (topic.error_code, topic.name.unwrap_or("-").to_owned(), topic.topic_id)).collect()
}

fn topic_id(apis: &TestApis, name: &str) -> TopicId {
    apis.apis.image().topic(name).unwrap().topic_id
}

#[test]
fn a_topic_is_answered_when_it_is_durable_and_its_logs_exist() {
    let mut apis = TestApis::new();
    let (ticket, outcome) = apis.send(ApiKey::CreateTopics, 7, &creation(vec![new_topic("t", 2)]));
    assert!(matches!(outcome.answer, Answer::Later));
    assert!(apis.apis.image().topic("t").is_none(), "nothing is told before it is durable");
    let completions = apis.sync();
    assert_eq!(completions.iter().map(|completion| completion.ticket).collect::<Vec<_>>(), [ticket]);
    assert_eq!(apis.log("t", 1).log_end_offset().0, 0);
    let apis = apis.after_power_cut();
    assert!(apis.apis.image().topic("t").is_some());
}

#[test]
fn a_new_topic_is_described_in_the_answer_from_version_5_on() {
    let mut apis = TestApis::with(&["num.partitions=3"]);
    let config = CreatableTopicConfig { name: "retention.ms", value: Some("5") };
    let topic = CreatableTopic { configs: vec![config], ..new_topic("t", -1) };
    let response = apis.ask(ApiKey::CreateTopics, 7, &creation(vec![topic]));
    let response: CreateTopicsResponse<'_> = response.read();
    let topic = &response.topics[0];
    assert_eq!((topic.num_partitions, topic.replication_factor, topic.error_message), (3, 1, None));
    assert_eq!(topic.topic_id, topic_id(&apis, "t"));
    let configs = topic.configs.as_deref().unwrap();
    let found = |name: &str| configs.iter().find(|config| config.name == name).unwrap();
    assert_eq!((found("retention.ms").value, found("retention.ms").config_source), (Some("5"), 1));
    assert_eq!((found("cleanup.policy").value, found("cleanup.policy").config_source), (Some("delete"), 5));
}

#[test]
fn a_creation_that_is_only_validated_leaves_nothing() {
    let mut apis = TestApis::new();
    let request = CreateTopicsRequest { validate_only: true, ..creation(vec![new_topic("t", 2)]) };
    let response = apis.ask(ApiKey::CreateTopics, 7, &request);
    assert_eq!(response.read::<CreateTopicsResponse<'_>>().topics[0].error_code, 0);
    assert!(apis.apis.image().topic("t").is_none());
}

#[test]
fn topics_that_cannot_be_are_refused_one_by_one() {
    let mut apis = TestApis::new();
    apis.create("there", 1, &[]);
    let bad = CreatableTopicConfig { name: "retention.ms", value: Some("x") };
    let topics = vec![
        new_topic("there", 1),
        new_topic("a/b", 1),
        new_topic("none", 0),
        CreatableTopic { replication_factor: 2, ..new_topic("two", 1) },
        CreatableTopic { configs: vec![bad], ..new_topic("bad", 1) },
        new_topic("good", 1),
    ];
    let response = apis.ask(ApiKey::CreateTopics, 4, &creation(topics));
    let response: CreateTopicsResponse<'_> = response.read();
    let codes: Vec<i16> = response.topics.iter().map(|topic| topic.error_code).collect();
    let expected = [
        ErrorCode::TopicAlreadyExists,
        ErrorCode::InvalidTopicException,
        ErrorCode::InvalidPartitions,
        ErrorCode::InvalidReplicationFactor,
        ErrorCode::InvalidConfig,
        ErrorCode::None,
    ];
    assert_eq!(codes, expected.map(ErrorCode::code));
    assert_eq!(response.topics[0].error_message, Some("Topic 'there' already exists."));
}

#[test]
fn topics_go_by_name_or_by_id_and_their_logs_with_them() {
    let mut apis = TestApis::new();
    apis.create("a", 1, &[]);
    apis.create("b", 1, &[]);
    let request = DeleteTopicsRequest { topic_names: vec!["a", "nope"], ..Default::default() };
    let response = apis.ask(ApiKey::DeleteTopics, 5, &request);
    let codes = |response: &DeleteTopicsResponse<'_>| {
        response.responses.iter().map(|topic| topic.error_code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&response.read()), [0, ErrorCode::UnknownTopicOrPartition.code()]);
    let id = topic_id(&apis, "b");
    let by_id = |topic_id| DeleteTopicState { name: None, topic_id };
    let request = DeleteTopicsRequest { topics: vec![by_id(id), by_id(TopicId([9; 16]))], ..Default::default() };
    let response = apis.ask(ApiKey::DeleteTopics, 6, &request);
    let response: DeleteTopicsResponse<'_> = response.read();
    assert_eq!(codes(&response), [0, ErrorCode::UnknownTopicId.code()]);
    assert_eq!((response.responses[0].name, response.responses[0].topic_id), (Some("b"), id));
    assert!(apis.apis.replica_manager().find("b", PartitionIndex(0)).is_none());
    assert!(!apis.disk.paths().iter().any(|path| path.starts_with("/data/b-0/")));
}

#[test]
fn topics_stay_where_deletion_is_disabled() {
    let mut apis = TestApis::with(&["delete.topic.enable=false"]);
    apis.create("a", 1, &[]);
    for (version, error) in [(2, ErrorCode::InvalidRequest), (3, ErrorCode::TopicDeletionDisabled)] {
        let request = DeleteTopicsRequest { topic_names: vec!["a"], ..Default::default() };
        let response = apis.ask(ApiKey::DeleteTopics, version, &request);
        assert_eq!(response.read::<DeleteTopicsResponse<'_>>().responses[0].error_code, error.code());
    }
    assert!(apis.apis.image().topic("a").is_some());
}

#[test]
fn a_fetch_that_waits_on_a_topic_hears_of_its_end_at_once() {
    let mut apis = TestApis::new();
    apis.create("a", 1, &[]);
    let partition = FetchPartition { partition_max_bytes: 1_000, ..Default::default() };
    let topic = FetchTopic { topic: "a", partitions: vec![partition], ..Default::default() };
    let request = FetchRequest { max_wait_ms: 60_000, min_bytes: 1, topics: vec![topic], ..Default::default() };
    let (fetch, outcome) = apis.send(ApiKey::Fetch, 12, &request);
    assert!(matches!(outcome.answer, Answer::Later));
    let request = DeleteTopicsRequest { topic_names: vec!["a"], ..Default::default() };
    apis.send(ApiKey::DeleteTopics, 5, &request);
    assert!(apis.sync().iter().any(|completion| completion.ticket == fetch));
}

#[test]
fn a_fetch_with_another_leader_epoch_is_answered_at_once() {
    let mut apis = TestApis::new();
    apis.create("a", 1, &[]);
    let partition = FetchPartition { current_leader_epoch: 7, partition_max_bytes: 1_000, ..Default::default() };
    let topic = FetchTopic { topic: "a", partitions: vec![partition], ..Default::default() };
    let request = FetchRequest { max_wait_ms: 60_000, min_bytes: 1, topics: vec![topic], ..Default::default() };
    let response = apis.ask(ApiKey::Fetch, 12, &request);
    let response: FetchResponse<'_> = response.read();
    assert_eq!(response.responses[0].partitions[0].error_code, ErrorCode::UnknownLeaderEpoch.code());
}

#[test]
fn a_topic_gets_more_partitions_and_never_fewer() {
    let mut apis = TestApis::new();
    apis.create("a", 2, &[]);
    let grow = |name, count| CreatePartitionsTopic { name, count, assignments: None };
    let topics = vec![grow("a", 4), grow("nope", 4)];
    let response = apis.ask(ApiKey::CreatePartitions, 3, &CreatePartitionsRequest { topics, ..Default::default() });
    let codes = |response: &CreatePartitionsResponse<'_>| {
        response.results.iter().map(|topic| topic.error_code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&response.read()), [0, ErrorCode::UnknownTopicOrPartition.code()]);
    assert_eq!(apis.log("a", 3).log_end_offset().0, 0);
    for count in [4, 3] {
        let request = CreatePartitionsRequest { topics: vec![grow("a", count)], ..Default::default() };
        let response = apis.ask(ApiKey::CreatePartitions, 3, &request);
        assert_eq!(codes(&response.read()), [ErrorCode::InvalidPartitions.code()]);
    }
    let request = CreatePartitionsRequest { topics: vec![grow("a", 9)], validate_only: true, ..Default::default() };
    let response = apis.ask(ApiKey::CreatePartitions, 3, &request);
    assert_eq!(codes(&response.read()), [0]);
    assert_eq!(apis.apis.image().topic("a").unwrap().partition_count(), 4);
}

#[test]
fn null_topics_ask_for_all_and_an_empty_list_for_none_but_in_version_0() {
    let mut apis = TestApis::new();
    apis.create("a", 1, &[]);
    let of = |topics| MetadataRequest { topics, ..Default::default() };
    assert_eq!(metadata(&mut apis, 13, &of(None)).len(), 1);
    assert_eq!(metadata(&mut apis, 13, &of(Some(Vec::new()))).len(), 0);
    assert_eq!(metadata(&mut apis, 1, &of(None)).len(), 1);
    assert_eq!(metadata(&mut apis, 0, &of(Some(Vec::new()))).len(), 1);
}

#[test]
fn metadata_answers_each_topic_once_and_ids_count_before_names() {
    let mut apis = TestApis::with(&["auto.create.topics.enable=false"]);
    apis.create("a", 1, &[]);
    apis.create("b", 1, &[]);
    let (a, b) = (topic_id(&apis, "a"), topic_id(&apis, "b"));
    let of = |topics| MetadataRequest { topics: Some(topics), ..Default::default() };
    let twice = of(vec![named("a"), named("a"), named("nope"), named("a/b")]);
    let unknown = ErrorCode::UnknownTopicOrPartition.code();
    let invalid = ErrorCode::InvalidTopicException.code();
    let expected = [
        (0, "a".to_owned(), a),
        (invalid, "a/b".to_owned(), TopicId::ZERO),
        (unknown, "nope".to_owned(), TopicId::ZERO),
    ];
    assert_eq!(metadata(&mut apis, 12, &twice), expected);
    let by_id = |topic_id| MetadataRequestTopic { topic_id, name: None };
    let strange = TopicId([0xff; 16]);
    let mixed = of(vec![named("a"), by_id(b), by_id(strange)]);
    let mut answers = metadata(&mut apis, 12, &mixed);
    answers.sort();
    let unknown_id = ErrorCode::UnknownTopicId.code();
    assert_eq!(answers, [(0, "b".to_owned(), b), (unknown_id, "-".to_owned(), strange)]);
}

#[test]
fn ids_in_versions_that_have_the_field_and_may_not_use_it_are_an_invalid_request() {
    let mut apis = TestApis::new();
    let topic = MetadataRequestTopic { topic_id: TopicId([1; 16]), name: None };
    let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    let answers = metadata(&mut apis, 11, &request);
    assert_eq!(answers, [(ErrorCode::InvalidRequest.code(), String::new(), TopicId([1; 16]))]);
}

#[test]
fn operations_are_told_to_those_who_ask() {
    let mut apis = TestApis::new();
    apis.create("a", 1, &[]);
    let request = MetadataRequest {
        topics: None,
        include_cluster_authorized_operations: true,
        include_topic_authorized_operations: true,
        ..Default::default()
    };
    let response = apis.ask(ApiKey::Metadata, 10, &request);
    let response: MetadataResponse<'_> = response.read();
    assert_eq!(response.cluster_authorized_operations, 8096);
    assert_eq!(response.topics[0].topic_authorized_operations, 3576);
    let response = apis.ask(ApiKey::Metadata, 10, &MetadataRequest { topics: None, ..Default::default() });
    let response: MetadataResponse<'_> = response.read();
    assert_eq!(response.cluster_authorized_operations, i32::MIN);
    assert_eq!(response.topics[0].topic_authorized_operations, i32::MIN);
}

#[test]
fn a_topic_that_is_asked_for_is_made_before_the_answer() {
    let mut apis = TestApis::new();
    let request = MetadataRequest { topics: Some(vec![named("new")]), ..Default::default() };
    let answers = metadata(&mut apis, 12, &request);
    assert_eq!(answers, [(0, "new".to_owned(), topic_id(&apis, "new"))]);
    let request = MetadataRequest { allow_auto_topic_creation: false, topics: Some(vec![named("other")]), ..request };
    assert_eq!(metadata(&mut apis, 12, &request)[0].0, ErrorCode::UnknownTopicOrPartition.code());
}

#[test]
fn the_cluster_is_described_by_its_brokers_and_has_no_controllers_to_tell() {
    let mut apis = TestApis::with(&["broker.rack=r"]);
    let ask = |apis: &mut TestApis, version, endpoint_type| {
        let request =
            DescribeClusterRequest { endpoint_type, include_cluster_authorized_operations: true, ..Default::default() };
        apis.ask(ApiKey::DescribeCluster, version, &request)
    };
    let response = ask(&mut apis, 2, 1);
    let response: DescribeClusterResponse<'_> = response.read();
    assert_eq!((response.error_code, response.controller_id, response.cluster_authorized_operations), (0, 1, 8096));
    assert_eq!(response.cluster_id, &**apis.apis.image().cluster_id());
    let broker = &response.brokers[0];
    assert_eq!((broker.broker_id, broker.host, broker.rack, broker.is_fenced), (1, "127.0.0.1", Some("r"), false));
    for (endpoint_type, error) in [(2, ErrorCode::MismatchedEndpointType), (3, ErrorCode::UnsupportedEndpointType)] {
        let response = ask(&mut apis, 1, endpoint_type);
        assert_eq!(response.read::<DescribeClusterResponse<'_>>().error_code, error.code());
    }
}

#[test]
fn log_directories_are_described_with_their_logs_and_without_the_metadata() {
    let mut apis = TestApis::new();
    apis.create("a", 2, &[]);
    apis.produce("a", &[1]);
    let response = apis.ask(ApiKey::DescribeLogDirs, 5, &DescribeLogDirsRequest { topics: None });
    let response: DescribeLogDirsResponse<'_> = response.read();
    let [directory] = response.results.as_slice() else { panic!("there is one directory") };
    assert_eq!((directory.log_dir, directory.error_code), ("/data", 0));
    assert_eq!((directory.total_bytes, directory.usable_bytes), (i64::MAX, i64::MAX));
    let [topic] = directory.topics.as_slice() else { panic!("there is one topic") };
    let sizes: Vec<i64> = topic.partitions.iter().map(|partition| partition.partition_size).collect();
    assert_eq!((topic.name, sizes.len(), sizes[1]), ("a", 2, 0));
    assert_eq!(u64::try_from(sizes[0]).unwrap(), apis.log("a", 0).bytes());
    let topics = Some(vec![DescribableLogDirTopic { topic: "a", partitions: vec![1, 7] }]);
    let response = apis.ask(ApiKey::DescribeLogDirs, 5, &DescribeLogDirsRequest { topics });
    let response: DescribeLogDirsResponse<'_> = response.read();
    let partitions = &response.results[0].topics[0].partitions;
    assert_eq!(partitions.iter().map(|partition| partition.partition_index).collect::<Vec<_>>(), [1]);
}

/// A topic and the number of one of its partitions.
type Place = (String, i32);

/// All that a page holds, and where the next begins. In place of a partition stands a topic's error, negative.
fn page(apis: &mut TestApis, topics: &[&str], limit: i32, cursor: Option<(&str, i32)>) -> (Vec<Place>, Option<Place>) {
    let request = DescribeTopicPartitionsRequest {
        topics: topics.iter().map(|name| TopicRequest { name }).collect(),
        response_partition_limit: limit,
        cursor: cursor.map(|(topic_name, partition_index)| Cursor { topic_name, partition_index }),
    };
    let response = apis.ask(ApiKey::DescribeTopicPartitions, 0, &request);
    let response: DescribeTopicPartitionsResponse<'_> = response.read();
    let partitions = response.topics.iter().flat_map(|topic| {
        let name = topic.name.unwrap().to_owned();
        let error = (topic.error_code != 0).then_some((name.clone(), -i32::from(topic.error_code)));
        error.into_iter().chain(topic.partitions.iter().map(move |partition| (name.clone(), partition.partition_index)))
    });
    let next = response.next_cursor.as_ref().map(|cursor| (cursor.topic_name.to_owned(), cursor.partition_index));
    (partitions.collect(), next)
}

#[test]
fn partitions_come_in_pages_from_cursor_to_cursor() {
    let mut apis = TestApis::new();
    apis.create("a", 3, &[]);
    apis.create("b", 2, &[]);
    let of = |name: &str, index| (name.to_owned(), index);
    let (first, next) = page(&mut apis, &[], 2, None);
    assert_eq!((first, next), (vec![of("a", 0), of("a", 1)], Some(of("a", 2))));
    let (second, next) = page(&mut apis, &[], 1, Some(("a", 2)));
    assert_eq!((second, next), (vec![of("a", 2)], Some(of("b", 0))));
    let (third, next) = page(&mut apis, &[], 0, Some(("b", 0)));
    assert_eq!((third, next), (vec![of("b", 0)], Some(of("b", 1))), "a page holds at least one");
    let (last, next) = page(&mut apis, &["b", "a"], 2000, Some(("b", 1)));
    assert_eq!((last, next), (vec![of("b", 1)], None));
    let unknown = -i32::from(ErrorCode::UnknownTopicOrPartition.code());
    let (missing, next) = page(&mut apis, &["a", "zzz"], 2000, None);
    assert_eq!((missing.last().unwrap(), next), (&of("zzz", unknown), None));
}

#[test]
fn a_cursor_outside_of_what_is_asked_for_is_an_invalid_request() {
    let mut apis = TestApis::new();
    apis.create("a", 3, &[]);
    let invalid = -i32::from(ErrorCode::InvalidRequest.code());
    assert_eq!(page(&mut apis, &["a"], 2, Some(("b", 0))).0, [("a".to_owned(), invalid)]);
    assert_eq!(page(&mut apis, &["a"], 2, Some(("a", -1))).0, [("a".to_owned(), invalid)]);
}

/// The answers after so much time, without a sync: each with who gets it.
fn answers_after_ms(apis: &mut TestApis, milliseconds: i64) -> Vec<(Ticket, Vec<u8>)> {
    apis.now.instant = apis.now.instant.after_ms(milliseconds);
    assert!(apis.apis.next_deadline().is_some_and(|next| next <= apis.now.instant));
    let answers = apis.apis.expire(apis.now).into_iter().map(|completion| match completion.answer {
        Answer::Respond(pieces) => (completion.ticket, whole(&pieces)),
        answer => panic!("no answer: {answer:?}"),
    });
    answers.collect()
}

#[test]
fn a_decision_that_is_not_on_the_disk_in_time_is_told_so_once_and_holds_when_it_is() {
    let mut apis = TestApis::new();
    let creation = CreateTopicsRequest { timeout_ms: 1_000, ..creation(vec![new_topic("a", 1)]) };
    let (ticket, outcome) = apis.send(ApiKey::CreateTopics, 4, &creation);
    assert!(matches!(outcome.answer, Answer::Later));
    let answers = answers_after_ms(&mut apis, 1_000);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].0, ticket);
    let response = CreateTopicsResponse::decode(&mut Decoder::new(&answers[0].1[4..]), 4).unwrap();
    assert_eq!(response.topics[0].error_code, ErrorCode::RequestTimedOut.code());
    assert!(apis.sync().iter().all(|completion| completion.ticket != ticket), "nobody is answered twice");
    assert!(apis.apis.image().topic("a").is_some());
}

#[test]
fn who_waits_for_a_topic_or_a_producer_id_is_answered_without_it_in_the_end() {
    let mut apis = TestApis::new();
    let asked =
        MetadataRequest { topics: Some(vec![named("a")]), allow_auto_topic_creation: true, ..Default::default() };
    let (metadata, outcome) = apis.send(ApiKey::Metadata, 8, &asked);
    assert!(matches!(outcome.answer, Answer::Retry));
    let (init, outcome) = apis.send(
        ApiKey::InitProducerId,
        1,
        &InitProducerIdRequest { transactional_id: None, producer_id: -1, producer_epoch: -1, ..Default::default() },
    );
    assert!(matches!(outcome.answer, Answer::Retry));
    let answers = answers_after_ms(&mut apis, 30_000);
    let tickets: Vec<Ticket> = answers.iter().map(|(ticket, _)| *ticket).collect();
    assert_eq!(tickets, [metadata, init]);
    let response = MetadataResponse::decode(&mut Decoder::new(&answers[0].1[4..]), 8).unwrap();
    assert_eq!(response.topics[0].error_code, ErrorCode::UnknownTopicOrPartition.code());
    let response = InitProducerIdResponse::decode(&mut Decoder::new(&answers[1].1[4..]), 1).unwrap();
    assert_eq!(response.error_code, ErrorCode::CoordinatorLoadInProgress.code());
    assert!(apis.sync().is_empty(), "nobody is answered twice");
}

#[test]
fn a_finding_is_told_when_what_was_found_is_on_the_disk() {
    let mut apis = TestApis::new();
    let (first, _) = apis.send(ApiKey::CreateTopics, 7, &creation(vec![new_topic("t", 1)]));
    let (second, outcome) = apis.send(ApiKey::CreateTopics, 7, &creation(vec![new_topic("t", 1)]));
    assert!(matches!(outcome.answer, Answer::Later), "that t is there is not on the disk yet");
    let completions = apis.sync();
    assert_eq!(completions.iter().map(|completion| completion.ticket).collect::<Vec<_>>(), [first, second]);
    let (_, outcome) = apis.send(ApiKey::CreateTopics, 7, &creation(vec![new_topic("t", 1)]));
    assert!(matches!(outcome.answer, Answer::Respond(_)), "now it is, and nobody has to wait");
}
