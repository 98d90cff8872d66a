//! What retention and DeleteRecords remove, and what they leave.
//!
//! It must not look inside.

use super::*;

/// Ten batches of one record, two in a segment, with timestamps 0, 1 000, 2 000 …
fn log_with(disk: &Arc<MemoryDisk>, settings: LogSettings) -> (LogManager, Arc<UnifiedLog>) {
    let (manager, log) = open(disk, LogSettings { segment_bytes: 2 * one(), ..settings });
    for number in 0..10 {
        append_at(&log, number * 1_000, Durability::Written);
    }
    (manager, log)
}

fn one() -> u32 {
    batch(1, &["value"]).len() as u32
}

fn append_at(log: &UnifiedLog, timestamp: i64, durability: Durability) {
    log.append(at(1), batch(timestamp, &["value"]), AppendOrigin::Client, durability).unwrap();
}

#[test]
fn segments_beyond_the_size_go_from_the_oldest_on() {
    let disk = MemoryDisk::new();
    let settings = LogSettings { retention_ms: -1, retention_bytes: i64::from(5 * one()), ..LogSettings::default() };
    let (_manager, log) = log_with(&disk, settings);
    assert_eq!(log.delete_old_segments(at(1)).unwrap(), 2, "a segment goes only if what is left is still enough");
    assert_eq!((log.log_start_offset(), log.bytes()), (Offset(4), u64::from(6 * one())));
    assert_eq!(log.delete_old_segments(at(1)).unwrap(), 0);
    assert!(matches!(
        log.read(Offset(3), 99, FetchIsolation::HighWatermark, true),
        Err(ReadError::OffsetOutOfRange { log_start: Offset(4), .. })
    ));
    assert_eq!(read_all(&log, Offset(4)).len(), 6);
}

#[test]
fn segments_go_when_their_newest_record_is_too_old() {
    let (_manager, log) = log_with(&MemoryDisk::new(), LogSettings { retention_ms: 5_000, ..LogSettings::default() });
    assert_eq!(log.delete_old_segments(at(6_000)).unwrap(), 0, "exactly as old as allowed");
    assert_eq!(log.delete_old_segments(at(6_001)).unwrap(), 1);
    assert_eq!(log.log_start_offset(), Offset(2));
    assert_eq!(log.delete_old_segments(at(1_000_000)).unwrap(), 4, "the active one goes too, behind a new one");
    assert_eq!((log.log_start_offset(), log.log_end_offset(), log.segments()), (Offset(10), Offset(10), 1));
    assert_eq!(log.delete_old_segments(at(2_000_000)).unwrap(), 0, "an empty active segment stays");
    append_at(&log, 1, Durability::Written);
    assert_eq!(log.log_end_offset(), Offset(11));
}

#[test]
fn without_timestamps_the_age_is_that_of_the_file() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings { retention_ms: 5_000, ..LogSettings::default() });
    append_at(&log, -1, Durability::Written);
    assert_eq!(log.delete_old_segments(at(5_000)).unwrap(), 0);
    assert_eq!(log.delete_old_segments(at(5_001)).unwrap(), 1);
}

#[test]
fn nothing_at_or_above_the_high_watermark_goes() {
    let settings = LogSettings { retention_bytes: 0, segment_bytes: 2 * one(), ..LogSettings::default() };
    let (_manager, log) = open(&MemoryDisk::new(), settings);
    append_at(&log, 1, Durability::Written);
    append_at(&log, 1, Durability::Written);
    append_at(&log, 1, Durability::Synced);
    append_at(&log, 1, Durability::Written);
    append_at(&log, 1, Durability::Written);
    assert_eq!(log.delete_old_segments(at(1)).unwrap(), 1);
    assert_eq!(log.log_start_offset(), Offset(2));
    log.synced(&log.sync_point().unwrap());
    assert_eq!(log.delete_old_segments(at(1)).unwrap(), 2, "a size of 0 removes the active segment too");
    assert_eq!((log.log_start_offset(), log.segments()), (Offset(5), 1));
}

#[test]
fn without_delete_in_the_policy_only_deleted_records_go() {
    let settings = LogSettings { retention_bytes: 0, delete: false, ..LogSettings::default() };
    let (_manager, log) = log_with(&MemoryDisk::new(), settings);
    assert_eq!(log.delete_old_segments(at(i64::MAX / 2_000_000)).unwrap(), 0);
    assert_eq!(log.delete_records_before(Offset(5)).unwrap(), Offset(5));
    assert_eq!(log.delete_old_segments(at(1)).unwrap(), 2, "those wholly below the start");
    assert_eq!((log.log_start_offset(), log.segments()), (Offset(5), 3));
}

