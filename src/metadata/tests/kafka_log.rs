//! Reads a metadata log that Apache Kafka 4.4.0 wrote: two runs with topics created and deleted, configs altered, a restart.
//!
//! The file (`tests/data/kafka-4.4-cluster-metadata.log`) is that log without most of its `NoOp` batches. It must not know more of the
//! room than its public items.

use crate::metadata::{
    ConfigResource, ConfigResourceType, MetadataImage, MetadataLoader, MetadataRecord, PartitionRegistration,
    elect_leaders, encode_batch, register_broker,
};
use crate::record::{BatchIterator, RecordBatch};
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, WallTime};

use super::{BROKER, append, registration};

const LOG: &[u8] = include_bytes!("../../../tests/data/kafka-4.4-cluster-metadata.log");

fn data_batches() -> Vec<RecordBatch<'static>> {
    let batches = BatchIterator::new(LOG).map(|batch| batch.unwrap());
    batches.filter(|batch| !batch.header().is_control_batch()).collect()
}

#[test]
fn every_record_of_kafkas_log_decodes_and_encodes_to_the_same_bytes() {
    let mut records = 0;
    for batch in data_batches() {
        for record in batch.records().unwrap() {
            let bytes = record.unwrap().value.unwrap();
            let decoded = MetadataRecord::decode(bytes).unwrap();
            assert_eq!(decoded.encode(), bytes, "{decoded:?}");
            records += 1;
        }
    }
    assert!(records > 80, "only {records} records were compared");
}

#[test]
fn a_batch_of_ours_equals_kafkas_byte_for_byte_but_for_the_base_offset() {
    for batch in data_batches() {
        let records: Vec<MetadataRecord> = batch
            .records()
            .unwrap()
            .map(|record| MetadataRecord::decode(record.unwrap().value.unwrap()).unwrap())
            .collect();
        let header = batch.header();
        let time = WallTime(header.base_timestamp());
        let ours = encode_batch(&records, time, header.partition_leader_epoch()).unwrap();
        assert_eq!(&ours[8..], &batch.bytes()[8..], "batch at {:?}", header.base_offset());
    }
}

#[test]
fn replaying_kafkas_log_gives_what_kafka_answered() {
    let mut loader = MetadataLoader::new(MetadataImage::empty("AAAAAAAAQACAAAAAAAAAAQ"));
    let image = loader.replay_bytes(LOG).unwrap();
    let names: Vec<&str> = image.topics().map(|topic| &*topic.name).collect();
    assert_eq!(names, ["col.a", "col_a", "good", "m1", "nodup"]);
    let m1 = image.topic("m1").unwrap();
    assert_eq!(m1.partition_count(), 2);
    let partition: &PartitionRegistration = &m1.partitions[&PartitionIndex(1)];
    assert_eq!(partition.replicas, [BrokerId(1)]);
    // One orderly restart, then an orderly stop, which leaves the partition without a leader: three elections.
    assert_eq!((partition.leader, partition.leader_epoch), (None, LeaderEpoch(3)));
    assert_eq!(image.feature_level("metadata.version"), 33);
    assert_eq!(image.feature_level("transaction.version"), 2);
    assert_eq!(image.feature_level("kraft.version"), 0);
    assert_eq!(image.next_producer_id(), 2000);
    let broker = image.broker(BrokerId(1)).unwrap();
    assert!(broker.fenced && broker.in_controlled_shutdown);
    assert_eq!(broker.endpoints.len(), 1);
    let overridden: Vec<&ConfigResource> = image.config_resources().collect();
    assert!(overridden.iter().all(|resource| resource.resource_type != ConfigResourceType::Topic), "{overridden:?}");
    let cluster = image.configs(&ConfigResource::broker(""));
    assert_eq!(cluster.get("min.insync.replicas").map(|value| &**value), Some("1"));
}

#[test]
fn a_start_on_kafkas_folder_takes_over_the_partitions_that_kafka_left_without_a_leader() {
    let mut loader = MetadataLoader::new(MetadataImage::empty("AAAAAAAAQACAAAAAAAAAAQ"));
    loader.replay_bytes(LOG).unwrap();
    let mut records = register_broker(loader.image(), registration());
    let elections = elect_leaders(loader.image(), BROKER, true);
    assert_eq!(elections.len(), loader.image().partition_count());
    records.extend(elections);
    append(&mut loader, records);
    let partition = loader.image().partition("m1", PartitionIndex(0)).unwrap();
    assert_eq!((partition.leader, partition.isr.as_slice()), (Some(BROKER), &[BROKER][..]));
    assert!(partition.eligible_leader_replicas.is_empty());
    assert_eq!(partition.leader_epoch, LeaderEpoch(4));
    assert!(loader.image().broker(BROKER).unwrap().is_active());
}
