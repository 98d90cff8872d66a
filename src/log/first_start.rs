//! Whether log directories begin a cluster or belong to one: one that belongs to a cluster and no metadata log anywhere means that the
//! metadata are lost, and that nothing may begin in their place.
//!
//! It must not know what the metadata say.

use std::path::{Path, PathBuf};

use crate::env::{Disk, EntryKind, OpenMode};
use crate::limits::METADATA_BATCH_BYTES_MAX;
use crate::log::error::LogError;
use crate::log::log_directory::{LOCK_FILE, sync_names};
use crate::log::log_file_name::{FolderKind, LOG, file_name, parse_folder_name};
use crate::log::meta_properties::MetaProperties;
use crate::log::offset_checkpoint::{self, RECOVERY_POINTS};
use crate::log::settings::LogManagerSettings;
use crate::record::RecordBatch;
use crate::types::{Offset, TopicPartition};
use crate::zoo::{self, Bug};

/// What lies in the directories before a start writes anything.
#[derive(Debug, Default)]
struct Found<'a> {
    /// Directories with an identity, and the cluster of each.
    known: Vec<(&'a Path, String)>,
    /// One that could not be looked at, and why.
    unreadable: Option<(&'a Path, LogError)>,
    /// The folder of the metadata log.
    metadata_log: Option<PathBuf>,
    has_partitions: bool,
    /// Kafka's format step was here.
    is_formatted: bool,
}

/// What Kafka's format step leaves beside the identity (KIP-778).
const BOOTSTRAP_CHECKPOINT: &str = "bootstrap.checkpoint";

/// What becomes of a broker whose metadata are given up.
const WITHOUT_METADATA: &str = "the next start then makes topics of the partitions in them, with the broker's defaults for their configs, so \
                                give log.retention.ms a value by which nothing is removed that should stay";

/// Refuses to go on if the metadata log is lost, or somebody has emptied it, or it is damaged at its start. In directories that are all new, its
/// folder is made, before anything says that they belong to a cluster: a first start that comes to no end is told from a loss by that.
///
/// Directories that Kafka has formatted, and in which no partition lies yet, begin a cluster, too. None begins while one of its directories cannot be
/// read, in which the metadata log may lie, or used: what is to be mounted there may belong to a cluster.
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
    for path in &paths {
        match look(disk, path, metadata_log, &mut found) {
            Err(error @ LogError::Disk(_)) => found.unreadable = found.unreadable.or(Some((path, error))),
            result => result?,
        }
    }
    if let Some(folder) = found.metadata_log {
        // The start that has made it may have come to no end before its name was on the disk, and a power cut would take it after another directory has said
        // that it belongs to a cluster.
        let is_begun = !found.known.is_empty();
        return if is_begun { Ok(()) } else { Ok(sync_names(disk, &folder)?) };
    }
    let Some((path, cluster_id)) = found.known.first() else {
        // One that cannot be read may belong to a cluster.
        found.unreadable.map_or(Ok(()), |(_, error)| Err(error))?;
        paths.iter().try_for_each(|path| check_usable(disk, path))?;
        paths.iter().try_for_each(|path| forget_checkpoint(disk, path, metadata_log))?;
        return make_folder(disk, settings, metadata_log);
    };
    let is_forgotten = found.unreadable.is_some() && zoo::is(Bug::UnreadableForgotten);
    if let Some((unread, error)) = found.unreadable.filter(|_| !is_forgotten) {
        // They may lie there. An error that has passed when the directory is opened would let others begin in their place.
        tracing::error!(directory = %unread.display(), %error, "a log directory cannot be read");
        let elsewhere = unread.display().to_string();
        return Err(of_metadata_log(LogError::Elsewhere { partition: metadata_log.clone(), elsewhere }));
    }
    let is_new = found.is_formatted && !found.has_partitions;
    if is_new || is_forgotten || zoo::is(Bug::MetadataLossUnseen) {
        return Ok(());
    }
    let (path, keys) = (path.display(), "log.dirs or metadata.log.dir");
    Err(LogError::Inconsistent(format!(
        "no log directory holds the metadata log {metadata_log}, yet {path} belongs to the cluster {cluster_id}: the directory that held it \
         was emptied, is damaged, is not mounted, or is no longer named; bring it back to {keys}. If it is lost for good, remove meta.properties from \
         the log directories that are left: {WITHOUT_METADATA}"
    )))
}

