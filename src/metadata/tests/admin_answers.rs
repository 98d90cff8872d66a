//! Replays admin requests that were sent to Apache Kafka 4.4.0 and compares each answer, code and text, with the one that Kafka gave.
//!
//! The recording (`tests/data/kafka-4.4-admin-answers.txt`) has a line `> API version JSON` for each request and `< JSON` for its answer,
//! in Kafka's own JSON form of its messages. It must not know more of the room than its public items.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::metadata::{
    AlterConfigOp, AlterConfigsResource, ApiError, CreatableTopic, CreatePartitionsTopic, DeleteTopic,
    IncrementalAlterConfigsResource, MetadataLoader, MetadataRecord, alter_configs, create_partitions, create_topics,
    delete_topics, incremental_alter_configs,
};
use crate::types::{BrokerId, PartitionIndex, TopicId};

use super::{BROKER, DEFAULTS, FewKeys, append, fresh_node};

const RECORDING: &str = include_str!("../../../tests/data/kafka-4.4-admin-answers.txt");

/// Kafka refuses this one because of eligible leader replicas (KIP-966), which a cluster of one node is without.
const ONLY_WITH_ELR: &str = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.";

/// What an item was called, and what came of it.
type Answers = BTreeMap<String, (i16, Option<String>)>;

fn answer<T>(result: &Result<T, ApiError>) -> (i16, Option<String>) {
    match result {
        Ok(_) => (0, None),
        Err(error) => (error.code.code(), error.message.clone()),
    }
}

fn items(value: &Value, field: &str) -> Vec<Value> {
    value[field].as_array().cloned().unwrap_or_default()
}

fn text(value: &Value) -> Option<Arc<str>> {
    value.as_str().map(Into::into)
}

fn number(value: &Value) -> i32 {
    i32::try_from(value.as_i64().unwrap()).unwrap()
}

fn small(value: &Value) -> i8 {
    i8::try_from(value.as_i64().unwrap()).unwrap()
}

fn id(value: &Value) -> TopicId {
    value.as_str().map_or(TopicId::ZERO, |text| TopicId::from_base64(text).unwrap())
}

fn brokers(value: &Value) -> Vec<BrokerId> {
    items(value, "brokerIds").iter().map(|broker| BrokerId(number(broker))).collect()
}

fn configs(value: &Value) -> Vec<(Arc<str>, Option<Arc<str>>)> {
    items(value, "configs").iter().map(|config| (text(&config["name"]).unwrap(), text(&config["value"]))).collect()
}

fn create(loader: &MetadataLoader, request: &Value, recorded: &Value) -> (Vec<MetadataRecord>, Answers) {
    let topics: Vec<CreatableTopic> = items(request, "topics")
        .iter()
        .map(|topic| CreatableTopic {
            name: text(&topic["name"]).unwrap(),
            num_partitions: number(&topic["numPartitions"]),
            replication_factor: i16::try_from(number(&topic["replicationFactor"])).unwrap(),
            assignments: items(topic, "assignments")
                .iter()
                .map(|one| (PartitionIndex(number(&one["partitionIndex"])), brokers(one)))
                .collect(),
            configs: configs(topic),
        })
        .collect();
    // Kafka's ids are taken over in the order of the request, so that later requests can name them.
    let granted: BTreeMap<Arc<str>, TopicId> = items(recorded, "topics")
        .iter()
        .filter(|topic| topic["errorCode"] == 0)
        .map(|topic| (text(&topic["name"]).unwrap(), id(&topic["topicId"])))
        .collect();
    let mut ids = topics.iter().filter_map(|topic| granted.get(&topic.name)).copied();
    let mut draw = || ids.next().unwrap_or(TopicId::ZERO);
    let validate_only = request["validateOnly"] == true;
    let result = create_topics(loader.image(), &FewKeys, DEFAULTS, &mut draw, &topics, validate_only);
    let answers = result.response.iter().map(|(name, created)| (name.to_string(), answer(created))).collect();
    (result.records, answers)
}

fn delete(loader: &MetadataLoader, request: &Value) -> (Vec<MetadataRecord>, Answers) {
    let by_name = items(request, "topicNames");
    let by_name = by_name.iter().map(|name| DeleteTopic { name: text(name), topic_id: TopicId::ZERO });
    let by_either = items(request, "topics");
    let by_either =
        by_either.iter().map(|topic| DeleteTopic { name: text(&topic["name"]), topic_id: id(&topic["topicId"]) });
    let topics: Vec<DeleteTopic> = by_name.chain(by_either).collect();
    let result = delete_topics(loader.image(), &topics);
    let key = |name: &Option<Arc<str>>, topic_id: TopicId| match name {
        Some(name) => name.to_string(),
        None => topic_id.to_string(),
    };
    let answers =
        result.response.iter().map(|topic| (key(&topic.name, topic.topic_id), answer(&topic.result))).collect();
    (result.records, answers)
}

