//! Whether configs that would result from a change may be: each by itself, and against the bounds that the broker sets.
//!
//! It must not know how a change is written in a request. The texts begin as Kafka's do, since tools and people read them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::config::knob::{Knob, Standing, UpdateMode};
use crate::config::knobs::{self, find_group, find_topic, group_synonym};
use crate::config::layers::{DynamicConfig, Layers, base_of_listener_key};
use crate::config::listener::parse_connection_overrides;
use crate::config::nearest::nearest;
use crate::config::rules;
use crate::config::settings::TopicLayers;
use crate::config::value::{Kind, Value};
use crate::config::verdict::turns_on;

/// Why configs cannot be, as a sentence for the client.
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

/// Which brokers configs are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerScope {
    /// This one.
    Broker,
    /// Every broker of the cluster.
    Cluster,
}

/// Checks all configs that a topic would have.
pub fn validate_topic(configs: &Configs, layers: Layers<'_>) -> Result<(), AlterConfigError> {
    check_each(configs, "topic", find_topic, knobs::TOPIC_KNOBS)?;
    let topic = TopicLayers { overrides: configs, layers };
    let (least, most) = (topic.long("min.compaction.lag.ms"), topic.long("max.compaction.lag.ms"));
    if least > most {
        let reason = format!("min.compaction.lag.ms, {least}, is larger than max.compaction.lag.ms, {most}.");
        return Err(AlterConfigError::InvalidConfig(reason));
    }
    Ok(())
}

/// Checks all configs that a group would have, within the bounds of its broker.
pub fn validate_group(configs: &Configs, layers: Layers<'_>) -> Result<(), AlterConfigError> {
    check_each(configs, "group", find_group, knobs::GROUP_KNOBS)?;
    for what in ["session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"] {
        let key = format!("consumer.{what}");
        let Some(number) = group_number(configs, &key) else { continue };
        let [least, most] = ["min", "max"].map(|bound| layers.long(&format!("group.consumer.{bound}.{what}")));
        if number < least || number > most {
            let reason = format!("{key} must be in the range {least} to {most} inclusive.");
            return Err(AlterConfigError::InvalidConfig(reason));
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
            let hint = hint.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            return Err(AlterConfigError::InvalidConfig(format!("Unknown {resource} config name: {key}{hint}")));
        };
        check_value(key, knob, text).map_err(AlterConfigError::InvalidConfig)?;
    }
    Ok(())
}

fn check_value(key: &str, knob: &Knob, text: &str) -> Result<Value, String> {
    let shown = if knob.is_sensitive() { "[hidden]" } else { text };
    let invalid = |reason: String| format!("Invalid value {shown} for configuration {key}: {reason}");
    let is_number = matches!(knob.kind, Kind::Short | Kind::Int | Kind::Long);
    if is_number && Value::parse(knob.kind, text).is_err() {
        return Err(invalid(format!("Not a number of type {}", knob.kind.word().to_uppercase())));
    }
    let value = knob.parse(text).map_err(|reason| invalid(format!("Value {reason}")))?;
    match knob.standing {
        Standing::Refused(reason) if turns_on(knob, text) => Err(invalid(format!("It cannot be had, since {reason}."))),
        _ => Ok(value),
    }
}

fn hint_of_broker(key: &str) -> String {
    let names = knobs::all().filter(|knob| !knob.is_internal).map(|knob| knob.name);
    nearest(key, names).map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

/// The knob behind a key of a broker, which may be one for a single listener.
fn find_broker(key: &str) -> Option<&'static Knob> {
    let base = base_of_listener_key(key).map_or(key, |(_, base)| base);
    knobs::find(base).or_else(|| knobs::find_dynamic_only(base))
}

/// Whether the value of this key may be shown: it is a key of a broker, a topic or a group, and no secret.
pub fn is_shown(key: &str) -> bool {
    let knob = find_broker(key).or_else(|| find_topic(key)).or_else(|| find_group(key));
    knob.is_some_and(|knob| !knob.is_sensitive())
}

