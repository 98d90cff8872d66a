//! All logs of all log directories: loads them, makes and deletes them, shuts them down.
//!
//! It must not know topics' configs, leaders, nor who asks. Methods that say so wait for syncs: they belong to a start, a shutdown, or a
//! role of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use crate::env::{Disk, DiskError};
use crate::log::clean_shutdown_file;
use crate::log::deleted_folders::{DeletedFolders, DeletedLog};
use crate::log::error::LogError;
use crate::log::first_start::of_metadata_log;
use crate::log::log_directory::{LogDirectory, new_id};
use crate::log::log_file_name::{deleted_folder_name, stray_folder_name};
use crate::log::log_loader::LogLoader;
use crate::log::meta_properties::MetaProperties;
use crate::log::new_log_file;
use crate::log::offset_checkpoint::Offsets;
use crate::log::partition_metadata_file;
use crate::log::settings::{LogManagerSettings, LogSettings};
use crate::log::unified_log::{LogIdentity, UnifiedLog};
use crate::marks::Mark;
use crate::types::{Now, Offset, TopicId, TopicPartition};
use crate::zoo::{self, Bug};

/// What stands for the broker's epoch where it has none.
const UNKNOWN_EPOCH: i64 = -1;

type Logs = BTreeMap<TopicPartition, Arc<UnifiedLog>>;

/// What an operator may know about a log directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDirectoryInfo {
    /// Where it is.
    pub path: PathBuf,
    /// Its `directory.id`.
    pub id: String,
    /// Whether it is the metadata log's alone.
    pub is_of_metadata_only: bool,
    /// Whether it is usable.
    pub is_online: bool,
    /// Whether clients may not append, since the disk is nearly full.
    pub is_full: bool,
    /// Whether the last shutdown was clean, and no record has gone since.
    pub was_clean: bool,
}

/// All logs of all log directories.
#[derive(Debug)]
pub struct LogManager {
    pub(super) disk: Arc<dyn Disk>,
    settings: LogManagerSettings,
    pub(super) directories: Vec<LogDirectory>,
    logs: RwLock<Logs>,
    /// Logs of partitions that lie in another directory, too, under another topic id: only the metadata say which is the right one.
    twins: Mutex<Logs>,
    /// Partitions whose files could not be loaded.
    pub(super) unreadable: BTreeMap<TopicPartition, UnreadableLog>,
    pub(super) deleted: DeletedFolders,
    /// Whether a directory that the cluster knows is not among these.
    is_one_missing: AtomicBool,
    /// Partitions that were on the disk up to these offsets when the last run ended, which was not in order, and whose folders are not there.
    gone: Offsets,
}

/// What is known about a log that could not be loaded.
#[derive(Debug)]
pub(super) struct UnreadableLog {
    pub(super) log_directory: Arc<Path>,
    pub(super) recovery_point: Offset,
    pub(super) log_start: Offset,
}

/// What a load is told about a log beside its folder.
#[derive(Clone, Copy, Debug, Default)]
struct KnownOffsets {
    recovery_point: Offset,
    log_start: Offset,
    /// The directory is synced as a whole before anything depends on the log.
    is_synced_after: bool,
}

/// What was loaded from one directory.
#[derive(Debug, Default)]
struct LoadedDirectory {
    logs: Logs,
    twins: Logs,
    unreadable: BTreeMap<TopicPartition, UnreadableLog>,
    deleted: Vec<PathBuf>,
    /// Empty logs of partitions that have another one.
    left_over: Vec<Arc<UnifiedLog>>,
    gone: Offsets,
}

impl LogManager {
    /// Opens the directories, making those that are not there. `random` makes the ids of new directories, and of a new cluster. A
    /// directory with a disk error is left out as long as another is usable.
    ///
    /// No log is loaded yet: first that of the metadata, which say what topics there are ([`LogManager::open_metadata_log`]), then all
    /// others ([`LogManager::load`]).
    pub fn open(
        disk: Arc<dyn Disk>,
        settings: LogManagerSettings,
        random: &mut dyn FnMut() -> u128,
    ) -> Result<LogManager, LogError> {
        let directories = open_directories(&*disk, &settings, random)?;
        Ok(LogManager {
            disk,
            settings,
            directories,
            logs: RwLock::default(),
            twins: Mutex::default(),
            unreadable: BTreeMap::new(),
            deleted: DeletedFolders::default(),
            is_one_missing: AtomicBool::new(false),
            gone: Offsets::new(),
        })
    }

    /// Loads every log that is not loaded yet; `settings_of` a topic's name gives its settings. Waits for the disk, and for syncs if the
    /// last shutdown was not clean.
    ///
    /// A directory with a disk error is left out, with all its logs, as long as another is usable. A log whose files make no sense is left
    /// out alone.
    pub fn load(&mut self, settings_of: &dyn Fn(&str) -> Arc<LogSettings>, now: Now) -> Result<(), LogError> {
        let known: BTreeSet<TopicPartition> = self.logs().iter().map(|log| log.topic_partition().clone()).collect();
        let known = |partition: &TopicPartition| known.contains(partition) || self.unreadable.contains_key(partition);
        let all = self.load_directories(&|partition| !known(partition), settings_of, now)?;
        self.take_in(all, now);
        self.tell_of_load();
        self.check_free_space();
        self.note_recovery()
    }

