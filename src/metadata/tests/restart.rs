//! Starts of a node, damaged logs, transactions of the metadata log, producer ids, placement.
//!
//! It must not know more of the room than its public items.

use std::sync::Arc;

use crate::metadata::{
    LoadError, Location, MetadataImage, MetadataLoader, MetadataRecord, PartitionChange, Placement, RecordCodecError,
    ReplayError, allocate_producer_ids, create_topics, elect_leaders, encode_batch, encode_batches, register_broker,
};
use crate::record::{BatchIterator, RecordBatchBuilder};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, ProducerId, WallTime};

use super::{BROKER, DEFAULTS, FewKeys, append, fresh_node, registration, topic, topic_id};

fn with_topic(name: &str, partitions: i32) -> MetadataLoader {
    let mut loader = fresh_node();
    let topics = [topic(name, partitions)];
    let created = create_topics(loader.image(), &FewKeys, DEFAULTS, &mut || topic_id(1), &topics, false);
    append(&mut loader, created.records);
    loader
}

#[test]
fn an_unclean_start_raises_every_leader_epoch_by_one_and_keeps_the_leader() {
    let mut loader = with_topic("t", 3);
    let records = elect_leaders(loader.image(), BROKER, false);
    assert_eq!(records.len(), 3);
    append(&mut loader, records);
    for partition in loader.image().topic("t").unwrap().partitions.values() {
        assert_eq!((partition.leader, partition.leader_epoch), (Some(BROKER), LeaderEpoch(1)));
        assert_eq!(partition.partition_epoch, 1);
    }
}

#[test]
fn an_orderly_start_gets_a_new_broker_epoch_and_leaves_leader_epochs_alone() {
    let mut loader = with_topic("t", 1);
    let mut records = register_broker(loader.image(), registration());
    records.extend(elect_leaders(loader.image(), BROKER, true));
    append(&mut loader, records);
    assert_eq!(loader.image().broker(BROKER).unwrap().broker_epoch, 1);
    assert_eq!(loader.image().partition("t", PartitionIndex(0)).unwrap().leader_epoch, LeaderEpoch(0));
}

#[test]
fn producer_ids_come_in_blocks_that_never_overlap() {
    let mut loader = fresh_node();
    let first = allocate_producer_ids(loader.image(), BROKER).unwrap();
    assert_eq!((first.response.first, first.response.size), (ProducerId(0), 1000));
    append(&mut loader, first.records);
    let second = allocate_producer_ids(loader.image(), BROKER).unwrap();
    assert_eq!(second.response.first, ProducerId(1000));
    let last = MetadataRecord::ProducerIds { broker_id: BROKER, broker_epoch: 0, next_producer_id: i64::MAX - 999 };
    append(&mut loader, vec![last]);
    assert!(allocate_producer_ids(loader.image(), BROKER).is_err(), "the ids are used up");
}

#[test]
fn a_batch_with_a_record_that_does_not_fit_takes_no_effect_at_all() {
    let mut loader = with_topic("t", 1);
    let before = loader.image().clone();
    let records = vec![
        MetadataRecord::Topic { name: "new".into(), topic_id: topic_id(2) },
        MetadataRecord::RemoveTopic { topic_id: topic_id(9) },
    ];
    let error = loader.replay_records(records, Offset(9), Offset(11), LeaderEpoch(1)).unwrap_err();
    assert_eq!(error, LoadError::Replay { at: Offset(9), error: ReplayError::UnknownTopic(topic_id(9)) });
    assert_eq!(*loader.image(), before);
}

#[test]
fn records_of_a_transaction_take_effect_at_its_end_even_over_several_batches() {
    let mut loader = fresh_node();
    let new = |number| MetadataRecord::Topic { name: format!("t{number}").into(), topic_id: topic_id(number) };
    append(&mut loader, vec![MetadataRecord::BeginTransaction { name: None }, new(1)]);
    append(&mut loader, vec![new(2)]);
    assert_eq!(loader.image().topic_count(), 0);
    append(&mut loader, vec![new(3), MetadataRecord::EndTransaction]);
    assert_eq!(loader.image().topic_count(), 3);
    let begin = MetadataRecord::BeginTransaction { name: None };
    append(&mut loader, vec![begin, new(4), MetadataRecord::AbortTransaction { reason: None }, new(5)]);
    assert!(loader.image().topic("t4").is_none() && loader.image().topic("t5").is_some());
    let error = loader.replay_records(vec![MetadataRecord::EndTransaction], Offset(0), Offset(1), LeaderEpoch(1));
    assert_eq!(error.unwrap_err(), LoadError::Transaction(Offset(0)));
}

#[test]
fn a_load_copies_no_topic_for_each_batch() {
    let mut loader = with_topic("t", 3);
    let before = std::ptr::from_ref(&**loader.image().topic("t").unwrap());
    let records = elect_leaders(loader.image(), BROKER, false);
    append(&mut loader, records.clone());
    assert_eq!(std::ptr::from_ref(&**loader.image().topic("t").unwrap()), before);
    let handed_out = Arc::clone(loader.image());
    append(&mut loader, records);
    assert_ne!(std::ptr::from_ref(&**loader.image().topic("t").unwrap()), before);
    let epoch = |image: &MetadataImage| image.partition("t", PartitionIndex(0)).unwrap().leader_epoch;
    assert_eq!((epoch(&handed_out), epoch(loader.image())), (LeaderEpoch(1), LeaderEpoch(2)));
}

