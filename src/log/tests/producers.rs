//! What a log promises to idempotent and transactional producers.
//!
//! It must not look inside: a producer is what its batches say.

use super::*;
use crate::env::Disk;
use crate::record::end_transaction_batch;

const WRITTEN: Durability = Durability::Written;

/// A batch of `count` records of producer 9.
fn sequenced(epoch: i16, sequence: i32, count: usize) -> Bytes {
    batch_of(ProducerId(9), epoch, sequence, count, false)
}

fn batch_of(id: ProducerId, epoch: i16, sequence: i32, count: usize, transactional: bool) -> Bytes {
    let builder = RecordBatchBuilder::new().producer(id, ProducerEpoch(epoch), sequence);
    let mut builder = builder.transactional(transactional);
    for _ in 0..count {
        builder.append(1_000, None, Some(b"value")).unwrap();
    }
    Bytes::from(builder.build().unwrap())
}

fn marker(id: ProducerId, epoch: i16, coordinator_epoch: i32, is_commit: bool) -> Bytes {
    Bytes::from(end_transaction_batch(id, ProducerEpoch(epoch), is_commit, coordinator_epoch, 1_000))
}

fn send(log: &UnifiedLog, batch: Bytes) -> Result<AppendInfo, AppendError> {
    log.append(at(1_000), batch, AppendOrigin::Client, WRITTEN)
}

fn end(log: &UnifiedLog, batch: Bytes, version: i16) -> Result<AppendInfo, AppendError> {
    let transaction = TransactionContext { guard: None, version };
    log.append_in_transaction(at(1_000), batch, AppendOrigin::Coordinator, WRITTEN, transaction)
}

fn unverified() -> LogSettings {
    LogSettings { transaction_verification: false, ..LogSettings::default() }
}

fn aborted(log: &UnifiedLog, from: i64) -> Vec<(i64, i64)> {
    let data = log.read(Offset(from), 1 << 20, FetchIsolation::TransactionCommitted, true).unwrap();
    let aborted = data.aborted_transactions.unwrap();
    aborted.iter().map(|transaction| (transaction.producer_id.0, transaction.first_offset.0)).collect()
}

const ONE: ProducerId = ProducerId(1);
const TWO: ProducerId = ProducerId(2);

#[test]
fn an_exact_retry_of_one_of_the_last_five_batches_gets_the_old_offsets() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings::default());
    for number in 0..6 {
        send(&log, sequenced(0, number * 2, 2)).unwrap();
    }
    for number in 1..6 {
        let info = send(&log, sequenced(0, number * 2, 2)).unwrap();
        assert!(info.is_duplicate);
        assert_eq!((info.base_offset.0, info.last_offset.0), (i64::from(number) * 2, i64::from(number) * 2 + 1));
        assert_eq!(info.log_append_time, Some(WallTime(1_000)));
    }
    assert!(matches!(send(&log, sequenced(0, 0, 2)), Err(AppendError::OutOfOrderSequence { sequence: 0, last: 11 })));
    assert!(
        matches!(send(&log, sequenced(0, 10, 1)), Err(AppendError::OutOfOrderSequence { .. })),
        "not the whole batch"
    );
    assert_eq!(log.log_end_offset(), Offset(12));
}

#[test]
fn a_gap_in_the_sequence_is_refused_and_the_next_in_order_accepted() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings::default());
    send(&log, sequenced(0, 17, 1)).expect("an unknown producer may begin anywhere");
    assert!(matches!(send(&log, sequenced(0, 19, 1)), Err(AppendError::OutOfOrderSequence { sequence: 19, last: 17 })));
    send(&log, sequenced(0, 18, 3)).unwrap();
    assert_eq!(log.log_end_offset(), Offset(4));
}