    /// The operator learns how much there is, and after an end that was not in order what that has meant.
    fn tell_of_load(&self) {
        for directory in self.directories.iter().filter(|directory| directory.is_online()) {
            let logs: Vec<_> = self.logs().into_iter().filter(|log| log.is_in(&directory.path)).collect();
            let segments: usize = logs.iter().map(|log| log.segments()).sum();
            let bytes: u64 = logs.iter().map(|log| log.bytes()).sum();
            let checked_bytes: u64 = logs.iter().map(|log| log.checked_bytes()).sum();
            let (was_clean, logs, directory) = (directory.was_clean, logs.len(), directory.path.display());
            if was_clean || bytes == 0 {
                tracing::info!(%directory, logs, segments, bytes, "logs are loaded");
            } else {
                tracing::warn!(%directory, logs, segments, bytes, checked_bytes, "logs are loaded; the last end was not in order: they were checked from the segments of their recovery points on, and leader epochs rise");
            }
        }
    }

    /// Loads the wanted logs of all directories.
    fn load_directories(
        &self,
        is_wanted: &dyn Fn(&TopicPartition) -> bool,
        settings_of: &dyn Fn(&str) -> Arc<LogSettings>,
        now: Now,
    ) -> Result<LoadedDirectory, LogError> {
        let mut all = LoadedDirectory::default();
        for directory in self.directories.iter().filter(|directory| directory.is_online()) {
            match self.load_directory(directory, is_wanted, settings_of, now) {
                Ok(loaded) => all.join(loaded)?,
                Err(error) => {
                    Mark::DirectoryOffline.reached();
                    directory.take_offline(&error);
                    if self.logs().iter().any(|log| log.is_in(&directory.path)) {
                        // What was loaded from it before is in use.
                        return Err(error);
                    }
                }
            }
        }
        if self.directories.iter().any(LogDirectory::is_online) { Ok(all) } else { Err(LogError::NoDirectory) }
    }

    fn take_in(&mut self, loaded: LoadedDirectory, now: Now) {
        let due = now.instant.after_ms(self.settings.file_delete_delay_ms);
        self.deleted = DeletedFolders::new(loaded.deleted.into_iter().map(|path| (due, path)).collect());
        self.logs.get_mut().expect(NO_PANIC).extend(loaded.logs);
        self.twins.get_mut().expect(NO_PANIC).extend(loaded.twins);
        self.unreadable.extend(loaded.unreadable);
        self.gone.extend(loaded.gone);
        loaded.left_over.iter().for_each(|log| self.put_left_over_aside(log, now));
    }

    /// Nothing is known to lie in it, and what somebody may have put there stays.
    fn put_left_over_aside(&self, log: &UnifiedLog, now: Now) {
        let (partition, folder) = (log.topic_partition(), log.directory());
        let unique = u128::try_from(now.wall.0).unwrap_or(0);
        let to = log.log_directory().join(stray_folder_name(partition, unique));
        let renamed = self.disk.rename(&folder, &to);
        let (folder, to) = (folder.display(), to.display());
        match renamed {
            Ok(()) => {
                tracing::info!(%partition, %folder, %to, "an empty folder is put aside: its partition lies in another log directory")
            }
            // The next start finds it again.
            Err(error) => {
                tracing::warn!(%partition, %error, "an empty folder could not be put aside: its partition lies in another log directory")
            }
        }
    }

    /// The cluster's id, from the directories or new.
    pub fn cluster_id(&self) -> &str {
        self.directories.first().map_or("", |directory| &directory.cluster_id)
    }

    /// The directories, in the order of the settings; the one of the metadata log, if it has its own, is last.
    pub fn directories(&self) -> Vec<LogDirectoryInfo> {
        let info = |directory: &LogDirectory| LogDirectoryInfo {
            path: directory.path.to_path_buf(),
            id: directory.id.clone(),
            is_of_metadata_only: self.is_of_metadata_only(directory),
            is_online: directory.is_online(),
            is_full: directory.is_full.load(Ordering::Relaxed),
            was_clean: directory.was_clean && !directory.has_lost_records.load(Ordering::Relaxed),
        };
        self.directories.iter().map(info).collect()
    }

    /// Says that there is another directory, which is not here: partitions without a log may have one there.
    pub fn note_missing_directory(&self) {
        self.is_one_missing.store(true, Ordering::Relaxed);
    }

    /// The log of a partition.
    pub fn get(&self, partition: &TopicPartition) -> Option<Arc<UnifiedLog>> {
        self.logs.read().expect(NO_PANIC).get(partition).cloned()
    }

