//! What log directories promise: identity, locks, placement, deletion, shutdown.
//!
//! It must not look inside a log.

use std::path::Path;
use std::sync::atomic::Ordering;

use super::*;
use crate::env::Disk;

fn try_open(disk: &Arc<MemoryDisk>, settings: LogManagerSettings) -> Result<LogManager, LogError> {
    let defaults = Arc::new(LogSettings::default());
    let mut next = 0;
    let mut random = || {
        next += 1;
        next
    };
    let mut manager = LogManager::open(disk.clone(), settings, &mut random)?;
    manager.load(&|_| defaults.clone(), at(0))?;
    Ok(manager)
}

fn named(topic: &str, index: i32) -> TopicPartition {
    TopicPartition { topic: Arc::from(topic), partition: PartitionIndex(index) }
}

fn create(manager: &LogManager, partition: &TopicPartition) -> Arc<UnifiedLog> {
    manager.create(at(0), partition, TopicId([7; 16]), Arc::new(LogSettings::default()), true).unwrap()
}

fn refusal(disk: &Arc<MemoryDisk>, settings: LogManagerSettings) -> String {
    match try_open(disk, settings) {
        Err(error @ LogError::Inconsistent(_)) => error.to_string(),
        other => panic!("{:?}", other.map(|_| "it is opened")),
    }
}

#[test]
fn a_directory_serves_one_broker_at_a_time() {
    let disk = MemoryDisk::new();
    let first = try_open(&disk, manager_settings(&["/logs"])).unwrap();
    let second = try_open(&disk, manager_settings(&["/logs"]));
    assert!(matches!(second, Err(LogError::Disk(crate::env::DiskError::Locked { .. }))));
    drop(first);
    try_open(&disk, manager_settings(&["/logs"])).unwrap();
}

#[test]
fn directories_keep_their_identity_and_refuse_another() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
    let (cluster_id, directories) = (manager.cluster_id().to_owned(), manager.directories());
    assert_ne!(directories[0].id, directories[1].id);
    drop(manager);
    let manager = try_open(&disk, manager_settings(&["/b", "/a", "/new"])).unwrap();
    assert_eq!(manager.cluster_id(), cluster_id);
    assert_eq!(manager.directories()[1].id, directories[0].id);
    drop(manager);

    let other_node = LogManagerSettings { node_id: BrokerId(2), ..manager_settings(&["/a"]) };
    assert!(refusal(&disk, other_node).ends_with(
        "/a belongs to node.id 1, not to 2: set node.id=1 (or the variable KAFKA_NODE_ID), or name another directory in `log.dirs`"
    ));
    let other_cluster = LogManagerSettings { cluster_id: Some("other".to_owned()), ..manager_settings(&["/a"]) };
    let refused = refusal(&disk, other_cluster);
    let words = format!("/a belongs to cluster.id {cluster_id}, not to other: set the variable CLUSTER_ID");
    assert!(refused.contains(&words) && refused.contains("name another directory in `log.dirs`"), "{refused}");
    disk.create_directory(Path::new("/z")).unwrap();
    disk.write("/z/meta.properties", b"cluster.id=other\nnode.id=1\nversion=1\n");
    let refused = refusal(&disk, manager_settings(&["/a", "/z"]));
    assert!(
        refused.contains(": name the directories of one cluster only") && !refused.contains("variable"),
        "{refused}"
    );
    disk.write("/b/meta.properties", &disk.read("/a/meta.properties").unwrap());
    let twins = try_open(&disk, manager_settings(&["/a", "/b"]));
    assert!(matches!(twins, Err(LogError::Inconsistent(_))), "two directories with one id");
}

#[test]
fn a_start_that_is_refused_leaves_the_mark_of_the_clean_shutdown_to_the_next() {
    let disk = MemoryDisk::new();
    try_open(&disk, manager_settings(&["/a", "/b"])).unwrap().shutdown(1).unwrap();
    let of_another_cluster = LogManagerSettings { cluster_id: Some("other".to_owned()), ..manager_settings(&["/a"]) };
    let of_another_node = LogManagerSettings { node_id: BrokerId(2), ..manager_settings(&["/b"]) };
    for settings in [of_another_cluster, of_another_node, manager_settings(&["/a", "/b", "/a"])] {
        refusal(&disk, settings);
    }
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
    assert!(manager.directories().iter().all(|directory| directory.was_clean));
    assert!(disk.read("/a/.kafka_cleanshutdown").is_none(), "a crash from here on is not clean");
}