#[test]
fn sequences_go_on_at_zero_behind_the_largest_number() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings::default());
    send(&log, sequenced(0, i32::MAX, 1)).unwrap();
    assert!(matches!(send(&log, sequenced(0, 1, 1)), Err(AppendError::OutOfOrderSequence { .. })));
    send(&log, sequenced(0, 0, 1)).unwrap();

    let (_manager, log) = open(&MemoryDisk::new(), LogSettings::default());
    send(&log, sequenced(0, i32::MAX - 1, 4)).expect("a batch may wrap inside");
    assert!(send(&log, sequenced(0, i32::MAX - 1, 4)).unwrap().is_duplicate);
    assert!(matches!(send(&log, sequenced(0, 3, 1)), Err(AppendError::OutOfOrderSequence { last: 1, .. })));
    send(&log, sequenced(0, 2, 1)).unwrap();
}

#[test]
fn a_newer_epoch_begins_at_zero_and_fences_the_older() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings::default());
    send(&log, sequenced(3, 0, 1)).unwrap();
    assert!(matches!(send(&log, sequenced(4, 1, 1)), Err(AppendError::OutOfOrderSequence { .. })));
    send(&log, sequenced(4, 0, 1)).unwrap();
    assert!(matches!(send(&log, sequenced(3, 1, 1)), Err(AppendError::InvalidProducerEpoch { epoch: 3, known: 4 })));
    assert!(
        matches!(send(&log, sequenced(3, 0, 1)), Err(AppendError::InvalidProducerEpoch { .. })),
        "no retry of before"
    );
}

#[test]
fn a_coordinator_needs_no_sequence_but_the_right_epoch() {
    let (_manager, log) = open(&MemoryDisk::new(), unverified());
    let commit = |epoch| log.append(at(1), batch_of(ONE, epoch, -1, 1, true), AppendOrigin::Coordinator, WRITTEN);
    commit(2).unwrap();
    commit(2).unwrap();
    assert!(matches!(commit(1), Err(AppendError::InvalidProducerEpoch { .. })));
    assert_eq!(log.last_stable_offset(), Offset(0));
}

#[test]
fn after_a_restart_clean_or_not_the_remembered_batches_of_each_producer_are_known() {
    for is_clean in [true, false] {
        let disk = MemoryDisk::new();
        let (manager, log) = open(&disk, LogSettings::default());
        send(&log, sequenced(0, 0, 1)).unwrap();
        send(&log, sequenced(0, 1, 1)).unwrap();
        if is_clean {
            manager.shutdown(1).unwrap();
        }
        let (_manager, log) = open(&disk.crash(|_, _, bytes| bytes), LogSettings::default());
        let info = send(&log, sequenced(0, 1, 1)).unwrap();
        assert_eq!((info.base_offset, info.is_duplicate), (Offset(1), true), "clean: {is_clean}");
        let earlier = send(&log, sequenced(0, 0, 1)).unwrap();
        assert_eq!((earlier.base_offset, earlier.is_duplicate), (Offset(0), true), "clean: {is_clean}");
        send(&log, sequenced(0, 2, 1)).unwrap();
    }
}

#[test]
fn producers_are_rebuilt_from_the_records_when_snapshots_are_missing_or_damaged() {
    let one = sequenced(0, 0, 1).len() as u32;
    for damage in 0..4 {
        let disk = MemoryDisk::new();
        let (manager, log) = open(&disk, LogSettings { segment_bytes: 2 * one, ..LogSettings::default() });
        for sequence in 0..7 {
            send(&log, sequenced(0, sequence, 1)).unwrap();
        }
        manager.shutdown(1).unwrap();
        let snapshots: Vec<String> = disk.paths().into_iter().filter(|path| path.ends_with(".snapshot")).collect();
        assert_eq!(snapshots.len(), 4, "one per roll and one at the end");
        for path in snapshots.iter().skip(usize::from(damage == 2)) {
            let bytes = disk.read(path).unwrap();
            match damage {
                0 => disk.write(path, &bytes[..bytes.len() / 2]),
                3 => crate::env::Disk::remove_file(&*disk, path.as_ref()).unwrap(),
                _ => disk.write(path, b""),
            }
        }
        let (_manager, log) = open(&disk.crash(|_, _, bytes| bytes), LogSettings::default());
        assert!(send(&log, sequenced(0, 6, 1)).unwrap().is_duplicate);
        assert!(send(&log, sequenced(0, 8, 1)).is_err());
    }
}

