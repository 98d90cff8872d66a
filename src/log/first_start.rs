//! Whether log directories begin a cluster or belong to one: one that belongs to a cluster and no metadata log anywhere means that the
//! metadata are lost, and that nothing may begin in their place.
//!
//! It must not know what the metadata say.

use std::path::{Path, PathBuf};

use crate::env::Disk;
use crate::log::error::LogError;
use crate::log::log_directory::sync_names;
use crate::log::log_file_name::{FolderKind, parse_folder_name};
use crate::log::meta_properties::MetaProperties;
use crate::log::settings::LogManagerSettings;
use crate::types::TopicPartition;

/// What lies in the directories before a start writes anything.
#[derive(Debug, Default)]
struct Found<'a> {
    /// Directories with an identity, and the cluster of each.
    known: Vec<(&'a Path, String)>,
    /// Why one could not be looked at.
    unreadable: Option<LogError>,
    has_metadata_log: bool,
    has_partitions: bool,
    /// Kafka's format step was here.
    is_formatted: bool,
}

/// What Kafka's format step leaves beside the identity (KIP-778).
const BOOTSTRAP_CHECKPOINT: &str = "bootstrap.checkpoint";

/// Refuses to go on if the metadata log is lost. In directories that are all new, its folder is made, before anything says that they belong
/// to a cluster: a first start that comes to no end is told from a loss by that.
///
/// Directories that Kafka has formatted, and in which no partition lies yet, begin a cluster, too. If one cannot
/// be read, the metadata log may lie there, and whoever needs it says so.
pub fn check_metadata_log(
    disk: &dyn Disk,
    settings: &LogManagerSettings,
    metadata_log: &TopicPartition,
) -> Result<(), LogError> {
    let mut paths: Vec<&PathBuf> = settings.directories.iter().collect();
    if !settings.directories.contains(&settings.metadata_directory) {
        paths.push(&settings.metadata_directory);
    }
    let mut found = Found::default();
    for path in paths {
        match look(disk, path, metadata_log, &mut found) {
            Err(error @ LogError::Disk(_)) => found.unreadable = found.unreadable.or(Some(error)),
            result => result?,
        }
    }
    if found.has_metadata_log {
        return Ok(());
    }
    let Some((path, cluster_id)) = found.known.first() else {
        // One that cannot be read may belong to a cluster.
        return found.unreadable.map_or_else(|| make_folder(disk, settings, metadata_log), Err);
    };
    if (found.is_formatted && !found.has_partitions) || found.unreadable.is_some() {
        return Ok(());
    }
    let (path, keys) = (path.display(), "log.dirs or metadata.log.dir");
    Err(LogError::Inconsistent(format!(
        "no log directory holds the metadata log {metadata_log}, yet {path} belongs to the cluster {cluster_id}: the directory that held it \
         was emptied, is not mounted, or is no longer named; bring it back to {keys}. If it is lost for good, remove meta.properties from \
         the log directories that are left: the next start then makes topics of the partitions in them, with the broker's defaults for their \
         configs, so give log.retention.ms a value by which nothing is removed that should stay"
    )))
}

/// Takes one directory into what is found.
fn look<'a>(
    disk: &dyn Disk,
    path: &'a Path,
    metadata_log: &TopicPartition,
    found: &mut Found<'a>,
) -> Result<(), LogError> {
    let properties = MetaProperties::read(disk, path)?;
    found.known.extend(properties.map(|properties| (path, properties.cluster_id)));
    let entries = match disk.list(path) {
        Err(error) if error.is_not_found() => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        if let FolderKind::Current(partition) = parse_folder_name(&entry.name) {
            found.has_metadata_log |= partition == *metadata_log;
            found.has_partitions = true;
        }
        found.is_formatted |= entry.name == BOOTSTRAP_CHECKPOINT;
    }
    Ok(())
}

fn make_folder(disk: &dyn Disk, settings: &LogManagerSettings, metadata_log: &TopicPartition) -> Result<(), LogError> {
    let folder = settings.metadata_directory.join(metadata_log.to_string());
    disk.create_directory(&folder)?;
    Ok(sync_names(disk, &folder)?)
}
