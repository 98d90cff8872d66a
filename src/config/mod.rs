//! Room `config`: one table of knobs under Kafka's names, and the typed settings that come of it.
//!
//! Texts become [`Sources`], sources a [`StaticConfig`] or every [`ConfigProblem`] at once; together with the [`DynamicConfig`]
//! from run time that is [`Layers`], out of which [`Settings`], [`TopicSettings`], descriptions and decisions on changes come.
//!
//! It must not know who uses a setting, and reads no file and no environment itself.

mod alter;
mod alter_rules;
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
mod value;

pub use alter::{
    AlterConfigError, BrokerScope, ConfigChange, ConfigEdit, ConfigOperation, Configs, alter_broker, alter_group,
    alter_topic, changes_to_replace, configs_of_new_topic, edited,
};
pub use describe::{ConfigEntry, ConfigSynonym, describe_broker, describe_cluster, describe_group, describe_topic};
pub use document::{markdown_of_broker, markdown_of_groups, markdown_of_the_rest, markdown_of_topics};
pub use knob::{Check, Importance, Knob, Standing, UpdateMode};
pub use layers::{ConfigSource, DynamicConfig, Layers, StaticConfig};
pub use listener::{Endpoint, SecurityProtocol};
pub use problem::{ConfigProblem, ConfigProblems, Origin};
pub use settings::{
    CompressionType, ConsumerGroupMigrationPolicy, ConsumerGroupSettings, GroupSettings, ListenerSettings,
    LogCleanerSettings, LogSettings, NetworkSettings, NodeSettings, OffsetsSettings, RequestSettings, Settings,
    TimestampType, TopicCreationSettings, TopicSettings, TransactionSettings,
};
pub use source::{Setting, Sources};
pub use value::{Kind, Value};
