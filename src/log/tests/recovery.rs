//! What is left of a log after a crash, or after something happened to its files.
//!
//! It must not look inside: files are damaged from outside, and the log is opened again.

use std::path::Path;

use super::*;
use crate::env::Disk;
use crate::log::folder_files::FolderFiles;

const SEGMENT: &str = "/logs/topic-0/00000000000000000000";

fn path(base: i64, suffix: &str) -> String {
    format!("/logs/topic-0/{base:020}.{suffix}")
}

/// A disk with ten batches of two records, `per_segment` in a segment, and nothing synced.
fn filled(per_segment: u32) -> Arc<MemoryDisk> {
    let disk = MemoryDisk::new();
    let (_manager, log) = open(&disk, small(per_segment));
    fill(&log, 10);
    disk
}

fn small(per_segment: u32) -> LogSettings {
    let bytes = batch(100, &["value-0", "second"]).len() as u32;
    LogSettings { segment_bytes: per_segment * bytes, index_interval_bytes: 100, ..LogSettings::default() }
}

fn fill(log: &UnifiedLog, batches: i64) {
    for number in 0..batches {
        let value = format!("value-{number}");
        let bytes = batch(100 + number, &[&value, "second"]);
        log.append(at(1), bytes, AppendOrigin::Client, Durability::Written).unwrap();
    }
}

fn everything(_: &std::path::Path, _: usize, bytes: usize) -> usize {
    bytes
}

#[test]
fn after_a_tear_at_any_byte_the_log_ends_with_the_last_whole_batch() {
    let disk = filled(3);
    let last = path(18, "log");
    let bytes = disk.read(&last).unwrap();
    for length in 0..=bytes.len() {
        disk.write(&last, &bytes[..length]);
        let crashed = disk.crash(everything);
        let (_manager, log) = open(&crashed, small(3));
        let expected = if length == bytes.len() { 20 } else { 18 };
        assert_eq!(log.log_end_offset(), Offset(expected), "{length} bytes");
        assert_eq!(read_all(&log, Offset(0)).len() as i64, expected);
        assert!(!log.was_clean());
        append(&log, &["next"], Durability::Written);
        assert_eq!(read_all(&log, Offset(0)).last(), Some(&(expected, "next".to_owned())));
    }
}

#[test]
fn a_tear_in_an_earlier_segment_removes_all_later_ones() {
    let disk = filled(3);
    let middle = path(6, "log");
    let bytes = disk.read(&middle).unwrap();
    disk.write(&middle, &bytes[..bytes.len() - 1]);
    let crashed = disk.crash(everything);
    let (_manager, log) = open(&crashed, small(3));
    assert_eq!((log.log_end_offset(), log.segments()), (Offset(10), 2));
    let left: Vec<String> = crashed.paths().into_iter().filter(|path| path.contains("/0000")).collect();
    assert!(left.iter().all(|path| !path.contains("00012.") && !path.contains("00018.")), "{left:?}");
    assert_eq!(read_all(&log, Offset(0)).len(), 10);
}

#[test]
fn no_changed_bit_of_a_record_is_ever_served() {
    let disk = filled(20);
    let log_path = format!("{SEGMENT}.log");
    let bytes = disk.read(&log_path).unwrap();
    let whole: Vec<(i64, String)> = read_all(&open(&disk.crash(everything), small(20)).1, Offset(0));
    for place in (0..bytes.len()).step_by(3) {
        let mut changed = bytes.clone();
        changed[place] ^= 0x10;
        let damaged = disk.crash(everything);
        damaged.write(&log_path, &changed);
        let (_manager, log) = open(&damaged, small(20));
        let read = read_all(&log, Offset(0));
        // Base offset and leader epoch are not covered by the checksum; offsets that do not follow end the log too.
        let is_covered = place % (bytes.len() / 10) >= 17;
        assert!(read.len() < 20 || !is_covered, "byte {place}");
        assert!(read.iter().zip(&whole).all(|(read, whole)| read.1 == whole.1), "byte {place}");
    }
}

#[test]
fn damage_below_the_recovery_point_is_reported_and_costs_nothing_else() {
    let disk = MemoryDisk::new();
    let (manager, log) = open(&disk, small(3));
    fill(&log, 10);
    log.synced(&log.sync_point().unwrap());
    log.synced(&log.sync_point().unwrap());
    manager.checkpoint().unwrap();
    let middle = path(6, "log");
    let mut bytes = disk.read(&middle).unwrap();
    let one = bytes.len() / 3;
    bytes[one + 70] ^= 1;
    disk.write(&middle, &bytes);
    let (_manager, log) = open(&disk.crash(everything), small(3));
    assert_eq!(log.log_end_offset(), Offset(20));
    let good = log.read(Offset(6), 1 << 20, FetchIsolation::HighWatermark, true).unwrap();
    assert_eq!(good.bytes(), one, "what lies before the damage is served");
    let result = log.read(Offset(8), 1 << 20, FetchIsolation::HighWatermark, true);
    assert!(matches!(result, Err(ReadError::Damaged { offset: Offset(8), segment: Offset(6), .. })), "{result:?}");
    assert_eq!(read_all(&log, Offset(10)).len(), 10);
    assert_eq!(read_all(&log, Offset(12)).len(), 8);
}

