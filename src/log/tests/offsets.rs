//! What a log promises about appends, reads, syncs and rolls.
//!
//! It must not look inside: only offsets, bytes and files on disk.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use super::*;

#[test]
fn offsets_follow_one_another_and_what_was_appended_is_read() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings::default());
    assert_eq!(append(&log, &["a", "b"], Durability::Written).base_offset, Offset(0));
    let info = append(&log, &["c"], Durability::Written);
    assert_eq!((info.base_offset, info.last_offset), (Offset(2), Offset(2)));
    assert_eq!(log.log_end_offset(), Offset(3));
    let expected = [(0, "a".to_owned()), (1, "b".to_owned()), (2, "c".to_owned())];
    assert_eq!(read_all(&log, Offset(0)), expected);
    let middle = log.read(Offset(1), 1 << 20, FetchIsolation::HighWatermark, true).unwrap();
    assert_eq!(values(&bytes_of(&middle)), expected, "a read starts at the batch that holds the offset");
    assert_eq!(log.read(Offset(3), 9, FetchIsolation::HighWatermark, true).unwrap().bytes(), 0);
    assert!(matches!(
        log.read(Offset(4), 9, FetchIsolation::HighWatermark, true),
        Err(ReadError::OffsetOutOfRange { log_end: Offset(3), .. })
    ));
}

#[test]
fn an_append_that_must_be_on_disk_hides_itself_and_all_behind_it_until_it_is_synced() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings::default());
    append(&log, &["a"], Durability::Written);
    assert_eq!(log.high_watermark(), Offset(1));
    append(&log, &["b"], Durability::Synced);
    append(&log, &["c"], Durability::Written);
    assert_eq!((log.high_watermark(), log.durable_end_offset()), (Offset(1), Offset(0)));
    assert_eq!(read_all(&log, Offset(0)).len(), 1);

    let point = log.sync_point().unwrap();
    append(&log, &["d"], Durability::Synced);
    log.synced(&point);
    assert_eq!(
        (log.high_watermark(), log.durable_end_offset()),
        (Offset(3), Offset(3)),
        "the sync covers what was there"
    );
    log.synced(&log.sync_point().unwrap());
    assert_eq!((log.high_watermark(), log.durable_end_offset()), (Offset(4), Offset(4)));
    assert_eq!(read_all(&log, Offset(0)).len(), 4);
}

#[test]
fn a_torn_append_leaves_the_log_as_it_was() {
    let disk = MemoryDisk::new();
    let (_manager, log) = open(&disk, LogSettings::default());
    append(&log, &["a"], Durability::Written);
    let before = disk.read("/logs/topic-0/00000000000000000000.log").unwrap();
    disk.faults.tear_next_append_at.store(30, Ordering::Relaxed);
    let result = log.append(at(1), batch(1, &["b"]), AppendOrigin::Client, Durability::Written);
    assert!(matches!(result, Err(AppendError::Disk(_))));
    assert_eq!(disk.read("/logs/topic-0/00000000000000000000.log").unwrap(), before);
    disk.faults.is_full.store(true, Ordering::Relaxed);
    let result = log.append(at(1), batch(1, &["b"]), AppendOrigin::Client, Durability::Written);
    assert!(matches!(result, Err(AppendError::DiskFull)));
    disk.faults.is_full.store(false, Ordering::Relaxed);
    assert_eq!(append(&log, &["b"], Durability::Written).base_offset, Offset(1));
    assert_eq!(read_all(&log, Offset(0)).len(), 2);
}

#[test]
fn a_torn_append_that_cannot_be_undone_takes_the_log_offline() {
    let disk = MemoryDisk::new();
    let (_manager, log) = open(&disk, LogSettings::default());
    disk.faults.tear_next_append_at.store(30, Ordering::Relaxed);
    disk.faults.fails_truncate.store(true, Ordering::Relaxed);
    log.append(at(1), batch(1, &["a"]), AppendOrigin::Client, Durability::Written).unwrap_err();
    assert!(log.is_offline());
    let result = log.append(at(1), batch(1, &["a"]), AppendOrigin::Client, Durability::Written);
    assert!(matches!(result, Err(AppendError::Offline)));
    assert!(matches!(log.read(Offset(0), 9, FetchIsolation::LogEnd, true), Err(ReadError::Offline)));
}

