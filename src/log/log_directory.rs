//! One log directory: its identity, its lock, its checkpoints, and how the last shutdown left it.
//!
//! It must not know what a log is, beyond a folder's name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::env::{Disk, DiskError, DiskLock, EntryKind};
use crate::log::checkpoint_file::NextText;
use crate::log::clean_shutdown_file;
use crate::log::error::LogError;
use crate::log::log_file_name::{FolderKind, parse_folder_name};
use crate::log::meta_properties::MetaProperties;
use crate::log::offset_checkpoint::{self, LOG_STARTS, Offsets, RECOVERY_POINTS};
use crate::types::{BrokerId, TopicId, TopicPartition};

/// Excludes other brokers.
pub(super) const LOCK_FILE: &str = ".lock";

/// One log directory.
pub(super) struct LogDirectory {
    /// Where it is.
    pub(super) path: Arc<Path>,
    /// Its `directory.id`; empty if it could not be read.
    pub(super) id: String,
    /// The cluster that it belongs to.
    pub(super) cluster_id: String,
    /// Whether the last shutdown was clean.
    pub(super) was_clean: bool,
    /// Whether logs in it do not reach as far as the last checkpoint says, in spite of a clean shutdown.
    pub(super) has_lost_records: AtomicBool,
    /// Whether a disk error has made it unusable.
    pub(super) is_offline: AtomicBool,
    /// Whether so few bytes are free that clients may not append.
    pub(super) is_full: Arc<AtomicBool>,
    /// Whether nobody could say so at the last look.
    pub(super) is_space_unknown: AtomicBool,
    /// Of which partitions its checkpoints may tell.
    checkpointed: Mutex<BTreeSet<TopicPartition>>,
    _lock: Option<Box<dyn DiskLock>>,
}

impl std::fmt::Debug for LogDirectory {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_offline = self.is_offline.load(Ordering::Relaxed);
        formatter.debug_struct("LogDirectory").field("path", &self.path).field("is_offline", &is_offline).finish()
    }
}

/// What is found in a log directory.
#[derive(Debug, Default)]
pub(super) struct FoundFolders {
    /// The folder of each partition.
    pub(super) partitions: BTreeMap<TopicPartition, PathBuf>,
    /// Partitions whose folder lies on another file system.
    pub(super) elsewhere: Vec<TopicPartition>,
    /// Folders of deleted partitions.
    pub(super) deleted: Vec<PathBuf>,
}

impl LogDirectory {
    /// Makes the directory if it is not there, locks it, and reads its identity; `identify` gives one to a new directory. How the last
    /// shutdown was is not known before [`LogDirectory::take_mark`].
    pub(super) fn open(
        disk: &dyn Disk,
        path: &Path,
        node_id: BrokerId,
        mut identify: impl FnMut() -> MetaProperties,
    ) -> Result<LogDirectory, LogError> {
        disk.create_directory(path)?;
        let lock = disk.lock(&path.join(LOCK_FILE))?;
        let mut properties = MetaProperties::read(disk, path)?;
        if properties.is_none() {
            sync_names(disk, path)?;
        }
        if properties.as_ref().is_none_or(|properties| properties.directory_id.is_none()) {
            let fresh = identify();
            let mut known = properties.unwrap_or_else(|| fresh.clone());
            known.directory_id = fresh.directory_id;
            known.write(disk, path)?;
            properties = Some(known);
        }
        let properties = properties.expect("it was set above if it was missing");
        if properties.node_id != node_id {
            let found = properties.node_id;
            let path = path.display();
            return Err(LogError::Inconsistent(format!(
                "{path} belongs to node.id {found}, not to {node_id}: set node.id={found} (or the variable KAFKA_NODE_ID), or name \
                 another directory in `log.dirs`"
            )));
        }
        Ok(LogDirectory {
            path: Arc::from(path),
            id: properties.directory_id.unwrap_or_default(),
            cluster_id: properties.cluster_id,
            was_clean: false,
            has_lost_records: AtomicBool::new(false),
            is_offline: AtomicBool::new(false),
            is_full: Arc::default(),
            is_space_unknown: AtomicBool::new(false),
            checkpointed: Mutex::default(),
            _lock: Some(lock),
        })
    }

    /// Learns whether the last shutdown was clean. The mark is gone after this: what is loaded from now on may be left half done.
    pub(super) fn take_mark(&mut self, disk: &dyn Disk) -> Result<(), LogError> {
        self.was_clean = clean_shutdown_file::take(disk, &self.path)?;
        Ok(())
    }

