//! Changes of configs at run time: what a request asks for, whether it may be, and which keys then have which value.
//!
//! It must not store anything, nor know the protocol's messages.

use std::collections::BTreeMap;

use crate::config::knob::{Knob, Standing, UpdateMode};
use crate::config::knobs::{self, find_group, find_topic, group_synonym};
use crate::config::layers::{DynamicConfig, Layers, base_of_listener_key};
use crate::config::nearest::nearest;
use crate::config::rules;
use crate::config::settings::TopicLayers;
use crate::config::start::turns_on;
use crate::config::value::{Kind, Value};

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

fn check_topic(configs: &Configs, layers: Layers<'_>) -> Result<(), AlterConfigError> {
    check_each(configs, "topic", find_topic, knobs::TOPIC_KNOBS)?;
    let topic = TopicLayers { overrides: configs, layers };
    let (least, most) = (topic.long("min.compaction.lag.ms"), topic.long("max.compaction.lag.ms"));
    if least > most {
        let reason = format!("min.compaction.lag.ms, {least}, is larger than max.compaction.lag.ms, {most}.");
        return Err(AlterConfigError::InvalidConfig(reason));
    }
    Ok(())
}

fn check_group(configs: &Configs, layers: Layers<'_>) -> Result<(), AlterConfigError> {
    check_each(configs, "group", find_group, knobs::GROUP_KNOBS)?;
    for what in ["session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"] {
        let key = format!("consumer.{what}");
        let Some(number) = group_number(configs, &key) else { continue };
        let [least, most] = ["min", "max"].map(|bound| layers.long(&format!("group.consumer.{bound}.{what}")));
        if number < least || number > most {
            return Err(AlterConfigError::InvalidConfig(format!("{key} = {number} must be from {least} to {most}.")));
        }
    }
    let effective = |key: &str| {
        let broker = || layers.value_of(group_synonym(key)?)?.as_number();
        group_number(configs, key).or_else(broker)
    };
    if effective("consumer.heartbeat.interval.ms") >= effective("consumer.session.timeout.ms") {
        let reason = "consumer.heartbeat.interval.ms must be smaller than consumer.session.timeout.ms.".to_owned();
        return Err(AlterConfigError::InvalidConfig(reason));
    }
    Ok(())
}

fn group_number(configs: &Configs, key: &str) -> Option<i64> {
    find_group(key)?.parse(configs.get(key)?).ok()?.as_number()
}

/// Checks every config of a topic or group by itself.
fn check_each(
    configs: &Configs,
    resource: &str,
    find: impl Fn(&str) -> Option<&'static Knob>,
    known: &'static [Knob],
) -> Result<(), AlterConfigError> {
    for (key, text) in configs {
        let Some(knob) = find(key) else {
            let hint = nearest(key, known.iter().map(|knob| knob.name));
            let hint = hint.map(|name| format!("; did you mean {name}?")).unwrap_or(".".to_owned());
            return Err(AlterConfigError::InvalidConfig(format!("{key} is not a config of a {resource}{hint}")));
        };
        check_value(key, knob, text).map_err(AlterConfigError::InvalidConfig)?;
    }
    Ok(())
}

fn check_value(key: &str, knob: &Knob, text: &str) -> Result<Value, String> {
    let shown = if knob.is_sensitive() { "[hidden]" } else { text };
    let value = knob.parse(text).map_err(|reason| format!("{key} = {shown} is not valid: it {reason}."))?;
    match knob.standing {
        Standing::Refused(reason) if turns_on(knob, text) => Err(format!("{key} = {shown} cannot be had: {reason}.")),
        _ => Ok(value),
    }
}

fn find_broker(key: &str) -> Option<&'static Knob> {
    let base = base_of_listener_key(key).map_or(key, |(_, base)| base);
    knobs::find(base).or_else(|| knobs::find_dynamic_only(base))
}

/// Knobs that a listener may have for itself and the cluster may set nevertheless.
const CLUSTER_KNOBS_OF_LISTENERS: [&str; 3] =
    ["max.connections", "max.connection.creation.rate", "num.network.threads"];

/// Numbers of threads, which Kafka changes by a factor of two at most in one step.
const THREADS: [&str; 6] = [
    "num.io.threads",
    "num.network.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
    "log.cleaner.threads",
];

fn check_broker_key(scope: BrokerScope, key: &str, text: &str, layers: Layers<'_>) -> Result<(), AlterConfigError> {
    let wrong = |reason: String| Err(AlterConfigError::InvalidRequest(reason));
    let Some(knob) = find_broker(key) else {
        return match knobs::retired(key) {
            Some(_) => Ok(()),
            None => wrong(format!("{key} is not a config of a broker.")),
        };
    };
    let is_of_listener = base_of_listener_key(key).is_some();
    let is_per_broker = knob.update_mode == UpdateMode::PerBroker
        || (is_of_listener && !CLUSTER_KNOBS_OF_LISTENERS.contains(&knob.name));
    if knob.update_mode == UpdateMode::ReadOnly {
        return wrong(format!("{key} cannot be changed while the broker runs."));
    }
    if is_per_broker && scope == BrokerScope::Cluster {
        return wrong(format!("{key} can be changed for a single broker only; name its id."));
    }
    let value = check_value(key, knob, text).map_err(AlterConfigError::InvalidRequest)?;
    let Some(number) = value.as_number() else { return Ok(()) };
    if THREADS.contains(&knob.name) {
        let current = layers.long(knob.name);
        if number < current / 2 || number > current.saturating_mul(2) {
            return wrong(format!("{key} = {number} must be from half to double of what it is now, {current}."));
        }
    }
    if ["max.connections", "max.connection.creation.rate"].contains(&knob.name) && number == 0 {
        return wrong(format!("{key} = 0 would let nobody in."));
    }
    Ok(())
}

/// The rules between several keys, on what would be in force after the change; what was broken before does not count.
fn check_broker_rules(scope: BrokerScope, configs: Configs, layers: Layers<'_>) -> Result<(), AlterConfigError> {
    let mut dynamic: DynamicConfig = layers.dynamic.clone();
    match scope {
        BrokerScope::Broker => dynamic.broker = configs,
        BrokerScope::Cluster => dynamic.cluster = configs,
    }
    let before = rules::problems(layers);
    let after = rules::problems(Layers { fixed: layers.fixed, dynamic: &dynamic });
    match after.iter().find(|problem| !before.contains(problem)) {
        Some(problem) => Err(AlterConfigError::InvalidRequest(format!("{} {}.", problem.key, problem.reason))),
        None => Ok(()),
    }
}
