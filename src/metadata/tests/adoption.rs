//! Topics that are made of partitions on disk.
//!
//! It must not know more of the room than its public items.

use std::sync::Arc;

use crate::metadata::{AdoptedTopic, FoundPartition, MetadataImage, MetadataLoader, MetadataRecord, adopt_topics};
use crate::types::{LeaderEpoch, PartitionIndex, ProducerId, TopicId, TopicPartition};

use super::{BROKER, append, topic_id};

fn found(topic: &str, partition: i32, id: Option<TopicId>, epoch: i32) -> FoundPartition {
    let partition = TopicPartition { topic: Arc::from(topic), partition: PartitionIndex(partition) };
    let leader_epoch = LeaderEpoch(epoch);
    FoundPartition { partition, topic_id: id, leader_epoch, directory: topic_id(200), producer_id_max: None }
}

fn adopted(found: &[FoundPartition], describe: &dyn Fn(&str) -> AdoptedTopic) -> Arc<MetadataImage> {
    let records = adopt_topics(BROKER, found, describe, &mut || topic_id(99));
    let mut loader = MetadataLoader::new(MetadataImage::empty("cluster"));
    append(&mut loader, records);
    Arc::clone(loader.image())
}

fn names(image: &MetadataImage) -> Vec<&str> {
    image.topics().map(|topic| &*topic.name).collect()
}

#[test]
fn found_partitions_become_topics_with_their_ids_and_their_latest_epochs() {
    let found = [found("a", 0, Some(topic_id(1)), 4), found("a", 2, Some(topic_id(1)), 0), found("b", 0, None, 0)];
    let image = adopted(&found, &|_| AdoptedTopic::default());
    let topic = image.topic("a").unwrap();
    assert_eq!((topic.topic_id, topic.partition_count()), (topic_id(1), 3), "the partition between them is there too");
    let first = &topic.partitions[&PartitionIndex(0)];
    assert_eq!((first.leader, first.leader_epoch), (Some(BROKER), LeaderEpoch(4)));
    assert_eq!(
        (&*first.replicas, &*first.isr, &*first.directories),
        (&[BROKER][..], &[BROKER][..], &[topic_id(200)][..])
    );
    assert_eq!(image.topic("b").unwrap().topic_id, topic_id(99), "one that knows no id gets one");
}

#[test]
fn an_adopted_topic_has_the_partitions_and_configs_that_its_kind_needs() {
    let compact =
        || AdoptedTopic { partitions_min: 50, configs: vec![(Arc::from("cleanup.policy"), Arc::from("compact"))] };
    let image = adopted(&[found("__consumer_offsets", 7, Some(topic_id(1)), 0)], &|_| compact());
    assert_eq!(image.topic("__consumer_offsets").unwrap().partition_count(), 50);
    let resource = crate::metadata::ConfigResource::topic("__consumer_offsets");
    assert_eq!(image.configs(&resource).get("cleanup.policy").map(|value| &**value), Some("compact"));
}

#[test]
fn folders_that_cannot_be_a_topic_are_not_adopted() {
    let found = [
        found("__cluster_metadata", 0, Some(TopicId::METADATA), 0),
        found("not a topic", 0, Some(topic_id(1)), 0),
        found("huge", i32::MAX, Some(topic_id(2)), 0),
        found("reserved", 0, Some(TopicId::METADATA), 0),
        found("twin-a", 0, Some(topic_id(3)), 0),
        found("twin-b", 0, Some(topic_id(3)), 0),
    ];
    let image = adopted(&found, &|_| AdoptedTopic::default());
    assert_eq!(names(&image), ["twin-a"]);
    let none: Vec<MetadataRecord> = adopt_topics(BROKER, &[], &|_| AdoptedTopic::default(), &mut || topic_id(99));
    assert!(none.is_empty());
}

#[test]
fn a_new_producer_gets_no_id_that_an_adopted_log_remembers() {
    let remembers = |id: i64| FoundPartition { producer_id_max: Some(ProducerId(id)), ..found("a", 0, None, 0) };
    let image = adopted(&[found("b", 0, Some(topic_id(2)), 0), remembers(41)], &|_| AdoptedTopic::default());
    assert_eq!(image.next_producer_id(), 42);
}
