//! What happens when somebody removes files under a broker, or the disk fails, and what the operator is told.
//!
//! It must not look inside a log.

use std::path::Path;

use super::told::told;
use super::*;
use crate::env::{Disk, DiskError};

const FOLDER: &str = "/logs/topic-0";
const FIRST: &str = "/logs/topic-0/00000000000000000000.log";

fn everything(_: &Path, _: usize, bytes: usize) -> usize {
    bytes
}

fn two_in_a_segment() -> LogSettings {
    let bytes = u32::try_from(batch(1, &["value"]).len()).unwrap();
    LogSettings { segment_bytes: 2 * bytes, ..LogSettings::default() }
}

fn try_append(log: &UnifiedLog) -> Result<AppendInfo, AppendError> {
    log.append(at(1), batch(1, &["value"]), AppendOrigin::Client, Durability::Written)
}

fn append_times(log: &UnifiedLog, times: usize) {
    for _ in 0..times {
        try_append(log).unwrap();
    }
}

#[test]
fn a_log_whose_folder_is_removed_goes_offline_at_its_next_roll_and_says_so_once() {
    let disk = MemoryDisk::new();
    let (_manager, log) = open(&disk, two_in_a_segment());
    try_append(&log).unwrap();
    disk.remove_directory(Path::new(FOLDER)).unwrap();
    let (failures, lines) = told(|| (0..5).filter_map(|_| try_append(&log).err()).collect::<Vec<_>>());
    assert!(matches!(failures[0], AppendError::Disk(DiskError::NotFound { .. })), "{failures:?}");
    assert_eq!((failures.len(), log.is_offline(), lines.len()), (4, true, 1), "{lines:?}");
    assert!(lines[0].starts_with("ERROR a log goes offline: it is not served until the disk is mended"), "{lines:?}");
    assert!(lines[0].contains("partition=topic-0 folder=/logs/topic-0"), "{lines:?}");
}

#[test]
fn a_checkpoint_notices_that_the_file_of_a_log_was_removed_or_another_put_in_its_place() {
    for (removed, replacement) in [(FOLDER, None), (FIRST, None), (FIRST, Some(&b"short"[..]))] {
        let disk = MemoryDisk::new();
        let (manager, log) = open(&disk, LogSettings::default());
        try_append(&log).unwrap();
        drop(manager.begin_checkpoint());
        assert!(!log.is_offline());
        if removed == FOLDER {
            disk.remove_directory(Path::new(FOLDER)).unwrap();
        } else {
            disk.remove_file(Path::new(FIRST)).unwrap();
        }
        replacement.iter().for_each(|bytes| disk.write(FIRST, bytes));
        drop(manager.begin_checkpoint());
        assert!(log.is_offline(), "{removed} {replacement:?}");
    }
}

#[test]
fn a_checkpoint_notices_that_the_folder_of_an_idle_log_was_removed() {
    let disk = MemoryDisk::new();
    let (manager, log) = open(&disk, LogSettings::default());
    try_append(&log).unwrap();
    (0..2).for_each(|_| log.synced(&log.sync_point().unwrap()));
    (0..2).for_each(|_| log.maintain(at(1)).unwrap());
    drop(manager.begin_checkpoint());
    assert!(disk.open_handles() == 0 && !log.is_offline(), "the look leaves nothing open");
    disk.remove_directory(Path::new(FOLDER)).unwrap();
    drop(manager.begin_checkpoint());
    assert!(log.is_offline());
}

#[test]
fn no_empty_file_takes_the_place_of_one_that_was_removed_from_an_idle_log() {
    let disk = MemoryDisk::new();
    let (_manager, log) = open(&disk, LogSettings::default());
    try_append(&log).unwrap();
    (0..2).for_each(|_| log.synced(&log.sync_point().unwrap()));
    (0..2).for_each(|_| log.maintain(at(1)).unwrap());
    assert_eq!(disk.open_handles(), 0);
    disk.remove_file(Path::new(FIRST)).unwrap();
    try_append(&log).unwrap_err();
    assert!(log.is_offline() && disk.read(FIRST).is_none());
}

#[test]
fn a_directory_that_is_removed_goes_offline_with_its_logs_and_with_one_line() {
    let disk = MemoryDisk::new();
    let (manager, log) = open(&disk, LogSettings::default());
    try_append(&log).unwrap();
    disk.remove_directory(Path::new("/logs")).unwrap();
    let ((), lines) = told(|| (0..2).for_each(|_| manager.check_free_space()));
    assert!(log.is_offline() && !manager.directories()[0].is_online);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with("ERROR a log directory goes offline") && lines[0].contains("/logs: no such"),
        "{lines:?}"
    );
}

#[test]
fn a_partition_whose_folder_is_gone_begins_anew_and_the_operator_hears_what_that_has_cost() {
    let disk = MemoryDisk::new();
    let (manager, log) = open(&disk, LogSettings::default());
    append(&log, &["one", "two"], Durability::Synced);
    (0..2).for_each(|_| log.synced(&log.sync_point().unwrap()));
    manager.checkpoint().unwrap();
    let crashed = disk.crash(everything);
    crashed.remove_directory(Path::new(FOLDER)).unwrap();
    let settings = LogSettings::default();
    let manager = open_manager(&crashed, &["/logs"], &settings, at(0));
    let create = || manager.create(at(0), &partition(), TopicId([7; 16]), Arc::new(settings.clone()), false).unwrap();
    let (log, lines) = told(create);
    assert_eq!((log.log_end_offset(), lines.len()), (Offset(0), 1), "{lines:?}");
    assert!(
        lines[0].starts_with("ERROR the last checkpoint names a partition whose folder is not there")
            && lines[0].contains("before=2"),
        "{lines:?}"
    );
}

