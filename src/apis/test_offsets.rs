//! Offsets that are looked up and log starts that move, as a client sees it.

use super::answer::Answer;
use super::test_apis::{TestApis, batch};
use crate::error_code::ErrorCode;
use crate::protocol::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsResponse, DeleteRecordsTopic,
};
use crate::protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use crate::protocol::messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use crate::protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use crate::protocol::{ApiKey, RecordsField};

/// Error, timestamp, offset and leader epoch.
type Listed = (i16, i64, i64, i32);

fn nothing(error: ErrorCode) -> Listed {
    (error.code(), -1, -1, -1)
}

fn list_all(apis: &mut TestApis, version: i16, isolation_level: i8, asked: &[(&str, i32, i32, i64)]) -> Vec<Listed> {
    let topics = asked.iter().map(|(name, partition_index, current_leader_epoch, timestamp)| {
        let partition = ListOffsetsPartition {
            partition_index: *partition_index,
            current_leader_epoch: *current_leader_epoch,
            timestamp: *timestamp,
        };
        ListOffsetsTopic { name, partitions: vec![partition] }
    });
    let request =
        ListOffsetsRequest { replica_id: -1, isolation_level, topics: topics.collect(), ..Default::default() };
    let response = apis.ask(ApiKey::ListOffsets, version, &request);
    let response: ListOffsetsResponse<'_> = response.read();
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    partitions
        .map(|partition| (partition.error_code, partition.timestamp, partition.offset, partition.leader_epoch))
        .collect()
}

fn list(apis: &mut TestApis, version: i16, timestamp: i64) -> Listed {
    list_all(apis, version, 0, &[("t", 0, -1, timestamp)])[0]
}

/// A topic `t` with offsets 0 to 4 whose timestamps are 10, 30, 20, 40, 40.
fn filled() -> TestApis {
    let mut apis = TestApis::new();
    apis.create("t", 1, &[]);
    apis.produce("t", &[10, 30, 20]);
    apis.produce("t", &[40, 40]);
    apis
}

#[test]
fn special_timestamps_name_the_ends_and_the_newest_record() {
    let mut apis = filled();
    assert_eq!(list(&mut apis, 11, -1), (0, -1, 5, 0));
    assert_eq!(list(&mut apis, 11, -2), (0, -1, 0, 0));
    assert_eq!(list(&mut apis, 11, -3), (0, 40, 3, 0));
    assert_eq!(list(&mut apis, 11, -4), (0, -1, 0, 0));
    assert_eq!(list(&mut apis, 11, -5), nothing(ErrorCode::None));
    assert_eq!(list(&mut apis, 11, -6), nothing(ErrorCode::None));
}

#[test]
fn special_timestamps_are_refused_in_versions_before_theirs() {
    let mut apis = filled();
    for (timestamp, first) in [(-3, 7), (-4, 8), (-5, 9), (-6, 11)] {
        assert_eq!(list(&mut apis, first - 1, timestamp), nothing(ErrorCode::UnsupportedVersion));
        assert_eq!(list(&mut apis, first, timestamp).0, 0);
    }
    assert_eq!(list(&mut apis, 11, -7), nothing(ErrorCode::UnsupportedVersion));
    assert_eq!(list(&mut apis, 11, i64::MIN), nothing(ErrorCode::UnsupportedVersion));
}

#[test]
fn a_timestamp_names_the_first_record_at_or_above_it() {
    let mut apis = filled();
    assert_eq!(list(&mut apis, 11, 0), (0, 10, 0, 0));
    assert_eq!(list(&mut apis, 11, 11), (0, 30, 1, 0));
    assert_eq!(list(&mut apis, 11, 31), (0, 40, 3, 0));
    assert_eq!(list(&mut apis, 11, 41), nothing(ErrorCode::None));
    assert_eq!(list(&mut apis, 1, 31), (0, 40, 3, -1), "old versions have no leader epoch");
}

#[test]
fn nothing_that_is_not_synced_is_listed() {
    let mut apis = filled();
    let records = batch(&[50]);
    let partition_data = vec![PartitionProduceData { index: 0, records: RecordsField::Bytes(&records) }];
    let topic_data = vec![TopicProduceData { name: "t", partition_data, ..Default::default() }];
    let request = ProduceRequest { transactional_id: None, acks: -1, timeout_ms: 1_000, topic_data };
    assert!(matches!(apis.send(ApiKey::Produce, 12, &request).1.answer, Answer::Later));
    let list_at_once = |apis: &mut TestApis, replica_id, timestamp| {
        let partition = ListOffsetsPartition { timestamp, ..Default::default() };
        let topics = vec![ListOffsetsTopic { name: "t", partitions: vec![partition] }];
        let request = ListOffsetsRequest { replica_id, topics, ..Default::default() };
        let response = apis.ask_now(ApiKey::ListOffsets, 11, &request);
        response.read::<ListOffsetsResponse<'_>>().topics[0].partitions[0].offset
    };
    for (timestamp, synced, all) in [(-1, 5, 6), (-3, -1, 5), (50, -1, 5)] {
        assert_eq!(list_at_once(&mut apis, -1, timestamp), synced, "{timestamp}");
        assert_eq!(list_at_once(&mut apis, -2, timestamp), all, "a debugger sees everything: {timestamp}");
    }
    apis.sync();
    assert_eq!(list(&mut apis, 11, -1), (0, -1, 6, 0));
    assert_eq!(list(&mut apis, 11, 50), (0, 50, 5, 0));
}

