//! Which log belongs to which topic id: the names and ids that requests use, joined with the logs on disk.
//!
//! It follows the metadata image: new partitions get logs, removed topics lose theirs. It must not know what a request wants of a log.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use rand::Rng;
use rand_chacha::ChaCha12Rng;

use super::broker_configs::BrokerConfigs;
use super::config_changes::tell_of_new_configs;
use super::partition::Partition;
use super::replica_manager::LogKey;
use crate::limits::METADATA_BATCH_BYTES_MAX;
use crate::log::{FailedBatches, LogError, LogManager, LogSettings};
use crate::lookup_map::LookupMap;
use crate::marks::Mark;
use crate::metadata::{CLUSTER_METADATA_TOPIC_NAME, MetadataImage, TopicImage};
use crate::record::BatchHeader;
use crate::types::{Now, PartitionIndex, TopicId, TopicPartition};
use crate::zoo::{self, Bug};

/// Producers whose batches are remembered for all partitions without a log; more are as in Kafka, which remembers none.
const MISSING_PRODUCERS_MAX: usize = 10_000;

/// All logs, by the topic's name and by its id.
pub(crate) struct LogDirectory {
    manager: LogManager,
    random: Mutex<ChaCha12Rng>,
    index: RwLock<Index>,
    /// Partitions that could not be given their logs, each with what clients have sent it: that is tried again.
    missing: Mutex<BTreeMap<LogKey, FailedBatches>>,
    /// What there was when the broker started: the records of these partitions lie somewhere, and no log is begun in their place.
    at_start: OnceLock<MetadataImage>,
}

#[derive(Default)]
struct Index {
    ids: LookupMap<Arc<str>, TopicId>,
    partitions: LookupMap<LogKey, Arc<Partition>>,
}

impl LogDirectory {
    /// No topic yet. `random` makes the names of deleted folders.
    pub(crate) fn new(manager: LogManager, random: ChaCha12Rng) -> LogDirectory {
        LogDirectory {
            manager,
            random: Mutex::new(random),
            index: RwLock::default(),
            missing: Mutex::default(),
            at_start: OnceLock::new(),
        }
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

    /// Whether a partition has no log yet, since the disk refused it.
    pub(crate) fn has_missing(&self) -> bool {
        !self.missing().is_empty()
    }

    fn missing(&self) -> MutexGuard<'_, BTreeMap<LogKey, FailedBatches>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers that a partition has no log yet. Says whether that is news.
    fn note_missing(&self, key: LogKey) -> bool {
        match self.missing().entry(key) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(FailedBatches::default());
                true
            }
        }
    }

    /// Takes note that a client's batch found no log. If the partition gets one later, that must not take the next batch of the pipeline
    /// for the first.
    pub(crate) fn note_failed(&self, key: LogKey, batch: &BatchHeader) {
        let mut missing = self.missing();
        let is_full = missing.values().map(FailedBatches::count).sum::<usize>() >= MISSING_PRODUCERS_MAX;
        if let Some(failed) = missing.get_mut(&key) {
            if !is_full {
                failed.note(batch);
            }
            return;
        }
        drop(missing);
        if let Some(found) = self.find_by_id(key.topic_id, key.partition) {
            // It got its log while the batch was looked at.
            let mut failed = FailedBatches::default();
            failed.note(batch);
            found.log.take_failed(failed);
        }
    }

    /// Makes the difference between two images true on disk. Returns the partitions that are new and those that are gone. The first image that
    /// it hears of is that of the start.
    pub(crate) fn follow(
        &self,
        now: Now,
        configs: &BrokerConfigs,
        before: &MetadataImage,
        after: &MetadataImage,
    ) -> FollowedChange {
        let is_start = self.at_start.get().is_none();
        let at_start = self.at_start.get_or_init(|| after.clone());
        let all_settings_changed = configs.apply(after);
        let had_missing = self.has_missing();
        let mut change = FollowedChange::default();
        for topic in before.topics().filter(|topic| after.topic_by_id(topic.topic_id).is_none()) {
            tracing::info!(topic = %topic.name, "topic deleted");
            change.removed.extend(self.remove_topic(now, topic));
        }
        for topic in after.topics() {
            let is_news = !before.topic_by_id(topic.topic_id).is_some_and(|known| Arc::ptr_eq(known, topic));
            if had_missing || is_news {
                let added = self.open_topic(now, configs, after, topic, at_start.topic_by_id(topic.topic_id));
                if !is_news && !added.is_empty() {
                    Mark::PartitionGetsLog.reached();
                }
                change.added.extend(added);
            }
            let has_new_configs = configs_differ(before, after, &topic.name);
            if all_settings_changed || has_new_configs {
                self.set_settings(configs, after, topic);
            }
            if !is_start {
                tell_of_change(before.topic_by_id(topic.topic_id), topic);
            }
        }
        if !is_start {
            tell_of_new_configs(before, after);
        }
        change
    }

    /// Opens the logs that a topic has and this directory has not, and lets all lead in the epochs that the image says.
    fn open_topic(
        &self,
        now: Now,
        configs: &BrokerConfigs,
        image: &MetadataImage,
        topic: &TopicImage,
        at_start: Option<&Arc<TopicImage>>,
    ) -> Vec<Arc<Partition>> {
        let settings = configs.log_settings(image, &topic.name);
        let mut added = Vec::new();
        for (partition, registration) in &topic.partitions {
            let key = LogKey { topic_id: topic.topic_id, partition: *partition };
            let found = match self.find_by_id(key.topic_id, key.partition) {
                Some(found) => found,
                None => {
                    let name = TopicPartition { topic: Arc::clone(&topic.name), partition: *partition };
                    let is_new = !at_start.is_some_and(|topic| topic.partitions.contains_key(partition));
                    match self.manager.create(now, &name, topic.topic_id, Arc::clone(&settings), is_new) {
                        Ok(log) => {
                            // A log from before the start was loaded before this was known.
                            log.set_settings(Arc::clone(&settings));
                            let opened = Arc::new(Partition::new(key, log));
                            let was_missing = self.insert(&topic.name, Arc::clone(&opened));
                            added.push(Arc::clone(&opened));
                            if was_missing {
                                tracing::info!(partition = %name, "the partition has its log now");
                            }
                            opened
                        }
                        Err(error) => {
                            Mark::PartitionWithoutLog.reached();
                            if !zoo::is(Bug::MissingLogStays) && self.note_missing(key) {
                                tracing::error!(partition = %name, %error, "a partition has no log and cannot be served; trying again");
                            }
                            continue;
                        }
                    }
                }
            };
            found.become_leader(registration.leader_epoch);
        }
        added
    }

    /// Lets a partition be found. Says whether it was without its log before.
    fn insert(&self, topic: &Arc<str>, partition: Arc<Partition>) -> bool {
        // Held until it can be found: what fails until then is noted here.
        let mut missing = self.missing();
        let failed = missing.remove(&partition.key);
        let was_missing = failed.is_some();
        if let Some(failed) = failed {
            partition.log.take_failed(failed);
        }
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        index.ids.insert(Arc::clone(topic), partition.key.topic_id);
        index.partitions.insert(partition.key, partition);
        was_missing
    }

    fn remove_topic(&self, now: Now, topic: &TopicImage) -> Vec<Arc<Partition>> {
        self.missing().retain(|key, _| key.topic_id != topic.topic_id);
        let removed: Vec<Arc<Partition>> = {
            let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
            if index.ids.get(&*topic.name) == Some(&topic.topic_id) {
                index.ids.remove(&*topic.name);
            }
            let keys =
                topic.partitions.keys().map(|partition| LogKey { topic_id: topic.topic_id, partition: *partition });
            keys.filter_map(|key| index.partitions.remove(&key)).collect()
        };
        for partition in &removed {
            let name = partition.log.topic_partition();
            if let Err(error) = self.manager.delete(now, name, self.unique()) {
                tracing::error!(partition = %name, %error, "the files of a deleted topic could not be moved away");
            }
        }
        removed
    }

    /// Takes a log out of use and renames its folder, which nobody touches from now on. Says where it is.
    pub(crate) fn put_aside(&self, partition: &TopicPartition) -> Result<Option<PathBuf>, LogError> {
        self.manager.put_aside(partition, self.unique())
    }

    /// Does so with the second log of a partition that lies in two log directories.
    pub(crate) fn put_twin_aside(&self, partition: &TopicPartition) -> Result<Option<PathBuf>, LogError> {
        self.manager.put_twin_aside(partition, self.unique())
    }

    fn set_settings(&self, configs: &BrokerConfigs, image: &MetadataImage, topic: &TopicImage) {
        let settings = configs.log_settings(image, &topic.name);
        for partition in topic.partitions.keys() {
            if let Some(partition) = self.find_by_id(topic.topic_id, *partition) {
                partition.log.set_settings(Arc::clone(&settings));
            }
        }
    }

    fn unique(&self) -> u128 {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64())
    }
}