    /// A directory that a disk error made unusable before its identity was read.
    pub(super) fn unusable(path: &Path, cluster_id: String, error: &LogError) -> LogDirectory {
        let directory = LogDirectory {
            path: Arc::from(path),
            id: String::new(),
            cluster_id,
            was_clean: false,
            has_lost_records: AtomicBool::new(false),
            is_offline: AtomicBool::new(false),
            is_full: Arc::default(),
            is_space_unknown: AtomicBool::new(false),
            checkpointed: Mutex::default(),
            _lock: None,
        };
        directory.take_offline(error);
        directory
    }

    /// Whether it is usable.
    pub(super) fn is_online(&self) -> bool {
        !self.is_offline.load(Ordering::Acquire)
    }

    /// Makes it unusable until the next start.
    pub(super) fn take_offline(&self, error: &LogError) {
        tracing::error!(directory = %self.path.display(), %error, "a log directory goes offline: its partitions are not served until it is mended and the broker started again");
        self.is_offline.store(true, Ordering::Release);
    }

    /// The folders in it.
    pub(super) fn folders(&self, disk: &dyn Disk) -> Result<FoundFolders, DiskError> {
        let mut found = FoundFolders::default();
        for entry in disk.list(&self.path)? {
            if entry.kind == EntryKind::File {
                continue;
            }
            let path = self.path.join(&entry.name);
            match parse_folder_name(&entry.name) {
                FolderKind::Current(partition) if entry.kind == EntryKind::Elsewhere => found.elsewhere.push(partition),
                FolderKind::Current(partition) => drop(found.partitions.insert(partition, path)),
                FolderKind::Deleted => found.deleted.push(path),
                FolderKind::Future | FolderKind::Stray | FolderKind::Other => {}
            }
        }
        Ok(found)
    }

    /// The recovery points and the log starts of the last checkpoint. One that cannot be read counts as empty, which costs a longer
    /// recovery.
    pub(super) fn checkpoints(&self, disk: &dyn Disk) -> Result<(Offsets, Offsets), LogError> {
        let read = |name: &str| match offset_checkpoint::read(disk, &self.path.join(name)) {
            Err(error @ LogError::Malformed { .. }) => {
                tracing::warn!(%error, "a checkpoint is ignored");
                Ok(Offsets::new())
            }
            result => result,
        };
        let (recovery_points, log_starts) = (read(RECOVERY_POINTS)?, read(LOG_STARTS)?);
        self.checkpointed().extend(recovery_points.keys().chain(log_starts.keys()).cloned());
        Ok((recovery_points, log_starts))
    }

    /// Writes both checkpoints beside the present ones.
    pub(super) fn write_checkpoints(
        &self,
        disk: &dyn Disk,
        recovery_points: &Offsets,
        log_starts: &Offsets,
    ) -> Result<[NextText; 2], DiskError> {
        let write = |name: &str, offsets: &Offsets| offset_checkpoint::write_next(disk, &self.path.join(name), offsets);
        Ok([write(RECOVERY_POINTS, recovery_points)?, write(LOG_STARTS, log_starts)?])
    }

    /// Its next checkpoint may tell of these partitions.
    pub(super) fn note_next_checkpoint<'a>(&self, partitions: impl Iterator<Item = &'a TopicPartition>) {
        self.checkpointed().extend(partitions.cloned());
    }

    /// Its checkpoints tell of these partitions and no others.
    pub(super) fn note_checkpointed(&self, partitions: BTreeSet<TopicPartition>) {
        *self.checkpointed() = partitions;
    }

    /// Whether its checkpoints may tell of a partition.
    pub(super) fn may_tell_of(&self, partition: &TopicPartition) -> bool {
        self.checkpointed().contains(partition)
    }

    fn checkpointed(&self) -> MutexGuard<'_, BTreeSet<TopicPartition>> {
        self.checkpointed.lock().expect("no panic while the set is locked: an assertion aborts")
    }
}

/// Waits until the name of a new directory is on disk, and those of the directories above it, which may be as new: else a power cut
/// takes everything in it along, however often that was synced.
pub(super) fn sync_names(disk: &dyn Disk, path: &Path) -> Result<(), DiskError> {
    for above in path.ancestors().skip(1) {
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        match disk.sync_directory(above) {
            // One that this process may not even open was not made by it.
            Err(DiskError::Io { source, .. }) if source.kind() == std::io::ErrorKind::PermissionDenied => {}
            result => result?,
        }
    }
    Ok(())
}

/// A new directory's id in Kafka's text form. Kafka keeps ids that begin with a dash away from command lines.
pub(super) fn new_id(random: &mut dyn FnMut() -> u128) -> String {
    loop {
        let id = TopicId(random().to_be_bytes()).to_base64();
        if !id.starts_with('-') {
            return id;
        }
    }
}
