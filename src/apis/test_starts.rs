//! Starts on folders whose partitions the metadata know, or do not know.

use std::path::{Path, PathBuf};

use super::test_apis::{TestApis, batch};
use crate::env::Disk;
use crate::error_code::ErrorCode;
use crate::log::FetchIsolation;
use crate::log::tests::memory_disk::MemoryDisk;
use crate::metadata::{MetadataRecord, encode_batch};
use crate::protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use crate::protocol::{ApiKey, RecordsField};
use crate::record::RecordBatchBuilder;
use crate::types::{LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, TopicId, WallTime};

fn folders(apis: &TestApis, ending: &str) -> usize {
    apis.disk.list(Path::new("/data")).unwrap().iter().filter(|entry| entry.name.ends_with(ending)).count()
}

fn with_records(names: &[&str]) -> TestApis {
    let mut apis = TestApis::new();
    for name in names {
        apis.create(name, 1, &[]);
        apis.produce(name, &[1, 2, 3]);
    }
    apis
}

/// Takes away all that says to which cluster a directory belongs, as if somebody had brought its partitions from elsewhere.
fn forget_cluster(disk: &MemoryDisk) {
    disk.remove_directory(Path::new("/data/__cluster_metadata-0")).unwrap();
    disk.remove_file(Path::new("/data/meta.properties")).unwrap();
}

fn id_of(apis: &TestApis, name: &str) -> Option<TopicId> {
    apis.apis.image().topic(name).map(|topic| topic.topic_id)
}

fn copy_folder(from: &TestApis, to: &TestApis, name: &str) {
    let (source, target) = (PathBuf::from("/data").join(name), PathBuf::from("/data").join(name));
    to.disk.create_directory(&target).unwrap();
    for entry in from.disk.list(&source).unwrap() {
        to.disk.write(target.join(&entry.name), &from.disk.read(source.join(&entry.name)).unwrap());
    }
}

#[test]
fn a_cluster_without_metadata_adopts_the_partitions_that_it_finds_and_does_so_once() {
    let apis = with_records(&["a", "b"]);
    let id = id_of(&apis, "a");
    forget_cluster(&apis.disk);
    let apis = apis.after_power_cut();
    assert_eq!(id_of(&apis, "a"), id, "a topic keeps its id");
    assert_eq!(apis.log("a", 0).log_end_offset(), Offset(3));
    assert_eq!(apis.log("b", 0).log_end_offset(), Offset(3));
    let apis = apis.after_power_cut();
    assert_eq!(id_of(&apis, "a"), id);
    assert_eq!(apis.log("a", 0).log_end_offset(), Offset(3));
}

#[test]
fn the_metadata_log_in_a_folder_of_its_own_is_found_there_with_all_that_it_says() {
    let mut apis = TestApis::with(&["metadata.log.dir=/meta"]);
    apis.create("a", 1, &[("retention.ms", "7")]);
    let id = id_of(&apis, "a");
    assert!(apis.disk.list(Path::new("/meta/__cluster_metadata-0")).is_ok());
    assert_eq!(folders(&apis, "__cluster_metadata-0"), 0);
    let apis = apis.after_power_cut();
    assert_eq!(id_of(&apis, "a"), id);
    assert_eq!(apis.log("a", 0).settings().retention_ms, 7);
}

#[test]
fn a_partition_that_the_metadata_do_not_know_is_put_aside_and_its_name_is_free() {
    let (from, to) = (with_records(&["a"]), with_records(&["b"]));
    copy_folder(&from, &to, "a-0");
    let mut apis = to.restarted();
    assert!(id_of(&apis, "a").is_none());
    assert_eq!(folders(&apis, "-stray"), 1, "its files stay");
    apis.create("a", 1, &[]);
    apis.produce("a", &[1]);
    assert_eq!(apis.log("a", 0).log_end_offset(), Offset(1));
}

#[test]
fn a_cluster_without_metadata_does_not_choose_between_two_logs_of_one_partition() {
    let (from, mut to) = (with_records(&["x", "a"]), TestApis::with(&["log.dirs=/data,/more"]));
    to.create("a", 1, &[]);
    to.produce("a", &[1]);
    let is_here = to.disk.list(Path::new("/data/a-0")).is_ok();
    let other = Path::new(if is_here { "/more/a-0" } else { "/data/a-0" });
    to.disk.create_directory(other).unwrap();
    for entry in from.disk.list(Path::new("/data/a-0")).unwrap() {
        let bytes = from.disk.read(Path::new("/data/a-0").join(&entry.name)).unwrap();
        to.disk.write(other.join(&entry.name), &bytes);
    }
    forget_cluster(&to.disk);
    to.disk.remove_file(Path::new("/more/meta.properties")).unwrap();
    let failure = to.start_failure().to_string();
    assert!(failure.contains("a-0 lies in two log directories"), "{failure}");
}

