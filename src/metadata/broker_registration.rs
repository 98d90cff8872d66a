//! A broker as it registered itself: where it listens, what it can do, which log directories it has.
//!
//! It must not know which broker this process is.

use std::sync::Arc;

use crate::types::{BrokerId, TopicId};

/// A listener of a broker, as advertised to clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerEndpoint {
    /// The listener's name.
    pub name: Arc<str>,
    /// Where clients connect to.
    pub host: Arc<str>,
    /// On which port.
    pub port: u16,
    /// The security protocol: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
    pub security_protocol: i16,
}

/// A feature and the levels of it that a broker can serve (KIP-584).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerFeature {
    /// The feature's name.
    pub name: Arc<str>,
    /// The lowest level.
    pub min_supported_version: i16,
    /// The highest level.
    pub max_supported_version: i16,
}

/// What a broker said of itself when it registered, and what became of it since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerRegistration {
    /// Its id.
    pub broker_id: BrokerId,
    /// Drawn anew at each start of the broker.
    pub incarnation_id: TopicId,
    /// Grows with each registration.
    pub broker_epoch: i64,
    /// Its listeners.
    pub endpoints: Vec<BrokerEndpoint>,
    /// Its features, sorted by name.
    pub features: Vec<BrokerFeature>,
    /// Its rack (`broker.rack`).
    pub rack: Option<Arc<str>>,
    /// Whether it may not serve at present.
    pub fenced: bool,
    /// Whether it is about to leave in order.
    pub in_controlled_shutdown: bool,
    /// The ids of its log directories.
    pub log_dirs: Vec<TopicId>,
    /// Those of its log directories that get no new partitions.
    pub cordoned_log_dirs: Vec<TopicId>,
}

impl BrokerRegistration {
    /// Whether it may lead a partition.
    pub fn is_active(&self) -> bool {
        !self.fenced && !self.in_controlled_shutdown
    }
}