#[test]
fn a_directory_that_is_named_twice_is_no_directory_of_another_broker() {
    let disk = MemoryDisk::new();
    for _ in 0..2 {
        let Err(error) = try_open(&disk, manager_settings(&["/logs", "/logs"])) else { panic!("it is refused") };
        let sentence = error.to_string();
        assert!(
            sentence.contains("/logs and /logs are the same directory") && sentence.contains("log.dirs"),
            "{sentence}"
        );
    }
    try_open(&disk, manager_settings(&["/logs"])).unwrap();
}

#[test]
fn properties_as_kafka_writes_them_are_understood() {
    let disk = MemoryDisk::new();
    disk.create_directory(Path::new("/logs")).unwrap();
    let text = "#\n#Sun Nov 29 18:00:00 UTC 2026\ncluster.id=abc\nnode.id=1\nversion=1\n";
    disk.write("/logs/meta.properties", text.as_bytes());
    let manager = try_open(&disk, manager_settings(&["/logs"])).unwrap();
    assert_eq!(manager.cluster_id(), "abc");
    assert!(!manager.directories()[0].id.is_empty(), "a directory without an id gets one");
    for id in ["my cluster", "4L6g3nShT-eMCtK--X86sw=="] {
        let disk = MemoryDisk::new();
        disk.create_directory(Path::new("/logs")).unwrap();
        let text = format!("cluster.id={}\nnode.id=1\nversion=1\n", id.replace('=', "\\="));
        disk.write("/logs/meta.properties", text.as_bytes());
        let settings = LogManagerSettings { cluster_id: Some(id.to_owned()), ..manager_settings(&["/logs"]) };
        drop(try_open(&disk, settings).unwrap());
        let kept = String::from_utf8(disk.read("/logs/meta.properties").unwrap()).unwrap();
        assert!(text.lines().all(|line| kept.contains(line)) && kept.contains("directory.id="), "{kept}");
    }
    for text in ["version=0\nbroker.id=1\n", "version=1\ncluster.id=abc\n", ""] {
        let disk = MemoryDisk::new();
        disk.create_directory(Path::new("/logs")).unwrap();
        disk.write("/logs/meta.properties", text.as_bytes());
        assert!(matches!(try_open(&disk, manager_settings(&["/logs"])), Err(LogError::Malformed { .. })), "{text:?}");
    }
}

#[test]
fn a_new_log_goes_to_the_directory_with_the_fewest() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
    let parents: Vec<PathBuf> =
        (0..4).map(|index| create(&manager, &named("t", index)).directory().parent().unwrap().to_path_buf()).collect();
    assert_eq!(parents, ["/a", "/b", "/a", "/b"].map(PathBuf::from));
    manager.shutdown(1).unwrap();
    drop(manager);
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
    assert_eq!(manager.logs().len(), 4);
    assert_eq!(manager.get(&named("t", 1)).unwrap().topic_id(), Some(TopicId([7; 16])));
}

#[test]
fn the_metadata_log_lies_in_its_own_directory_and_no_other_log_is_made_there() {
    let disk = MemoryDisk::new();
    let settings = LogManagerSettings { metadata_directory: PathBuf::from("/meta"), ..manager_settings(&["/a"]) };
    let mut manager = try_open(&disk, settings.clone()).unwrap();
    let metadata = named("__cluster_metadata", 0);
    let defaults = Arc::new(LogSettings::default());
    let log = manager.open_metadata_log(at(0), &metadata, TopicId::METADATA, defaults.clone()).unwrap();
    assert_eq!(log.directory().parent(), Some(Path::new("/meta")));
    for index in 0..3 {
        assert_eq!(create(&manager, &named("t", index)).directory().parent(), Some(Path::new("/a")));
    }
    let is_of_metadata_only: Vec<_> = manager.directories().iter().map(|info| info.is_of_metadata_only).collect();
    assert_eq!(is_of_metadata_only, [false, true]);
    drop((log, manager));
    let manager = try_open(&disk, settings).unwrap();
    assert!(manager.get(&metadata).is_some(), "it is found again");
}

