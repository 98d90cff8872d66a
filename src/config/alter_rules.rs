//! Whether configs that would result from a change may be: each by itself, and against the bounds that the broker sets.
//!
//! It must not know how a change is written in a request.

use crate::config::alter::{AlterConfigError, BrokerScope, Configs};
use crate::config::knob::{Knob, Standing, UpdateMode};
use crate::config::knobs::{self, find_group, find_topic, group_synonym};
use crate::config::layers::{DynamicConfig, Layers, base_of_listener_key};
use crate::config::nearest::nearest;
use crate::config::rules;
use crate::config::settings::TopicLayers;
use crate::config::start::turns_on;
use crate::config::value::Value;

/// Checks all configs that a topic would have.
pub(super) fn check_topic(configs: &Configs, layers: Layers<'_>) -> Result<(), AlterConfigError> {
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
pub(super) fn check_group(configs: &Configs, layers: Layers<'_>) -> Result<(), AlterConfigError> {
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

/// The knob behind a key of a broker, which may be one for a single listener.
pub(super) fn find_broker(key: &str) -> Option<&'static Knob> {
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

/// Checks one key that a broker or the cluster would be given.
pub(super) fn check_broker_key(
    scope: BrokerScope,
    key: &str,
    text: &str,
    layers: Layers<'_>,
) -> Result<(), AlterConfigError> {
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
pub(super) fn check_broker_rules(
    scope: BrokerScope,
    configs: Configs,
    layers: Layers<'_>,
) -> Result<(), AlterConfigError> {
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