#[test]
fn a_folder_of_another_topic_with_the_same_name_does_not_stand_in_the_way() {
    let (from, to) = (with_records(&["x", "a"]), with_records(&["a"]));
    for entry in to.disk.list(Path::new("/data/a-0")).unwrap() {
        to.disk.remove_file(&Path::new("/data/a-0").join(&entry.name)).unwrap();
    }
    copy_folder(&from, &to, "a-0");
    let apis = to.restarted();
    assert_eq!(folders(&apis, "-stray"), 1);
    let log = apis.apis.replica_manager().find("a", PartitionIndex(0)).expect("it is served").log.clone();
    assert_eq!(log.log_end_offset(), Offset(0));
}

/// The broker after its one log of "a" was written by another: the second of its two batches is a segment of its own at offset 10, and
/// between 3 and 10 there is nothing.
fn with_a_gap(apis: TestApis) -> TestApis {
    let log = apis.disk.read("/data/a-0/00000000000000000000.log").unwrap();
    let (first, second) = log.split_at(log.len() / 2);
    let second = [&10_i64.to_be_bytes()[..], &second[8..]].concat();
    apis.disk.write("/data/a-0/00000000000000000000.log", first);
    apis.disk.write("/data/a-0/00000000000000000010.log", &second);
    apis
}

fn with_two_batches(configs: &[(&str, &str)]) -> TestApis {
    let mut apis = TestApis::new();
    apis.create("a", 1, configs);
    let mut builder = RecordBatchBuilder::new();
    (1..=3).for_each(|timestamp| builder.append(timestamp, Some(b"key"), None).unwrap());
    let batch = builder.build().unwrap();
    apis.produce_batch("a", &batch);
    apis.produce_batch("a", &batch);
    apis
}

#[test]
fn what_a_compaction_has_left_survives_a_start_that_recovers() {
    let torn = with_a_gap(with_two_batches(&[])).restarted();
    assert_eq!(torn.log("a", 0).log_end_offset(), Offset(3), "nobody compacts it: the end of a segment was lost");
    let compacted = with_a_gap(with_two_batches(&[("cleanup.policy", "compact")])).restarted();
    assert_eq!(compacted.log("a", 0).log_end_offset(), Offset(13));

    let unknown = with_a_gap(with_two_batches(&[]));
    forget_cluster(&unknown.disk);
    let adopted = unknown.restarted();
    assert_eq!(adopted.log("a", 0).log_end_offset(), Offset(13), "without metadata it may have been compacted");
    assert!(!adopted.log("a", 0).settings().compact, "from now on it is as its configs say");
}

#[test]
fn a_producer_of_an_adopting_broker_gets_no_id_that_the_logs_know() {
    let mut apis = with_records(&["a"]);
    let mut builder = RecordBatchBuilder::new().producer(ProducerId(7), ProducerEpoch(0), 0);
    builder.append(1, None, None).unwrap();
    apis.produce_batch("a", &builder.build().unwrap());
    forget_cluster(&apis.disk);
    assert_eq!(apis.restarted().apis.image().next_producer_id(), 8);
}

#[test]
fn topics_of_any_number_of_partitions_are_elected_whatever_a_message_may_be() {
    let mut apis = TestApis::with(&["message.max.bytes=10000", "log.segment.bytes=1048576"]);
    apis.create("a", 300, &[]);
    let apis = apis.after_power_cut();
    assert_eq!(apis.log("a", 299).end_offset_for_epoch(LeaderEpoch(1)), Some((LeaderEpoch(1), Offset(0))));
}

#[test]
fn a_transaction_that_a_start_has_left_in_the_middle_is_none() {
    let apis = TestApis::new();
    let id = TopicId([9; 16]);
    let records = [
        MetadataRecord::BeginTransaction { name: None },
        MetadataRecord::FeatureLevel { name: "metadata.version".into(), level: 1 },
        MetadataRecord::Topic { name: "half".into(), topic_id: id },
    ];
    let half = encode_batch(&records, WallTime(1), LeaderEpoch(1)).unwrap();
    apis.disk.write("/data/__cluster_metadata-0/00000000000000000000.log", &half);
    let apis = apis.restarted().restarted();
    assert_eq!(id_of(&apis, "half"), None);
    assert_eq!(apis.apis.image().feature_level("metadata.version"), 33);
}