/// A folder with a record.
fn write_log(disk: &MemoryDisk, folder: &str) {
    disk.create_directory(Path::new(folder)).unwrap();
    disk.write(format!("{folder}/00000000000000000000.log"), &batch(1, &["value"]));
}

#[test]
fn a_partition_in_two_directories_is_refused() {
    let disk = MemoryDisk::new();
    write_log(&disk, "/a/t-0");
    write_log(&disk, "/b/t-0");
    assert!(matches!(try_open(&disk, manager_settings(&["/a", "/b"])), Err(LogError::Inconsistent(_))));
}

#[test]
fn an_empty_folder_that_a_refused_creation_has_left_gives_way_to_the_log_in_another_directory() {
    for (left_over, whole) in [("/a/t-0", "/b/t-0"), ("/b/t-0", "/a/t-0")] {
        let disk = MemoryDisk::new();
        disk.create_directory(Path::new(left_over)).unwrap();
        write_log(&disk, whole);
        let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
        assert_eq!(&*manager.get(&named("t", 0)).unwrap().directory(), Path::new(whole));
        assert!(disk.paths().iter().all(|path| !Path::new(path).starts_with(left_over)), "{:?}", disk.paths());
    }
}

#[test]
fn a_log_that_has_lost_its_records_does_not_give_way_to_a_copy() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/a"])).unwrap();
    append(&create(&manager, &named("t", 0)), &["value"], Durability::Written);
    manager.shutdown(1).unwrap();
    drop(manager);
    for name in ["00000000000000000000.log", "partition.metadata"] {
        disk.create_directory(Path::new("/b/t-0")).unwrap();
        disk.write(format!("/b/t-0/{name}"), &disk.read(format!("/a/t-0/{name}")).unwrap());
    }
    disk.remove_file(Path::new("/a/t-0/00000000000000000000.log")).unwrap();
    assert!(refusal(&disk, manager_settings(&["/a", "/b"])).contains("lies in both"));
}

#[test]
fn an_empty_folder_that_knows_no_topic_is_not_taken_while_its_partition_may_lie_elsewhere() {
    let disk = MemoryDisk::new();
    disk.create_directory(Path::new("/a/t-0")).unwrap();
    drop(try_open(&disk, manager_settings(&["/a", "/b"])).unwrap());
    disk.faults.break_at("/b");
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
    let create =
        |is_new| manager.create(at(0), &named("t", 0), TopicId([7; 16]), Arc::new(LogSettings::default()), is_new);
    assert!(matches!(create(false), Err(LogError::Elsewhere { .. })));
    assert!(create(true).is_ok(), "a new one lies nowhere else");
}

#[test]
fn a_partition_that_one_directory_refuses_is_made_in_the_next() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
    disk.faults.break_at("/a/t-0/partition.metadata");
    assert_eq!(&*create(&manager, &named("t", 0)).directory(), Path::new("/b/t-0"));
    append(&manager.get(&named("t", 0)).unwrap(), &["value"], Durability::Written);
    manager.shutdown(1).unwrap();
    drop(manager);
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
    assert_eq!(manager.get(&named("t", 0)).unwrap().log_end_offset(), Offset(1));
}

#[test]
fn a_directory_that_refuses_its_checkpoint_keeps_no_log_of_another_from_being_told_of() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
    create(&manager, &named("s", 0));
    let mut log = create(&manager, &named("t", 0));
    assert_eq!(&*log.directory(), Path::new("/b/t-0"));
    append(&log, &["value"], Durability::Written);
    manager.checkpoint().unwrap();
    manager.delete(at(0), &named("t", 0), 1).unwrap();
    log = manager.create(at(0), &named("t", 0), TopicId([8; 16]), Arc::default(), true).unwrap();
    assert_eq!(&*log.directory(), Path::new("/b/t-0"));
    let is_marked = || disk.read("/b/t-0/klamm-new-log").is_some();
    assert!(is_marked());
    disk.faults.break_at("/a/log-start-offset-checkpoint.tmp");
    manager.checkpoint().unwrap_err();
    assert!(!is_marked());
}

#[test]
fn a_creation_makes_no_log_directory_anew_that_somebody_has_removed() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
    disk.remove_directory(Path::new("/a")).unwrap();
    assert_eq!(&*create(&manager, &named("t", 0)).directory(), Path::new("/b/t-0"));
    assert!(disk.free_bytes(Path::new("/a")).unwrap_err().is_not_found());
}