#[test]
fn delete_records_moves_the_start_up_to_the_high_watermark_and_never_back() {
    let disk = MemoryDisk::new();
    let (manager, log) = log_with(&disk, LogSettings::default());
    assert_eq!(log.delete_records_before(Offset(3)).unwrap(), Offset(3));
    assert_eq!(log.delete_records_before(Offset(1)).unwrap(), Offset(3));
    assert!(matches!(log.delete_records_before(Offset(11)), Err(ReadError::OffsetOutOfRange { .. })));
    assert!(matches!(log.delete_records_before(Offset(-2)), Err(ReadError::OffsetOutOfRange { .. })));
    assert_eq!(read_all(&log, Offset(3)).len(), 7);
    manager.checkpoint().unwrap();
    assert_eq!(disk.read("/logs/log-start-offset-checkpoint").unwrap(), b"0\n1\ntopic 0 3\n");
    let (_manager, log) = open(&disk.crash(|_, _, bytes| bytes), LogSettings::default());
    assert_eq!(log.log_start_offset(), Offset(3));
    append_at(&log, 1, Durability::Synced);
    assert_eq!(log.delete_records_before(Offset(-1)).unwrap(), Offset(10), "-1 is the high watermark");
}

#[test]
fn an_idle_log_that_expires_lets_go_of_its_files_at_once() {
    let disk = MemoryDisk::new();
    let settings = LogSettings { retention_ms: 5_000, file_delete_delay_ms: 0, ..LogSettings::default() };
    let (_manager, log) = open(&disk, settings);
    append_at(&log, 0, Durability::Synced);
    for _ in 0..2 {
        log.synced(&log.sync_point().unwrap());
    }
    assert!(!log.owes_sync());
    assert_eq!(log.delete_old_segments(at(6_000)).unwrap(), 1);
    log.maintain(at(7_000)).unwrap();
    log.maintain(at(8_000)).unwrap();
    assert!(disk.open_handles() <= 1, "only the snapshot of the producers waits for a sync");
    assert!(log.owes_sync(), "the new names are not on disk yet");
    for _ in 0..2 {
        log.synced(&log.sync_point().unwrap());
    }
    log.maintain(at(9_000)).unwrap();
    assert_eq!((log.owes_sync(), disk.open_handles()), (false, 0));
}

#[test]
fn on_a_full_disk_all_but_the_active_segment_go() {
    let disk = MemoryDisk::new();
    let (_manager, log) = log_with(&disk, LogSettings { retention_ms: 5_000, ..LogSettings::default() });
    disk.faults.is_full.store(true, std::sync::atomic::Ordering::Relaxed);
    log.delete_old_segments(at(1_000_000)).expect_err("a new segment finds no room");
    assert_eq!((log.log_start_offset(), log.segments()), (Offset(8), 1));
    assert!(!log.is_offline());
}

#[test]
fn a_segment_whose_files_cannot_be_renamed_stays_and_goes_later() {
    let disk = MemoryDisk::new();
    let settings = LogSettings { retention_ms: -1, retention_bytes: i64::from(5 * one()), ..LogSettings::default() };
    let (_manager, log) = log_with(&disk, settings);
    disk.faults.break_at("/logs/topic-0/00000000000000000002.log");
    log.delete_old_segments(at(1)).unwrap_err();
    assert_eq!((log.log_start_offset(), log.segments()), (Offset(4), 4), "what may not be read is gone for readers");
    disk.faults.repair();
    assert_eq!(log.delete_old_segments(at(1)).unwrap(), 1);
    assert_eq!(log.segments(), 3);
    assert_eq!(read_all(&log, Offset(4)).len(), 6);
}

#[test]
fn files_of_removed_segments_stay_for_the_delay() {
    let disk = MemoryDisk::new();
    let settings = LogSettings { retention_bytes: 0, file_delete_delay_ms: 60_000, ..LogSettings::default() };
    let (_manager, log) = log_with(&disk, settings);
    let held = log.read(Offset(0), 1 << 20, FetchIsolation::HighWatermark, true).unwrap();
    log.delete_old_segments(at(1_000)).unwrap();
    let deleted = |disk: &MemoryDisk| disk.paths().iter().filter(|path| path.ends_with(".deleted")).count();
    assert_eq!(deleted(&disk), 15, "records and two indexes of each");
    log.maintain(at(60_999)).unwrap();
    assert_eq!(deleted(&disk), 15);
    log.maintain(at(61_000)).unwrap();
    assert_eq!(deleted(&disk), 0);
    assert_eq!(values(&bytes_of(&held)).len(), 2, "who reads, goes on reading");
}

#[test]
fn a_compacted_log_lets_go_of_what_its_policy_and_deleted_records_allow() {
    for (delete, left) in [(true, 4), (false, 7)] {
        let settings = LogSettings { retention_ms: 5_000, delete, compact: true, ..LogSettings::default() };
        let (manager, log) = log_with(&MemoryDisk::new(), settings);
        log.delete_records_before(Offset(3)).unwrap();
        manager.clean_up(at(11_001)).unwrap();
        assert_eq!(read_all(&log, log.log_start_offset()).len(), left, "delete is {delete}");
        assert_eq!(log.segments(), left.div_ceil(2), "delete is {delete}");
    }
}