/// The log of the metadata itself, which is no topic that clients find, with bounds that no topic's config moves. It is not made anew while
/// a directory is offline: it may lie there.
pub(crate) fn open_metadata_log(manager: &mut LogManager, now: Now) -> Result<Arc<Partition>, LogError> {
    let message_bytes_max = u32::try_from(METADATA_BATCH_BYTES_MAX).unwrap_or(u32::MAX);
    let settings = Arc::new(LogSettings { delete: false, message_bytes_max, ..LogSettings::default() });
    let key = LogKey { topic_id: TopicId::METADATA, partition: PartitionIndex(0) };
    let name = TopicPartition { topic: Arc::from(CLUSTER_METADATA_TOPIC_NAME), partition: key.partition };
    let log = manager.open_metadata_log(now, &name, key.topic_id, settings)?;
    Ok(Arc::new(Partition::new(key, log)))
}

/// Loads all other logs with the settings that their topics have. Without metadata nobody knows which of them were compacted.
pub(crate) fn load_logs(
    manager: &mut LogManager,
    now: Now,
    configs: &BrokerConfigs,
    image: &MetadataImage,
) -> Result<(), LogError> {
    configs.apply(image);
    let is_known = image.features().next().is_some();
    let settings_of = |topic: &str| {
        let settings = configs.log_settings(image, &Arc::from(topic));
        if is_known { settings } else { Arc::new(LogSettings { compact: true, ..(*settings).clone() }) }
    };
    manager.load(&settings_of, now)
}

/// What following an image changed.
#[derive(Default)]
pub(crate) struct FollowedChange {
    pub(crate) added: Vec<Arc<Partition>>,
    pub(crate) removed: Vec<Arc<Partition>>,
}

/// What an operator is told of a topic.
fn tell_of_change(before: Option<&Arc<TopicImage>>, after: &TopicImage) {
    let (topic, partitions) = (&after.name, after.partitions.len());
    match before {
        None => tracing::info!(%topic, partitions, "topic created"),
        Some(before) if before.partitions.len() < partitions => {
            tracing::info!(%topic, partitions, "topic has more partitions");
        }
        Some(_) => {}
    }
}

fn configs_differ(before: &MetadataImage, after: &MetadataImage, topic: &Arc<str>) -> bool {
    let resource = crate::metadata::ConfigResource::topic(Arc::clone(topic));
    before.configs(&resource) != after.configs(&resource)
}
