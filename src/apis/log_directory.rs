//! Which log belongs to which topic id: the names and ids that requests use, joined with the logs on disk.
//!
//! It must not know what a request wants of a log.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use super::partition::Partition;
use super::replica_manager::LogKey;
use crate::env::SyncJob;
use crate::log::log_validator::ValidationSettings;
use crate::log::{LogError, LogManager, LogSettings, SyncPoint};
use crate::lookup_map::LookupMap;
use crate::types::{Now, PartitionIndex, TopicId, TopicPartition};

/// So many files are synced one by one; for more, one sync of the whole file system costs less.
const FILES_SYNCED_ONE_BY_ONE: usize = 2;

/// All logs, by the topic's name and by its id.
#[derive(Debug)]
pub(crate) struct LogDirectory {
    manager: Arc<LogManager>,
    roots: Vec<PathBuf>,
    index: RwLock<Index>,
}

#[derive(Debug, Default)]
struct Index {
    ids: LookupMap<Arc<str>, TopicId>,
    partitions: LookupMap<LogKey, Arc<Partition>>,
}

impl LogDirectory {
    pub(crate) fn new(manager: Arc<LogManager>, roots: Vec<PathBuf>) -> LogDirectory {
        LogDirectory { manager, roots, index: RwLock::default() }
    }

    pub(crate) fn manager(&self) -> &LogManager {
        &self.manager
    }

    pub(crate) fn find(&self, topic: &str, partition: PartitionIndex) -> Option<Arc<Partition>> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let key = LogKey { topic_id: *index.ids.get(topic)?, partition };
        index.partitions.get(&key).cloned()
    }

    pub(crate) fn find_by_id(&self, topic_id: TopicId, partition: PartitionIndex) -> Option<Arc<Partition>> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        index.partitions.get(&LogKey { topic_id, partition }).cloned()
    }

    /// Makes the log of a partition, or takes the one that is on disk.
    pub(crate) fn open(
        &self,
        now: Now,
        topic: &Arc<str>,
        key: LogKey,
        settings: Arc<LogSettings>,
        validation: ValidationSettings,
    ) -> Result<Arc<Partition>, LogError> {
        let partition = TopicPartition { topic: Arc::clone(topic), partition: key.partition };
        let log = self.manager.create(now, &partition, settings)?;
        let partition = Arc::new(Partition { key, log, validation });
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        index.ids.insert(Arc::clone(topic), key.topic_id);
        index.partitions.insert(key, Arc::clone(&partition));
        Ok(partition)
    }

    /// The cheapest job that covers these points.
    pub(crate) fn sync_job<'a>(&self, points: impl Iterator<Item = &'a SyncPoint>) -> SyncJob {
        match SyncPoint::job(points) {
            SyncJob::Files { files, directories } if files.len() + directories.len() <= FILES_SYNCED_ONE_BY_ONE => {
                SyncJob::Files { files, directories }
            }
            _ => SyncJob::All(self.roots.clone()),
        }
    }
}