#[test]
fn a_batch_that_claims_other_offsets_is_reported_although_no_checksum_covers_them() {
    for (claimed, served) in [(8_i64, 3), (7, 1), (6, 1), (5, 1), (11, 1), (12, 1), (1 << 33, 1)] {
        let disk = MemoryDisk::new();
        let (manager, log) = open(&disk, small(3));
        fill(&log, 10);
        manager.shutdown(7).unwrap();
        let middle = path(6, "log");
        let mut bytes = disk.read(&middle).unwrap();
        let one = bytes.len() / 3;
        bytes[one..one + 8].copy_from_slice(&claimed.to_be_bytes());
        disk.write(&middle, &bytes);
        let (_manager, log) = open(&disk.crash(everything), small(3));
        let data = log.read(Offset(6), 1 << 20, FetchIsolation::HighWatermark, true).unwrap();
        assert_eq!(data.bytes(), served * one, "the second batch claims {claimed}");
    }
}

#[test]
fn a_clean_restart_reads_no_more_than_the_end() {
    let disk = MemoryDisk::new();
    let (manager, log) = open(&disk, small(3));
    fill(&log, 10);
    manager.shutdown(7).unwrap();
    assert_eq!(disk.read("/logs/.kafka_cleanshutdown").unwrap(), b"{\"version\":0,\"brokerEpoch\":7}");
    let restarted = disk.crash(|_, synced, _| synced);
    restarted
        .write(path(0, "log"), &disk.read(path(0, "log")).unwrap().iter().map(|byte| byte ^ 0xff).collect::<Vec<_>>());
    let (_manager, log) = open(&restarted, small(3));
    assert!(log.was_clean());
    assert!(restarted.read("/logs/.kafka_cleanshutdown").is_none(), "a crash from here on is not clean");
    assert_eq!(log.log_end_offset(), Offset(20));
    assert_eq!(read_all(&log, Offset(6)).len(), 14);
    let (_manager, log) = open(&restarted.crash(everything), small(3));
    assert!(!log.was_clean());
}

#[test]
fn indexes_that_are_missing_torn_or_wrong_are_built_again() {
    let disk = filled(5);
    let whole = disk.crash(everything);
    let (manager, log) = open(&whole, small(5));
    let expected = read_all(&log, Offset(0));
    manager.shutdown(1).unwrap();
    for suffix in ["index", "timeindex"] {
        for base in [0, 10] {
            let intact = whole.read(path(base, suffix)).unwrap();
            assert!(!intact.is_empty());
            let torn = &intact[..intact.len() - 1];
            for (damage, is_clean) in [(None, true), (Some(torn), true), (None, false), (Some(&[0xff; 96][..]), false)]
            {
                let damaged = whole.crash(everything);
                match damage {
                    None => damaged.remove_file(path(base, suffix).as_ref()).unwrap(),
                    Some(bytes) => damaged.write(path(base, suffix), bytes),
                }
                if !is_clean {
                    damaged.remove_file("/logs/.kafka_cleanshutdown".as_ref()).unwrap();
                    damaged.remove_file("/logs/recovery-point-offset-checkpoint".as_ref()).unwrap();
                }
                let (_manager, log) = open(&damaged, small(5));
                assert_eq!(damaged.read(path(base, suffix)).unwrap(), intact, "{suffix} {base} {damage:?} {is_clean}");
                assert_eq!(read_all(&log, Offset(0)), expected);
                let cut_off = damaged.crash(|_, synced, _| synced);
                let (_manager, _log) = open(&cut_off, small(5));
                assert_eq!(cut_off.read(path(base, suffix)).unwrap(), intact, "{suffix} {base} {damage:?} {is_clean}");
            }
        }
    }
}

#[test]
fn files_without_a_segment_and_leftovers_are_removed() {
    let disk = filled(5);
    for name in ["00000000000000000033.index", "00000000000000000033.timeindex", "00000000000000000003.snapshot"] {
        disk.write(format!("/logs/topic-0/{name}"), b"");
    }
    for name in ["00000000000000000033.log.deleted", "00000000000000000000.log.cleaned", "leader-epoch-checkpoint.tmp"]
    {
        disk.write(format!("/logs/topic-0/{name}"), b"leftover");
    }
    let crashed = disk.crash(everything);
    let (_manager, log) = open(&crashed, small(5));
    assert_eq!(log.log_end_offset(), Offset(20));
    let strange = |path: &&String| path.contains("00033.") || path.contains("00003.") || path.ends_with(".tmp");
    assert_eq!(crashed.paths().iter().find(strange), None);
    assert!(crashed.paths().iter().all(|path| !path.ends_with(".cleaned") && !path.ends_with(".deleted")));
}

