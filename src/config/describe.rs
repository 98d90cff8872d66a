//! What DescribeConfigs tells of a topic, a broker or a group: every value, where it comes from, and what it would
//! otherwise be.
//!
//! It must not know the protocol's messages, nor which keys a client asked for.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::knob::{Knob, UpdateMode};
use crate::config::knobs::{self, GROUP_KNOBS, TOPIC_KNOBS, group_synonym};
use crate::config::layers::{ConfigSource, Layers, base_of_listener_key};
use crate::config::settings::TopicLayers;
use crate::config::value::Value;

/// One configuration of a resource (KIP-133).
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigEntry {
    /// The key.
    pub name: String,
    /// The value; `None` if there is none, or if it is a secret.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: ConfigSource,
    /// The number of its kind (KIP-569), 0 if the key is not known.
    pub config_type: i8,
    /// Whether it cannot be changed at run time.
    pub is_read_only: bool,
    /// Whether the value is a secret.
    pub is_sensitive: bool,
    /// Everything that is set or default for it, the one in force first (KIP-226).
    pub synonyms: Vec<ConfigSynonym>,
    /// One sentence.
    pub documentation: String,
}

/// One value that a configuration has, or would have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSynonym {
    /// The key under which it is set.
    pub name: String,
    /// The text; `None` if it is a secret.
    pub value: Option<String>,
    /// Where it is set.
    pub source: ConfigSource,
}

/// Every configuration of a topic with these configs of its own, in the order of their names.
pub fn describe_topic(overrides: &BTreeMap<String, String>, layers: Layers<'_>) -> Vec<ConfigEntry> {
    let topic = TopicLayers { overrides, layers };
    let shown = TOPIC_KNOBS.iter().filter(|knob| !knob.is_internal || overrides.contains_key(knob.name));
    shown
        .map(|knob| {
            let value = topic.value(knob.name);
            let of_broker = knobs::synonyms(knob.name).first().map(|synonym| broker_synonyms(synonym.name, layers));
            let own = overrides.get(knob.name).map(|_| (ConfigSource::DynamicTopicConfig, knob.name));
            entry(knob, value, own, of_broker.unwrap_or_default())
        })
        .collect()
}

/// Every configuration of a group with these configs of its own, in the order of their names.
pub fn describe_group(overrides: &BTreeMap<String, String>, layers: Layers<'_>) -> Vec<ConfigEntry> {
    let shown = GROUP_KNOBS.iter().filter(|knob| !knob.is_internal || overrides.contains_key(knob.name));
    shown
        .map(|knob| {
            let broker = group_synonym(knob.name);
            let own = overrides.get(knob.name).and_then(|text| knob.parse(text).ok());
            let value = own.or_else(|| layers.value_of(broker?)).or_else(|| knob.default_value());
            let of_broker = broker.map(|broker| broker_synonyms(broker.name, layers)).unwrap_or_default();
            let own = overrides.get(knob.name).map(|_| (ConfigSource::GroupConfig, knob.name));
            // A group knob without one of the broker lists its own default.
            let own = own.or_else(|| broker.is_none().then_some((ConfigSource::DefaultConfig, knob.name)));
            entry(knob, value, own, of_broker)
        })
        .collect()
}

/// Every configuration of this broker, in the order of their names.
pub fn describe_broker(layers: Layers<'_>) -> Vec<ConfigEntry> {
    let mut names: BTreeSet<&str> = knobs::all().filter(|knob| !knob.is_internal).map(|knob| knob.name).collect();
    names.extend(layers.fixed.settings.keys().map(String::as_str));
    names.extend(layers.dynamic.broker.keys().chain(layers.dynamic.cluster.keys()).map(String::as_str));
    names.into_iter().map(|name| broker_entry(name, layers, |_| true)).collect()
}

/// What is set at run time for every broker of the cluster, in the order of the names.
pub fn describe_cluster(layers: Layers<'_>) -> Vec<ConfigEntry> {
    let is_of_cluster = |source| source == ConfigSource::DynamicDefaultBrokerConfig;
    let entries = layers.dynamic.cluster.iter().map(|(name, text)| {
        let mut entry = broker_entry(name, layers, is_of_cluster);
        entry.value = Some(text.clone()).filter(|_| !entry.is_sensitive);
        entry
    });
    entries.collect()
}