#[test]
fn a_silent_producer_is_forgotten_unless_its_transaction_is_open() {
    let settings = LogSettings { producer_id_expiration_ms: 5_000, ..unverified() };
    let disk = MemoryDisk::new();
    let (_manager, log) = open(&disk, settings.clone());
    send(&log, sequenced(0, 0, 1)).unwrap();
    send(&log, batch_of(ONE, 0, 0, 1, true)).unwrap();
    log.maintain(at(5_999)).unwrap();
    assert!(send(&log, sequenced(0, 7, 1)).is_err());
    log.maintain(at(6_000)).unwrap();
    send(&log, sequenced(0, 7, 1)).expect("nothing is known of it any more");
    assert!(send(&log, batch_of(ONE, 0, 7, 1, true)).is_err());

    let (_manager, log) = open(&disk.crash(|_, _, bytes| bytes), settings);
    assert!(send(&log, batch_of(ONE, 0, 7, 1, true)).is_err());
}

#[test]
fn records_of_an_open_transaction_are_not_stable_until_its_marker() {
    let (_manager, log) = open(&MemoryDisk::new(), unverified());
    send(&log, sequenced(0, 0, 1)).unwrap();
    send(&log, batch_of(ONE, 0, 0, 2, true)).unwrap();
    send(&log, batch_of(TWO, 0, 0, 1, true)).unwrap();
    assert_eq!((log.last_stable_offset(), log.high_watermark()), (Offset(1), Offset(4)));
    let stable = log.read(Offset(0), 1 << 20, FetchIsolation::TransactionCommitted, true).unwrap();
    assert_eq!(values(&bytes_of(&stable)).len(), 1);
    assert_eq!(log.read(Offset(1), 1 << 20, FetchIsolation::TransactionCommitted, true).unwrap().bytes(), 0);
    end(&log, marker(ONE, 0, 0, true), 0).unwrap();
    assert_eq!(log.last_stable_offset(), Offset(3), "the other transaction is still open");
    end(&log, marker(TWO, 0, 0, false), 0).unwrap();
    assert_eq!(log.last_stable_offset(), Offset(6));
    assert_eq!(aborted(&log, 0), [(2, 3)]);
    assert_eq!(aborted(&log, 6), []);
    let plain = log.read(Offset(0), 1 << 20, FetchIsolation::HighWatermark, true).unwrap();
    assert!(plain.aborted_transactions.is_none());
}

#[test]
fn a_transaction_whose_marker_is_not_on_disk_is_not_stable() {
    let (_manager, log) = open(&MemoryDisk::new(), unverified());
    send(&log, batch_of(ONE, 0, 0, 1, true)).unwrap();
    log.append(at(1), marker(ONE, 0, 0, true), AppendOrigin::Coordinator, Durability::Synced).unwrap();
    assert_eq!((log.last_stable_offset(), log.high_watermark()), (Offset(0), Offset(1)));
    log.synced(&log.sync_point().unwrap());
    assert_eq!(log.last_stable_offset(), Offset(2));
}

#[test]
fn aborted_and_open_transactions_survive_a_restart_clean_or_not() {
    let one = batch_of(ONE, 0, 0, 1, true).len() as u32;
    for is_clean in [true, false] {
        let disk = MemoryDisk::new();
        let (manager, log) = open(&disk, LogSettings { segment_bytes: 4 * one, ..unverified() });
        for number in 0..6 {
            send(&log, batch_of(ONE, 0, number, 1, true)).unwrap();
            end(&log, marker(ONE, 0, 0, number % 2 == 0), 0).unwrap();
        }
        send(&log, batch_of(TWO, 0, 0, 1, true)).unwrap();
        let (before, stable) = (aborted(&log, 0), log.last_stable_offset());
        assert!(log.segments() > 3);
        if is_clean {
            manager.shutdown(1).unwrap();
        }
        let restarted = disk.crash(|_, _, bytes| bytes);
        let (manager, log) = open(&restarted, unverified());
        assert_eq!((aborted(&log, 0), log.last_stable_offset()), (before, stable), "clean: {is_clean}");
        manager.shutdown(1).unwrap();
        let indexes = restarted.paths().into_iter().filter(|path| path.ends_with(".txnindex"));
        let bytes: usize = indexes.map(|path| restarted.read(path).unwrap().len()).sum();
        assert_eq!(bytes, 3 * 34, "each aborted transaction is listed once");
        drop(manager);
        let (_manager, log) = open(&restarted, unverified());
        let all = (0..12).flat_map(|from| aborted(&log, from)).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(all.into_iter().collect::<Vec<_>>(), [(1, 2), (1, 6), (1, 10)]);
        let data = log.read(Offset(12), 1 << 20, FetchIsolation::TransactionCommitted, true).unwrap();
        assert_eq!(data.bytes(), 0);
        end(&log, marker(TWO, 0, 0, true), 0).unwrap();
        assert_eq!(log.last_stable_offset(), Offset(14));
    }
}

