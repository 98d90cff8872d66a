//! What requests get that no sane client sends.

use super::answer::{Answer, Completion};
use super::test_apis::{TestApis, batch, whole};
use crate::error_code::ErrorCode;
use crate::limits::ANSWER_BYTES_MAX;
use crate::protocol::messages::delete_topics::DeleteTopicsRequest;
use crate::protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse,
};
use crate::protocol::messages::describe_groups::DescribeGroupsRequest;
use crate::protocol::messages::describe_topic_partitions::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse,
};
use crate::protocol::messages::fetch::{
    FetchPartition, FetchRequest, FetchResponse, FetchTopic, FetchableTopicResponse,
};
use crate::protocol::messages::find_coordinator::FindCoordinatorRequest;
use crate::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use crate::protocol::messages::offset_fetch::{OffsetFetchRequest, OffsetFetchRequestGroup};
use crate::protocol::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use crate::protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use crate::protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
use crate::protocol::{ApiKey, Decoder, Message, RecordsField};
use crate::record::RecordBatchBuilder;
use crate::types::{ProducerEpoch, ProducerId, TopicId};

fn with_topics() -> TestApis {
    let mut apis = TestApis::new();
    apis.create("a", 1, &[]);
    apis.create("b", 1, &[]);
    apis
}

/// A request with these records for partition 0 of topics `a` and `b`.
fn produce<'a>(acks: i16, a: &'a [u8], b: &'a [u8]) -> ProduceRequest<'a> {
    let topic = |name, records| TopicProduceData {
        name,
        partition_data: vec![PartitionProduceData { index: 0, records: RecordsField::Bytes(records) }],
        ..Default::default()
    };
    ProduceRequest { transactional_id: None, acks, timeout_ms: 1_000, topic_data: vec![topic("a", a), topic("b", b)] }
}

/// Error, base offset and log start of each partition, in the order of the request.
fn produced(apis: &mut TestApis, request: &ProduceRequest<'_>) -> Vec<(i16, i64, i64)> {
    let response = apis.ask(ApiKey::Produce, 12, request);
    let response: ProduceResponse<'_> = response.read();
    let partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
    partitions.map(|answer| (answer.error_code, answer.base_offset, answer.log_start_offset)).collect()
}

fn refused(error: ErrorCode) -> (i16, i64, i64) {
    (error.code(), -1, -1)
}

#[test]
fn bytes_that_are_no_batch_refuse_the_whole_request_and_a_wrong_checksum_only_its_own() {
    let mut apis = with_topics();
    let good = batch(&[1]);
    let mut unknown_magic = good.to_vec();
    unknown_magic[16] = 3;
    for bad in [&unknown_magic[..], &[0; 16]] {
        let both = [refused(ErrorCode::CorruptMessage); 2];
        assert_eq!(produced(&mut apis, &produce(-1, &good, bad)), both);
        assert_eq!(produced(&mut apis, &produce(-1, bad, &good)), both);
    }
    assert_eq!(apis.log("a", 0).log_end_offset().0, 0, "nothing is appended");
    let mut damaged = good.to_vec();
    *damaged.last_mut().unwrap() ^= 1;
    let one = [(0, 0, 0), refused(ErrorCode::CorruptMessage)];
    assert_eq!(produced(&mut apis, &produce(-1, &good, &damaged)), one);
}

#[test]
fn a_batch_of_a_transaction_without_a_transactional_id_refuses_the_whole_request() {
    let mut apis = with_topics();
    let mut builder = RecordBatchBuilder::new().producer(ProducerId(7), ProducerEpoch(0), 0).transactional(true);
    builder.append(1, None, Some(b"value")).unwrap();
    let transactional = builder.build().unwrap();
    let both = [refused(ErrorCode::TransactionalIdAuthorizationFailed); 2];
    assert_eq!(produced(&mut apis, &produce(1, &batch(&[1]), &transactional)), both);
    let silent = apis.send(ApiKey::Produce, 12, &produce(0, &batch(&[1]), &transactional)).1.answer;
    assert!(matches!(silent, Answer::Close(_)), "without an answer only the close can tell: {silent:?}");
    assert_eq!(apis.log("a", 0).log_end_offset().0, 0);
}