#[test]
fn a_partition_that_is_unknown_or_named_twice_is_refused_alone() {
    let mut apis = filled();
    let asked = [("t", 0, -1, -1), ("t", 7, -1, -1), ("nope", 0, -1, -1)];
    let unknown = nothing(ErrorCode::UnknownTopicOrPartition);
    assert_eq!(list_all(&mut apis, 11, 1, &asked), [(0, -1, 5, 0), unknown, unknown]);
    let twice = [("t", 0, -1, -1), ("t", 0, -1, -2)];
    let invalid = nothing(ErrorCode::InvalidRequest);
    assert_eq!(list_all(&mut apis, 11, 0, &twice), [invalid], "and answered once");
}

#[test]
fn an_older_leader_epoch_is_fenced_and_a_newer_one_unknown() {
    let mut apis = filled().after_power_cut();
    let current = list(&mut apis, 11, -1).3;
    assert!(current > 0, "a start after a power cut raises the epoch");
    let with_epoch = |apis: &mut TestApis, epoch| list_all(apis, 11, 0, &[("t", 0, epoch, -1)])[0];
    assert_eq!(with_epoch(&mut apis, current), (0, -1, 5, current));
    assert_eq!(with_epoch(&mut apis, current - 1), nothing(ErrorCode::FencedLeaderEpoch));
    assert_eq!(with_epoch(&mut apis, current + 1), nothing(ErrorCode::UnknownLeaderEpoch));
}

#[test]
fn an_epoch_ends_where_the_next_one_begins() {
    let mut apis = filled().after_power_cut();
    apis.produce("t", &[50]);
    let current = list(&mut apis, 11, -1).3;
    let mut ask = |name, current_leader_epoch, leader_epoch| {
        let partition = OffsetForLeaderPartition { partition: 0, current_leader_epoch, leader_epoch };
        let topics = vec![OffsetForLeaderTopic { topic: name, partitions: vec![partition] }];
        let request = OffsetForLeaderEpochRequest { replica_id: -1, topics };
        let response = apis.ask(ApiKey::OffsetForLeaderEpoch, 4, &request);
        let response: OffsetForLeaderEpochResponse<'_> = response.read();
        let end = &response.topics[0].partitions[0];
        (end.error_code, end.leader_epoch, end.end_offset)
    };
    assert_eq!(ask("t", current, 0), (0, 0, 5));
    assert_eq!(ask("t", -1, current), (0, current, 6));
    assert_eq!(ask("t", -1, current + 1), (0, -1, -1));
    assert_eq!(ask("t", current + 1, 0), (ErrorCode::UnknownLeaderEpoch.code(), -1, -1));
    assert_eq!(ask("t", current - 1, 0), (ErrorCode::FencedLeaderEpoch.code(), -1, -1));
    assert_eq!(ask("nope", -1, 0), (ErrorCode::UnknownTopicOrPartition.code(), -1, -1));
}

fn delete_before(apis: &mut TestApis, name: &str, offset: i64) -> (i16, i64) {
    let partitions = vec![DeleteRecordsPartition { partition_index: 0, offset }];
    let request = DeleteRecordsRequest { topics: vec![DeleteRecordsTopic { name, partitions }], timeout_ms: 1_000 };
    let response = apis.ask(ApiKey::DeleteRecords, 2, &request);
    let response: DeleteRecordsResponse<'_> = response.read();
    let partition = &response.topics[0].partitions[0];
    (partition.error_code, partition.low_watermark)
}

#[test]
fn the_log_start_moves_up_to_the_high_watermark_and_never_back() {
    let mut apis = filled();
    assert_eq!(delete_before(&mut apis, "t", 2), (0, 2));
    assert_eq!(list(&mut apis, 11, -2), (0, -1, 2, 0));
    assert_eq!(delete_before(&mut apis, "t", 1), (0, 2));
    assert_eq!(delete_before(&mut apis, "t", 6), (ErrorCode::OffsetOutOfRange.code(), -1));
    assert_eq!(delete_before(&mut apis, "t", -2), (ErrorCode::OffsetOutOfRange.code(), -1));
    assert_eq!(delete_before(&mut apis, "t", -1), (0, 5));
    assert_eq!(list(&mut apis, 11, -2), (0, -1, 5, 0));
}

#[test]
fn records_stay_where_they_may_not_be_deleted() {
    let mut apis = TestApis::new();
    apis.create("compacted", 1, &[("cleanup.policy", "compact")]);
    assert_eq!(delete_before(&mut apis, "compacted", 0), (ErrorCode::PolicyViolation.code(), -1));
    apis.create("__consumer_offsets", 1, &[]);
    assert_eq!(delete_before(&mut apis, "__consumer_offsets", 0), (ErrorCode::InvalidTopicException.code(), -1));
    assert_eq!(delete_before(&mut apis, "nope", 0), (ErrorCode::UnknownTopicOrPartition.code(), -1));
}
