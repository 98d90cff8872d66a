//! Who this broker is.
//!
//! It must not know how the identity is kept on disk.

use crate::config::layers::Layers;
use crate::types::BrokerId;

/// Who this broker is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSettings {
    /// `node.id`, or `broker.id` if only that is set.
    pub broker_id: BrokerId,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// The cluster id that a new data folder gets (`CLUSTER_ID` of Kafka's image); without it one is drawn.
    pub cluster_id: Option<String>,
}

impl NodeSettings {
    pub(super) fn resolve(layers: Layers<'_>) -> NodeSettings {
        let has_only_old_name = layers.fixed.get("node.id").is_none() && layers.int("broker.id") >= 0;
        let name = if has_only_old_name { "broker.id" } else { "node.id" };
        NodeSettings {
            broker_id: BrokerId(layers.int(name)),
            rack: layers.text("broker.rack"),
            cluster_id: layers.fixed.cluster_id.clone(),
        }
    }
}