#[test]
fn records_that_the_log_refuses_come_with_the_log_start() {
    let mut apis = with_topics();
    let mut no_records = batch(&[1]).to_vec();
    no_records[57..61].copy_from_slice(&0_i32.to_be_bytes());
    let crc = crate::record::crc32c(&no_records[21..]);
    no_records[17..21].copy_from_slice(&crc.to_be_bytes());
    let answers = produced(&mut apis, &produce(-1, &no_records, &[]));
    assert_eq!(answers, [(ErrorCode::InvalidRecord.code(), -1, 0), refused(ErrorCode::InvalidRecord)]);
}

#[test]
fn a_repeated_batch_is_answered_with_the_time_that_it_has() {
    let mut apis = with_topics();
    let mut builder = RecordBatchBuilder::new().producer(ProducerId(7), ProducerEpoch(0), 0);
    builder.append(1_234, None, Some(b"value")).unwrap();
    let idempotent = builder.build().unwrap();
    let mut times = || {
        let response = apis.ask(ApiKey::Produce, 12, &produce(-1, &idempotent, &idempotent));
        let response: ProduceResponse<'_> = response.read();
        let answer = &response.responses[0].partition_responses[0];
        (answer.base_offset, answer.log_append_time_ms)
    };
    assert_eq!(times(), (0, -1));
    assert_eq!(times(), (0, 1_234));
}

/// The only partition of the answer to a fetch from partition 0: error, high watermark, and how many aborted transactions it lists.
fn fetched(apis: &mut TestApis, topic: &str, replica_id: i32, partition_max_bytes: i32) -> (i16, i64, Option<usize>) {
    let partition = FetchPartition { partition: 0, partition_max_bytes, ..Default::default() };
    let topics = vec![FetchTopic { topic, partitions: vec![partition], ..Default::default() }];
    let request = FetchRequest { replica_id, max_bytes: 1_000, topics, ..Default::default() };
    let response = apis.ask_now(ApiKey::Fetch, 12, &request);
    let response: FetchResponse<'_> = response.read();
    let answer = &response.responses[0].partitions[0];
    (answer.error_code, answer.high_watermark, answer.aborted_transactions.as_ref().map(Vec::len))
}

#[test]
fn a_fetch_by_a_broker_or_with_a_negative_limit_is_refused_and_has_no_transactions() {
    let mut apis = with_topics();
    assert_eq!(fetched(&mut apis, "a", -1, 100), (0, 0, None));
    assert_eq!(fetched(&mut apis, "a", 5, 100), (ErrorCode::NotLeaderOrFollower.code(), -1, None));
    assert_eq!(fetched(&mut apis, "a", -1, -1), (ErrorCode::InvalidRequest.code(), -1, None));
    assert_eq!(fetched(&mut apis, "none", -1, 100), (ErrorCode::UnknownTopicOrPartition.code(), -1, Some(0)));
}

#[test]
fn a_fetch_gives_a_too_large_first_batch_whole_for_the_first_partition_and_nothing_for_the_others() {
    let mut apis = TestApis::new();
    for topic in ["a", "b"] {
        apis.create(topic, 1, &[]);
        apis.produce(topic, &[1, 2, 3]);
    }
    let asked = |topic, partition_max_bytes| FetchTopic {
        topic,
        partitions: vec![FetchPartition { partition_max_bytes, ..Default::default() }],
        ..Default::default()
    };
    let mut records = |of_b| {
        let topics = vec![asked("a", 20), asked("b", of_b)];
        let request = FetchRequest { max_bytes: 1_000, topics, ..Default::default() };
        let response = apis.ask_now(ApiKey::Fetch, 12, &request);
        let response: FetchResponse<'_> = response.read();
        let bytes = |topic: &FetchableTopicResponse<'_>| match topic.partitions[0].records {
            RecordsField::Bytes(records) => records.len(),
            _ => 0,
        };
        response.responses.iter().map(bytes).collect::<Vec<_>>()
    };
    let whole = records(1_000);
    assert_eq!(whole[0], whole[1], "both have one batch");
    assert_eq!(records(20), [whole[0], 0]);
}