#[test]
fn a_full_segment_is_followed_by_another_and_the_old_one_is_still_owed_its_sync() {
    let disk = MemoryDisk::new();
    let one = batch(1, &["0123456789"]).len() as u32;
    let (_manager, log) = open(&disk, LogSettings { segment_bytes: 2 * one, ..LogSettings::default() });
    for _ in 0..5 {
        append(&log, &["0123456789"], Durability::Synced);
    }
    assert_eq!(log.segments(), 3);
    let point = log.sync_point().unwrap();
    point.files.iter().for_each(|file| file.sync().unwrap());
    assert_eq!(point.directories, [PathBuf::from("/logs/topic-0"), PathBuf::from("/logs")]);
    log.synced(&point);
    let (_manager, log) = open(&disk.crash(|_, synced, _| synced), LogSettings::default());
    assert_eq!(read_all(&log, Offset(0)).len(), 5);
    assert_eq!(read_all(&log, Offset(3)).len(), 2);
    assert!(log.sync_point().unwrap().is_empty());
}

#[test]
fn a_read_ends_at_its_limit_and_returns_the_first_batch_whole_or_not_at_all() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings::default());
    append(&log, &["a"], Durability::Written);
    append(&log, &["b"], Durability::Written);
    let one = batch(1, &["a"]).len();
    let read = |bytes_max, whole| log.read(Offset(0), bytes_max, FetchIsolation::HighWatermark, whole).unwrap().bytes();
    assert_eq!(read(one - 1, false), 0);
    assert_eq!(read(one + 5, false), one + 5);
    assert_eq!(read(5, true), one);
    assert_eq!(read(0, true), one);
    assert_eq!(read(0, false), 0);
    assert_eq!(read(one + 7, true), one + 7);
    assert_eq!(read(10_000, true), 2 * one);
}

#[test]
fn a_failed_sync_takes_the_log_offline_for_good() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings::default());
    append(&log, &["a"], Durability::Synced);
    let point = log.sync_point().unwrap();
    log.sync_failed();
    log.synced(&point);
    assert!(log.is_offline());
    assert_eq!((log.high_watermark(), log.durable_end_offset()), (Offset(0), Offset(0)), "nothing more is promised");
    let result = log.append(at(1), batch(1, &["b"]), AppendOrigin::Client, Durability::Written);
    assert!(matches!(result, Err(AppendError::Offline)));
    assert!(log.sync_point().unwrap().is_empty());
}

#[test]
fn flush_settings_ask_for_a_sync_by_count_and_by_time() {
    let settings = LogSettings { flush_messages: 3, flush_ms: 1_000, ..LogSettings::default() };
    let (_manager, log) = open(&MemoryDisk::new(), settings);
    assert!(!log.is_sync_due(at(9_000)));
    let info = append(&log, &["a", "b"], Durability::Written);
    assert!(!info.is_sync_due && !log.is_sync_due(at(1_000)));
    assert!(log.is_sync_due(at(1_001)));
    let info = append(&log, &["c"], Durability::Written);
    assert!(info.is_sync_due && log.is_sync_due(at(2)));
    log.synced(&log.sync_point().unwrap());
    assert!(!log.is_sync_due(at(9_000)));
}