#[test]
fn only_the_replicas_in_sync_may_lead_after_an_elr_is_cleared() {
    for name in ["t", ""] {
        let mut loader = with_topic("t", 1);
        let change = PartitionChange {
            isr: Some(Vec::new()),
            leader: Some(None),
            eligible_leader_replicas: Some(vec![BROKER]),
            ..Default::default()
        };
        let partition = PartitionIndex(0);
        append(&mut loader, vec![MetadataRecord::PartitionChange { topic_id: topic_id(1), partition, change }]);
        assert_eq!(elect_leaders(loader.image(), BROKER, true).len(), 1);
        append(&mut loader, vec![MetadataRecord::ClearElr { topic: "other".into() }]);
        assert_eq!(elect_leaders(loader.image(), BROKER, true).len(), 1);
        append(&mut loader, vec![MetadataRecord::ClearElr { topic: name.into() }]);
        assert_eq!(elect_leaders(loader.image(), BROKER, true), []);
    }
}

fn load_value(value: &[u8]) -> Result<(), LoadError> {
    let mut builder = RecordBatchBuilder::new();
    builder.append(0, None, Some(value)).unwrap();
    let bytes = builder.build().unwrap();
    MetadataLoader::new(MetadataImage::empty("cluster")).replay_bytes(&bytes).map(|_| ())
}

#[test]
fn a_record_that_is_not_supported_is_named_with_type_and_version() {
    // An access control entry, version 0, and a topic record of a later version.
    let error = load_value(&[1, 18, 0, 0]).unwrap_err().to_string();
    let beginning = "offset 0 of the metadata log: metadata record ACCESS_CONTROL_ENTRY_RECORD (type 18), version 0, is not supported: ";
    assert!(error.starts_with(beginning), "{error}");
    let LoadError::Codec { error, .. } = load_value(&[1, 2, 7]).unwrap_err() else { panic!("another error") };
    assert_eq!(error, RecordCodecError::Unsupported { name: "TOPIC_RECORD", code: 2, version: 7 });
}

#[test]
fn a_record_of_what_klamm_does_not_have_is_refused_with_the_reason_and_the_cure() {
    for (code, missing) in
        [(10, "delegation tokens"), (11, "SCRAM users"), (14, "client quotas"), (18, "ACLs"), (22, "SCRAM users")]
    {
        let error = load_value(&[1, code, 0, 0]).unwrap_err().to_string();
        assert!(error.contains(&format!("Klamm has no {missing}")), "{error}");
        assert!(
            error
                .contains("move the folder __cluster_metadata-0, and the meta.properties of every log directory, away"),
            "{error}"
        );
    }
    for newer in [&[1, 2, 7][..], &[1, 99, 0]] {
        let error = load_value(newer).unwrap_err().to_string();
        assert!(error.contains("written by a newer release"), "{error}");
    }
}

#[test]
fn records_that_do_not_fit_one_batch_become_several_with_the_same_effect() {
    let loader = with_topic("t", 50);
    let records = elect_leaders(loader.image(), BROKER, false);
    let bytes = encode_batches(&records, 500, WallTime(1), LeaderEpoch(1)).unwrap();
    let batches: Vec<_> = BatchIterator::new(&bytes).map(Result::unwrap).collect();
    assert!(batches.len() > 1 && batches.iter().all(|batch| batch.total_bytes() <= 500));
    let (mut whole, mut parts) = (loader.clone(), loader);
    append(&mut whole, records);
    for batch in &batches {
        let records = batch.records().unwrap().map(|record| MetadataRecord::decode(record.unwrap().value.unwrap()));
        append(&mut parts, records.map(Result::unwrap).collect());
    }
    assert_eq!(parts.image(), whole.image());
}

#[test]
fn a_flipped_bit_in_the_log_is_found_by_the_checksum() {
    let records = [MetadataRecord::Topic { name: "t".into(), topic_id: topic_id(1) }];
    let mut bytes = encode_batch(&records, WallTime(1), LeaderEpoch(1)).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    let error = MetadataLoader::new(MetadataImage::empty("cluster")).replay_bytes(&bytes).map(|_| ()).unwrap_err();
    assert_eq!(error, LoadError::Checksum(Offset(0)));
}

#[test]
fn placement_tells_here_elsewhere_and_unknown_apart() {
    let loader = with_topic("t", 1);
    let image = loader.image();
    let partition = PartitionIndex(0);
    let here = Placement::new(BROKER, Arc::clone(image));
    let there = Placement::new(BrokerId(2), Arc::clone(image));
    let elsewhere = Location::Elsewhere { leader: BROKER, leader_epoch: LeaderEpoch(0) };
    assert_eq!(there.coordinator("t", "any group"), (elsewhere, partition));
    assert_eq!(here.coordinator("t", "any group"), (Location::Here { leader_epoch: LeaderEpoch(0) }, partition));
    assert_eq!(here.coordinator("__consumer_offsets", "any group").0, Location::Unknown);
}