#[test]
fn a_complete_replacement_is_finished_and_an_incomplete_one_undone() {
    let disk = filled(5);
    let (first, second) = (disk.read(path(0, "log")).unwrap(), disk.read(path(10, "log")).unwrap());
    let merged = [first, second].concat();

    let complete = disk.crash(everything);
    complete.write(path(0, "log.swap"), &merged);
    let (_manager, log) = open(&complete, small(5));
    assert_eq!((log.segments(), log.log_end_offset()), (1, Offset(20)));
    assert_eq!(complete.read(path(0, "log")).unwrap(), merged);
    assert_eq!(read_all(&log, Offset(0)).len(), 20);

    let incomplete = disk.crash(everything);
    incomplete.write(path(0, "log.swap"), &merged);
    incomplete.write(path(0, "log.cleaned"), b"half");
    let (_manager, log) = open(&incomplete, small(5));
    assert_eq!((log.segments(), log.log_end_offset()), (2, Offset(20)));
    assert!(incomplete.read(path(0, "log.swap")).is_none());
}

#[test]
fn an_incomplete_replacement_that_cannot_be_removed_keeps_the_mark_that_says_so() {
    let disk = filled(5);
    disk.write(path(10, "log.swap"), b"half");
    disk.write(path(0, "log.cleaned"), b"half");
    disk.faults.break_at(&path(10, "log.swap"));
    assert!(FolderFiles::tidy_up(&*disk, Path::new("/logs/topic-0")).is_err());
    assert!(disk.read(path(0, "log.cleaned")).is_some());
}

#[test]
fn leader_epochs_are_rebuilt_from_the_batches() {
    let disk = MemoryDisk::new();
    let (_manager, log) = open(&disk, small(3));
    for epoch in [0, 2, 5] {
        log.become_leader(LeaderEpoch(epoch));
        fill(&log, 2);
    }
    log.become_leader(LeaderEpoch(7));
    let ends =
        |log: &UnifiedLog| [0, 1, 2, 4, 5].map(|epoch| log.end_offset_for_epoch(LeaderEpoch(epoch)).unwrap().1.0);
    assert_eq!(ends(&log), [4, 4, 8, 8, 12]);
    assert_eq!(log.latest_epoch(), Some(LeaderEpoch(7)));

    let (_manager, log) = open(&disk.crash(everything), small(3));
    assert_eq!((ends(&log), log.latest_epoch()), ([4, 4, 8, 8, 12], Some(LeaderEpoch(5))), "7 appended nothing");

    let crashed = disk.crash(everything);
    crashed.write("/logs/topic-0/leader-epoch-checkpoint", b"0\n1\nbroken\n");
    let (_manager, log) = open(&crashed, small(3));
    assert_eq!(ends(&log), [4, 4, 8, 8, 12]);
    assert_eq!(crashed.read("/logs/topic-0/leader-epoch-checkpoint").unwrap(), b"0\n3\n0 0\n2 4\n5 8\n");

    let torn = disk.crash(everything);
    torn.write("/logs/topic-0/leader-epoch-checkpoint", b"0\n2\n0 0\n9 50\n");
    let (_manager, log) = open(&torn, small(3));
    assert_eq!(log.latest_epoch(), Some(LeaderEpoch(0)), "an epoch that begins behind the end is no more");
}

#[test]
fn leader_epochs_reach_the_disk_with_the_records_of_a_sync() {
    let disk = MemoryDisk::new();
    let (_manager, log) = open(&disk, small(20));
    log.become_leader(LeaderEpoch(3));
    fill(&log, 1);
    let point = log.sync_point().unwrap();
    point.files.iter().for_each(|file| file.sync().unwrap());
    log.synced(&point);
    assert_eq!(disk.read("/logs/topic-0/leader-epoch-checkpoint").unwrap(), b"0\n1\n3 0\n");
}

#[test]
fn a_log_that_ends_below_its_start_begins_anew_at_its_start() {
    let disk = filled(3);
    disk.write("/logs/log-start-offset-checkpoint", b"0\n1\ntopic 0 50\n");
    let crashed = disk.crash(everything);
    let (_manager, log) = open(&crashed, small(3));
    assert_eq!((log.log_start_offset(), log.log_end_offset(), log.segments()), (Offset(50), Offset(50), 1));
    assert!(crashed.read(path(0, "log")).is_none());
    assert_eq!(append(&log, &["next"], Durability::Written).base_offset, Offset(50));
}

#[test]
fn a_checkpoint_that_makes_no_sense_costs_only_a_longer_recovery() {
    for text in ["", "0\n7\n", "garbage", "0\n1\ntopic zero 5\n", "0\n1\ntopic 0 -5\n", "0\n1\ntopic 0 9999\n"] {
        let disk = filled(3);
        disk.write("/logs/recovery-point-offset-checkpoint", text.as_bytes());
        let (_manager, log) = open(&disk.crash(everything), small(3));
        assert_eq!(read_all(&log, Offset(0)).len(), 20, "{text:?}");
    }
}