    /// All logs, by partition.
    pub fn logs(&self) -> Vec<Arc<UnifiedLog>> {
        self.logs.read().expect(NO_PANIC).values().cloned().collect()
    }

    /// The log of a partition, made in the directory with the fewest logs if it is not there, or in the next one that the disk does not refuse. The new
    /// folder is owed a sync.
    ///
    /// Unless the partition `is_new`, it is not made while a directory is offline or missing: its records may lie there. Nor is an empty one taken then
    /// that knows no topic: it may be what a refused creation has left.
    pub fn create(
        &self,
        now: Now,
        partition: &TopicPartition,
        topic_id: TopicId,
        settings: Arc<LogSettings>,
        is_new: bool,
    ) -> Result<Arc<UnifiedLog>, LogError> {
        self.create_in(None, now, partition, topic_id, settings, is_new)
    }

    /// Loads the metadata log from the directory in which it lies, or makes it in that of the settings. One without records is not used while
    /// a directory is offline: the cluster's may lie there.
    pub fn open_metadata_log(
        &mut self,
        now: Now,
        partition: &TopicPartition,
        topic_id: TopicId,
        settings: Arc<LogSettings>,
    ) -> Result<Arc<UnifiedLog>, LogError> {
        if self.get(partition).is_none() {
            let loaded = self.load_directories(&|found| found == partition, &|_| Arc::clone(&settings), now)?;
            self.take_in(loaded, now);
        }
        let directory = self.directories.iter().find(|directory| *directory.path == *self.settings.metadata_directory);
        // An empty one is made before a cluster begins, and says nothing of what other directories hold.
        let is_begun = self.get(partition).is_some_and(|log| log.log_end_offset() > Offset(0));
        let may_begin = || self.check_readable(partition).and_then(|()| self.check_nowhere_else(partition));
        let opened = if is_begun { Ok(()) } else { may_begin() };
        let opened = opened.and_then(|()| self.create_in(directory, now, partition, topic_id, settings, false));
        opened.map_err(of_metadata_log)
    }

    /// Whether a cluster may begin with the logs at hand: what lies in a directory that is offline, or in files that could not be loaded, would be
    /// no part of it, and be put aside when it is back.
    pub fn check_complete(&self) -> Result<(), LogError> {
        if let Some(directory) = self.directories.iter().find(|directory| !directory.is_online()) {
            return Err(LogError::Inconsistent(format!(
                "a cluster cannot begin while the log directory {} cannot be used: its partitions would be no part of it; bring it back, or \
                 take it out of log.dirs",
                directory.path.display()
            )));
        }
        self.unreadable.keys().try_for_each(|partition| self.check_readable(partition))
    }

    fn check_readable(&self, partition: &TopicPartition) -> Result<(), LogError> {
        let Some(UnreadableLog { log_directory, .. }) = self.unreadable.get(partition) else { return Ok(()) };
        let (partition, directory) = (partition.clone(), log_directory.display().to_string());
        Err(LogError::Unreadable { partition, directory })
    }

    /// In this directory, else in the one with the fewest logs.
    fn create_in(
        &self,
        directory: Option<&LogDirectory>,
        now: Now,
        partition: &TopicPartition,
        topic_id: TopicId,
        settings: Arc<LogSettings>,
        is_new: bool,
    ) -> Result<Arc<UnifiedLog>, LogError> {
        self.check_readable(partition)?;
        let mut logs = self.logs.write().expect(NO_PANIC);
        let is_known = |log: &&Arc<UnifiedLog>| is_new || log.is_claimed() || zoo::is(Bug::LeftOverFolderTaken);
        if let Some(log) = logs.get(partition).filter(is_known) {
            self.check_topic_id(log, topic_id)?;
            return Ok(Arc::clone(log));
        }
        if !is_new {
            self.check_nowhere_else(partition)?;
        }
        if let Some(log) = logs.get(partition) {
            self.check_topic_id(log, topic_id)?;
            return Ok(Arc::clone(log));
        }
        self.deleted.move_again(Some(partition))?;
        let directories = directory.map_or_else(|| self.by_load(&logs), |directory| vec![directory]);
        let mut refused = None;
        for directory in directories {
            match self.create_at(directory, now, partition, topic_id, Arc::clone(&settings)) {
                Err(error @ LogError::Disk(_)) => refused = refused.or(Some(error)),
                created => {
                    let log = created?;
                    if refused.is_some() {
                        Mark::MadeElsewhere.reached();
                    }
                    logs.insert(partition.clone(), Arc::clone(&log));
                    self.tell_of_gone(partition, directory, is_new);
                    return Ok(log);
                }
            }
        }
        Err(refused.unwrap_or(LogError::NoDirectory))
    }

