//! When a new segment begins.
//!
//! It must not look inside.

use super::*;

fn append_at(log: &UnifiedLog, now_ms: i64, timestamp: i64) {
    log.append(at(now_ms), batch(timestamp, &["value"]), AppendOrigin::Client, Durability::Written).unwrap();
}

#[test]
fn a_segment_rolls_by_the_timestamps_of_its_records() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings { segment_ms: 1_000, ..LogSettings::default() });
    append_at(&log, 0, 5_000);
    append_at(&log, 900_000, 6_000);
    assert_eq!(log.segments(), 1, "the clock does not matter");
    append_at(&log, 0, 6_001);
    assert_eq!(log.segments(), 2);
    append_at(&log, 0, 1);
    assert_eq!(log.segments(), 2);
}

#[test]
fn without_timestamps_a_segment_rolls_by_the_clock_unless_it_is_empty() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings { segment_ms: 1_000, ..LogSettings::default() });
    append_at(&log, 50_000, -1);
    assert_eq!(log.segments(), 1, "an empty segment is never too old");
    append_at(&log, 60_000, -1);
    assert_eq!(log.segments(), 2);
}

#[test]
fn the_age_of_a_segment_is_known_after_a_restart() {
    let disk = MemoryDisk::new();
    let settings = LogSettings { segment_ms: 1_000, ..LogSettings::default() };
    let (_manager, log) = open(&disk, settings.clone());
    append_at(&log, 0, 5_000);
    let (_manager, log) = open(&disk.crash(|_, _, bytes| bytes), settings);
    append_at(&log, 0, 6_000);
    append_at(&log, 0, 6_001);
    assert_eq!(log.segments(), 2);
}

#[test]
fn a_full_index_rolls_the_segment() {
    let settings = LogSettings { segment_index_bytes: 24, index_interval_bytes: 1, ..LogSettings::default() };
    let (_manager, log) = open(&MemoryDisk::new(), settings);
    for number in 0..20 {
        append_at(&log, 0, number);
    }
    assert!(log.segments() > 5, "{}", log.segments());
    assert_eq!(read_all(&log, Offset(0)).len(), 20);
}

#[test]
fn offsets_too_far_apart_for_an_index_roll_the_segment() {
    let huge = || {
        let mut bytes = batch(1, &["value"]).to_vec();
        bytes[23..27].copy_from_slice(&(i32::MAX - 1).to_be_bytes());
        bytes[57..61].copy_from_slice(&i32::MAX.to_be_bytes());
        let crc = crate::record::crc32c(&bytes[21..]);
        bytes[17..21].copy_from_slice(&crc.to_be_bytes());
        Bytes::from(bytes)
    };
    let disk = MemoryDisk::new();
    let (_manager, log) = open(&disk, LogSettings { index_interval_bytes: 1, ..LogSettings::default() });
    for _ in 0..3 {
        log.append(at(1), huge(), AppendOrigin::Coordinator, Durability::Written).unwrap();
    }
    assert_eq!(log.segments(), 3);
    assert_eq!(log.log_end_offset(), Offset(3 * i64::from(i32::MAX)));
    let (_manager, log) = open(&disk.crash(|_, _, bytes| bytes), LogSettings::default());
    assert_eq!(log.log_end_offset(), Offset(3 * i64::from(i32::MAX)));
}

#[test]
fn a_refused_batch_rolls_nothing() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings { segment_ms: 1_000, ..LogSettings::default() });
    let sequenced = |timestamp, sequence| {
        let mut builder = RecordBatchBuilder::new().producer(ProducerId(1), ProducerEpoch(0), sequence);
        builder.append(timestamp, None, None).unwrap();
        let bytes = Bytes::from(builder.build().unwrap());
        log.append(at(1), bytes, AppendOrigin::Client, Durability::Written)
    };
    sequenced(0, 0).unwrap();
    sequenced(10_000, 5).unwrap_err();
    assert_eq!(log.segments(), 1);
    sequenced(10_000, 1).unwrap();
    assert_eq!(log.segments(), 2);
}

#[test]
fn jitter_makes_partitions_roll_at_different_times_and_never_late() {
    let settings = LogSettings { segment_ms: 1_000_000, segment_jitter_ms: 900_000, ..LogSettings::default() };
    let manager = open_manager(&MemoryDisk::new(), &["/logs"], &settings, at(0));
    let mut rolled_early = 0;
    for index in 0..20 {
        let partition = TopicPartition { topic: Arc::from("topic"), partition: PartitionIndex(index) };
        let log = manager.create(at(0), &partition, TopicId([7; 16]), Arc::new(settings.clone()), true).unwrap();
        append_at(&log, 0, 0);
        append_at(&log, 0, 550_000);
        rolled_early += log.segments() - 1;
        append_at(&log, 0, 1_000_001);
        assert!(log.segments() >= 2);
    }
    assert!((5..=15).contains(&rolled_early), "{rolled_early}");
}