fn grow(loader: &MetadataLoader, request: &Value) -> (Vec<MetadataRecord>, Answers) {
    let topics: Vec<CreatePartitionsTopic> = items(request, "topics")
        .iter()
        .map(|topic| CreatePartitionsTopic {
            name: text(&topic["name"]).unwrap(),
            count: number(&topic["count"]),
            assignments: topic["assignments"].as_array().map(|all| all.iter().map(brokers).collect()),
        })
        .collect();
    let result = create_partitions(loader.image(), &topics, request["validateOnly"] == true);
    let answers = result.response.iter().map(|(name, grown)| (name.to_string(), answer(grown))).collect();
    (result.records, answers)
}

fn alter(loader: &MetadataLoader, api: &str, request: &Value) -> (Vec<MetadataRecord>, Answers) {
    let resources = items(request, "resources");
    let validate_only = request["validateOnly"] == true;
    let result = if api == "AlterConfigs" {
        let one = |resource: &Value| AlterConfigsResource {
            resource_type: small(&resource["resourceType"]),
            resource_name: text(&resource["resourceName"]).unwrap(),
            configs: configs(resource),
        };
        let resources: Vec<AlterConfigsResource> = resources.iter().map(one).collect();
        alter_configs(loader.image(), &FewKeys, BROKER, &resources, validate_only)
    } else {
        let operation = |config: &Value| AlterConfigOp {
            name: text(&config["name"]).unwrap(),
            operation: small(&config["configOperation"]),
            value: text(&config["value"]),
        };
        let one = |resource: &Value| IncrementalAlterConfigsResource {
            resource_type: small(&resource["resourceType"]),
            resource_name: text(&resource["resourceName"]).unwrap(),
            configs: items(resource, "configs").iter().map(operation).collect(),
        };
        let resources: Vec<IncrementalAlterConfigsResource> = resources.iter().map(one).collect();
        incremental_alter_configs(loader.image(), &FewKeys, BROKER, &resources, validate_only)
    };
    let answers = result.response.iter().map(|((kind, name), altered)| (format!("{kind}:{name}"), answer(altered)));
    (result.records, answers.collect())
}

/// Kafka's answers. Old versions have no text; then ours is not looked at.
fn recorded_answers(recorded: &Value) -> BTreeMap<String, (i16, Option<Option<String>>)> {
    let all = ["topics", "results", "responses"].into_iter().flat_map(|field| items(recorded, field));
    all.map(|item| {
        let key = match (item["resourceType"].as_i64(), text(&item["name"])) {
            (Some(kind), _) => format!("{kind}:{}", text(&item["resourceName"]).unwrap()),
            (None, Some(name)) => name.to_string(),
            (None, None) => id(&item["topicId"]).to_string(),
        };
        let message = item.get("errorMessage").map(|message| message.as_str().map(ToOwned::to_owned));
        (key, (i16::try_from(number(&item["errorCode"])).unwrap(), message))
    })
    .collect()
}

#[test]
fn every_admin_request_is_answered_as_kafka_answers_it() {
    let mut loader = fresh_node();
    let mut lines = RECORDING.lines();
    let mut compared = 0;
    while let Some(request_line) = lines.next() {
        let recorded: Value = serde_json::from_str(lines.next().unwrap().strip_prefix("< ").unwrap()).unwrap();
        let mut words = request_line.strip_prefix("> ").unwrap().splitn(3, ' ');
        let (api, _version) = (words.next().unwrap(), words.next().unwrap());
        let request: Value = serde_json::from_str(words.next().unwrap()).unwrap();
        let (records, ours) = match api {
            "CreateTopics" => create(&loader, &request, &recorded),
            "DeleteTopics" => delete(&loader, &request),
            "CreatePartitions" => grow(&loader, &request),
            "AlterConfigs" | "IncrementalAlterConfigs" => alter(&loader, api, &request),
            _ => continue,
        };
        let theirs = recorded_answers(&recorded);
        assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "{request_line}");
        for (key, (code, message)) in theirs {
            if message.as_ref().and_then(Option::as_deref) == Some(ONLY_WITH_ELR) {
                continue;
            }
            let (our_code, our_message) = &ours[&key];
            assert_eq!((*our_code, key.as_str()), (code, key.as_str()), "{request_line}\nours: {our_message:?}");
            if let Some(message) = message {
                assert_eq!(*our_message, message, "{key} in {request_line}");
            }
            compared += 1;
        }
        append(&mut loader, records);
    }
    assert!(compared > 120, "only {compared} answers were compared");
}
