//! Tests of the room as a whole, and what they share: a cluster of one broker, and a stand-in for the table of configuration keys.
//!
//! It must not know more of the room than its public items.

mod admin_answers;
mod adoption;
mod kafka_log;
mod rebuild;
mod restart;
mod snapshot;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error_code::ErrorCode;
use crate::types::{BrokerId, LeaderEpoch, Offset, TopicId};

use super::{
    ApiError, BOOTSTRAP_FEATURES, BrokerRegistration, ConfigResource, ConfigResourceType, ConfigSchema, CreatableTopic,
    MetadataImage, MetadataLoader, MetadataRecord, TopicDefaults, bootstrap, register_broker,
};

pub(super) const BROKER: BrokerId = BrokerId(1);
pub(super) const DEFAULTS: TopicDefaults = TopicDefaults { partitions: 1, replication_factor: 1 };

/// The topic id whose last byte is `number`.
pub(super) fn topic_id(number: u8) -> TopicId {
    let mut bytes = [0x40; 16];
    bytes[15] = number;
    TopicId(bytes)
}

pub(super) fn registration() -> BrokerRegistration {
    BrokerRegistration {
        broker_id: BROKER,
        incarnation_id: topic_id(201),
        broker_epoch: 0,
        endpoints: Vec::new(),
        features: Vec::new(),
        rack: None,
        fenced: false,
        in_controlled_shutdown: false,
        log_dirs: vec![topic_id(200)],
        cordoned_log_dirs: Vec::new(),
    }
}

/// A loader that has replayed the first start of a broker.
pub(super) fn fresh_node() -> MetadataLoader {
    let mut loader = MetadataLoader::new(MetadataImage::empty("cluster"));
    append(&mut loader, bootstrap(&BOOTSTRAP_FEATURES, Vec::new()));
    let records = register_broker(loader.image(), registration());
    append(&mut loader, records);
    loader
}

/// Replays records as if they had just been appended in one batch.
pub(super) fn append(loader: &mut MetadataLoader, records: Vec<MetadataRecord>) {
    let base = loader.image().next_offset();
    let next = Offset(base.0 + i64::try_from(records.len()).unwrap());
    loader.replay_records(records, base, next, LeaderEpoch(1)).unwrap();
}

pub(super) fn topic(name: &str, num_partitions: i32) -> CreatableTopic {
    CreatableTopic {
        name: name.into(),
        num_partitions,
        replication_factor: -1,
        assignments: Vec::new(),
        configs: Vec::new(),
    }
}

/// The few keys that the tests use.
pub(super) struct FewKeys;

impl FewKeys {
    fn check(resource: &ConfigResource, name: &str, value: &str) -> Result<(), (ErrorCode, String)> {
        let unknown = |code, kind: &str| Err((code, format!("Unknown {kind}: {name}")));
        let code = match resource.resource_type {
            ConfigResourceType::Broker | ConfigResourceType::ClientMetrics => ErrorCode::InvalidRequest,
            _ => ErrorCode::InvalidConfig,
        };
        let invalid = |why: &str| Err((code, format!("Invalid value {value} for configuration {name}: {why}")));
        let (kind, least) = match (resource.resource_type, name) {
            (ConfigResourceType::Topic, "cleanup.policy") => {
                return match value.split(',').all(|policy| matches!(policy, "" | "compact" | "delete")) {
                    true => Ok(()),
                    false => invalid("String must be one of: compact, delete"),
                };
            }
            (ConfigResourceType::Topic, "retention.ms") => ("LONG", -1),
            (ConfigResourceType::Topic, "segment.ms") => ("LONG", 1),
            (ConfigResourceType::Topic, "min.insync.replicas") => ("INT", 1),
            (ConfigResourceType::Topic, _) => return unknown(code, "topic config name"),
            (ConfigResourceType::Broker, "background.threads") => ("INT", 1),
            (ConfigResourceType::Broker, "node.id") => {
                return Err((code, "Cannot update these configs dynamically: [node.id]".into()));
            }
            (ConfigResourceType::Broker, "listeners") if resource.name.is_empty() => {
                let message =
                    "Cannot update these configs at default cluster level, broker id must be specified: [listeners]";
                return Err((code, message.into()));
            }
            (ConfigResourceType::Group, "consumer.session.timeout.ms") => ("INT", 1),
            (ConfigResourceType::Group, _) => return unknown(code, "group config name"),
            (ConfigResourceType::ClientMetrics, "interval.ms") => ("INT", 100),
            (ConfigResourceType::ClientMetrics, _) => return unknown(code, "client metrics configuration"),
            _ => return Ok(()),
        };
        match value.parse::<i64>() {
            Err(_) => invalid(&format!("Not a number of type {kind}")),
            Ok(number) if number < least => invalid(&format!("Value must be at least {least}")),
            Ok(_) => Ok(()),
        }
    }
}

impl ConfigSchema for FewKeys {
    fn validate(&self, resource: &ConfigResource, configs: &BTreeMap<Arc<str>, Arc<str>>) -> Result<(), ApiError> {
        for (name, value) in configs {
            FewKeys::check(resource, name, value).map_err(|(code, message)| ApiError::new(code, message))?;
        }
        Ok(())
    }

    fn list_default(&self, resource_type: ConfigResourceType, key: &str) -> Option<&str> {
        (resource_type == ConfigResourceType::Topic && key == "cleanup.policy").then_some("delete")
    }
}