    /// Makes a log in this directory. If the disk refuses it, an empty folder may stay.
    fn create_at(
        &self,
        directory: &LogDirectory,
        now: Now,
        partition: &TopicPartition,
        topic_id: TopicId,
        settings: Arc<LogSettings>,
    ) -> Result<Arc<UnifiedLog>, LogError> {
        match self.disk.free_bytes(&directory.path) {
            // With the folder the log directory would be made anew, and nobody would notice that somebody has removed it.
            Err(error) if error.is_not_found() && !zoo::is(Bug::RemovedDirectoryRemade) => return Err(error.into()),
            _ => {}
        }
        let folder = directory.path.join(partition.to_string());
        self.disk.create_directory(&folder)?;
        if directory.may_tell_of(partition) {
            new_log_file::put(&*self.disk, &folder)?;
        }
        let log = self.load_log(now, partition, &folder, directory, settings, KnownOffsets::default())?;
        let is_left_over = log.topic_id().is_some();
        self.check_topic_id(&log, topic_id)?;
        if is_left_over {
            // An attempt before has made it and came to no end: nobody has synced its names.
            let metadata = partition_metadata_file::open(&*self.disk, &log.directory())?;
            log.owe_creation(metadata, self.deleted.unsynced());
        }
        Ok(log)
    }

    /// The operator learns that a partition begins in place of one that the last checkpoint knew.
    fn tell_of_gone(&self, partition: &TopicPartition, directory: &LogDirectory, is_new: bool) {
        if let Some(end) = self.gone.get(partition).filter(|_| !is_new) {
            Mark::RecordsGone.reached();
            let directory = directory.path.display();
            tracing::error!(%partition, %directory, before = %end, "the last checkpoint names a partition whose folder is not there: it begins anew, empty, and its records up to this offset are gone unless its topic was deleted and made anew since");
        }
    }

    /// Refuses while a directory in which the log may lie is offline or missing.
    fn check_nowhere_else(&self, partition: &TopicPartition) -> Result<(), LogError> {
        let offline = self.directories.iter().filter(|directory| !directory.is_online());
        let mut elsewhere: Vec<String> = offline.map(|directory| directory.path.display().to_string()).collect();
        if self.is_one_missing.load(Ordering::Relaxed) {
            elsewhere.push("the log directory that is missing".to_owned());
        }
        let (partition, elsewhere) = (partition.clone(), elsewhere.join(" or "));
        if elsewhere.is_empty() || zoo::is(Bug::LogBegunElsewhere) {
            Ok(())
        } else {
            Err(LogError::Elsewhere { partition, elsewhere })
        }
    }

    /// Checks that a log belongs to the topic with this id; one that does not know its topic, since it is new or a power cut came before
    /// the first sync, belongs to it from now on.
    fn check_topic_id(&self, log: &UnifiedLog, topic_id: TopicId) -> Result<(), LogError> {
        let partition = log.topic_partition();
        match log.topic_id() {
            Some(known) if known == topic_id || zoo::is(Bug::FormerLogKept) => Ok(()),
            Some(known) => {
                Err(LogError::Inconsistent(format!("{partition} belongs to topic id {known}, not to {topic_id}")))
            }
            None => {
                let metadata = partition_metadata_file::write(&*self.disk, &log.directory(), topic_id)?;
                log.set_topic_id(topic_id);
                log.owe_creation(metadata, self.deleted.unsynced());
                Ok(())
            }
        }
    }

    /// Deletes the log of a partition: at once for every reader and writer, on disk after `file.delete.delay.ms`. `unique` keeps the
    /// folder apart from others that wait. Says whether there was one.
    pub fn delete(&self, now: Now, partition: &TopicPartition, unique: u128) -> Result<bool, LogError> {
        if zoo::is(Bug::FormerLogKept) {
            return Ok(true);
        }
        let Some(log) = self.logs.write().expect(NO_PANIC).remove(partition) else { return Ok(false) };
        let to = log.log_directory().join(deleted_folder_name(partition, unique));
        let due = Some(now.instant.after_ms(log.settings().file_delete_delay_ms));
        self.deleted.add(DeletedLog { log, to, due })?;
        Ok(true)
    }

    /// Takes a log out of use and renames its folder, as Kafka does with what is not this broker's: nobody reads, tidies or removes it
    /// from now on. Says where it is; `None` if there was no such log.
    pub fn put_aside(&self, partition: &TopicPartition, unique: u128) -> Result<Option<PathBuf>, LogError> {
        let Some(log) = self.logs.write().expect(NO_PANIC).remove(partition) else { return Ok(None) };
        let to = log.log_directory().join(stray_folder_name(partition, unique));
        self.deleted.add(DeletedLog { log, to: to.clone(), due: None })?;
        if let Some(twin) = self.twins.lock().expect(NO_PANIC).remove(partition) {
            self.logs.write().expect(NO_PANIC).insert(partition.clone(), twin);
        }
        Ok(Some(to))
    }

