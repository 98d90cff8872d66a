//! What the roles that look after the logs get to hear.

use std::sync::atomic::Ordering;

use super::test_apis::{TestApis, batch};
use crate::protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use crate::protocol::{ApiKey, RecordsField};

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