#[test]
fn metadata_that_may_lie_in_a_directory_that_cannot_be_read_are_not_begun_anew_though_it_can_be_read_a_moment_later() {
    let disk = MemoryDisk::new();
    drop(try_open(&disk, manager_settings(&["/a", "/b", "/c"])).unwrap());
    *disk.faults.unreadable.lock().unwrap() = Some(PathBuf::from("/c"));
    let metadata = named("__cluster_metadata", 0);
    let looked = crate::log::check_metadata_log(&*disk, &manager_settings(&["/new", "/b", "/c"]), &metadata);
    let Err(LogError::Inconsistent(sentence)) = looked else { panic!("{looked:?}") };
    assert!(sentence.contains("may lie in /c"), "{sentence}");
}

#[test]
fn of_twins_with_different_topic_ids_either_can_be_put_aside() {
    for takes_first in [true, false] {
        let disk = MemoryDisk::new();
        for (folder, id) in [("/a/t-0", 7), ("/b/t-0", 8)] {
            disk.create_directory(Path::new(folder)).unwrap();
            let text = format!("version: 0\ntopic_id: {}\n", TopicId([id; 16]));
            disk.write(format!("{folder}/partition.metadata"), text.as_bytes());
        }
        let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
        let partition = named("t", 0);
        assert_eq!(manager.twins(), std::slice::from_ref(&partition));
        let first = manager.get(&partition).unwrap().topic_id().unwrap();
        let aside = if takes_first { manager.put_aside(&partition, 1) } else { manager.put_twin_aside(&partition, 1) };
        assert!(aside.unwrap().is_some());
        assert!(manager.twins().is_empty());
        assert_eq!(manager.get(&partition).unwrap().topic_id().unwrap() == first, !takes_first);
        drop(manager);
        assert_eq!(try_open(&disk, manager_settings(&["/a", "/b"])).unwrap().logs().len(), 1);
    }
}

#[test]
fn a_folder_that_cannot_be_moved_is_moved_later_and_before_its_partition_is_made_anew() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/logs"])).unwrap();
    let (one, other) = (named("t", 0), named("t", 1));
    create(&manager, &one);
    create(&manager, &other);
    disk.faults.fails_rename.store(true, Ordering::Relaxed);
    manager.delete(at(0), &one, 5).unwrap_err();
    manager.delete(at(0), &other, 6).unwrap_err();
    let again = || manager.create(at(0), &one, TopicId([8; 16]), Arc::new(LogSettings::default()), true);
    again().unwrap_err();
    disk.faults.fails_rename.store(false, Ordering::Relaxed);
    assert_eq!(again().unwrap().topic_id(), Some(TopicId([8; 16])));
    manager.remove_deleted(at(60_000)).unwrap();
    assert!(disk.paths().iter().all(|path| !path.contains("t-1") && !path.contains("-delete")), "{:?}", disk.paths());
}

#[test]
fn a_folder_that_cannot_be_removed_holds_up_no_other_and_is_not_forgotten() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/logs"])).unwrap();
    for index in 0..2 {
        create(&manager, &named("t", index));
        manager.delete(at(0), &named("t", index), 5).unwrap();
    }
    let left = |topic: &str| disk.paths().iter().any(|path| path.contains(topic));
    let broken = disk.paths().into_iter().find(|path| path.contains("/t-0.")).unwrap();
    disk.faults.break_at(broken.rsplit_once('/').unwrap().0);
    manager.remove_deleted(at(60_000)).unwrap_err();
    assert_eq!((left("/t-0"), left("/t-1")), (true, false));
    disk.faults.repair();
    manager.remove_deleted(at(60_000)).unwrap();
    assert!(!left("/t-0"));
}

#[test]
fn a_partition_that_is_made_anew_is_on_disk_only_when_the_move_of_the_old_one_is() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
    create(&manager, &named("t", 0));
    create(&manager, &named("t", 1));
    manager.delete(at(0), &named("t", 0), 1).unwrap();
    create(&manager, &named("u", 0));
    create(&manager, &named("u", 1));
    let anew = create(&manager, &named("t", 0));
    assert_eq!(&*anew.directory(), Path::new("/b/t-0"), "in the other directory");
    let directories = |log: &UnifiedLog| log.sync_point().unwrap().directories;
    assert_eq!(directories(&anew), ["/b/t-0", "/b", "/a"].map(PathBuf::from));
    manager.checkpoint().unwrap();
    assert!(!directories(&create(&manager, &named("v", 0))).contains(&PathBuf::from("/b")), "a checkpoint syncs moves");
}