#[test]
fn a_fetch_that_comes_while_the_broker_stops_does_not_wait() {
    let mut apis = with_topics();
    let partition = FetchPartition { partition: 0, partition_max_bytes: 100, ..Default::default() };
    let topics = vec![FetchTopic { topic: "a", partitions: vec![partition], ..Default::default() }];
    let request = FetchRequest { max_wait_ms: 30_000, min_bytes: 1, max_bytes: 1_000, topics, ..Default::default() };
    let (_, outcome) = apis.send(ApiKey::Fetch, 12, &request);
    assert!(outcome.completions.is_empty(), "it waits");
    assert_eq!(apis.apis.drain(apis.now).len(), 1);
    let (ticket, outcome) = apis.send(ApiKey::Fetch, 12, &request);
    assert_eq!(outcome.completions.iter().map(|completion| completion.ticket).collect::<Vec<_>>(), [ticket]);
}

#[test]
fn a_topic_with_neither_name_nor_id_is_refused_and_so_is_an_id_before_its_time() {
    let mut apis = with_topics();
    for (version, topic_id) in [(12, TopicId::ZERO), (10, TopicId([7; 16]))] {
        let topics = Some(vec![MetadataRequestTopic { name: None, topic_id }]);
        let response = apis.ask_now(ApiKey::Metadata, version, &MetadataRequest { topics, ..Default::default() });
        let response: MetadataResponse<'_> = response.read();
        assert!(response.brokers.is_empty());
        let topic = &response.topics[0];
        assert_eq!((topic.error_code, topic.topic_id), (ErrorCode::InvalidRequest.code(), topic_id));
    }
}

fn is_closed<'a, M: Message<'a>>(apis: &mut TestApis, api_key: ApiKey, version: i16, message: &M) -> bool {
    matches!(apis.send(api_key, version, message).1.answer, Answer::Close(_) | Answer::Malformed(_))
}

#[test]
fn an_answer_that_would_be_much_longer_than_its_request_closes_the_connection() {
    let mut apis = TestApis::new();
    let broker = || DescribeConfigsResource { resource_type: 4, resource_name: "1", configuration_keys: None };
    let of = |count: usize| DescribeConfigsRequest {
        resources: (0..count).map(|_| broker()).collect(),
        include_synonyms: true,
        include_documentation: true,
    };
    let one = apis.ask_now(ApiKey::DescribeConfigs, 4, &of(2));
    assert_eq!(one.read::<DescribeConfigsResponse<'_>>().results.len(), 2, "a name may be repeated, as in Kafka");
    assert!(is_closed(&mut apis, ApiKey::DescribeConfigs, 4, &of(10_000)));

    let groups = |count: usize| DescribeGroupsRequest { groups: vec![""; count], ..Default::default() };
    assert!(!is_closed(&mut apis, ApiKey::DescribeGroups, 5, &groups(10)));
    assert!(is_closed(&mut apis, ApiKey::DescribeGroups, 5, &groups(ANSWER_BYTES_MAX / 500)));

    let groups = |count: usize| OffsetFetchRequest {
        groups: (0..count).map(|_| OffsetFetchRequestGroup::default()).collect(),
        ..Default::default()
    };
    assert!(!is_closed(&mut apis, ApiKey::OffsetFetch, 8, &groups(10)));
    assert!(is_closed(&mut apis, ApiKey::OffsetFetch, 8, &groups(ANSWER_BYTES_MAX / 100)));

    let keys = |count: usize| FindCoordinatorRequest { coordinator_keys: vec![""; count], ..Default::default() };
    assert!(is_closed(&mut apis, ApiKey::FindCoordinator, 4, &keys(ANSWER_BYTES_MAX / 50)));
}

/// A fetch of some partitions, by name and offset, that waits for long.
fn waiting_fetch<'a>(partitions: &[(&'a str, i64, i32)]) -> FetchRequest<'a> {
    let topics = partitions.iter().map(|(topic, fetch_offset, last_fetched_epoch)| FetchTopic {
        topic,
        partitions: vec![FetchPartition {
            fetch_offset: *fetch_offset,
            last_fetched_epoch: *last_fetched_epoch,
            partition_max_bytes: 100,
            ..Default::default()
        }],
        ..Default::default()
    });
    FetchRequest { max_wait_ms: 60_000, min_bytes: 1, max_bytes: 1_000, topics: topics.collect(), ..Default::default() }
}

