//! Room `config`: one table of knobs under Kafka's names, and the typed settings that come of it.
//!
//! Texts become [`Sources`], sources a [`StaticConfig`] or every [`ConfigProblem`] at once; together with the [`DynamicConfig`]
//! from run time that is [`Layers`], out of which [`Settings`], [`TopicSettings`], descriptions and decisions on changes come.
//!
//! It must not know who uses a setting, and reads no file and no environment itself.

mod describe;
mod document;
mod knob;
pub mod knobs;
mod layers;
mod listener;
mod nearest;
mod problem;
mod properties;
mod rules;
mod settings;
mod source;
mod start;
mod validate;
mod value;
mod verdict;

pub use describe::{ConfigEntry, ConfigSynonym, describe_broker, describe_cluster, describe_group, describe_topic};
pub use document::{markdown_of_broker, markdown_of_groups, markdown_of_the_rest, markdown_of_topics};
pub use knob::{Check, Importance, Knob, Standing, UpdateMode};
pub use layers::{ConfigSource, DynamicConfig, Layers, StaticConfig};
pub use listener::{Endpoint, SecurityProtocol};
pub use problem::{ConfigProblem, ConfigProblems, Origin};
pub(crate) use properties::{escape as escape_property, parse as parse_properties};
pub use settings::{
    BrokerLogSettings, ClassicGroupSettings, CompressionType, ListenerSettings, NetworkSettings, NodeSettings,
    OffsetsSettings, RequestSettings, Settings, TimestampType, TopicCreationSettings, TopicSettings,
};
pub use source::{Setting, Sources};
pub use validate::{
    AlterConfigError, BrokerScope, Configs, is_shown, list_default_of_broker, list_default_of_group,
    list_default_of_topic, validate_broker, validate_group, validate_topic,
};
pub use value::{Kind, Value};