#[test]
fn a_transaction_that_another_broker_has_left_open_is_aborted_and_holds_nobody_up() {
    let apis = with_records(&["a"]);
    let path = "/data/a-0/00000000000000000000.log";
    let mut builder = RecordBatchBuilder::new().base_offset(Offset(3)).leader_epoch(LeaderEpoch(0));
    builder = builder.producer(ProducerId(7), ProducerEpoch(2), 0).transactional(true);
    builder.append(1, None, None).unwrap();
    let bytes = [apis.disk.read(path).unwrap(), builder.build().unwrap()].concat();
    apis.disk.write(path, &bytes);
    let apis = apis.restarted();
    let log = apis.log("a", 0);
    assert_eq!((log.last_stable_offset(), log.log_end_offset()), (Offset(5), Offset(5)), "a marker lies behind it");
    let data = log.read(Offset(0), 1 << 20, FetchIsolation::TransactionCommitted, true).unwrap();
    assert_eq!(data.aborted_transactions.unwrap().len(), 1);
    let apis = apis.restarted();
    assert_eq!(apis.log("a", 0).log_end_offset(), Offset(5), "it is aborted once");
}

const TWO_DIRECTORIES: &[&str] = &["log.dirs=/data,/other"];

/// A topic with a record in each of its partitions, which lie in two directories.
fn in_two_directories() -> TestApis {
    let mut apis = TestApis::with(TWO_DIRECTORIES);
    apis.create("a", 4, &[]);
    let one = batch(&[1]);
    let partition_data =
        (0..4).map(|index| PartitionProduceData { index, records: RecordsField::Bytes(&one) }).collect();
    let topic_data = vec![TopicProduceData { name: "a", partition_data, ..Default::default() }];
    let request = ProduceRequest { transactional_id: None, acks: -1, timeout_ms: 1_000, topic_data };
    apis.ask(ApiKey::Produce, 12, &request);
    apis
}

/// How many records each partition has; nothing stands for no log.
fn records(apis: &TestApis) -> Vec<Option<i64>> {
    let log = |index| apis.apis.replica_manager().find("a", PartitionIndex(index));
    (0..4).map(|index| log(index).map(|partition| partition.log.log_end_offset().0)).collect()
}

fn look_a_while(apis: &mut TestApis) {
    for _ in 0..3 {
        apis.apis.watch_logs(apis.now);
        apis.sync();
    }
}

#[test]
fn nothing_begins_anew_in_place_of_what_lies_in_a_directory_that_is_broken() {
    let apis = in_two_directories();
    let half = [Some(1), None, Some(1), None];
    let mut apis = apis.restarted_with(TWO_DIRECTORIES, |disk| disk.faults.break_at("/other"));
    look_a_while(&mut apis);
    assert_eq!(records(&apis).iter().flatten().count(), half.iter().flatten().count());
    apis.create("b", 4, &[]);
    assert!((0..4).all(|index| apis.log("b", index).log_end_offset().0 == 0), "new topics find their place");
    let apis = apis.restarted_with(TWO_DIRECTORIES, |_| {});
    assert_eq!(records(&apis), [Some(1); 4], "it is back");
}

#[test]
fn a_partition_in_a_directory_that_is_broken_cannot_be_served_and_is_not_unknown() {
    let apis = in_two_directories();
    let apis = apis.restarted_with(TWO_DIRECTORIES, |disk| disk.faults.break_at("/other"));
    let errors = |topic: &str| -> Vec<Option<ErrorCode>> {
        (0..5).map(|index| apis.apis.partition(topic, PartitionIndex(index)).err()).collect()
    };
    let lost = errors("a").iter().filter(|error| **error == Some(ErrorCode::KafkaStorageError)).count();
    assert_eq!((lost, errors("a")[4]), (2, Some(ErrorCode::UnknownTopicOrPartition)));
    assert_eq!(errors("b"), [Some(ErrorCode::UnknownTopicOrPartition); 5]);
}