#[test]
fn what_does_not_fit_or_is_damaged_is_refused_with_its_reason() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings { message_bytes_max: 100, ..LogSettings::default() });
    let origin = AppendOrigin::Coordinator;
    let send = |bytes: &[u8]| log.append(at(1), Bytes::copy_from_slice(bytes), origin, Durability::Written);
    let good = batch(1, &["a"]).to_vec();
    assert!(matches!(send(&[]), Err(AppendError::InvalidRecord(_))));
    for length in 1..good.len() {
        assert!(matches!(send(&good[..length]), Err(AppendError::Corrupt(_))), "{length}");
    }
    let mut changed = good.clone();
    *changed.last_mut().unwrap() ^= 1;
    assert!(matches!(send(&changed), Err(AppendError::Corrupt(_))));
    let mut moved = good.clone();
    moved[7] = 1;
    send(&moved).unwrap();
    assert!(matches!(send(&batch(1, &["x"; 50])), Err(AppendError::TooLarge { bytes_max: 100, .. })));
    log.set_settings(Arc::new(LogSettings { segment_bytes: 50, ..LogSettings::default() }));
    assert!(matches!(send(&good), Err(AppendError::ListTooLarge { bytes_max: 50, .. })));
    assert_eq!(log.log_end_offset(), Offset(1));
}

#[test]
fn a_validated_batch_is_appended_as_the_validator_left_it() {
    let settings =
        LogSettings { timestamp_type: crate::record::TimestampType::LogAppendTime, ..LogSettings::default() };
    let (_manager, log) = open(&MemoryDisk::new(), settings.clone());
    let bytes = batch(1, &["a", "b"]);
    let mut validator = log_validator::LogValidator::new();
    let origin = log_validator::ValidationOrigin::Client;
    let validated = validator.validate(&bytes, &settings.validation(true), origin, at(77)).unwrap();
    let context = TransactionContext::default();
    let info = log.append_validated(at(77), &settings, &validated, Durability::Written, context).unwrap();
    assert_eq!((info.last_offset, info.log_append_time), (Offset(1), Some(WallTime(77))));
    let data = log.read(Offset(0), 1 << 20, FetchIsolation::HighWatermark, true).unwrap();
    assert_eq!(values(&bytes_of(&data)).len(), 2);
    let found = log.offset_for_timestamp(70, FetchIsolation::HighWatermark).unwrap().unwrap();
    assert_eq!((found.timestamp, found.offset), (77, Offset(0)));
}

#[test]
fn a_segment_that_is_rolled_while_a_sync_runs_is_covered_by_the_next_one() {
    let disk = MemoryDisk::new();
    let one = batch(1, &["0123456789"]).len() as u32;
    let (_manager, log) = open(&disk, LogSettings { segment_bytes: 2 * one, ..LogSettings::default() });
    append(&log, &["0123456789"], Durability::Synced);
    let first = log.sync_point().unwrap();
    SyncPoint::job(std::iter::once(&first)).run(&*disk).unwrap();
    for _ in 0..2 {
        append(&log, &["0123456789"], Durability::Synced);
    }
    assert_eq!(log.segments(), 2);
    log.synced(&first);
    assert_eq!(log.durable_end_offset(), Offset(1));
    let second = log.sync_point().unwrap();
    SyncPoint::job(std::iter::once(&second)).run(&*disk).unwrap();
    log.synced(&second);
    assert_eq!(log.durable_end_offset(), Offset(3));
    let (_manager, log) = open(&disk.crash(|_, synced, _| synced), LogSettings::default());
    assert_eq!(read_all(&log, Offset(0)).len(), 3);
}

#[test]
fn the_first_append_of_a_leader_epoch_begins_it() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings::default());
    assert_eq!(log.latest_epoch(), None);
    append(&log, &["a"], Durability::Written);
    assert_eq!(log.latest_epoch(), Some(LeaderEpoch(0)));
    assert_eq!(log.become_leader(LeaderEpoch(4)), LeaderEpoch(4));
    assert_eq!(log.become_leader(LeaderEpoch(2)), LeaderEpoch(4), "an epoch never goes back");
    append(&log, &["b"], Durability::Written);
    assert_eq!(log.end_offset_for_epoch(LeaderEpoch(0)), Some((LeaderEpoch(0), Offset(1))));
    assert_eq!(log.epoch_for_offset(Offset(1)), Some(LeaderEpoch(4)));
}
