//! The layers in which a broker's configuration lies, and which value shines through: what was set at run time for this
//! broker, at run time for the cluster, at start, or the default.
//!
//! It must not know what a value means.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::knob::Knob;
use crate::config::knobs;
use crate::config::source::Setting;
use crate::config::value::Value;

/// Where a value comes from, with the numbers that DescribeConfigs gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum ConfigSource {
    /// Set on the topic.
    DynamicTopicConfig = 1,
    /// Set at run time for this broker.
    DynamicBrokerConfig = 2,
    /// Set at run time for every broker.
    DynamicDefaultBrokerConfig = 3,
    /// Set at start.
    StaticBrokerConfig = 4,
    /// Not set.
    DefaultConfig = 5,
    /// The level of a logger.
    DynamicBrokerLoggerConfig = 6,
    /// Set on a subscription of client metrics.
    ClientMetricsConfig = 7,
    /// Set on the group.
    GroupConfig = 8,
}

impl ConfigSource {
    /// The number on the wire.
    pub const fn code(self) -> i8 {
        self as i8
    }
}

/// What was set at start: every value is known to be valid.
#[derive(Clone, Debug, Default)]
pub struct StaticConfig {
    pub(crate) settings: Arc<BTreeMap<String, Setting>>,
    pub(crate) cluster_id: Option<String>,
    pub(crate) notices: Vec<String>,
}

impl StaticConfig {
    /// The text that was set for a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.settings.get(key).map(|setting| setting.value.as_str())
    }

    /// One line for each reason why something that was set has no effect here.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }
}

/// What was set at run time, by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DynamicConfig {
    /// For this broker.
    pub broker: BTreeMap<String, String>,
    /// For every broker of the cluster.
    pub cluster: BTreeMap<String, String>,
}

/// Every layer, to look a value up in.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// What was set at start.
    pub fixed: &'a StaticConfig,
    /// What was set at run time.
    pub dynamic: &'a DynamicConfig,
}

impl<'a> Layers<'a> {
    /// The texts that are set for a key, the most specific first.
    pub(crate) fn set(self, key: &str) -> impl Iterator<Item = (ConfigSource, &'a str)> + use<'a> {
        let broker = self.dynamic.broker.get(key).map(String::as_str);
        let cluster = self.dynamic.cluster.get(key).map(String::as_str);
        [
            (ConfigSource::DynamicBrokerConfig, broker),
            (ConfigSource::DynamicDefaultBrokerConfig, cluster),
            (ConfigSource::StaticBrokerConfig, self.fixed.get(key)),
        ]
        .into_iter()
        .filter_map(|(source, text)| Some((source, text?)))
    }

    /// The value of a knob that shines through. A text that is not valid, as another version may have stored one, is
    /// passed over.
    pub(crate) fn value_of(self, knob: &'static Knob) -> Option<Value> {
        self.set(knob.name).find_map(|(_, text)| knob.parse(text).ok()).or_else(|| knob.default_value())
    }

    /// The value of the knob with this name.
    pub(crate) fn value(self, name: &str) -> Option<Value> {
        self.value_of(knobs::find(name).expect("rooms ask for names of the table, and a test asks for each"))
    }

    /// A boolean that has a default.
    pub(crate) fn boolean(self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Boolean(true)))
    }

    /// A whole number, if there is one.
    pub(crate) fn number_set(self, name: &str) -> Option<i64> {
        self.value(name).and_then(|value| value.as_number())
    }

    /// A whole number that has a default.
    pub(crate) fn long(self, name: &str) -> i64 {
        self.number_set(name).expect("the table has a default for every number that is read so")
    }

    /// A whole number of 32 bits that has a default.
    pub(crate) fn int(self, name: &str) -> i32 {
        i32::try_from(self.long(name)).expect("the kind of the knob is an int")
    }

    /// A count or size in memory; a negative one is 0.
    pub(crate) fn size(self, name: &str) -> usize {
        usize::try_from(self.long(name).max(0)).unwrap_or(usize::MAX)
    }

    /// A count or size in memory; `None` if it is negative, as -1 says in Kafka.
    pub(crate) fn size_unless_negative(self, name: &str) -> Option<usize> {
        usize::try_from(self.long(name)).ok()
    }

    /// A text, if there is one that is not empty.
    pub(crate) fn text(self, name: &str) -> Option<String> {
        match self.value(name) {
            Some(Value::String(text)) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// A list; empty if nothing is set.
    pub(crate) fn list(self, name: &str) -> Vec<String> {
        if let Some(Value::List(list)) = self.value(name) { list } else { Vec::new() }
    }

    /// The value of a listener's own key, `listener.name.<listener>.<name>`, if one is set.
    pub(crate) fn number_of_listener(self, listener: &str, name: &str) -> Option<i64> {
        let key = format!("listener.name.{}.{name}", listener.to_lowercase());
        let knob = knobs::find(name)?;
        self.set(&key).find_map(|(_, text)| knob.parse(text).ok()).and_then(|value| value.as_number())
    }
}

/// The listener and the key behind it, if `key` is `listener.name.<listener>.<key>`.
pub(crate) fn base_of_listener_key(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix("listener.name.")?.split_once('.')
}
