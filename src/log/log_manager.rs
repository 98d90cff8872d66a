//! All logs of all log directories.
//!
//! It must not know topics' configs, nor who asks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use crate::env::Disk;
use crate::log::error::LogError;
use crate::log::log_file_name::{FolderKind, parse_folder_name};
use crate::log::log_loader::LogLoader;
use crate::log::settings::LogSettings;
use crate::log::unified_log::UnifiedLog;
use crate::types::{Now, Offset, TopicPartition};

/// All logs of all log directories.
#[derive(Debug)]
pub struct LogManager {
    disk: Arc<dyn Disk>,
    directories: Vec<PathBuf>,
    logs: RwLock<BTreeMap<TopicPartition, Arc<UnifiedLog>>>,
}

impl LogManager {
    /// Opens the directories, making those that are not there, and loads every log in them with `settings`.
    pub fn open(
        disk: Arc<dyn Disk>,
        directories: Vec<PathBuf>,
        settings: &Arc<LogSettings>,
        now: Now,
    ) -> Result<LogManager, LogError> {
        let manager = LogManager { disk, directories, logs: RwLock::default() };
        for directory in &manager.directories {
            manager.disk.create_directory(directory)?;
            for entry in manager.disk.list(directory)? {
                if let FolderKind::Current(partition) = parse_folder_name(&entry.name) {
                    let log =
                        manager.load(now, partition.clone(), &directory.join(&entry.name), Arc::clone(settings))?;
                    manager.logs.write().expect("no panic while locked").insert(partition, log);
                }
            }
        }
        Ok(manager)
    }

    /// The log of a partition.
    pub fn get(&self, partition: &TopicPartition) -> Option<Arc<UnifiedLog>> {
        self.logs.read().expect("no panic while locked").get(partition).cloned()
    }

    /// The log of a partition, made if it is not there.
    pub fn create(
        &self,
        now: Now,
        partition: &TopicPartition,
        settings: Arc<LogSettings>,
    ) -> Result<Arc<UnifiedLog>, LogError> {
        let mut logs = self.logs.write().expect("no panic while locked");
        if let Some(log) = logs.get(partition) {
            return Ok(Arc::clone(log));
        }
        let parent = self.directories.first().ok_or(LogError::NoDirectory)?;
        let directory = parent.join(partition.to_string());
        self.disk.create_directory(&directory)?;
        let log = self.load(now, partition.clone(), &directory, settings)?;
        logs.insert(partition.clone(), Arc::clone(&log));
        Ok(log)
    }

    fn load(
        &self,
        now: Now,
        partition: TopicPartition,
        directory: &Path,
        settings: Arc<LogSettings>,
    ) -> Result<Arc<UnifiedLog>, LogError> {
        let directory: Arc<Path> = Arc::from(directory);
        let loader = LogLoader {
            disk: &self.disk,
            directory: &directory,
            settings: &settings,
            now: now.wall,
            was_clean: false,
            recovery_point: Offset(0),
            log_start: Offset(0),
        };
        let loaded = loader.load()?;
        Ok(Arc::new(UnifiedLog::new(partition, Arc::clone(&self.disk), directory, settings, loaded)))
    }
}
