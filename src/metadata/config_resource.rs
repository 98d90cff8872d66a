//! What a configuration belongs to: a topic, a broker, the whole cluster, a group, a metrics subscription.
//!
//! It must not know configuration keys.

use std::sync::Arc;

/// The kind of thing that has configurations (KIP-133, KIP-714, KIP-848).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfigResourceType {
    /// A topic, by name.
    Topic,
    /// A broker, by its id in decimal digits; the empty name stands for all brokers of the cluster.
    Broker,
    /// The levels of a broker's loggers. Never stored.
    BrokerLogger,
    /// A subscription to metrics of clients, by name.
    ClientMetrics,
    /// A group, by id.
    Group,
}

impl ConfigResourceType {
    /// The wire form.
    pub const fn id(self) -> i8 {
        match self {
            ConfigResourceType::Topic => 2,
            ConfigResourceType::Broker => 4,
            ConfigResourceType::BrokerLogger => 8,
            ConfigResourceType::ClientMetrics => 16,
            ConfigResourceType::Group => 32,
        }
    }

    /// The kind with this number, if there is one.
    pub const fn from_id(id: i8) -> Option<ConfigResourceType> {
        match id {
            2 => Some(ConfigResourceType::Topic),
            4 => Some(ConfigResourceType::Broker),
            8 => Some(ConfigResourceType::BrokerLogger),
            16 => Some(ConfigResourceType::ClientMetrics),
            32 => Some(ConfigResourceType::Group),
            _ => None,
        }
    }
}

/// One thing that has configurations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigResource {
    /// Of which kind.
    pub resource_type: ConfigResourceType,
    /// Its name; what the name means depends on the kind.
    pub name: Arc<str>,
}

impl ConfigResource {
    /// The configurations of a topic.
    pub fn topic(name: impl Into<Arc<str>>) -> ConfigResource {
        ConfigResource { resource_type: ConfigResourceType::Topic, name: name.into() }
    }

    /// The configurations of a broker, by its id in decimal digits; the empty name is the default of all brokers.
    pub fn broker(name: impl Into<Arc<str>>) -> ConfigResource {
        ConfigResource { resource_type: ConfigResourceType::Broker, name: name.into() }
    }
}