    /// Partitions of which another directory holds a second log, under another topic id.
    pub fn twins(&self) -> Vec<TopicPartition> {
        self.twins.lock().expect(NO_PANIC).keys().cloned().collect()
    }

    /// Puts the second log of a partition aside, like [`LogManager::put_aside`] the first.
    pub fn put_twin_aside(&self, partition: &TopicPartition, unique: u128) -> Result<Option<PathBuf>, LogError> {
        let Some(log) = self.twins.lock().expect(NO_PANIC).remove(partition) else { return Ok(None) };
        let to = log.log_directory().join(stray_folder_name(partition, unique));
        self.deleted.add(DeletedLog { log, to: to.clone(), due: None })?;
        Ok(Some(to))
    }

    /// Removes the folders of deleted logs whose delay is over. The first error is returned after the others were seen to.
    pub fn remove_deleted(&self, now: Now) -> Result<(), DiskError> {
        let moved = self.deleted.move_again(None);
        let removed = self.deleted.remove_due(&*self.disk, now.instant);
        moved.and(removed)
    }

    /// Applies the retention rules and the regular upkeep to all logs. The first error is returned after the other logs were seen to.
    pub fn clean_up(&self, now: Now) -> Result<(), LogError> {
        let mut result = Ok(());
        for log in self.logs() {
            let deleted = delete_all_old_segments(&log, now);
            let maintained = log.maintain(now);
            result = result.and(deleted).and(maintained.map_err(LogError::from));
        }
        let removed = self.remove_deleted(now);
        result.and(removed.map_err(LogError::from))
    }

    /// Tells the operator when clients begin to be refused, and when they no longer are.
    fn note_free_space(&self, directory: &LogDirectory, free: u64) {
        let (is_full, path, minimum) =
            (free < self.settings.free_bytes_min, directory.path.display(), self.settings.free_bytes_min);
        match (directory.is_full.swap(is_full, Ordering::Relaxed), is_full) {
            (false, true) => {
                tracing::warn!(directory = %path, free, minimum, "the disk is nearly full: producers are refused until there is more space");
            }
            (true, false) => {
                Mark::SpaceIsBack.reached();
                tracing::info!(directory = %path, free, "there is space again: producers are served");
            }
            (true, true) | (false, false) => {}
        }
    }

    /// Looks how much space is left. In a directory below the minimum, clients may not append until there is more again. If that cannot be
    /// found out, the last answer holds. A directory that is gone goes offline with its logs, whose open files would take records as if nothing
    /// were amiss.
    pub fn check_free_space(&self) {
        for directory in self.directories.iter().filter(|directory| directory.is_online()) {
            let free = match self.disk.free_bytes(&directory.path) {
                Err(error) if error.is_not_found() && !zoo::is(Bug::RemovedDirectoryUnseen) => {
                    directory.take_offline(&error.into());
                    self.logs().iter().filter(|log| log.is_in(&directory.path)).for_each(|log| log.follow_offline());
                    continue;
                }
                free => free,
            };
            if let Ok(free) = free {
                self.note_free_space(directory, free);
            }
            let was_unknown = directory.is_space_unknown.swap(free.is_err(), Ordering::Relaxed);
            if let Some(error) = free.err().filter(|_| !was_unknown) {
                tracing::error!(directory = %directory.path.display(), %error, "nobody can say how much space is left");
            }
        }
    }

    /// Completes and syncs all logs, writes the checkpoints, and marks each directory whose logs are all whole as cleanly shut down.
    /// The first error is returned after the other directories were seen to.
    pub fn shutdown(&self, broker_epoch: i64) -> Result<(), LogError> {
        let mut result = Ok(());
        for directory in self.directories.iter().filter(|directory| directory.is_online()) {
            if let Err(error) = self.shut_down_directory(directory, broker_epoch) {
                Mark::ShutdownNotClean.reached();
                tracing::error!(directory = %directory.path.display(), %error, "the shutdown is not clean: the logs in this directory are checked at the next start");
                result = result.and(Err(error));
            }
        }
        result
    }

    /// Says again that the last shutdown of a directory was clean, for the start after one that is refused before anything was appended. An error is no
    /// harm: the logs are checked then.
    pub fn give_marks_back(&self) {
        let is_whole = |directory: &&LogDirectory| {
            let is_read = !self.unreadable.values().any(|log| log.log_directory == directory.path);
            directory.is_online()
                && directory.was_clean
                && is_read
                && !directory.has_lost_records.load(Ordering::Relaxed)
        };
        for directory in self.directories.iter().filter(is_whole) {
            // The load may have put the last steps of a compaction or a deletion behind it.
            let synced = self.disk.sync_all(&directory.path).map_err(LogError::Sync);
            let put = synced.and_then(|()| clean_shutdown_file::put(&*self.disk, &directory.path, UNKNOWN_EPOCH));
            if let Err(error) = put {
                tracing::warn!(directory = %directory.path.display(), %error, "the start is refused, and the next one will check the logs in this directory");
            }
        }
    }

