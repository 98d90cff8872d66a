//! What the roles that look after the logs get to hear.

use std::path::Path;
use std::sync::atomic::Ordering;

use super::test_apis::{TestApis, batch};
use crate::env::Disk;
use crate::error_code::ErrorCode;
use crate::protocol::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use crate::protocol::{ApiKey, RecordsField};
use crate::record::RecordBatchBuilder;
use crate::types::{PartitionIndex, ProducerEpoch, ProducerId};

/// Runs a checkpoint to its end.
fn checkpoint(apis: &TestApis) {
    let mut unfinished = Some(apis.apis.begin_checkpoint());
    while let Some(checkpoint) = unfinished {
        let result = checkpoint.job().run(&*apis.disk);
        unfinished = apis.apis.checkpoint_synced(checkpoint, result);
    }
}

#[test]
fn a_checkpoint_whose_sync_fails_stops_the_broker_and_one_that_finds_no_room_does_not() {
    let apis = TestApis::new();
    apis.disk.faults.is_full.store(true, Ordering::Relaxed);
    checkpoint(&apis);
    assert!(!apis.apis.must_stop());
    apis.disk.faults.is_full.store(false, Ordering::Relaxed);
    apis.disk.faults.fails_sync.store(true, Ordering::Relaxed);
    checkpoint(&apis);
    assert!(apis.apis.must_stop());
}

#[test]
fn a_request_over_many_partitions_waits_for_one_sync() {
    let mut apis = TestApis::new();
    apis.create("a", 8, &[]);
    while let Some((round, job)) = apis.apis.begin_sync() {
        let result = job.run(&*apis.disk);
        apis.apis.end_sync(apis.now, round, result);
    }
    let one = batch(&[1]);
    let partition = |index| PartitionProduceData { index, records: RecordsField::Bytes(&one) };
    let topic = TopicProduceData { name: "a", partition_data: (0..8).map(partition).collect(), ..Default::default() };
    let request = ProduceRequest { acks: -1, timeout_ms: 1_000, topic_data: vec![topic], ..Default::default() };
    let (ticket, _) = apis.send(ApiKey::Produce, 12, &request);
    let (round, job) = apis.apis.begin_sync().expect("the batches wait for it");
    let result = job.run(&*apis.disk);
    let answered = apis.apis.end_sync(apis.now, round, result);
    assert!(answered.iter().any(|completion| completion.ticket == ticket));
    assert!(apis.apis.begin_sync().is_none(), "one sync is enough");
}

#[test]
fn a_log_that_cannot_sync_its_first_name_stops_the_broker() {
    let mut apis = TestApis::new();
    apis.create("a", 1, &[("segment.ms", "1")]);
    let produce = |apis: &mut TestApis, timestamp| {
        let one = batch(&[timestamp]);
        let data = PartitionProduceData { index: 0, records: RecordsField::Bytes(&one) };
        let topic = TopicProduceData { name: "a", partition_data: vec![data], ..Default::default() };
        let request = ProduceRequest { acks: 1, timeout_ms: 1_000, topic_data: vec![topic], ..Default::default() };
        let answer = apis.ask_now(ApiKey::Produce, 12, &request);
        answer.read::<ProduceResponse<'_>>().responses[0].partition_responses[0].error_code
    };
    assert_eq!(produce(&mut apis, 1), 0);
    apis.disk.faults.fails_sync.store(true, Ordering::Relaxed);
    assert_eq!(produce(&mut apis, 1_000), ErrorCode::KafkaStorageError.code());
    assert!(!apis.apis.must_stop());
    apis.apis.watch_logs(apis.now);
    assert!(apis.apis.must_stop(), "nobody knows what is on the disk");
}

#[test]
fn a_log_directory_that_somebody_removes_is_offline_within_a_second_and_that_of_the_metadata_ends_the_broker() {
    let mut apis = TestApis::with(&["log.dirs=/data,/other"]);
    apis.create("a", 2, &[]);
    let is_there = |index| apis.log("a", index).directory().starts_with("/other");
    let lost = i32::from(!is_there(0));
    assert!(is_there(lost) && !is_there(1 - lost));
    apis.disk.remove_directory(Path::new("/other")).unwrap();
    apis.apis.watch_logs(apis.now);
    assert!(!apis.apis.must_stop());
    let image = apis.apis.image();
    let topic = image.topic("a").unwrap();
    let leader = |index| {
        let index = PartitionIndex(index);
        apis.apis.leadership(topic.topic_id, index, &topic.partitions[&index]).leader_id
    };
    assert_eq!((leader(lost), leader(1 - lost)), (-1, 1));
    apis.create("b", 2, &[]);
    assert!((0..2).all(|index| apis.log("b", index).directory().starts_with("/data")));
    apis.disk.remove_directory(Path::new("/data")).unwrap();
    apis.apis.watch_logs(apis.now);
    assert!(apis.apis.must_stop());
}

#[test]
fn a_batch_that_found_no_log_is_not_overtaken_by_the_next_of_its_pipeline() {
    let mut apis = TestApis::new();
    apis.disk.faults.break_at("/data/a-0");
    apis.create("a", 1, &[]);
    let produce = |apis: &mut TestApis, sequence| {
        let mut builder = RecordBatchBuilder::new().producer(ProducerId(7), ProducerEpoch(0), sequence);
        builder.append(1, None, Some(b"value")).unwrap();
        let one = builder.build().unwrap();
        let data = PartitionProduceData { index: 0, records: RecordsField::Bytes(&one) };
        let topic = TopicProduceData { name: "a", partition_data: vec![data], ..Default::default() };
        let request = ProduceRequest { acks: 1, timeout_ms: 1_000, topic_data: vec![topic], ..Default::default() };
        let response = apis.ask(ApiKey::Produce, 12, &request);
        let response = response.read::<ProduceResponse<'_>>();
        ErrorCode::from_code(response.responses[0].partition_responses[0].error_code)
    };
    assert_eq!(produce(&mut apis, 0), ErrorCode::KafkaStorageError, "it is there, and cannot be served");
    *apis.disk.faults.broken.lock().unwrap() = None;
    apis.apis.watch_logs(apis.now);
    assert_eq!(produce(&mut apis, 1), ErrorCode::OutOfOrderSequenceNumber);
    assert_eq!(produce(&mut apis, 0), ErrorCode::None);
    assert_eq!(produce(&mut apis, 1), ErrorCode::None);
}