#[test]
fn indexes_that_are_built_again_are_all_there_whichever_of_them_the_first_start_could_not_write() {
    let disk = MemoryDisk::new();
    let one = batch_of(ONE, 0, 0, 1, true).len() as u32;
    let (manager, log) = open(&disk, LogSettings { segment_bytes: 4 * one, ..unverified() });
    for number in 0..3 {
        send(&log, batch_of(ONE, 0, number, 1, true)).unwrap();
        end(&log, marker(ONE, 0, 0, number % 2 == 0), 0).unwrap();
    }
    let before = aborted(&log, 0);
    assert!(!before.is_empty() && log.segments() > 1);
    manager.shutdown(1).unwrap();
    for suffix in ["index", "timeindex", "txnindex"] {
        let copy = disk.crash(|_, _, bytes| bytes);
        let is_index = |path: &&String| path.ends_with("index");
        copy.paths().iter().filter(is_index).for_each(|path| copy.remove_file(path.as_ref()).unwrap());
        copy.faults.break_at(&format!("/logs/topic-0/00000000000000000000.{suffix}.tmp"));
        let mut first = LogManager::open(copy.clone(), manager_settings(&["/logs"]), &mut || 1).unwrap();
        first.load(&|_| Arc::new(unverified()), at(0)).unwrap_err();
        drop(first);
        copy.faults.repair();
        let (_manager, log) = open(&copy.crash(|_, _, bytes| bytes), unverified());
        assert_eq!(aborted(&log, 0), before, "{suffix} could not be written");
    }
}

#[test]
fn a_plain_batch_of_a_producer_in_a_transaction_is_refused() {
    let (_manager, log) = open(&MemoryDisk::new(), unverified());
    send(&log, batch_of(ONE, 0, 0, 1, true)).unwrap();
    let result = send(&log, batch_of(ONE, 0, 1, 1, false));
    assert!(matches!(result, Err(AppendError::InvalidTransactionState(_))));
    send(&log, batch_of(ONE, 0, 1, 1, true)).unwrap();
}

#[test]
fn an_older_coordinator_is_fenced_also_after_a_reload() {
    let disk = MemoryDisk::new();
    let (manager, log) = open(&disk, unverified());
    send(&log, batch_of(ONE, 0, 0, 1, true)).unwrap();
    end(&log, marker(ONE, 0, 5, true), 0).unwrap();
    assert!(matches!(
        end(&log, marker(ONE, 0, 4, true), 0),
        Err(AppendError::CoordinatorFenced { epoch: 4, known: 5 })
    ));
    manager.shutdown(1).unwrap();
    let (_manager, log) = open(&disk.crash(|_, synced, _| synced), unverified());
    assert!(matches!(
        end(&log, marker(ONE, 0, 4, true), 0),
        Err(AppendError::CoordinatorFenced { epoch: 4, known: 5 })
    ));
    end(&log, marker(ONE, 0, 5, true), 0).unwrap();
}

