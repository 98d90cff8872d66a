//! The typed settings of a broker, group by group, as the other rooms read them.
//!
//! It must not know who reads them, nor where their texts were written.

mod group;
mod log;
mod network;
mod node;
mod topic;
mod transaction;

use crate::config::layers::{DynamicConfig, Layers, StaticConfig};
use crate::config::problem::ConfigProblems;
use crate::config::source::Sources;

pub use group::{ConsumerGroupMigrationPolicy, ConsumerGroupSettings, GroupSettings, OffsetsSettings};
pub use log::{LogCleanerSettings, LogSettings};
pub use network::{ListenerSettings, NetworkSettings, RequestSettings};
pub(crate) use network::{is_of_controller, protocol_of};
pub use node::NodeSettings;
pub(crate) use topic::TopicLayers;
pub use topic::{CompressionType, TimestampType, TopicCreationSettings, TopicSettings};
pub use transaction::TransactionSettings;

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
    pub log: LogSettings,
    /// Compaction.
    pub cleaner: LogCleanerSettings,
    /// How topics come and go.
    pub topic_creation: TopicCreationSettings,
    /// What a topic without configs of its own has.
    pub topic_defaults: TopicSettings,
    /// Classic groups, and the coordinator's protocols.
    pub group: GroupSettings,
    /// Consumer groups (KIP-848).
    pub consumer_group: ConsumerGroupSettings,
    /// Committed offsets.
    pub offsets: OffsetsSettings,
    /// Idempotent and transactional producers.
    pub transaction: TransactionSettings,
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
            log: LogSettings::resolve(layers),
            cleaner: LogCleanerSettings::resolve(layers),
            topic_creation: TopicCreationSettings::resolve(layers),
            topic_defaults: TopicSettings::resolve(&Default::default(), layers),
            group: GroupSettings::resolve(layers),
            consumer_group: ConsumerGroupSettings::resolve(layers),
            offsets: OffsetsSettings::resolve(layers),
            transaction: TransactionSettings::resolve(layers),
        }
    }
}

/// Every default.
impl Default for Settings {
    fn default() -> Settings {
        Settings::resolve(Layers { fixed: &StaticConfig::default(), dynamic: &DynamicConfig::default() })
    }
}