#[test]
fn a_sync_touches_no_log_directory_but_those_of_its_logs() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
    let logs: Vec<_> = (0..8).map(|index| create(&manager, &named("t", index))).collect();
    let roots = |logs: &[&Arc<UnifiedLog>]| {
        let points: Vec<SyncPoint> = logs.iter().map(|log| log.sync_point().unwrap()).collect();
        match SyncPoint::job(points.iter()) {
            crate::env::SyncJob::All(roots) => roots,
            job => panic!("{job:?}"),
        }
    };
    assert_eq!(roots(&[&logs[0], &logs[2], &logs[4], &logs[6]]), [PathBuf::from("/a")]);
    assert_eq!(roots(&logs.iter().collect::<Vec<_>>()), ["/a", "/b"].map(PathBuf::from));
}

#[test]
fn a_failed_sync_of_a_checkpoint_is_told_from_a_full_disk() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/logs"])).unwrap();
    create(&manager, &named("t", 0));
    disk.faults.is_full.store(true, Ordering::Relaxed);
    assert!(matches!(manager.checkpoint(), Err(LogError::Disk(_))));
    disk.faults.is_full.store(false, Ordering::Relaxed);
    disk.faults.fails_sync.store(true, Ordering::Relaxed);
    assert!(matches!(manager.checkpoint(), Err(LogError::Sync(_))));
}

#[test]
fn a_checkpoint_takes_its_place_after_a_sync_that_whoever_asked_for_it_runs() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/logs"])).unwrap();
    create(&manager, &named("t", 0));
    let path = Path::new("/logs/recovery-point-offset-checkpoint");
    disk.remove_file(path).unwrap();
    disk.faults.fails_sync.store(true, Ordering::Relaxed);
    let is_there = || disk.read(path).is_some();
    let checkpoint = manager.begin_checkpoint();
    assert!(!is_there(), "nothing is synced yet");
    disk.faults.fails_sync.store(false, Ordering::Relaxed);
    let result = checkpoint.job().run(&*disk);
    let checkpoint = manager.checkpoint_synced(checkpoint, result).unwrap().expect("its name is owed a sync");
    assert!(is_there());
    let result = checkpoint.job().run(&*disk);
    assert!(manager.checkpoint_synced(checkpoint, result).unwrap().is_none());
}

#[test]
fn an_error_of_one_log_keeps_no_other_from_its_upkeep() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/logs"])).unwrap();
    let (bad, good) = (create(&manager, &named("t", 0)), create(&manager, &named("t", 1)));
    for log in [&bad, &good] {
        append(log, &["value"], Durability::Written);
    }
    disk.faults.break_at("/logs/t-0");
    let late = at(8 * 24 * 3_600_000);
    manager.clean_up(late).unwrap_err();
    assert_eq!((bad.log_start_offset(), good.log_start_offset()), (Offset(0), Offset(1)));
}

#[test]
fn a_log_that_cannot_be_closed_keeps_only_the_mark_from_its_directory() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/logs"])).unwrap();
    for index in 0..2 {
        append(&create(&manager, &named("t", index)), &["value"], Durability::Written);
    }
    disk.faults.break_at("/logs/t-0/00000000000000000001.snapshot");
    manager.shutdown(1).unwrap();
    assert!(disk.read("/logs/.kafka_cleanshutdown").is_none());
    assert!(disk.read("/logs/t-1/00000000000000000001.snapshot").is_some(), "the other is complete");
    let recovery_points = disk.read("/logs/recovery-point-offset-checkpoint").unwrap();
    assert_eq!(recovery_points, b"0\n2\nt 0 0\nt 1 1\n", "what is not complete has to be recovered");
}

#[test]
fn what_a_recovery_has_read_is_not_read_by_the_next_one() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/logs"])).unwrap();
    append(&create(&manager, &named("t", 0)), &["one", "two"], Durability::Written);
    drop(manager);
    let manager = try_open(&disk, manager_settings(&["/logs"])).unwrap();
    assert!(!manager.directories()[0].was_clean);
    assert_eq!(disk.read("/logs/recovery-point-offset-checkpoint").unwrap(), b"0\n1\nt 0 2\n");
}