/// A message of magic 1 with neither key nor value, as Kafka 0.10 wrote it.
fn old_message() -> Vec<u8> {
    let mut old = vec![0; 12];
    old[11] = 22;
    old.extend(0xcc2f_79d9_u32.to_be_bytes());
    old.extend([&[1, 0][..], &[0; 8], &[0xff; 8]].concat());
    old
}

#[test]
fn an_empty_folder_is_not_taken_in_place_of_a_log_that_cannot_be_loaded() {
    let disk = filled(3);
    disk.write(path(0, "log"), &old_message());
    let crashed = disk.crash(everything);
    crashed.create_directory(Path::new("/other/topic-0")).unwrap();
    let manager = open_manager(&crashed, &["/logs", "/other"], &small(3), at(0));
    let made = manager.create(at(0), &partition(), TopicId([7; 16]), Arc::new(small(3)), false);
    assert!(matches!(made, Err(LogError::Unreadable { .. })));
}

#[test]
fn records_of_a_broker_before_kafka_0_11_are_left_alone() {
    let disk = filled(3);
    let old = old_message();
    disk.write(path(0, "log"), &old);
    let crashed = disk.crash(everything);
    let mut manager = open_manager(&crashed, &["/logs"], &small(3), at(0));
    assert!(manager.get(&partition()).is_none());
    let made = manager.create(at(0), &partition(), TopicId([7; 16]), Arc::new(small(3)), true);
    assert!(matches!(made, Err(LogError::Unreadable { .. })));
    let opened = manager.open_metadata_log(at(0), &partition(), TopicId([7; 16]), Arc::new(small(3)));
    let refusal = opened.unwrap_err().to_string();
    assert!(refusal.contains("move topic-0 and the meta.properties of every log directory away"), "{refusal}");
    assert_eq!(crashed.read(path(0, "log")).unwrap(), old);
}

#[test]
fn a_log_that_cannot_be_read_keeps_its_checkpoints_and_makes_a_shutdown_unclean() {
    let disk = MemoryDisk::new();
    drop(open_manager(&disk, &["/logs"], &LogSettings::default(), at(0)));
    disk.create_directory(std::path::Path::new("/logs/topic-0")).unwrap();
    let old = old_message();
    disk.write(path(0, "log"), &old);
    for name in ["recovery-point-offset-checkpoint", "log-start-offset-checkpoint"] {
        disk.write(format!("/logs/{name}"), b"0\n1\ntopic 0 7\n");
    }
    disk.write(path(7, "log"), &old);
    let manager = open_manager(&disk, &["/logs"], &LogSettings::default(), at(0));
    assert!(manager.get(&partition()).is_none());
    manager.shutdown(1).unwrap();
    assert!(disk.read("/logs/.kafka_cleanshutdown").is_none());
    for name in ["recovery-point-offset-checkpoint", "log-start-offset-checkpoint"] {
        assert_eq!(disk.read(format!("/logs/{name}")).unwrap(), b"0\n1\ntopic 0 7\n", "{name}");
    }
}

#[test]
fn a_kill_after_the_checkpoints_have_settled_reads_only_what_came_later() {
    let disk = MemoryDisk::new();
    let (manager, log) = open(&disk, LogSettings::default());
    append(&log, &["a"], Durability::Written);
    let mut syncs = 0;
    while log.owes_sync() {
        let point = log.sync_point().unwrap();
        SyncPoint::job(std::iter::once(&point)).run(&*disk).unwrap();
        log.synced(&point);
        syncs += 1;
        assert!(syncs < 5, "it comes to an end");
    }
    manager.checkpoint().unwrap();
    assert_eq!(disk.read("/logs/recovery-point-offset-checkpoint").unwrap(), b"0\n1\ntopic 0 1\n");
    assert_eq!(disk.read("/logs/topic-0/leader-epoch-checkpoint").unwrap(), b"0\n1\n0 0\n");
}

#[test]
fn a_start_with_nothing_new_writes_no_file() {
    let disk = MemoryDisk::new();
    let (manager, log) = open(&disk, LogSettings::default());
    append(&log, &["a"], Durability::Written);
    log.become_leader(LeaderEpoch(3));
    manager.shutdown(1).unwrap();
    let (_manager, log) = open(&disk.crash(everything), LogSettings::default());
    log.become_leader(LeaderEpoch(3));
    assert!(!log.owes_sync(), "the epoch that begins at the end was on disk");
}