/// The default of a topic's key whose value is a list; `None` if it is none.
pub fn list_default_of_topic(key: &str) -> Option<&'static str> {
    list_default(find_topic(key))
}

/// As [`list_default_of_topic`], for a key of a group.
pub fn list_default_of_group(key: &str) -> Option<&'static str> {
    list_default(find_group(key))
}

/// As [`list_default_of_topic`], for a key of a broker.
pub fn list_default_of_broker(key: &str) -> Option<&'static str> {
    list_default(find_broker(key))
}

fn list_default(knob: Option<&'static Knob>) -> Option<&'static str> {
    knob.filter(|knob| knob.kind == Kind::List).map(|knob| knob.default.unwrap_or_default())
}

/// Knobs that a listener may have for itself and the cluster may set nevertheless.
const CLUSTER_KNOBS_OF_LISTENERS: [&str; 2] = ["max.connections", "max.connection.creation.rate"];

/// Numbers of threads, which Kafka changes by a factor of two at most in one step.
const THREADS: [&str; 4] =
    ["num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads", "log.cleaner.threads"];

/// Checks all configs that this broker, or every broker of the cluster, would have at run time. What it has already is in `layers`; it
/// may stay, whatever it is.
pub fn validate_broker(scope: BrokerScope, configs: &Configs, layers: Layers<'_>) -> Result<(), AlterConfigError> {
    let current = match scope {
        BrokerScope::Broker => &layers.dynamic.broker,
        BrokerScope::Cluster => &layers.dynamic.cluster,
    };
    for (key, text) in configs.iter().filter(|(key, text)| current.get(*key) != Some(*text)) {
        check_broker_key(scope, key, text, layers)?;
    }
    check_broker_rules(scope, configs.clone(), layers)
}

/// Checks one key that a broker or the cluster would be given.
fn check_broker_key(scope: BrokerScope, key: &str, text: &str, layers: Layers<'_>) -> Result<(), AlterConfigError> {
    let wrong = |reason: String| Err(AlterConfigError::InvalidRequest(reason));
    let Some(knob) = find_broker(key) else {
        return match knobs::retired(key) {
            Some(_) => Ok(()),
            None => wrong(format!("Unknown broker config name: {key}{}", hint_of_broker(key))),
        };
    };
    let is_of_listener = base_of_listener_key(key).is_some();
    let is_per_broker = knob.update_mode == UpdateMode::PerBroker
        || (is_of_listener && !CLUSTER_KNOBS_OF_LISTENERS.contains(&knob.name));
    if knob.update_mode == UpdateMode::ReadOnly {
        return wrong(format!(
            "Cannot update these configs dynamically: [{key}]; a value in the broker's properties takes effect at its next start only"
        ));
    }
    if is_per_broker && scope == BrokerScope::Cluster {
        return wrong(format!(
            "Cannot update these configs at default cluster level, broker id must be specified: [{key}]"
        ));
    }
    let value = check_value(key, knob, text).map_err(AlterConfigError::InvalidRequest)?;
    if let Some(host) = name_among_overrides(knob, text) {
        let reason = format!("{host} is no address; a name is looked up at a start only");
        return wrong(format!("Invalid value {text} for configuration {key}: {reason}"));
    }
    let Some(number) = value.as_number() else { return Ok(()) };
    if THREADS.contains(&knob.name) {
        let current = layers.long(knob.name);
        if number < current / 2 || number > current.saturating_mul(2) {
            let reason = format!("Value must be from half to double of the current value {current}");
            return wrong(format!("Invalid value {number} for configuration {key}: {reason}"));
        }
    }
    if ["max.connections", "max.connection.creation.rate"].contains(&knob.name) && number == 0 {
        return wrong(format!("Invalid value 0 for configuration {key}: Nobody could connect"));
    }
    Ok(())
}

/// The first host of overrides that is no address.
fn name_among_overrides(knob: &Knob, text: &str) -> Option<String> {
    let hosts = (knob.name == "max.connections.per.ip.overrides").then(|| parse_connection_overrides(text).ok())??;
    hosts.into_iter().map(|(host, _)| host).find(|host| host.parse::<IpAddr>().is_err())
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