#[test]
fn a_directory_that_cannot_be_opened_is_offline_as_long_as_another_is_not() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
    let cluster_id = manager.cluster_id().to_owned();
    drop(manager);
    disk.faults.break_at("/a");
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
    let online: Vec<bool> = manager.directories().iter().map(|directory| directory.is_online).collect();
    assert_eq!((online, manager.cluster_id()), (vec![false, true], &*cluster_id));
    manager.shutdown(1).unwrap();
    drop(manager);
    assert!(matches!(try_open(&disk, manager_settings(&["/a"])), Err(LogError::Disk(_))));
}

#[test]
fn a_new_log_avoids_a_full_directory_and_an_unknown_space_changes_nothing() {
    let disk = MemoryDisk::new();
    let settings = LogManagerSettings { free_bytes_min: 1_000, ..manager_settings(&["/a", "/b"]) };
    let manager = try_open(&disk, settings).unwrap();
    disk.free.store(1, Ordering::Relaxed);
    disk.faults.break_at("/b");
    manager.check_free_space();
    let full: Vec<bool> = manager.directories().iter().map(|directory| directory.is_full).collect();
    assert_eq!(full, [true, false]);
    disk.faults.repair();
    for index in 0..2 {
        assert_eq!(&*create(&manager, &named("t", index)).log_directory(), Path::new("/b"));
    }
}

#[test]
fn a_log_of_another_topic_id_is_not_given_out() {
    let manager = try_open(&MemoryDisk::new(), manager_settings(&["/logs"])).unwrap();
    create(&manager, &named("t", 0));
    let settings = Arc::new(LogSettings::default());
    let other = manager.create(at(0), &named("t", 0), TopicId([8; 16]), settings, true);
    assert!(matches!(other, Err(LogError::Inconsistent(_))));
}

#[test]
fn a_deleted_log_is_gone_at_once_and_its_folder_after_the_delay() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/logs"])).unwrap();
    let long = named(&"t".repeat(249), 0);
    let log = create(&manager, &long);
    append(&log, &["value"], Durability::Written);
    let held = log.read(Offset(0), 99, FetchIsolation::HighWatermark, true).unwrap();
    let point = log.sync_point().unwrap();
    assert!(manager.delete(at(0), &long, 5).unwrap());
    assert!(!manager.delete(at(0), &long, 5).unwrap());
    assert!(manager.get(&long).is_none());
    let result = log.append(at(1), batch(1, &["x"]), AppendOrigin::Client, Durability::Written);
    assert!(matches!(result, Err(AppendError::Deleted)));
    assert!(matches!(log.read(Offset(0), 9, FetchIsolation::LogEnd, true), Err(ReadError::Deleted)));
    assert_eq!(values(&bytes_of(&held)).len(), 1);
    SyncPoint::job(std::iter::once(&point)).run(&*disk).expect("a sync of what is gone is no failure");
    log.synced(&point);
    assert!(log.sync_point().unwrap().is_empty());

    let again = create(&manager, &long);
    assert_eq!(again.log_end_offset(), Offset(0));
    let waiting = |disk: &MemoryDisk| disk.paths().iter().filter(|path| path.contains("-delete/")).count();
    manager.clean_up(at(59_999)).unwrap();
    assert!(waiting(&disk) > 0);
    let restarted = disk.crash(|_, _, bytes| bytes);
    manager.clean_up(at(60_000)).unwrap();
    assert_eq!(waiting(&disk), 0);
    let manager = try_open(&restarted, manager_settings(&["/logs"])).unwrap();
    assert_eq!(manager.logs().len(), 1);
    manager.remove_deleted(at(60_000)).unwrap();
    assert_eq!(waiting(&restarted), 0, "a restart does not forget what was to go");
}

#[test]
fn the_first_sync_of_a_new_log_covers_its_folder() {
    let manager = try_open(&MemoryDisk::new(), manager_settings(&["/logs"])).unwrap();
    let log = create(&manager, &named("t", 0));
    let point = log.sync_point().unwrap();
    assert_eq!(point.directories, [PathBuf::from("/logs/t-0"), PathBuf::from("/logs")]);
    assert_eq!(point.files.len(), 2, "partition.metadata and the leader epochs");
}

