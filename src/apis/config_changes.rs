//! What an operator is told of changed configurations: whose, which keys, and their new values but for secrets.
//!
//! It must not know who changed them, nor who obeys.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::config::is_shown;
use crate::metadata::{ConfigResource, ConfigResourceType, MetadataImage};

/// Writes one line for each resource whose configurations differ between two images. Those of a deleted topic go with it, and need none.
pub(super) fn tell_of_new_configs(before: &MetadataImage, after: &MetadataImage) {
    if before.shares_configs_with(after) {
        return;
    }
    let resources: BTreeSet<&ConfigResource> = before.config_resources().chain(after.config_resources()).collect();
    for resource in resources {
        let is_gone = resource.resource_type == ConfigResourceType::Topic && after.topic(&resource.name).is_none();
        let changes = changes(before.configs(resource), after.configs(resource));
        if !is_gone && !changes.is_empty() {
            let (resource, changes) = (named(resource), changes.join(", "));
            tracing::info!(%resource, %changes, "configuration changed");
        }
    }
}

fn named(resource: &ConfigResource) -> String {
    let name = &resource.name;
    match resource.resource_type {
        ConfigResourceType::Topic => format!("topic {name}"),
        ConfigResourceType::Broker if name.is_empty() => "all brokers".to_owned(),
        ConfigResourceType::Broker => format!("broker {name}"),
        ConfigResourceType::BrokerLogger => format!("loggers of broker {name}"),
        ConfigResourceType::ClientMetrics => format!("client metrics {name}"),
        ConfigResourceType::Group => format!("group {name}"),
    }
}

/// Each key that is set now or differently, with its value, and each that is set no longer.
fn changes(before: &BTreeMap<Arc<str>, Arc<str>>, after: &BTreeMap<Arc<str>, Arc<str>>) -> Vec<String> {
    let set = after.iter().filter(|(key, value)| before.get(*key) != Some(*value));
    let set = set.map(|(key, value)| format!("{key}={}", if is_shown(key) { value.as_ref() } else { "[hidden]" }));
    let unset = before.keys().filter(|key| !after.contains_key(*key)).map(|key| format!("{key} is no longer set"));
    set.chain(unset).collect()
}