#[test]
fn a_power_cut_leaves_what_was_synced_and_a_recovery_makes_the_rest_durable() {
    let disk = MemoryDisk::new();
    let (_manager, log) = open(&disk, small(3));
    fill(&log, 4);
    let point = log.sync_point().unwrap();
    point.files.iter().for_each(|file| file.sync().unwrap());
    log.synced(&point);
    fill(&log, 3);
    let killed = disk.kill();
    let (_manager, log) = open(&killed, small(3));
    assert_eq!((log.high_watermark(), log.durable_end_offset()), (Offset(14), Offset(14)));
    let (_manager, log) = open(&killed.crash(|_, synced, _| synced), small(3));
    assert_eq!(log.log_end_offset(), Offset(14));
    let (_manager, log) = open(&disk.crash(|_, synced, _| synced), small(3));
    assert_eq!(log.log_end_offset(), Offset(8));
}

#[test]
fn an_index_that_points_elsewhere_is_built_again_also_after_a_clean_shutdown() {
    let disk = filled(20);
    let whole = disk.crash(everything);
    let (manager, log) = open(&whole, small(20));
    let expected = read_all(&log, Offset(0));
    manager.shutdown(1).unwrap();
    let intact = whole.read(path(0, "index")).unwrap();
    let last = intact.len() - 8;
    for (place, value) in [(last + 7, 1), (last + 3, 1), (last + 4, 0x7f), (last, 0x7f)] {
        let damaged = whole.crash(everything);
        let mut bytes = intact.clone();
        bytes[place] ^= value;
        damaged.write(path(0, "index"), &bytes);
        let (_manager, log) = open(&damaged, small(20));
        assert!(log.was_clean());
        assert_eq!((log.log_end_offset(), read_all(&log, Offset(0))), (Offset(20), expected.clone()), "byte {place}");
        assert_eq!(damaged.read(path(0, "index")).unwrap(), intact);
    }
}

#[test]
fn indexes_of_old_segments_that_end_outside_of_them_are_built_again_after_a_clean_shutdown() {
    let disk = filled(5);
    let whole = disk.crash(everything);
    let (manager, log) = open(&whole, small(5));
    let expected = read_all(&log, Offset(0));
    manager.shutdown(1).unwrap();
    for (suffix, from_end) in [("index", 4), ("index", 8), ("timeindex", 4)] {
        let intact = whole.read(path(0, suffix)).unwrap();
        let damaged = whole.crash(everything);
        let mut bytes = intact.clone();
        let place = bytes.len() - from_end;
        bytes[place] = 0xff;
        damaged.write(path(0, suffix), &bytes);
        let (_manager, log) = open(&damaged, small(5));
        assert!(log.was_clean() && log.segments() == 2);
        assert_eq!(damaged.read(path(0, suffix)).unwrap(), intact, "{suffix}, {from_end} bytes from its end");
        assert_eq!(read_all(&log, Offset(0)), expected);
    }
}

#[test]
fn every_batch_of_one_append_is_indexed_by_its_last_offset_and_its_start() {
    let disk = MemoryDisk::new();
    let settings = LogSettings { index_interval_bytes: 1, ..LogSettings::default() };
    let (manager, log) = open(&disk, settings);
    let one = batch(1, &["a", "b"]);
    let three = Bytes::from([&one[..], &one[..], &batch(9, &["c"])[..]].concat());
    let info = log.append(at(1), three, AppendOrigin::Coordinator, Durability::Written).unwrap();
    assert_eq!((info.base_offset, info.last_offset), (Offset(0), Offset(4)));
    manager.shutdown(1).unwrap();
    let length = one.len() as u32;
    let entry = |offset: u32, position: u32| [offset.to_be_bytes(), position.to_be_bytes()].concat();
    assert_eq!(disk.read(path(0, "index")).unwrap(), [entry(3, length), entry(4, 2 * length)].concat());
    let time_entry = |timestamp: i64, offset: u32| [&timestamp.to_be_bytes()[..], &offset.to_be_bytes()].concat();
    assert_eq!(disk.read(path(0, "timeindex")).unwrap(), [time_entry(1, 1), time_entry(9, 4)].concat());
}

#[test]
fn a_segment_rolled_right_at_the_recovery_point_is_recovered_too() {
    let disk = MemoryDisk::new();
    let settings = LogSettings { segment_ms: 1_000, transaction_verification: false, ..LogSettings::default() };
    let (manager, log) = open(&disk, settings.clone());
    let mut builder = RecordBatchBuilder::new().producer(ProducerId(5), ProducerEpoch(0), 0).transactional(true);
    builder.append(1, None, None).unwrap();
    let bytes = Bytes::from(builder.build().unwrap());
    log.append(at(1), bytes, AppendOrigin::Client, Durability::Written).unwrap();
    let abort = crate::record::end_transaction_batch(ProducerId(5), ProducerEpoch(0), false, 0, 1);
    log.append(at(1), Bytes::from(abort), AppendOrigin::Coordinator, Durability::Written).unwrap();
    for _ in 0..2 {
        let point = log.sync_point().unwrap();
        SyncPoint::job(std::iter::once(&point)).run(&*disk).unwrap();
        log.synced(&point);
    }
    manager.checkpoint().unwrap();
    assert_eq!(disk.read("/logs/recovery-point-offset-checkpoint").unwrap(), b"0\n1\ntopic 0 2\n");
    log.append(at(1), batch(5_000, &["rolls"]), AppendOrigin::Client, Durability::Written).unwrap();
    assert_eq!(log.segments(), 2);
    let (_manager, log) = open(&disk.crash(|_, synced, _| synced), settings);
    let data = log.read(Offset(0), 1 << 20, FetchIsolation::TransactionCommitted, true).unwrap();
    assert_eq!(data.aborted_transactions.unwrap().len(), 1, "its transaction index was not on disk yet");
}

