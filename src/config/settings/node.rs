//! Who this broker is.
//!
//! It must not know how the identity is kept on disk.

use crate::config::layers::Layers;
use crate::types::BrokerId;

/// Who this broker is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSettings {
    /// `node.id`, which `broker.id` stands in for.
    pub broker_id: BrokerId,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// The cluster id that a new data folder gets (`CLUSTER_ID` of Kafka's image); without it one is drawn.
    pub cluster_id: Option<String>,
}

impl NodeSettings {
    pub(super) fn resolve(layers: Layers<'_>) -> NodeSettings {
        NodeSettings {
            broker_id: BrokerId(layers.int("node.id")),
            rack: layers.text("broker.rack"),
            cluster_id: layers.fixed.cluster_id.clone(),
        }
    }
}