#[test]
fn a_marker_needs_the_epoch_that_its_transaction_version_asks_for() {
    let (_manager, log) = open(&MemoryDisk::new(), unverified());
    send(&log, batch_of(ONE, 3, 0, 1, true)).unwrap();
    assert!(matches!(end(&log, marker(ONE, 2, 0, true), 1), Err(AppendError::InvalidProducerEpoch { .. })));
    assert!(matches!(
        end(&log, marker(ONE, 3, 0, true), 2),
        Err(AppendError::InvalidProducerEpoch { epoch: 3, known: 3 })
    ));
    end(&log, marker(ONE, 4, 0, true), 2).unwrap();
    end(&log, marker(ONE, 4, 0, true), 2).expect("the retry of a marker is harmless");
    assert!(matches!(end(&log, marker(ONE, 3, 0, true), 2), Err(AppendError::InvalidProducerEpoch { .. })));
    assert!(matches!(send(&log, batch_of(ONE, 4, 1, 1, true)), Err(AppendError::OutOfOrderSequence { .. })));
    send(&log, batch_of(ONE, 4, 0, 1, true)).expect("the raised epoch begins at 0");
}

#[test]
fn a_transaction_begins_only_with_the_guard_of_its_verification() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings::default());
    let verify = |sequence| log.start_verification(at(1), ONE, ProducerEpoch(0), sequence, false);
    let send = |sequence, guard| {
        let bytes = batch_of(ONE, 0, sequence, 1, true);
        let transaction = TransactionContext { guard, version: 1 };
        log.append_in_transaction(at(1), bytes, AppendOrigin::Client, WRITTEN, transaction)
    };
    assert!(matches!(send(0, None), Err(AppendError::InvalidTransactionState(_))));
    let guard = verify(0);
    assert_eq!(verify(5), guard, "one verification serves all batches until one is appended");
    assert!(matches!(send(5, guard), Err(AppendError::OutOfOrderSequence { sequence: 5, last: 0 })), "it overtakes");
    send(0, guard).unwrap();
    assert_eq!(verify(1), None, "the transaction is open");
    send(1, None).unwrap();
    end(&log, marker(ONE, 0, 0, true), 0).unwrap();
    assert!(matches!(send(2, guard), Err(AppendError::InvalidTransactionState(_))), "the guard is used up");
    let next = verify(2);
    assert_ne!(next, guard);
    send(2, next).unwrap();
}

#[test]
fn a_producer_that_raises_its_epoch_with_every_transaction_begins_at_zero() {
    let (_manager, log) = open(&MemoryDisk::new(), LogSettings::default());
    let guard = log.start_verification(at(1), ONE, ProducerEpoch(0), 3, true);
    let transaction = TransactionContext { guard, version: 2 };
    let send = |sequence| {
        let bytes = batch_of(ONE, 0, sequence, 1, true);
        log.append_in_transaction(at(1), bytes, AppendOrigin::Client, WRITTEN, transaction)
    };
    assert!(matches!(send(3), Err(AppendError::OutOfOrderSequence { .. })));
    log.start_verification(at(1), ONE, ProducerEpoch(0), 0, true);
    send(0).unwrap();
}

#[test]
fn a_retry_after_all_records_were_deleted_and_a_restart_is_appended_again() {
    let disk = MemoryDisk::new();
    let (manager, log) = open(&disk, LogSettings::default());
    send(&log, sequenced(0, 0, 1)).unwrap();
    log.delete_records_before(Offset(-1)).unwrap();
    manager.shutdown(1).unwrap();
    let (_manager, log) = open(&disk.crash(|_, synced, _| synced), LogSettings::default());
    assert_eq!(log.log_start_offset(), Offset(1));
    let info = send(&log, sequenced(0, 0, 1)).unwrap();
    assert_eq!((info.base_offset, info.is_duplicate), (Offset(1), false), "as Kafka 4.4 does");
}

#[test]
fn a_refused_batch_changes_nothing() {
    let (_manager, log) = open(&MemoryDisk::new(), unverified());
    send(&log, batch_of(ONE, 0, 0, 1, true)).unwrap();
    for refused in [batch_of(ONE, 0, 5, 1, true), batch_of(ONE, 0, 1, 1, false)] {
        send(&log, refused).unwrap_err();
    }
    assert_eq!((log.log_end_offset(), log.last_stable_offset()), (Offset(1), Offset(0)));
    send(&log, batch_of(ONE, 0, 1, 1, true)).unwrap();
}