#[test]
fn a_sync_that_fails_while_directories_are_loaded_takes_only_its_own_offline() {
    let disk = MemoryDisk::new();
    drop(open_manager(&disk, &["/logs", "/other"], &LogSettings::default(), at(0)));
    let killed = disk.crash(everything);
    *killed.faults.unsyncable.lock().unwrap() = Some(PathBuf::from("/other"));
    let manager = open_manager(&killed, &["/logs", "/other"], &LogSettings::default(), at(0));
    let online: Vec<bool> = manager.directories().iter().map(|directory| directory.is_online).collect();
    assert_eq!(online, [true, false]);
}

#[test]
fn a_cut_is_told_in_one_line_that_blames_a_crash_only_for_what_was_not_synced() {
    let disk = MemoryDisk::new();
    let (manager, log) = open(&disk, two_in_a_segment());
    append_times(&log, 6);
    let damaged = "records that the last checkpoint has on the disk are damaged, unless it speaks of a deleted topic of the same name";
    for (recovery_point, reason) in [(0, "a crash has torn what was not synced yet"), (2, damaged)] {
        let crashed = disk.crash(everything);
        let mut bytes = crashed.read(FIRST).unwrap();
        let length = bytes.len();
        bytes[length - 1] ^= 1;
        crashed.write(FIRST, &bytes);
        crashed.write("/logs/recovery-point-offset-checkpoint", format!("0\n1\ntopic 0 {recovery_point}\n").as_bytes());
        let (_, lines) = told(|| open(&crashed, two_in_a_segment()));
        let cuts: Vec<&String> = lines.iter().filter(|line| line.contains("cut off")).collect();
        let expected = format!(
            "from this offset on: {reason} folder={FOLDER} segment=0 offset=1 bytes={} segments_removed=2",
            5 * length / 2
        );
        assert!(cuts.len() == 1 && cuts[0].starts_with("WARN") && cuts[0].ends_with(&expected), "{lines:?}");
    }
    drop(manager);
}

#[test]
fn a_load_tells_of_each_directory_how_much_there_is_and_what_was_checked() {
    let disk = MemoryDisk::new();
    let (manager, log) = open(&disk, two_in_a_segment());
    append_times(&log, 3);
    let bytes = log.bytes();
    let (_, lines) = told(|| open(&disk.crash(everything), two_in_a_segment()));
    let expected = format!("directory=/logs logs=1 segments=2 bytes={bytes} checked_bytes={bytes}");
    assert!(lines[0].starts_with("WARN logs are loaded; the last end was not in order"), "{lines:?}");
    assert!(lines[0].ends_with(&expected), "{lines:?}");
    manager.shutdown(1).unwrap();
    let (_, lines) = told(|| open(&disk.crash(everything), two_in_a_segment()));
    assert_eq!(lines, [format!("INFO logs are loaded directory=/logs logs=1 segments=2 bytes={bytes}")]);
}

#[test]
fn retention_tells_of_each_log_why_segments_go() {
    let rules: [(LogSettings, &str); 2] = [
        (LogSettings { retention_ms: 5, ..two_in_a_segment() }, "their records are older than retention.ms=5"),
        (LogSettings { retention_bytes: 0, ..two_in_a_segment() }, "the log is larger than retention.bytes=0"),
    ];
    for (settings, reason) in rules {
        let (_manager, log) = open(&MemoryDisk::new(), settings);
        append_times(&log, 4);
        let bytes = log.bytes();
        let (_, lines) =
            told(|| [2, 0].map(|segments| assert_eq!(log.delete_old_segments(at(100)).unwrap(), segments)));
        let rest = format!("partition=topic-0 segments=2 bytes={bytes} log_start_offset=4");
        assert_eq!(lines, [format!("INFO old segments are deleted: {reason} {rest}")]);
    }
}

#[test]
fn trouble_with_the_disk_is_told_once_however_often_clients_come_until_the_next_upkeep() {
    let disk = MemoryDisk::new();
    let (_manager, log) = open(&disk, two_in_a_segment());
    append_times(&log, 4);
    disk.faults.break_at(FIRST);
    let read = || drop(log.read(Offset(0), 99, FetchIsolation::HighWatermark, true).unwrap_err());
    let (_, lines) = told(|| (0..3).for_each(|_| read()));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("ERROR records could not be read") && lines[0].contains(FIRST), "{lines:?}");
    log.maintain(at(1)).unwrap();
    assert_eq!(told(read).1.len(), 1, "it is there still");
    disk.faults.repair();
    disk.faults.tear_next_append_at.store(1, std::sync::atomic::Ordering::Relaxed);
    let (_, lines) = told(|| try_append(&log).unwrap_err());
    assert!(lines.len() == 1 && lines[0].starts_with("ERROR a batch could not be appended"), "{lines:?}");
}