    fn shut_down_directory(&self, directory: &LogDirectory, broker_epoch: i64) -> Result<(), LogError> {
        let mut all_whole = !self.unreadable.values().any(|log| log.log_directory == directory.path);
        let logs: Vec<Arc<UnifiedLog>> = self.logs().into_iter().filter(|log| log.is_in(&directory.path)).collect();
        let mut whole = Vec::new();
        for log in &logs {
            match log.close() {
                Ok(true) => whole.push(log),
                Ok(false) => {}
                Err(error) => {
                    tracing::error!(partition = %log.topic_partition(), %error, "a log is not closed cleanly");
                }
            }
        }
        all_whole &= whole.len() == logs.len();
        self.disk.sync_all(&directory.path)?;
        whole.iter().for_each(|log| log.note_all_synced());
        self.checkpoint_directory(directory)?;
        if all_whole {
            clean_shutdown_file::put(&*self.disk, &directory.path, broker_epoch)?;
        }
        Ok(())
    }

    /// The directories in which a new log may be made, that with the fewest first and full ones last.
    fn by_load(&self, logs: &Logs) -> Vec<&LogDirectory> {
        let load = |directory: &&LogDirectory| {
            let logs = logs.values().filter(|log| log.is_in(&directory.path)).count();
            (directory.is_full.load(Ordering::Relaxed), logs)
        };
        let may_hold = |directory: &&LogDirectory| directory.is_online() && !self.is_of_metadata_only(directory);
        let mut directories: Vec<&LogDirectory> = self.directories.iter().filter(may_hold).collect();
        directories.sort_by_key(load);
        directories
    }

    fn is_of_metadata_only(&self, directory: &LogDirectory) -> bool {
        !self.settings.directories.iter().any(|path| **path == *directory.path)
    }

    fn load_directory(
        &self,
        directory: &LogDirectory,
        is_wanted: &dyn Fn(&TopicPartition) -> bool,
        settings_of: &dyn Fn(&str) -> Arc<LogSettings>,
        now: Now,
    ) -> Result<LoadedDirectory, LogError> {
        let (recovery_points, log_starts) = directory.checkpoints(&*self.disk)?;
        let found = directory.folders(&*self.disk)?;
        let mut loaded = LoadedDirectory { deleted: found.deleted, ..LoadedDirectory::default() };
        let known_of = |partition: &TopicPartition| {
            let checkpoint = |offsets: &Offsets| offsets.get(partition).copied().unwrap_or_default();
            KnownOffsets {
                recovery_point: checkpoint(&recovery_points),
                log_start: checkpoint(&log_starts),
                is_synced_after: !directory.was_clean,
            }
        };
        let unreadable = |KnownOffsets { recovery_point, log_start, .. }: KnownOffsets| {
            let log_directory = Arc::clone(&directory.path);
            UnreadableLog { log_directory, recovery_point, log_start }
        };
        for partition in found.elsewhere.into_iter().filter(|partition| is_wanted(partition)) {
            tracing::error!(%partition, directory = %directory.path.display(), "the folder of a partition lies on another file system than its log directory, whose sync would not reach it, and is not served: move it into the log directory, or into one of log.dirs on its own file system");
            loaded.unreadable.insert(partition.clone(), unreadable(known_of(&partition)));
        }
        for (partition, folder) in found.partitions.into_iter().filter(|(partition, _)| is_wanted(partition)) {
            let settings = settings_of(&partition.topic);
            let known = known_of(&partition);
            match self.load_log(now, &partition, &folder, directory, settings, known) {
                Ok(log) => drop(loaded.logs.insert(partition, log)),
                Err(error @ LogError::Malformed { .. }) => {
                    tracing::error!(%partition, directory = %directory.path.display(), %error, "a log cannot be loaded, and is not served until its files are mended or moved away");
                    loaded.unreadable.insert(partition, unreadable(known));
                }
                Err(error) => return Err(error),
            }
        }
        if directory.was_clean {
            note_lost_records(directory, &recovery_points, is_wanted, &loaded);
        } else {
            // What was recovered may still lie in memory only; from here on it counts as being on disk.
            self.disk.sync_all(&directory.path)?;
            let has_log = |partition: &TopicPartition| {
                loaded.logs.contains_key(partition) || loaded.unreadable.contains_key(partition)
            };
            loaded.gone = recovery_points.into_iter().filter(|(partition, _)| is_wanted(partition)).collect();
            loaded.gone.retain(|partition, recovery_point| *recovery_point > Offset(0) && !has_log(partition));
        }
        Ok(loaded)
    }