/// What keeps the metadata log from being opened, with a cure that is one for it: it does not begin anew like a partition.
pub(super) fn of_metadata_log(error: LogError) -> LogError {
    let cure = match &error {
        LogError::Elsewhere { partition, elsewhere } => format!(
            "the metadata log {partition} may lie in {elsewhere}, which cannot be used: bring it back; if it is lost for good, take it out \
             of log.dirs and metadata.log.dir, and remove meta.properties from the log directories that are left"
        ),
        LogError::Unreadable { partition, directory } => format!(
            "the files of the metadata log {partition} in {directory} could not be loaded: mend them; if they are lost for good, move \
             {partition} and the meta.properties of every log directory away while the broker is down"
        ),
        _ => return error,
    };
    LogError::Inconsistent(format!("{cure}: {WITHOUT_METADATA}"))
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
        found.is_formatted |= entry.name == BOOTSTRAP_CHECKPOINT;
        match parse_folder_name(&entry.name) {
            FolderKind::Current(partition) if entry.kind != EntryKind::File => {
                found.has_partitions = true;
                if partition == *metadata_log && !is_emptied(disk, path, metadata_log)? {
                    found.metadata_log = Some(path.join(&entry.name));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether nothing is left, or nothing sound at the start, of a log that had records at the last checkpoint: its recovery would cut all of it. A first
/// start that was cut off has an empty one, of which no checkpoint says so.
fn is_emptied(disk: &dyn Disk, directory: &Path, log: &TopicPartition) -> Result<bool, LogError> {
    let folder = directory.join(log.to_string());
    let entries = disk.list(&folder)?;
    let is_segment = |name: &str| Path::new(name).extension().is_some_and(|suffix| suffix == LOG);
    let segments = entries.iter().filter(|entry| is_segment(&entry.name));
    // Behind a snapshot, an empty segment may follow those that were removed.
    let is_left = match segments.map(|entry| &entry.name).min() {
        Some(first) if *first == file_name(Offset(0), LOG) => begins_with_batch(disk, &folder.join(first))?,
        first => first.is_some(),
    };
    if is_left {
        return Ok(false);
    }
    match offset_checkpoint::read(disk, &directory.join(RECOVERY_POINTS)) {
        Err(LogError::Malformed { .. }) => Ok(false),
        offsets => Ok(offsets?.get(log).is_some_and(|end| *end > Offset(0))),
    }
}

/// Whether the first batch of a segment is sound.
fn begins_with_batch(disk: &dyn Disk, segment: &Path) -> Result<bool, LogError> {
    let file = disk.open(segment, OpenMode::Read)?;
    let mut beginning = vec![0; usize::try_from(file.bytes()?).unwrap_or(usize::MAX).min(METADATA_BATCH_BYTES_MAX)];
    let read = file.read_at(0, &mut beginning)?;
    beginning.truncate(read);
    Ok(RecordBatch::parse(&beginning).is_ok_and(|(batch, _)| batch.crc_is_valid()))
}

/// Takes a metadata log that was given up out of a checkpoint, lest the one that begins now is taken for what is left of it.
fn forget_checkpoint(disk: &dyn Disk, directory: &Path, metadata_log: &TopicPartition) -> Result<(), LogError> {
    let path = directory.join(RECOVERY_POINTS);
    let mut offsets = match offset_checkpoint::read(disk, &path) {
        Err(LogError::Malformed { .. }) => return Ok(()),
        offsets => offsets?,
    };
    if offsets.remove(metadata_log).is_some() {
        offset_checkpoint::replace(disk, &path, &offsets)?;
    }
    Ok(())
}

/// Fails if a start cannot make the directory, or take its lock.
fn check_usable(disk: &dyn Disk, path: &Path) -> Result<(), LogError> {
    disk.create_directory(path)?;
    drop(disk.lock(&path.join(LOCK_FILE))?);
    Ok(())
}

fn make_folder(disk: &dyn Disk, settings: &LogManagerSettings, metadata_log: &TopicPartition) -> Result<(), LogError> {
    let folder = settings.metadata_directory.join(metadata_log.to_string());
    disk.create_directory(&folder)?;
    Ok(sync_names(disk, &folder)?)
}