#[test]
fn a_wrong_index_entry_keeps_nobody_from_good_records() {
    let disk = filled(5);
    let (manager, log) = open(&disk.crash(everything), small(5));
    let expected = read_all(&log, Offset(0));
    manager.shutdown(1).unwrap();
    drop((manager, log));
    let (manager, _log) = open(&disk, small(5));
    manager.shutdown(1).unwrap();
    drop(manager);
    let intact = disk.read(path(0, "index")).unwrap();
    assert!(intact.len() >= 16, "{intact:?}");
    for position in [1, 100, 0x7fff_ffff_u32] {
        for entry in 0..intact.len() / 8 {
            let damaged = disk.crash(everything);
            let mut bytes = intact.clone();
            bytes[8 * entry + 4..8 * entry + 8].copy_from_slice(&position.to_be_bytes());
            damaged.write(path(0, "index"), &bytes);
            let (_manager, log) = open(&damaged, small(5));
            assert_eq!(read_all(&log, Offset(0)), expected, "entry {entry} at {position}");
        }
    }
}

#[test]
fn a_batch_that_claims_to_be_huge_does_not_become_memory() {
    let disk = filled(20);
    let mut bytes = disk.read(path(0, "log")).unwrap();
    bytes[8..12].copy_from_slice(&(20_i32 << 20).to_be_bytes());
    bytes.resize(21 << 20, 0);
    disk.write(path(0, "log"), &bytes);
    let crashed = disk.crash(everything);
    let (_manager, log) = open(&crashed, small(20));
    assert_eq!(log.log_end_offset(), Offset(0));
    assert!(crashed.faults.read_bytes_max.load(std::sync::atomic::Ordering::Relaxed) <= 1 << 20);
}

#[test]
fn a_torn_batch_that_looks_like_an_old_message_is_cut_and_a_true_one_is_kept() {
    let disk = filled(3);
    let first = path(0, "log");
    let mut torn = disk.read(&first).unwrap();
    torn[16..].fill(0);
    disk.write(&first, &torn);
    let (_manager, log) = open(&disk.crash(everything), small(3));
    assert_eq!(log.log_end_offset(), Offset(0));
    disk.write(&first, &old_message());
    let settings = small(3);
    let manager = open_manager(&disk.crash(everything), &["/logs"], &settings, at(0));
    assert!(manager.get(&partition()).is_none());
}

#[test]
fn records_that_are_gone_since_a_clean_shutdown_are_missed() {
    for left in [None, Some(4)] {
        let disk = MemoryDisk::new();
        let (manager, log) = open(&disk, small(20));
        fill(&log, 10);
        manager.shutdown(7).unwrap();
        let restarted = disk.crash(|_, synced, _| synced);
        let settings = small(20);
        match left {
            None => restarted.remove_directory(std::path::Path::new("/logs/topic-0")).unwrap(),
            Some(batches) => {
                let bytes = restarted.read(path(0, "log")).unwrap();
                restarted.write(path(0, "log"), &bytes[..bytes.len() * batches / 10]);
            }
        }
        let manager = open_manager(&restarted, &["/logs"], &settings, at(0));
        assert!(!manager.directories()[0].was_clean, "{left:?} batches are left");
    }
}

#[test]
fn only_where_no_compaction_was_does_an_early_end_of_a_segment_take_those_behind_it_along() {
    let disk = filled(3);
    let middle = path(6, "log");
    let bytes = disk.read(&middle).unwrap();
    let one = bytes.len() / 3;
    let (without_last, with_gap) = (bytes[..2 * one].to_vec(), [&bytes[..one], &bytes[2 * one..]].concat());
    let (torn, compacted) = (small(3), LogSettings { compact: true, ..small(3) });
    for (left, settings, end, segments) in
        [(&without_last, &torn, 10, 2), (&without_last, &compacted, 20, 4), (&with_gap, &torn, 20, 4)]
    {
        disk.write(&middle, left);
        let (_manager, log) = open(&disk.crash(everything), settings.clone());
        assert_eq!((log.log_end_offset(), log.segments()), (Offset(end), segments));
    }
    disk.write(&middle, &[]);
    let (_manager, log) = open(&disk.crash(everything), compacted);
    assert_eq!((log.log_end_offset(), log.segments()), (Offset(20), 4), "nothing of a segment may be left");
}