    fn load_log(
        &self,
        now: Now,
        partition: &TopicPartition,
        folder: &Path,
        directory: &LogDirectory,
        settings: Arc<LogSettings>,
        KnownOffsets { recovery_point, log_start, is_synced_after }: KnownOffsets,
    ) -> Result<Arc<UnifiedLog>, LogError> {
        let folder: Arc<Path> = Arc::from(folder);
        let loader = LogLoader {
            disk: &self.disk,
            directory: &folder,
            settings: &settings,
            now: now.wall,
            was_clean: directory.was_clean,
            is_synced_after,
            recovery_point,
            log_start,
        };
        let loaded = loader.load()?;
        let topic_id = match partition_metadata_file::read(&*self.disk, &folder) {
            // A power cut came before the first sync, or the disk refused the file when the log was made: nothing durable is in it.
            Err(LogError::Malformed { .. }) if !directory.was_clean || loaded.end.offset == Offset(0) => {
                Mark::TopicIdUnknown.reached();
                None
            }
            result => result?,
        };
        let identity = LogIdentity {
            topic_partition: partition.clone(),
            topic_id: topic_id.map_or_else(OnceLock::new, OnceLock::from),
            was_clean: directory.was_clean,
            had_records: loaded.recovery_point > Offset(0) || loaded.checked_bytes > 0,
            checked_bytes: loaded.checked_bytes,
            log_directory: Arc::clone(&directory.path),
            is_disk_full: Arc::clone(&directory.is_full),
        };
        Ok(Arc::new(UnifiedLog::new(identity, Arc::clone(&self.disk), folder, settings, loaded)))
    }
}

/// Lets others use the log in between.
fn delete_all_old_segments(log: &UnifiedLog, now: Now) -> Result<(), LogError> {
    while log.delete_old_segments(now)? > 0 {}
    Ok(())
}

/// Looks whether each log reaches as far as it did at the last, clean shutdown. Folders that are gone, or older copies in their place, lose
/// records behind the broker's back.
fn note_lost_records(
    directory: &LogDirectory,
    recovery_points: &Offsets,
    is_wanted: &dyn Fn(&TopicPartition) -> bool,
    loaded: &LoadedDirectory,
) {
    for (partition, recovery_point) in recovery_points.iter().filter(|(partition, _)| is_wanted(partition)) {
        let log = loaded.logs.get(partition).or_else(|| loaded.twins.get(partition));
        let end = log.map_or(Offset(0), |log| log.log_end_offset());
        if end < *recovery_point && !loaded.unreadable.contains_key(partition) {
            Mark::RecordsGone.reached();
            let directory_path = directory.path.display();
            tracing::error!(%partition, directory = %directory_path, %end, before = %recovery_point, "records are gone since the shutdown: somebody has removed files, or put older ones in their place");
            directory.has_lost_records.store(true, Ordering::Relaxed);
        }
    }
}

/// Why a lock cannot be poisoned.
const NO_PANIC: &str = "no panic while the map is locked: an assertion aborts";

impl LoadedDirectory {
    fn join(&mut self, other: LoadedDirectory) -> Result<(), LogError> {
        for (partition, log) in other.logs {
            let Some(twin) = self.logs.insert(partition.clone(), Arc::clone(&log)) else { continue };
            if let Some(left_over) = left_over_of(&twin, &log).filter(|_| !zoo::is(Bug::LeftOverFolderIsTwin)) {
                Mark::LeftOverGivesWay.reached();
                if Arc::ptr_eq(left_over, &log) {
                    self.logs.insert(partition.clone(), Arc::clone(&twin));
                }
                self.left_over.push(Arc::clone(left_over));
                continue;
            }
            let ids = twin.topic_id().zip(log.topic_id());
            let (one, two) = (twin.directory(), log.directory());
            if ids.is_none_or(|(one, two)| one == two) || self.twins.insert(partition.clone(), twin).is_some() {
                let (one, two) = (one.display(), two.display());
                return Err(LogError::Inconsistent(format!("{partition} lies in both {one} and {two}")));
            }
        }
        self.unreadable.extend(other.unreadable);
        self.left_over.extend(other.left_over);
        self.gone.extend(other.gone);
        self.deleted.extend(other.deleted);
        Ok(())
    }
}

/// The one of two logs of a partition that is none: where the disk refuses a creation, it may refuse to take the folder away, too, or a power cut comes in
/// between. So an empty folder stays, the partition is made in another directory, and nothing is lost with the folder. It knows no topic, or the same one
/// if only the last byte of the file that says so was refused; one that has lost its records is no such log. Kafka takes the directory offline after such a refusal, and refuses two folders.
fn left_over_of<'a>(one: &'a Arc<UnifiedLog>, two: &'a Arc<UnifiedLog>) -> Option<&'a Arc<UnifiedLog>> {
    let is_left_over = |(log, other): &(&'a Arc<UnifiedLog>, &Arc<UnifiedLog>)| {
        let is_unknown = log.topic_id().is_none() && log.log_end_offset() == Offset(0);
        is_unknown || log.is_blank() && log.topic_id() == other.topic_id()
    };
    let empty = [(two, one), (one, two)].into_iter().filter(is_left_over).map(|(log, _)| log);
    empty.min_by_key(|log| log.topic_id().is_some())
}