#[test]
fn a_shutdown_is_not_clean_while_a_log_is_offline() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
    let (_good, bad) = (create(&manager, &named("t", 0)), create(&manager, &named("t", 1)));
    append(&bad, &["value"], Durability::Synced);
    bad.sync_failed();
    manager.shutdown(1).unwrap();
    assert!(disk.read("/a/.kafka_cleanshutdown").is_some());
    assert!(disk.read("/b/.kafka_cleanshutdown").is_none());
}

#[test]
fn a_shutdown_whose_sync_or_checkpoint_fails_is_not_clean() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/logs"])).unwrap();
    create(&manager, &named("t", 0));
    disk.faults.fails_sync.store(true, Ordering::Relaxed);
    manager.shutdown(1).unwrap_err();
    assert!(disk.read("/logs/.kafka_cleanshutdown").is_none());
}

#[test]
fn while_a_directory_is_offline_a_known_partition_is_not_made_anew() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).unwrap();
    create(&manager, &named("t", 0));
    create(&manager, &named("t", 1));
    drop(manager);
    *disk.faults.unreadable.lock().unwrap() = Some(PathBuf::from("/b"));
    let manager = try_open(&disk, manager_settings(&["/a", "/b"])).expect("one directory is usable");
    let online: Vec<bool> = manager.directories().iter().map(|directory| directory.is_online).collect();
    assert_eq!(online, [true, false]);
    let settings = Arc::new(LogSettings::default());
    let made = manager.create(at(0), &named("t", 1), TopicId([7; 16]), Arc::clone(&settings), false);
    assert!(matches!(made, Err(LogError::Elsewhere { .. })));
    manager.create(at(0), &named("new", 0), TopicId([9; 16]), settings, true).unwrap();
}

#[test]
fn a_nearly_full_disk_refuses_clients_until_there_is_space_again() {
    let disk = MemoryDisk::new();
    let settings = LogManagerSettings { free_bytes_min: 1_000, ..manager_settings(&["/logs"]) };
    let manager = try_open(&disk, settings).unwrap();
    let log = create(&manager, &named("t", 0));
    append(&log, &["value"], Durability::Written);
    disk.free.store(999, Ordering::Relaxed);
    manager.check_free_space();
    let client = || log.append(at(1), batch(1, &["x"]), AppendOrigin::Client, Durability::Written);
    assert!(matches!(client(), Err(AppendError::DiskFull)));
    log.append(at(1), batch(1, &["x"]), AppendOrigin::Coordinator, Durability::Written).unwrap();
    assert_eq!(read_all(&log, Offset(0)).len(), 2);
    disk.free.store(1_000, Ordering::Relaxed);
    manager.check_free_space();
    client().unwrap();
}

#[test]
fn idle_logs_hold_no_files_open() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/logs"])).unwrap();
    for index in 0..50 {
        create(&manager, &named("t", index));
    }
    manager.logs().iter().for_each(|log| log.synced(&log.sync_point().unwrap()));
    assert_eq!(disk.open_handles(), 0);
    let log = manager.get(&named("t", 0)).unwrap();
    append(&log, &["value"], Durability::Written);
    log.synced(&log.sync_point().unwrap());
    log.synced(&log.sync_point().unwrap());
    assert_eq!(disk.open_handles(), 1, "the file that is appended to");
    log.maintain(at(1)).unwrap();
    log.maintain(at(2)).unwrap();
    assert_eq!(disk.open_handles(), 0);
    append(&log, &["value"], Durability::Written);
    assert_eq!(read_all(&log, Offset(0)).len(), 2);
}

#[test]
fn a_reader_at_the_end_needs_no_look_into_files() {
    let disk = MemoryDisk::new();
    let manager = try_open(&disk, manager_settings(&["/logs"])).unwrap();
    let log = create(&manager, &named("t", 0));
    for _ in 0..500 {
        let info = append(&log, &["value"], Durability::Written);
        let before = disk.faults.reads.load(Ordering::Relaxed);
        let data = log.read(info.base_offset, 1 << 20, FetchIsolation::HighWatermark, true).unwrap();
        assert!(data.bytes() > 0);
        assert_eq!(disk.faults.reads.load(Ordering::Relaxed), before);
    }
}
