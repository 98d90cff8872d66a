//! Starts on folders whose partitions the metadata know, or do not know.

use std::path::{Path, PathBuf};

use super::test_apis::TestApis;
use crate::env::Disk;
use crate::types::{Offset, PartitionIndex, TopicId};

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
    apis.disk.remove_directory(Path::new("/data/__cluster_metadata-0")).unwrap();
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
    to.disk.remove_directory(Path::new("/data/__cluster_metadata-0")).unwrap();
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