#[test]
fn what_a_later_start_has_appended_behind_a_gap_stays_and_what_lies_behind_a_tear_goes() {
    // A compaction of another broker has taken the end of the first segment, and the log ends with an empty one. That there was one is known at first, and no more
    // at the second start.
    let disk = MemoryDisk::new();
    disk.create_directory(Path::new("/logs/topic-0")).unwrap();
    disk.write(path(0, "log"), &batch(1, &["value-0", "second"]));
    disk.write(path(4, "log"), b"");
    let (_manager, log) = open(&disk, LogSettings { compact: true, ..small(3) });
    assert_eq!(log.log_end_offset(), Offset(4));
    log.become_leader(LeaderEpoch(1));
    fill(&log, 1);
    let killed = disk.crash(everything);
    killed.remove_file(Path::new("/logs/recovery-point-offset-checkpoint")).unwrap();
    let (_manager, log) = open(&killed, small(3));
    assert_eq!((log.log_end_offset(), log.segments()), (Offset(6), 2));

    // Two leader epochs; the second began within the segment that was torn, and where it ends now.
    for first in [1, 2] {
        let disk = MemoryDisk::new();
        let (_manager, log) = open(&disk, small(3));
        log.become_leader(LeaderEpoch(1));
        fill(&log, first);
        log.become_leader(LeaderEpoch(2));
        fill(&log, 5);
        let point = log.sync_point().unwrap();
        point.files.iter().for_each(|file| file.sync().unwrap());
        log.synced(&point);
        let torn = path(0, "log");
        let bytes = disk.read(&torn).unwrap();
        disk.write(&torn, &bytes[..usize::try_from(first).unwrap() * bytes.len() / 3]);
        let (_manager, log) = open(&disk.crash(everything), small(3));
        assert_eq!((log.log_end_offset(), log.segments()), (Offset(2 * first), 1));
    }
}

#[test]
fn a_last_batch_that_claims_offsets_which_do_not_follow_is_cut_off_although_the_stop_was_clean() {
    for claimed in [5_i64, 17, 1 << 33] {
        let disk = MemoryDisk::new();
        let (manager, log) = open(&disk, small(3));
        fill(&log, 11);
        manager.shutdown(7).unwrap();
        let last = path(18, "log");
        let mut bytes = disk.read(&last).unwrap();
        let second = bytes.len() / 2;
        bytes[second..second + 8].copy_from_slice(&claimed.to_be_bytes());
        disk.write(&last, &bytes);
        let (_manager, log) = open(&disk.crash(everything), small(3));
        assert!(log.was_clean());
        assert_eq!(log.log_end_offset(), Offset(20), "it claims {claimed}");
        fill(&log, 10);
        assert_eq!(read_all(&log, Offset(0)).len(), 40, "it claims {claimed}");
    }
}

#[test]
fn a_new_log_waits_for_no_sync_and_owes_its_names_to_the_first() {
    let disk = MemoryDisk::new();
    let manager = open_manager(&disk, &["/logs"], &small(3), at(0));
    disk.faults.fails_sync.store(true, std::sync::atomic::Ordering::Relaxed);
    let log = manager.create(at(0), &partition(), TopicId([7; 16]), Arc::new(small(3)), true).unwrap();
    disk.faults.fails_sync.store(false, std::sync::atomic::Ordering::Relaxed);
    append(&log, &["a"], Durability::Synced);
    let point = log.sync_point().unwrap();
    let directories: Vec<&std::path::Path> = point.directories.iter().map(std::path::PathBuf::as_path).collect();
    assert!(directories.contains(&"/logs/topic-0".as_ref()) && directories.contains(&"/logs".as_ref()));
    SyncPoint::job(std::iter::once(&point)).run(&*disk).unwrap();
    log.synced(&point);
    assert_eq!(log.durable_end_offset(), Offset(1));
    assert!(disk.read("/logs/topic-0/leader-epoch-checkpoint").is_some());
}

#[test]
fn a_second_segment_begins_only_when_the_name_of_the_first_is_on_the_disk() {
    let disk = MemoryDisk::new();
    let (_manager, log) = open(&disk, small(1));
    append(&log, &["value-0", "second"], Durability::Written);
    disk.faults.fails_sync.store(true, std::sync::atomic::Ordering::Relaxed);
    let second = log.append(at(1), batch(100, &["value-1", "second"]), AppendOrigin::Client, Durability::Written);
    assert!(second.is_err() && log.is_offline());
    assert!(disk.read(path(2, "log")).is_none());

    let disk = MemoryDisk::new();
    let (_manager, log) = open(&disk, small(1));
    fill(&log, 1);
    let point = log.sync_point().unwrap();
    SyncPoint::job(std::iter::once(&point)).run(&*disk).unwrap();
    log.synced(&point);
    let point = log.sync_point().unwrap();
    SyncPoint::job(std::iter::once(&point)).run(&*disk).unwrap();
    log.synced(&point);
    disk.faults.fails_sync.store(true, std::sync::atomic::Ordering::Relaxed);
    fill(&log, 3);
    assert_eq!(log.segments(), 4, "no other roll waits for the disk");
}