#[test]
fn an_empty_folder_that_a_refused_creation_has_left_is_not_served_in_place_of_a_log_in_a_missing_directory() {
    let apis = in_two_directories();
    let lost = (0..4).find(|index| apis.log("a", *index).directory().starts_with("/other")).unwrap();
    let left_over = PathBuf::from(format!("/data/a-{lost}"));
    let mut apis = apis.restarted_with(&["log.dirs=/data"], |disk| disk.create_directory(&left_over).unwrap());
    look_a_while(&mut apis);
    assert_eq!(records(&apis).iter().flatten().count(), 2);
    let apis = apis.restarted_with(TWO_DIRECTORIES, |_| {});
    assert_eq!(records(&apis), [Some(1); 4], "it is back");
    assert!(!apis.disk.paths().iter().any(|path| Path::new(path).starts_with(&left_over)), "{:?}", apis.disk.paths());
}

#[test]
fn a_start_that_is_refused_once_the_logs_are_loaded_leaves_the_marks_of_a_clean_end() {
    let apis = in_two_directories();
    let twin = (0..4).find(|index| apis.log("a", *index).directory().starts_with("/other")).unwrap();
    apis.apis.shut_down().unwrap();
    let disk = apis.disk.crash(|_: &Path, synced, _| synced);
    let (copied, copy) = (format!("/other/a-{twin}"), format!("/data/a-{twin}"));
    disk.create_directory(Path::new(&copy)).unwrap();
    for entry in disk.list(Path::new(&copied)).unwrap() {
        disk.write(Path::new(&copy).join(&entry.name), &disk.read(Path::new(&copied).join(&entry.name)).unwrap());
    }
    let failure = TestApis::failure_on(&disk, TWO_DIRECTORIES).to_string();
    assert!(failure.contains("lies in both"), "{failure}");
    let disk = disk.crash(|_: &Path, synced, _| synced);
    disk.remove_directory(Path::new(&copy)).unwrap();
    let apis = TestApis::on(&disk, TWO_DIRECTORIES);
    assert!((0..4).all(|index| apis.log("a", index).was_clean()));
    assert_eq!(records(&apis), [Some(1); 4]);
}

#[test]
fn nothing_begins_anew_in_place_of_what_lies_in_a_directory_that_is_missing_until_it_is_given_up() {
    let apis = in_two_directories();
    let known = apis.apis.image().broker(apis.apis.broker_id()).unwrap().log_dirs.clone();
    let mut apis = apis.restarted_with(&["log.dirs=/data"], |_| {});
    look_a_while(&mut apis);
    assert_eq!(records(&apis).iter().flatten().count(), 2);
    let mut apis = apis.restarted_with(&["log.dirs=/data,/new"], |_| {});
    look_a_while(&mut apis);
    assert_eq!(records(&apis).iter().flatten().count(), 2, "another directory does not make up for it");
    let apis = apis.restarted_with(&["log.dirs=/data,/other,/new"], |_| {});
    assert_eq!(records(&apis), [Some(1); 4], "it is back");
    let apis = apis.restarted_with(TWO_DIRECTORIES, |_| {});
    assert_eq!(apis.apis.image().broker(apis.apis.broker_id()).unwrap().log_dirs, known, "nobody misses an empty one");
    let given_up = format!("klamm.log.dirs.given.up={}", known[1]);
    let mut apis = apis.restarted_with(&["log.dirs=/data,/new", &given_up], |_| {});
    look_a_while(&mut apis);
    let mut left = records(&apis);
    left.sort_unstable();
    assert_eq!(left, [Some(0), Some(0), Some(1), Some(1)]);
}

/// Settings of a start, and what becomes of the disk before it.
type Loss = (&'static [&'static str], fn(&MemoryDisk));

#[test]
fn nothing_begins_in_place_of_metadata_that_are_lost_whatever_the_settings_name() {
    let losses: [Loss; 7] = [
        (TWO_DIRECTORIES, |disk| disk.remove_directory(Path::new("/data")).unwrap()),
        (TWO_DIRECTORIES, |disk| disk.remove_directory(Path::new("/data/__cluster_metadata-0")).unwrap()),
        (TWO_DIRECTORIES, |disk| {
            disk.remove_directory(Path::new("/data/__cluster_metadata-0")).unwrap();
            disk.create_directory(Path::new("/data/__cluster_metadata-0")).unwrap();
        }),
        (TWO_DIRECTORIES, |disk| {
            disk.remove_directory(Path::new("/data/__cluster_metadata-0")).unwrap();
            disk.write("/data/__cluster_metadata-0", b"");
        }),
        (TWO_DIRECTORIES, |disk| disk.write("/data/__cluster_metadata-0/00000000000000000000.log", &[0; 500])),
        (&["log.dirs=/other"], |_| {}),
        (&["log.dirs=/empty,/other"], |_| {}),
    ];
    for (settings, lose) in losses {
        let apis = in_two_directories().restarted();
        let disk = apis.disk.crash(|_: &Path, _, written| written);
        lose(&disk);
        let before = disk.paths();
        let failure = TestApis::failure_on(&disk, settings).to_string();
        assert!(failure.contains("no log directory holds the metadata log __cluster_metadata-0"), "{failure}");
        assert_eq!(disk.paths(), before, "nothing is written before that is clear");
        let apis = apis.restarted_with(TWO_DIRECTORIES, |_| {});
        assert_eq!(records(&apis), [Some(1); 4], "it is back");
    }
}