/// Opens all directories, and checks that they belong together. One with a disk error is offline, as long as another is not.
fn open_directories(
    disk: &dyn Disk,
    settings: &LogManagerSettings,
    random: &mut dyn FnMut() -> u128,
) -> Result<Vec<LogDirectory>, LogError> {
    let mut directories: Vec<LogDirectory> = Vec::new();
    let mut first_error = None;
    let mut paths: Vec<&PathBuf> = settings.directories.iter().collect();
    if !settings.directories.contains(&settings.metadata_directory) {
        paths.push(&settings.metadata_directory);
    }
    let cluster_id = settings.cluster_id.clone().map_or_else(|| cluster_of(disk, &paths), |named| Ok(Some(named)))?;
    let cluster_id = cluster_id.unwrap_or_else(|| new_id(random));
    for path in paths {
        let identify = || MetaProperties {
            cluster_id: cluster_id.clone(),
            node_id: settings.node_id,
            directory_id: Some(new_id(random)),
        };
        let directory = match LogDirectory::open(disk, path, settings.node_id, identify) {
            Err(error) if is_of_one_directory(&error) && !zoo::is(Bug::DirectoryTakesAll) => {
                directories.push(LogDirectory::unusable(path, cluster_id.clone(), &error));
                first_error = first_error.or(Some(error));
                continue;
            }
            opened => opened.map_err(|error| twin_or(error, disk, path, &directories))?,
        };
        let path = path.display();
        if directory.cluster_id != cluster_id {
            return Err(of_another_cluster(&directory, &cluster_id, settings));
        }
        if let Some(twin) = directories.iter().find(|other| other.id == directory.id) {
            let twin = twin.path.display();
            return Err(LogError::Inconsistent(format!("{twin} and {path} have the same directory.id")));
        }
        directories.push(directory);
    }
    take_marks(disk, &mut directories, &mut first_error);
    if directories.iter().any(LogDirectory::is_online) {
        Ok(directories)
    } else {
        Err(first_error.unwrap_or(LogError::NoDirectory))
    }
}

/// The cluster of the first directory that belongs to one. Where none is known to, but one could not be read, nobody can say: it could be read a moment
/// later, when another has been given a cluster of its own.
fn cluster_of(disk: &dyn Disk, paths: &[&PathBuf]) -> Result<Option<String>, LogError> {
    let mut unread = None;
    for path in paths {
        match MetaProperties::read(disk, path) {
            Ok(Some(properties)) => return Ok(Some(properties.cluster_id)),
            Ok(None) => {}
            Err(error @ LogError::Disk(_)) => unread = unread.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    unread.map_or(Ok(None), Err)
}

/// Only now, when no directory refuses the start: one that is refused by then leaves the marks of the last shutdown for the next.
fn take_marks(disk: &dyn Disk, directories: &mut [LogDirectory], first_error: &mut Option<LogError>) {
    for directory in directories.iter_mut().filter(|directory| directory.is_online()) {
        if let Err(error) = directory.take_mark(disk) {
            directory.take_offline(&error);
            first_error.get_or_insert(error);
        }
    }
}

/// Why a directory of another cluster is not opened, and the cure: only the environment asks for a cluster, else the first directory does.
fn of_another_cluster(directory: &LogDirectory, wanted: &str, settings: &LogManagerSettings) -> LogError {
    let (path, found) = (directory.path.display(), &directory.cluster_id);
    let cure = match settings.cluster_id {
        Some(_) => format!(
            "set the variable CLUSTER_ID (or KAFKA_CLUSTER_ID, KAFKA_KRAFT_CLUSTER_ID) to {found} or remove it, or name another \
             directory in `log.dirs`"
        ),
        None => "name the directories of one cluster only in `log.dirs`".to_owned(),
    };
    LogError::Inconsistent(format!("{path} belongs to cluster.id {found}, not to {wanted}: {cure}"))
}

/// A directory whose lock is held may be one that was opened just now, by a link or another way to write its name: then it is that.
fn twin_or(error: LogError, disk: &dyn Disk, path: &Path, opened: &[LogDirectory]) -> LogError {
    let id = match (&error, MetaProperties::read(disk, path)) {
        (LogError::Disk(DiskError::Locked { .. }), Ok(Some(properties))) => properties.directory_id,
        _ => None,
    };
    let Some(twin) = opened.iter().find(|other| id.as_ref() == Some(&other.id)) else { return error };
    let (twin, path) = (twin.path.display(), path.display());
    LogError::Inconsistent(format!(
        "{twin} and {path} are the same directory: name it once in `log.dirs`, and by the same name in `metadata.log.dir`"
    ))
}

/// Whether the other directories can be used in spite of this error. Another broker that holds the lock is a mistake of the operator.
fn is_of_one_directory(error: &LogError) -> bool {
    matches!(error, LogError::Disk(error) | LogError::Sync(error) if !matches!(error, DiskError::Locked { .. }))
}