#[test]
fn a_second_segment_begins_only_when_it_is_on_the_disk_where_the_leader_epoch_began() {
    let disk = MemoryDisk::new();
    let (_manager, log) = open(&disk, small(1));
    for epoch in [5, 6, 7] {
        log.become_leader(LeaderEpoch(epoch));
        if epoch == 7 {
            // The file has taken its place, and its name is owed a sync.
            let point = log.sync_point().unwrap();
            SyncPoint::job(std::iter::once(&point)).run(&*disk).unwrap();
            log.synced(&point);
            disk.faults.fails_sync.store(true, std::sync::atomic::Ordering::Relaxed);
            let refused =
                log.append(at(1), batch(100, &["value-0", "second"]), AppendOrigin::Client, Durability::Written);
            assert!(refused.is_err() && log.is_offline());
            break;
        }
        fill(&log, 2);
        let epochs = disk.crash(|_, synced, _| synced).read("/logs/topic-0/leader-epoch-checkpoint").unwrap();
        let last = String::from_utf8(epochs).unwrap().lines().last().map(str::to_owned);
        assert_eq!(last.unwrap().split(' ').next(), Some(epoch.to_string().as_str()));
    }
}

#[test]
fn a_clean_shutdown_stays_one_when_the_metadata_log_is_loaded_before_the_others() {
    let disk = MemoryDisk::new();
    let (manager, log) = open(&disk, small(20));
    fill(&log, 10);
    let (first, settings) =
        (TopicPartition { topic: Arc::from("__cluster_metadata"), partition: PartitionIndex(0) }, Arc::new(small(20)));
    let metadata = manager.create(at(0), &first, TopicId([1; 16]), Arc::clone(&settings), true).unwrap();
    append(&metadata, &["a"], Durability::Synced);
    manager.shutdown(7).unwrap();
    let restarted = disk.crash(|_, synced, _| synced);
    let mut manager = LogManager::open(restarted, manager_settings(&["/logs"]), &mut || 1).unwrap();
    manager.open_metadata_log(at(0), &first, TopicId([1; 16]), Arc::clone(&settings)).unwrap();
    manager.load(&|_| Arc::clone(&settings), at(0)).unwrap();
    assert!(manager.directories()[0].was_clean);
}

#[test]
fn checkpoints_of_a_deleted_topic_cost_a_new_one_of_the_same_name_no_record() {
    let disk = filled(3);
    disk.write("/logs/recovery-point-offset-checkpoint", b"0\n1\ntopic 0 1000\n");
    disk.write("/logs/log-start-offset-checkpoint", b"0\n1\ntopic 0 900\n");
    let (_manager, log) = open(&disk.crash(everything), small(3));
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (Offset(0), Offset(20)));
}

#[test]
fn a_folder_on_another_file_system_is_not_served_and_none_begins_in_its_place() {
    let disk = filled(3).crash(everything);
    *disk.faults.elsewhere.lock().unwrap() = Some("/logs/topic-0".into());
    let manager = open_manager(&disk, &["/logs"], &small(3), at(0));
    assert!(manager.get(&partition()).is_none());
    let begun = manager.create(at(0), &partition(), TopicId([7; 16]), Arc::new(small(3)), true);
    assert!(matches!(begun, Err(LogError::Unreadable { .. })));
    let (_manager, log) = open(&disk.crash(everything), small(3));
    assert_eq!(log.log_end_offset(), Offset(20), "it is served where it is moved back");
}

#[test]
fn a_new_log_that_is_longer_than_the_deleted_one_of_its_name_begins_where_it_began() {
    let disk = MemoryDisk::new();
    let (manager, log) = open(&disk, small(3));
    fill(&log, 10);
    log.delete_records_before(Offset(15)).unwrap();
    manager.checkpoint().unwrap();
    assert!(manager.delete(at(0), &partition(), 1).unwrap());
    let begun = manager.create(at(0), &partition(), TopicId([8; 16]), Arc::new(small(3)), true).unwrap();
    fill(&begun, 20);
    begun.delete_records_before(Offset(2)).unwrap();

    let reopened = |disk: &MemoryDisk| {
        let disk = disk.kill();
        let manager = open_manager(&disk, &["/logs"], &small(3), at(0));
        let log = manager.get(&partition()).unwrap();
        (log.log_start_offset(), log.log_end_offset())
    };
    assert_eq!(reopened(&disk), (Offset(0), Offset(40)), "the checkpoint tells of the deleted log");
    manager.checkpoint().unwrap();
    assert_eq!(reopened(&disk), (Offset(2), Offset(40)), "now it tells of this one");
    assert!(disk.paths().iter().all(|path| !path.ends_with("klamm-new-log")));
}
