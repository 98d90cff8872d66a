//! Changes of configs at run time: what a request asks for, whether it may be, and which keys then have which value.
//!
//! It must not store anything, nor know the protocol's messages.

use std::collections::BTreeMap;

use crate::config::alter_rules::{check_broker_key, check_broker_rules, check_group, check_topic, find_broker};
use crate::config::knob::Knob;
use crate::config::knobs::{find_group, find_topic};
use crate::config::layers::Layers;
use crate::config::value::Kind;

/// What IncrementalAlterConfigs does to one key (KIP-339).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigOperation {
    /// Gives it a value.
    Set,
    /// Takes its value away.
    Delete,
    /// Adds elements to its list.
    Append,
    /// Removes elements from its list.
    Subtract,
}

impl ConfigOperation {
    /// The operation with this number on the wire.
    pub fn from_code(code: i8) -> Option<ConfigOperation> {
        match code {
            0 => Some(ConfigOperation::Set),
            1 => Some(ConfigOperation::Delete),
            2 => Some(ConfigOperation::Append),
            3 => Some(ConfigOperation::Subtract),
            _ => None,
        }
    }
}

/// One change that a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigChange<'a> {
    /// The key.
    pub key: &'a str,
    /// What happens to it.
    pub operation: ConfigOperation,
    /// The text; `Delete` needs none.
    pub value: Option<&'a str>,
}

/// What a key has after a change; `None` takes the key away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigEdit {
    /// The key.
    pub key: String,
    /// Its new text.
    pub value: Option<String>,
}

/// Why a change cannot be, as a sentence for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AlterConfigError {
    /// The request makes no sense (INVALID_REQUEST).
    #[error("{0}")]
    InvalidRequest(String),
    /// The configs that would result are not valid (INVALID_CONFIG).
    #[error("{0}")]
    InvalidConfig(String),
}

/// The configs of one resource, by key.
pub type Configs = BTreeMap<String, String>;

/// Which brokers a change is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerScope {
    /// This one.
    Broker,
    /// Every broker of the cluster.
    Cluster,
}

/// Checks the configs that a new topic asks for (CreateTopics).
pub fn configs_of_new_topic(pairs: &[(&str, Option<&str>)], layers: Layers<'_>) -> Result<Configs, AlterConfigError> {
    let mut configs = Configs::new();
    for (key, value) in pairs {
        let value = value.ok_or_else(|| AlterConfigError::InvalidConfig(format!("{key} has no value.")))?;
        configs.insert((*key).to_owned(), value.to_owned());
    }
    check_topic(&configs, layers)?;
    Ok(configs)
}

/// Decides IncrementalAlterConfigs for a topic that has `current`.
pub fn alter_topic(
    current: &Configs,
    changes: &[ConfigChange<'_>],
    layers: Layers<'_>,
) -> Result<Vec<ConfigEdit>, AlterConfigError> {
    let edits = edits(current, changes, find_topic)?;
    check_topic(&edited(current, &edits), layers)?;
    Ok(edits)
}

/// Decides IncrementalAlterConfigs for a group that has `current`.
pub fn alter_group(
    current: &Configs,
    changes: &[ConfigChange<'_>],
    layers: Layers<'_>,
) -> Result<Vec<ConfigEdit>, AlterConfigError> {
    let edits = edits(current, changes, find_group)?;
    check_group(&edited(current, &edits), layers)?;
    Ok(edits)
}

/// Decides IncrementalAlterConfigs for this broker or for the cluster; what is there now is in `layers`.
pub fn alter_broker(
    scope: BrokerScope,
    changes: &[ConfigChange<'_>],
    layers: Layers<'_>,
) -> Result<Vec<ConfigEdit>, AlterConfigError> {
    let current = match scope {
        BrokerScope::Broker => &layers.dynamic.broker,
        BrokerScope::Cluster => &layers.dynamic.cluster,
    };
    let edits = edits(current, changes, find_broker)?;
    for edit in &edits {
        if let Some(text) = &edit.value {
            check_broker_key(scope, &edit.key, text, layers)?;
        }
    }
    check_broker_rules(scope, edited(current, &edits), layers)?;
    Ok(edits)
}

/// The changes that turn `current` into exactly `wanted`, as the older AlterConfigs asks for.
pub fn changes_to_replace<'a>(current: &'a Configs, wanted: &[(&'a str, Option<&'a str>)]) -> Vec<ConfigChange<'a>> {
    let set = wanted.iter().map(|(key, value)| ConfigChange { key, operation: ConfigOperation::Set, value: *value });
    let gone = current.keys().filter(|key| !wanted.iter().any(|(wanted, _)| wanted == key));
    let deleted = gone.map(|key| ConfigChange { key, operation: ConfigOperation::Delete, value: None });
    set.chain(deleted).collect()
}

/// The configs after the edits.
pub fn edited(current: &Configs, edits: &[ConfigEdit]) -> Configs {
    let mut configs = current.clone();
    for edit in edits {
        match &edit.value {
            Some(value) => configs.insert(edit.key.clone(), value.clone()),
            None => configs.remove(&edit.key),
        };
    }
    configs
}

/// What each changed key has afterwards; a key that keeps its value is left out.
fn edits(
    current: &Configs,
    changes: &[ConfigChange<'_>],
    find: impl Fn(&str) -> Option<&'static Knob>,
) -> Result<Vec<ConfigEdit>, AlterConfigError> {
    let mut edits = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        if changes.iter().take(at).any(|earlier| earlier.key == change.key) {
            return Err(AlterConfigError::InvalidRequest(format!("{} stands twice in the request.", change.key)));
        }
        let before = current.get(change.key);
        let after = match (change.operation, change.value) {
            (ConfigOperation::Delete, _) => None,
            (_, None) => {
                return Err(AlterConfigError::InvalidRequest(format!("{} has no value to work with.", change.key)));
            }
            (ConfigOperation::Set, Some(text)) => Some(text.to_owned()),
            (operation, Some(text)) => {
                let Some(knob) = find(change.key).filter(|knob| knob.kind == Kind::List) else {
                    let reason = format!("{} is not a list, so nothing can be added or removed.", change.key);
                    return Err(AlterConfigError::InvalidConfig(reason));
                };
                let before = before.map(String::as_str).or(knob.default).unwrap_or("");
                Some(changed_list(before, text, operation == ConfigOperation::Append))
            }
        };
        if before != after.as_ref() {
            edits.push(ConfigEdit { key: change.key.to_owned(), value: after });
        }
    }
    Ok(edits)
}

fn changed_list(before: &str, text: &str, is_append: bool) -> String {
    let mut elements: Vec<&str> = before.split(',').map(str::trim).filter(|element| !element.is_empty()).collect();
    for element in text.split(',').map(str::trim) {
        elements.retain(|known| is_append || *known != element);
        if is_append && !elements.contains(&element) {
            elements.push(element);
        }
    }
    elements.join(",")
}