#[test]
fn a_fetch_that_has_nothing_to_wait_for_is_answered_at_once() {
    let mut apis = with_topics();
    apis.produce("a", &[1]);
    let mut error = |request| {
        apis.ask_now(ApiKey::Fetch, 12, &request).read::<FetchResponse<'_>>().responses[0].partitions[0].error_code
    };
    assert_eq!(error(waiting_fetch(&[("none", 0, -1)])), ErrorCode::UnknownTopicOrPartition.code());
    let diverging = error(waiting_fetch(&[("b", 5, 0)]));
    assert_eq!(diverging, 0, "its history is not the log's");
    let waits = apis.send(ApiKey::Fetch, 12, &waiting_fetch(&[("none", 0, -1), ("b", 0, -1)])).1.answer;
    assert!(matches!(waits, Answer::Later), "what is known may grow: {waits:?}");
}

#[test]
fn a_fetch_answers_each_partition_once_as_it_was_named_last() {
    let mut apis = with_topics();
    apis.produce("a", &[1]);
    apis.produce("a", &[2]);
    let response = apis.ask_now(ApiKey::Fetch, 12, &waiting_fetch(&[("a", 9, -1), ("b", 0, -1), ("a", 1, -1)]));
    let response: FetchResponse<'_> = response.read();
    let told: Vec<_> = response.responses.iter().map(|topic| (topic.topic, topic.partitions.len())).collect();
    assert_eq!(told, [("a", 1), ("b", 1)]);
    assert_eq!(response.responses[0].partitions[0].error_code, 0, "offset 9 would be out of range");
}

#[test]
fn a_topic_that_is_made_again_under_a_session_is_inconsistent_with_its_id() {
    let mut apis = with_topics();
    let topic_id = apis.log("a", 0).topic_id().unwrap();
    let fetch = |session_id, session_epoch, topics| FetchRequest {
        max_bytes: 1_000,
        session_id,
        session_epoch,
        topics,
        ..Default::default()
    };
    let partition = FetchPartition { partition_max_bytes: 100, ..Default::default() };
    let topics = vec![FetchTopic { topic_id, partitions: vec![partition], ..Default::default() }];
    let opened = apis.ask_now(ApiKey::Fetch, 13, &fetch(0, 0, topics));
    let session_id = opened.read::<FetchResponse<'_>>().session_id;
    let error = |apis: &mut TestApis, epoch| {
        let response = apis.ask_now(ApiKey::Fetch, 13, &fetch(session_id, epoch, Vec::new()));
        response.read::<FetchResponse<'_>>().responses[0].partitions[0].error_code
    };
    apis.ask(ApiKey::DeleteTopics, 1, &DeleteTopicsRequest { topic_names: vec!["a"], ..Default::default() });
    assert_eq!(error(&mut apis, 1), ErrorCode::UnknownTopicOrPartition.code());
    apis.create("a", 1, &[]);
    assert_eq!(error(&mut apis, 2), ErrorCode::InconsistentTopicId.code());
}

#[test]
fn clients_that_do_not_know_storage_errors_are_sent_to_look_for_the_leader() {
    let mut apis = with_topics();
    apis.log("a", 0).sync_failed();
    let mut error = |version| {
        let response = apis.ask_now(ApiKey::Fetch, version, &waiting_fetch(&[("a", 0, -1)]));
        response.read::<FetchResponse<'_>>().responses[0].partitions[0].error_code
    };
    assert_eq!(error(5), ErrorCode::NotLeaderOrFollower.code());
    assert_eq!(error(6), ErrorCode::KafkaStorageError.code());
}

