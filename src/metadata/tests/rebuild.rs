//! Random admin operations: the live image and the one that is rebuilt from the log's bytes are always equal.
//!
//! It must not know more of the room than its public items.

use proptest::prelude::*;

use crate::metadata::{
    AlterConfigOp, AlterConfigsResource, CreatePartitionsTopic, DeleteTopic, IncrementalAlterConfigsResource,
    MetadataImage, MetadataLoader, MetadataRecord, allocate_producer_ids, alter_configs, create_partitions,
    create_topics, delete_topics, elect_leaders, encode_batch, incremental_alter_configs, register_broker,
};
use crate::record::RecordBatch;
use crate::types::{LeaderEpoch, TopicId, WallTime};

use super::{BROKER, DEFAULTS, FewKeys, registration, topic, topic_id};

/// One thing that an administrator, or a start, does. Names are drawn from few, so that operations meet.
#[derive(Clone, Debug)]
enum Operation {
    Create { names: Vec<u8>, partitions: i32, config: Option<i64> },
    Delete { names: Vec<u8>, by_id: bool },
    Grow { name: u8, count: i32 },
    Alter { name: u8, operation: i8, key: u8, value: i64 },
    Replace { name: u8, key: u8, value: Option<i64> },
    AllocateProducerIds,
    UncleanStart,
}

const NAMES: [&str; 6] = ["a", "b.c", "b_c", "d", "e.f", "bad name"];
const KEYS: [&str; 4] = ["retention.ms", "segment.ms", "cleanup.policy", "no.such"];

fn operation() -> impl Strategy<Value = Operation> {
    let name = 0..6u8;
    let key = 0..4u8;
    prop_oneof![
        (prop::collection::vec(name.clone(), 1..4), -2..4i32, prop::option::of(-2..1000i64))
            .prop_map(|(names, partitions, config)| Operation::Create { names, partitions, config }),
        (prop::collection::vec(name.clone(), 1..3), any::<bool>())
            .prop_map(|(names, by_id)| Operation::Delete { names, by_id }),
        (name.clone(), 0..6i32).prop_map(|(name, count)| Operation::Grow { name, count }),
        (name.clone(), 0..5i8, key.clone(), -2..1000i64).prop_map(|(name, operation, key, value)| Operation::Alter {
            name,
            operation,
            key,
            value
        }),
        (name, key, prop::option::of(-2..1000i64)).prop_map(|(name, key, value)| Operation::Replace {
            name,
            key,
            value
        }),
        Just(Operation::AllocateProducerIds),
        Just(Operation::UncleanStart),
    ]
}

fn name_of(index: u8) -> &'static str {
    NAMES[usize::from(index)]
}

fn value_for(key: &str, value: i64) -> String {
    if key == "cleanup.policy" { "compact".into() } else { value.to_string() }
}

/// What the operation wants written.
fn decide(image: &MetadataImage, operation: &Operation, next_id: &mut u8) -> Vec<MetadataRecord> {
    let mut draw = || {
        *next_id = next_id.wrapping_add(1);
        topic_id(*next_id)
    };
    match operation {
        Operation::Create { names, partitions, config } => {
            let mut topics: Vec<_> = names.iter().map(|name| topic(name_of(*name), *partitions)).collect();
            for topic in &mut topics {
                topic.configs = config.iter().map(|v| ("retention.ms".into(), Some(v.to_string().into()))).collect();
            }
            create_topics(image, &FewKeys, DEFAULTS, &mut draw, &topics, false).records
        }
        Operation::Delete { names, by_id } => {
            let one = |name: &u8| match image.topic(name_of(*name)) {
                Some(topic) if *by_id => DeleteTopic { name: None, topic_id: topic.topic_id },
                _ => DeleteTopic { name: Some(name_of(*name).into()), topic_id: TopicId::ZERO },
            };
            delete_topics(image, &names.iter().map(one).collect::<Vec<_>>()).records
        }
        Operation::Grow { name, count } => {
            let topic = CreatePartitionsTopic { name: name_of(*name).into(), count: *count, assignments: None };
            create_partitions(image, &[topic], false).records
        }
        Operation::Alter { name, operation, key, value } => {
            let key = KEYS[usize::from(*key)];
            let config =
                AlterConfigOp { name: key.into(), operation: *operation, value: Some(value_for(key, *value).into()) };
            let resource = IncrementalAlterConfigsResource {
                resource_type: 2,
                resource_name: name_of(*name).into(),
                configs: vec![config],
            };
            incremental_alter_configs(image, &FewKeys, BROKER, &[resource], false).records
        }
        Operation::Replace { name, key, value } => {
            let key = KEYS[usize::from(*key)];
            let configs = value.iter().map(|value| (key.into(), Some(value_for(key, *value).into()))).collect();
            let resource = AlterConfigsResource { resource_type: 2, resource_name: name_of(*name).into(), configs };
            alter_configs(image, &FewKeys, BROKER, &[resource], false).records
        }
        Operation::AllocateProducerIds => allocate_producer_ids(image, BROKER).unwrap().records,
        Operation::UncleanStart => {
            let mut records = register_broker(image, registration());
            records.extend(elect_leaders(image, BROKER, false));
            records
        }
    }
}

proptest! {
    #[test]
    fn an_image_rebuilt_from_the_log_equals_the_live_one(operations in prop::collection::vec(operation(), 1..60)) {
        let mut live = super::MetadataLoader::new(MetadataImage::empty("cluster"));
        let mut log = Vec::new();
        let mut next_id = 0;
        let first = register_broker(live.image(), registration());
        let decisions = std::iter::once(None).chain(operations.iter().map(Some));
        for operation in decisions {
            let before = live.image().clone();
            let records = match operation {
                None => first.clone(),
                Some(operation) => decide(live.image(), operation, &mut next_id),
            };
            prop_assert_eq!(live.image(), &before, "a decision changes nothing by itself");
            if records.is_empty() {
                continue;
            }
            let bytes = encode_batch(&records, WallTime(1), LeaderEpoch(1)).unwrap();
            let (batch, _) = RecordBatch::parse(&bytes).unwrap();
            let base = before.next_offset();
            let mut header = *batch.header();
            header.set_base_offset(base);
            header.set_partition_leader_epoch(LeaderEpoch(1));
            log.extend_from_slice(header.as_bytes());
            log.extend_from_slice(batch.body());
            let next = base.plus(i64::try_from(records.len()).unwrap());
            live.replay_records(records, base, next, LeaderEpoch(1)).unwrap();
        }
        let mut rebuilt = MetadataLoader::new(MetadataImage::empty("cluster"));
        rebuilt.replay_bytes(&log).unwrap();
        prop_assert_eq!(rebuilt.image(), live.image());
        for topic in live.image().topics() {
            let numbers = topic.partitions.keys().map(|partition| partition.0);
            prop_assert!(numbers.eq(0..topic.partition_count()), "{} has gaps", topic.name);
        }
    }
}