fn broker_entry(name: &str, layers: Layers<'_>, is_wanted: impl Fn(ConfigSource) -> bool) -> ConfigEntry {
    let base = base_of_listener_key(name).map_or(name, |(_, base)| base);
    let knob = knobs::find(base).or_else(|| knobs::find_dynamic_only(base));
    let synonyms: Vec<_> =
        broker_synonyms(name, layers).into_iter().filter(|synonym| is_wanted(synonym.source)).collect();
    let Some(knob) = knob else {
        // Nobody knows whether a stranger is a secret.
        return ConfigEntry {
            name: name.to_owned(),
            value: None,
            source: synonyms.first().map_or(ConfigSource::DefaultConfig, |synonym| synonym.source),
            config_type: 0,
            is_read_only: true,
            is_sensitive: true,
            synonyms,
            documentation: String::new(),
        };
    };
    let value = layers.set(name).find_map(|(_, text)| knob.parse(text).ok()).or_else(|| layers.value_of(knob));
    let is_read_only = knob.update_mode == UpdateMode::ReadOnly || base != name;
    ConfigEntry { name: name.to_owned(), is_read_only, ..entry(knob, value, None, synonyms) }
}

/// An entry whose own setting, if there is one, comes before what the broker has.
fn entry(
    knob: &Knob,
    value: Option<Value>,
    own: Option<(ConfigSource, &str)>,
    of_broker: Vec<ConfigSynonym>,
) -> ConfigEntry {
    let value = value.map(|value| value.to_string()).filter(|_| !knob.is_sensitive());
    let own = own.map(|(source, name)| ConfigSynonym { name: name.to_owned(), value: value.clone(), source });
    let synonyms: Vec<_> = own.into_iter().chain(of_broker).collect();
    ConfigEntry {
        name: knob.name.to_owned(),
        source: synonyms.first().map_or(ConfigSource::DefaultConfig, |synonym| synonym.source),
        value,
        config_type: knob.kind.code(),
        is_read_only: false,
        is_sensitive: knob.is_sensitive(),
        synonyms,
        documentation: knob.documentation(),
    }
}

/// Everything that is set for a knob of the broker under any of its names, the most specific layer first, and the
/// defaults last. As in Kafka, what is set under another name before the knob's own name appears is left out.
fn broker_synonyms(name: &str, layers: Layers<'_>) -> Vec<ConfigSynonym> {
    let mut found: Vec<ConfigSynonym> = Vec::new();
    for synonym in names_of(name) {
        let base = base_of_listener_key(synonym).map_or(synonym, |(_, base)| base);
        let knob = knobs::find(base).or_else(|| knobs::find_dynamic_only(base));
        let is_shown = knob.is_some_and(|knob| !knob.is_sensitive());
        let mut add = |source, text: &str| {
            let value = is_shown.then(|| text.to_owned());
            found.push(ConfigSynonym { name: synonym.to_owned(), value, source });
        };
        layers.set(synonym).for_each(|(source, text)| add(source, text));
        // A knob that exists at run time only has no line for its default.
        if let Some(default) = knobs::find(synonym).and_then(Knob::default_value) {
            add(ConfigSource::DefaultConfig, &default.to_string());
        }
    }
    // A stable sort: within one layer the order of the names stays.
    found.sort_by_key(|synonym| synonym.source.code());
    found.into_iter().skip_while(|synonym| synonym.name != name).collect()
}

/// The names under which one knob of a broker may be set, in the order of precedence.
fn names_of(name: &str) -> Vec<&str> {
    match name {
        "log.roll.ms" | "log.roll.hours" => vec!["log.roll.ms", "log.roll.hours"],
        "log.roll.jitter.ms" | "log.roll.jitter.hours" => vec!["log.roll.jitter.ms", "log.roll.jitter.hours"],
        "log.flush.interval.ms" => vec!["log.flush.interval.ms", "log.flush.scheduler.interval.ms"],
        "log.retention.ms" | "log.retention.minutes" | "log.retention.hours" => {
            vec!["log.retention.ms", "log.retention.minutes", "log.retention.hours"]
        }
        _ => match base_of_listener_key(name) {
            Some((_, base)) => vec![name, base],
            None => vec![name],
        },
    }
}
