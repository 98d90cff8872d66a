//! The typed settings of a broker, group by group, as the other rooms read them.
//!
//! It must not know who reads them, nor where their texts were written.

mod group;
mod log;
mod network;
mod node;
mod topic;

use crate::config::layers::{DynamicConfig, Layers, StaticConfig};
use crate::config::problem::ConfigProblems;
use crate::config::source::Sources;

pub use group::{ClassicGroupSettings, OffsetsSettings};
pub use log::BrokerLogSettings;
pub use network::{ListenerSettings, NetworkSettings, RequestSettings};
pub(crate) use network::{is_of_controller, protocol_of};
pub use node::NodeSettings;
pub(crate) use topic::TopicLayers;
pub use topic::{CompressionType, TimestampType, TopicCreationSettings, TopicSettings};

/// Everything that a broker can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Who this broker is.
    pub node: NodeSettings,
    /// Sockets and listeners.
    pub network: NetworkSettings,
    /// Bounds of requests and answers.
    pub request: RequestSettings,
    /// The logs on disk.
    pub log: BrokerLogSettings,
    /// How topics come and go.
    pub topic_creation: TopicCreationSettings,
    /// What a topic without configs of its own has.
    pub topic_defaults: TopicSettings,
    /// Classic groups.
    pub group: ClassicGroupSettings,
    /// Committed offsets.
    pub offsets: OffsetsSettings,
}

impl Settings {
    /// The settings of a broker that starts with these sources and has no configs from run time yet.
    pub fn from_sources(sources: &Sources) -> Result<Settings, ConfigProblems> {
        Ok(Settings::resolve(Layers {
            fixed: &StaticConfig::from_sources(sources)?,
            dynamic: &DynamicConfig::default(),
        }))
    }

    /// The settings that shine through these layers.
    pub fn resolve(layers: Layers<'_>) -> Settings {
        Settings {
            node: NodeSettings::resolve(layers),
            network: NetworkSettings::resolve(layers),
            request: RequestSettings::resolve(layers),
            log: BrokerLogSettings::resolve(layers),
            topic_creation: TopicCreationSettings::resolve(layers),
            topic_defaults: TopicSettings::resolve(&Default::default(), layers),
            group: ClassicGroupSettings::resolve(layers),
            offsets: OffsetsSettings::resolve(layers),
        }
    }
}

/// Every default.
impl Default for Settings {
    fn default() -> Settings {
        Settings::resolve(Layers { fixed: &StaticConfig::default(), dynamic: &DynamicConfig::default() })
    }
}