#[test]
fn a_first_start_that_was_cut_off_goes_on_and_so_does_one_on_what_kafka_has_formatted() {
    let disk = with_records(&["a"]).disk.crash(|_: &Path, _, written| written);
    forget_cluster(&disk);
    disk.faults.break_at("/data/meta.properties.tmp");
    TestApis::failure_on(&disk, &[]);
    disk.faults.repair();
    let apis = TestApis::on(&disk, &[]);
    assert_eq!(apis.log("a", 0).log_end_offset(), Offset(3));

    let disk = MemoryDisk::new();
    disk.create_directory(Path::new("/data")).unwrap();
    disk.write("/data/meta.properties", b"cluster.id=abc\nnode.id=1\nversion=1\n");
    disk.write("/data/bootstrap.checkpoint", b"");
    assert_eq!(TestApis::on(&disk, &[]).apis.image().cluster_id().as_ref(), "abc");
}

#[test]
fn a_cluster_does_not_begin_without_a_partition_that_cannot_be_loaded_and_goes_on_when_it_can() {
    let disk = in_two_directories().restarted().disk.crash(|_: &Path, _, written| written);
    forget_cluster(&disk);
    disk.remove_file(Path::new("/other/meta.properties")).unwrap();
    let folder =
        disk.list(Path::new("/other")).unwrap().into_iter().find(|entry| entry.name.starts_with("a-")).unwrap();
    disk.faults.break_at(&format!("/other/{}", folder.name));
    let failure = TestApis::failure_on(&disk, TWO_DIRECTORIES).to_string();
    assert!(failure.contains("a cluster cannot begin while the log directory /other cannot be used"), "{failure}");
    disk.faults.repair();
    assert_eq!(records(&TestApis::on(&disk, TWO_DIRECTORIES)), [Some(1); 4]);
}

#[test]
fn a_cluster_does_not_begin_while_a_directory_cannot_be_read() {
    let disk = MemoryDisk::new();
    disk.create_directory(Path::new("/other")).unwrap();
    *disk.faults.unreadable.lock().unwrap() = Some(PathBuf::from("/other"));
    TestApis::failure_on(&disk, TWO_DIRECTORIES);
    assert!(disk.paths().is_empty(), "it may belong to one");
}

#[test]
fn a_cluster_does_not_begin_while_a_directory_cannot_be_used() {
    let disk = MemoryDisk::new();
    disk.create_directory(Path::new("/other")).unwrap();
    disk.faults.break_at("/other/.lock");
    TestApis::failure_on(&disk, TWO_DIRECTORIES);
    assert!(disk.paths().is_empty(), "what is to be mounted there may belong to one");

    disk.faults.break_at("/other/meta.properties.tmp");
    let failure = TestApis::failure_on(&disk, TWO_DIRECTORIES).to_string();
    assert!(failure.contains("the metadata log __cluster_metadata-0 may lie in /other"), "{failure}");
    disk.faults.repair();
    assert_eq!(TestApis::on(&disk, TWO_DIRECTORIES).apis.image().topics().count(), 0, "it goes on");
}

#[test]
fn what_is_said_of_metadata_that_klamm_does_not_have_leads_to_a_start() {
    let apis = with_records(&["a"]);
    let id = id_of(&apis, "a");
    let mut builder = RecordBatchBuilder::new();
    builder.append(1, None, Some(&[1, 18, 0, 0])).unwrap();
    apis.disk.write("/data/__cluster_metadata-0/00000000000000000000.log", &builder.build().unwrap());
    let disk = apis.disk.crash(|_: &Path, _, written| written);
    let failure = TestApis::failure_on(&disk, &[]).to_string();
    let cure = "move the folder __cluster_metadata-0, and the meta.properties of every log directory, away";
    assert!(failure.contains(cure), "{failure}");
    forget_cluster(&disk);
    let apis = TestApis::on(&disk, &[]);
    assert_eq!((id_of(&apis, "a"), apis.log("a", 0).log_end_offset()), (id, Offset(3)));
}
