//! `meta.properties`: to which cluster and node a log directory belongs, and which of the node's directories it is.
//!
//! It must not know what else is in the directory.

use std::path::Path;

use crate::config::{escape_property, parse_properties};
use crate::env::Disk;
use crate::log::checkpoint_file::{read_text, replace_text};
use crate::log::error::LogError;
use crate::types::BrokerId;

/// The file's name.
const META_PROPERTIES: &str = "meta.properties";
/// The version of its content that Kafka has written since KRaft.
const VERSION: &str = "1";

/// What identifies a log directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MetaProperties {
    /// `cluster.id`.
    pub(super) cluster_id: String,
    /// `node.id`.
    pub(super) node_id: BrokerId,
    /// `directory.id`; missing in directories older than Kafka 3.7.
    pub(super) directory_id: Option<String>,
}

impl MetaProperties {
    /// Reads the file; `None` if the directory has none yet.
    pub(super) fn read(disk: &dyn Disk, directory: &Path) -> Result<Option<MetaProperties>, LogError> {
        let path = directory.join(META_PROPERTIES);
        let Some(text) = read_text(disk, &path)? else { return Ok(None) };
        let properties = parse_properties(&text).map_err(|_| LogError::malformed(&path, "it has a malformed \\u"))?;
        let value = |key: &str| {
            let property = properties.iter().rfind(|property| property.key == key);
            property.map(|property| property.value.trim().to_owned())
        };
        if value("version").as_deref() != Some(VERSION) {
            return Err(LogError::malformed(&path, "its version is not 1"));
        }
        let missing = |key: &str| LogError::malformed(&path, format!("{key} is missing or malformed"));
        let node_id = value("node.id").and_then(|id| id.parse().ok()).ok_or_else(|| missing("node.id"))?;
        let cluster_id = value("cluster.id").ok_or_else(|| missing("cluster.id"))?;
        Ok(Some(MetaProperties { cluster_id, node_id: BrokerId(node_id), directory_id: value("directory.id") }))
    }

    /// Writes the file, and waits until it is on disk.
    pub(super) fn write(&self, disk: &dyn Disk, directory: &Path) -> Result<(), LogError> {
        let MetaProperties { cluster_id, node_id, directory_id } = self;
        let directory_id = directory_id.as_ref().map_or(String::new(), |id| format!("directory.id={id}\n"));
        let cluster_id = escape_property(cluster_id);
        let text = format!("cluster.id={cluster_id}\n{directory_id}node.id={node_id}\nversion={VERSION}\n");
        replace_text(disk, &directory.join(META_PROPERTIES), &text)
    }
}
