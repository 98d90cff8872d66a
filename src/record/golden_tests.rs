//! Batches that Kafka's own classes made must be read as they were meant, and what we build must be the same bytes.

use super::*;
use crate::types::{BrokerId, LeaderEpoch, Offset, ProducerEpoch, ProducerId};

const BATCHES: [(CompressionType, &[u8]); 5] = [
    (CompressionType::None, include_bytes!("../../tests/data/record/batch-none.bin")),
    (CompressionType::Gzip, include_bytes!("../../tests/data/record/batch-gzip.bin")),
    (CompressionType::Snappy, include_bytes!("../../tests/data/record/batch-snappy.bin")),
    (CompressionType::Lz4, include_bytes!("../../tests/data/record/batch-lz4.bin")),
    (CompressionType::Zstd, include_bytes!("../../tests/data/record/batch-zstd.bin")),
];
const RECORDS: i32 = 3_000;

/// Record number `index` of every batch in [`BATCHES`].
struct Expected {
    timestamp: i64,
    key: Option<String>,
    value: Option<String>,
    headers: Vec<(&'static str, Option<String>)>,
}

fn expected(index: i32) -> Expected {
    Expected {
        timestamp: 1_700_000_000_000 + i64::from(index * 37 % 1_000),
        key: (index % 7 != 0).then(|| format!("key-{index}")),
        value: (index % 11 != 0).then(|| format!("value {} of record {index}", index * 7_919 % 1_000)),
        headers: if index % 5 == 0 { vec![("h", Some(index.to_string())), ("h", None)] } else { vec![] },
    }
}

fn bytes(text: &Option<String>) -> Option<&[u8]> {
    text.as_deref().map(str::as_bytes)
}

#[test]
fn batches_that_kafka_made_are_read_record_by_record() {
    for (codec, golden) in BATCHES {
        let (batch, rest) = RecordBatch::parse(golden).unwrap();
        assert!(rest.is_empty() && batch.crc_is_valid());
        assert_eq!((batch.compression(), batch.record_count()), (codec, RECORDS));
        assert_eq!((batch.base_offset(), batch.last_offset()), (Offset(500), Offset(3_499)));
        assert_eq!((batch.producer_id(), batch.producer_epoch()), (ProducerId(4_711), ProducerEpoch(3)));
        assert_eq!((batch.base_sequence(), batch.last_sequence()), (i32::MAX - 10, 2_988));
        assert!(batch.is_transactional() && batch.partition_leader_epoch() == LeaderEpoch(9));
        let body = batch.decompressed_body(&mut Decompressor::new(), 1 << 20).unwrap();
        let mut records = batch.records_in(&body);
        for index in 0..RECORDS {
            let (record, expected) = (records.next().unwrap().unwrap(), expected(index));
            assert_eq!((record.offset.0, record.timestamp), (500 + i64::from(index), expected.timestamp));
            assert_eq!((record.key, record.value), (bytes(&expected.key), bytes(&expected.value)));
            let headers =
                expected.headers.iter().map(|(key, value)| Header { key: key.as_bytes(), value: bytes(value) });
            assert!(record.headers.eq(headers));
        }
        assert!(records.next().is_none());
    }
}

#[test]
fn a_batch_of_ours_is_byte_for_byte_that_of_kafka() {
    let mut builder = RecordBatchBuilder::new()
        .base_offset(Offset(500))
        .leader_epoch(LeaderEpoch(9))
        .producer(ProducerId(4_711), ProducerEpoch(3), i32::MAX - 10)
        .transactional(true);
    for index in 0..RECORDS {
        let expected = expected(index);
        let headers: Vec<_> =
            (expected.headers.iter()).map(|(key, value)| Header { key: key.as_bytes(), value: bytes(value) }).collect();
        builder
            .append_with_headers(expected.timestamp, bytes(&expected.key), bytes(&expected.value), &headers)
            .unwrap();
    }
    assert!(builder.build().unwrap() == BATCHES[0].1);
}

#[test]
fn a_compressed_batch_that_kafka_made_streams_through_the_scanner() {
    let limits = ScanLimits { record_bytes_max: 200, body_bytes_max: 1 << 20 };
    let mut decompressor = Decompressor::new();
    for (codec, golden) in BATCHES {
        let (batch, _) = RecordBatch::parse(golden).unwrap();
        let mut seen = 0;
        scan_records(&batch, &mut decompressor, limits, |record| {
            let expected = expected(record.index);
            assert_eq!((record.timestamp, record.has_key), (expected.timestamp, expected.key.is_some()));
            assert_eq!((record.index, record.offset_delta), (seen, seen));
            seen += 1;
        })
        .unwrap();
        assert_eq!(seen, RECORDS, "{codec}");
    }
}

#[test]
fn an_append_time_that_kafka_set_holds_for_all_records() {
    let golden = include_bytes!("../../tests/data/record/batch-log-append-time.bin");
    let (batch, _) = RecordBatch::parse(golden).unwrap();
    assert!(batch.crc_is_valid() && batch.timestamp_type() == TimestampType::LogAppendTime);
    assert!(batch.max_timestamp() > 1_700_000_000_000);
    assert!(batch.records().unwrap().all(|record| record.unwrap().timestamp == batch.max_timestamp()));
}

#[test]
fn control_batches_that_kafka_made_are_read_and_made_again() {
    let golden = include_bytes!("../../tests/data/record/control-batches.bin");
    let change = |voters: &[i32], granting: &[i32]| ControlRecord::LeaderChange {
        leader: BrokerId(1),
        voters: voters.iter().copied().map(BrokerId).collect(),
        granting_voters: granting.iter().copied().map(BrokerId).collect(),
    };
    let expected = [
        ControlRecord::EndTransaction { is_commit: false, coordinator_epoch: 5 },
        ControlRecord::EndTransaction { is_commit: true, coordinator_epoch: 6 },
        change(&[1, 2], &[2]),
        change(&[1], &[]),
        ControlRecord::SnapshotHeader { last_contained_log_timestamp: 1_700_000_000_000 },
        ControlRecord::SnapshotFooter,
        ControlRecord::KraftVersion(1),
    ];
    let batches: Vec<_> = BatchIterator::new(golden).map(Result::unwrap).collect();
    assert_eq!(batches.len(), expected.len());
    for ((batch, expected), offset) in batches.iter().zip(&expected).zip(0..) {
        assert!(batch.crc_is_valid() && batch.is_control_batch());
        assert_eq!(batch.base_offset(), Offset(offset));
        let record = batch.records().unwrap().next().unwrap().unwrap();
        assert_eq!(&ControlRecord::from_record(&record).unwrap(), expected);
        let mut builder = RecordBatchBuilder::new()
            .base_offset(batch.base_offset())
            .leader_epoch(batch.partition_leader_epoch())
            .producer(batch.producer_id(), batch.producer_epoch(), batch.base_sequence())
            .transactional(batch.is_transactional())
            .control(true);
        expected.append_to(&mut builder, record.timestamp).unwrap();
        assert_eq!(builder.build().unwrap(), batch.bytes());
    }
    let marker = end_transaction_batch(ProducerId(77), ProducerEpoch(2), true, 6, 1_700_000_000_002);
    let (marker, _) = RecordBatch::parse(&marker).unwrap();
    let mut stamped = *marker.header();
    stamped.set_base_offset(Offset(1));
    stamped.set_partition_leader_epoch(LeaderEpoch(4));
    assert_eq!([&stamped.as_bytes()[..], marker.body()].concat(), batches[1].bytes());
}