#[test]
fn a_produce_that_is_not_synced_in_time_is_told_its_offset_beside_the_error() {
    let mut apis = with_topics();
    apis.produce("a", &[1]);
    let one = batch(&[2]);
    let (ticket, outcome) = apis.send(ApiKey::Produce, 12, &produce(-1, &one, &[]));
    assert!(matches!(outcome.answer, Answer::Later));
    apis.now.instant = apis.now.instant.after_ms(1_000);
    let completions = apis.apis.expire(apis.now);
    let [Completion { ticket: answered, answer: Answer::Respond(pieces) }] = &completions[..] else {
        panic!("one answer is due: {completions:?}")
    };
    assert_eq!(*answered, ticket);
    let bytes = whole(pieces);
    let mut decoder = Decoder::new(&bytes[5..]);
    let response = ProduceResponse::decode(&mut decoder, 12).unwrap();
    let answer = &response.responses[0].partition_responses[0];
    assert_eq!((answer.error_code, answer.base_offset), (ErrorCode::RequestTimedOut.code(), 1));
}

#[test]
fn a_produce_that_gives_no_time_waits_for_the_disk_as_long_as_is_usual() {
    let mut apis = with_topics();
    let one = batch(&[2]);
    let request = ProduceRequest { timeout_ms: 0, ..produce(-1, &one, &[]) };
    let (ticket, outcome) = apis.send(ApiKey::Produce, 12, &request);
    assert!(matches!(outcome.answer, Answer::Later));
    assert!(apis.apis.expire(apis.now).is_empty());
    assert!(apis.sync().iter().any(|completion| completion.ticket == ticket));
}

#[test]
fn a_produce_tells_an_unknown_partition_from_an_unknown_topic_id() {
    let mut apis = with_topics();
    let known = apis.apis.image().topic("a").unwrap().topic_id;
    let mut error = |topic_id| {
        let partition = PartitionProduceData { index: 9, records: RecordsField::Bytes(b"") };
        let topic = TopicProduceData { topic_id, partition_data: vec![partition], ..Default::default() };
        let request = ProduceRequest { acks: 1, topic_data: vec![topic], ..Default::default() };
        let response = apis.ask_now(ApiKey::Produce, 13, &request);
        response.read::<ProduceResponse<'_>>().responses[0].partition_responses[0].error_code
    };
    assert_eq!(error(known), ErrorCode::UnknownTopicOrPartition.code());
    assert_eq!(error(TopicId([9; 16])), ErrorCode::UnknownTopicId.code());
}

#[test]
fn a_batch_that_flush_messages_wants_on_disk_is_answered_after_its_sync_whatever_the_acks() {
    let mut apis = TestApis::new();
    apis.create("a", 1, &[("flush.messages", "2")]);
    apis.create("b", 1, &[]);
    let (one, two) = (batch(&[1]), batch(&[1, 2]));
    let (_, outcome) = apis.send(ApiKey::Produce, 12, &produce(1, &one, &two));
    assert!(matches!(outcome.answer, Answer::Respond(_)), "one record is not due, nor anything of the other topic");
    let (ticket, outcome) = apis.send(ApiKey::Produce, 12, &produce(1, &one, &two));
    assert!(matches!(outcome.answer, Answer::Later));
    assert!(apis.sync().iter().any(|completion| completion.ticket == ticket));
    assert_eq!(apis.log("a", 0).durable_end_offset().0, 2);
}

#[test]
fn a_produce_whose_answer_would_be_too_long_is_closed_before_anything_is_appended() {
    let mut apis = with_topics();
    let good = batch(&[1]);
    let data = PartitionProduceData { index: 0, records: RecordsField::Bytes(&good) };
    let mut request = produce(1, &good, &good);
    let nothing = PartitionProduceData { index: 0, records: RecordsField::Null };
    request.topic_data[0].partition_data = vec![nothing; ANSWER_BYTES_MAX / 200];
    request.topic_data[0].partition_data[0] = data;
    let (_, outcome) = apis.send(ApiKey::Produce, 12, &request);
    assert!(matches!(outcome.answer, Answer::Close(_)));
    assert_eq!(apis.log("a", 0).log_end_offset().0, 0);
}

#[test]
fn records_at_fault_are_named_while_the_answer_has_room_for_them() {
    let mut apis = TestApis::new();
    apis.create("a", 1, &[("cleanup.policy", "compact")]);
    let without_keys = batch(&[1; 100]);
    let data = PartitionProduceData { index: 0, records: RecordsField::Bytes(&without_keys) };
    let topic = TopicProduceData { name: "a", partition_data: vec![data; 20_000], ..Default::default() };
    let request = ProduceRequest { acks: 1, timeout_ms: 1_000, topic_data: vec![topic], ..Default::default() };
    let answer = apis.ask_now(ApiKey::Produce, 12, &request);
    let answer = answer.read::<ProduceResponse<'_>>();
    let partitions = &answer.responses[0].partition_responses;
    assert!(partitions.iter().all(|partition| partition.error_code == ErrorCode::InvalidRecord.code()));
    let named: Vec<usize> = partitions.iter().map(|partition| partition.record_errors.len()).collect();
    assert_eq!((named.first(), named.last()), (Some(&100), Some(&0)));
}

#[test]
fn a_partition_whose_log_is_offline_has_no_leader() {
    let mut apis = with_topics();
    apis.log("a", 0).sync_failed();
    let response = apis.ask_now(ApiKey::Metadata, 12, &MetadataRequest { topics: None, ..Default::default() });
    let response = response.read::<MetadataResponse<'_>>();
    let seen = response.topics.iter().map(|topic| {
        let partition = &topic.partitions[0];
        (partition.error_code, partition.leader_id, partition.offline_replicas.clone())
    });
    let offline = (ErrorCode::LeaderNotAvailable.code(), -1, vec![1]);
    assert_eq!(seen.collect::<Vec<_>>(), [offline, (0, 1, vec![])]);
    let asked = DescribeTopicPartitionsRequest { response_partition_limit: 10, ..Default::default() };
    let response = apis.ask_now(ApiKey::DescribeTopicPartitions, 0, &asked);
    let response = response.read::<DescribeTopicPartitionsResponse<'_>>();
    let leaders = response.topics.iter().map(|topic| topic.partitions[0].leader_id);
    assert_eq!(leaders.collect::<Vec<_>>(), [-1, 1]);
}

#[test]
fn a_client_that_speaks_sasl_is_told_that_there_is_none_and_the_operator_once() {
    let mut apis = TestApis::new();
    let refused = ErrorCode::IllegalSaslState.code();
    for version in 0..=1 {
        let response = apis.ask_now(ApiKey::SaslHandshake, version, &SaslHandshakeRequest { mechanism: "PLAIN" });
        let expected = SaslHandshakeResponse { error_code: refused, mechanisms: vec![] };
        assert_eq!(response.read::<SaslHandshakeResponse<'_>>(), expected);
    }
    for version in 0..=2 {
        let request = SaslAuthenticateRequest { auth_bytes: b"\0user\0secret" };
        let response = apis.ask_now(ApiKey::SaslAuthenticate, version, &request);
        let response = response.read::<SaslAuthenticateResponse<'_>>();
        assert_eq!((response.error_code, response.auth_bytes, response.session_lifetime_ms), (refused, &[][..], 0));
        let sentence = response.error_message.unwrap();
        assert!(sentence.contains("security.protocol=PLAINTEXT") && !sentence.contains("secret"), "{sentence}");
    }
    let [told] = apis.apis.refusals.kinds()[..] else { panic!("one kind is told of") };
    assert!(told.contains("SASL") && told.contains("security.protocol=PLAINTEXT"), "{told}");
}
