//! All group coordinators of this broker, and the way from a group to its own (Kafka's type of the same name): one shard for each
//! partition of `__consumer_offsets`.
//!
//! Answers come back as completions; nothing is delivered while a shard is locked. It must not know what a request asks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rand::Rng;
use rand_chacha::ChaCha12Rng;

use super::answer::Completion;
use super::answer_parts::AnswerParts;
use super::deadlines::Deadlines;
use super::group_answer::word;
use super::group_log::{GroupLoadError, replay};
use super::group_shard::{GroupShard, ShardSettings, Turn};
use super::log_directory::FollowedChange;
use super::partition::Partition;
use super::replica_manager::{LogKey, ReplicaManager};
use super::shard_timers::ShardTimers;
use crate::coordinator::group::{CoordinatorResult, GroupAnswer, GroupCoordinator, GroupSettings};
use crate::error_code::ErrorCode;
use crate::marks::Mark;
use crate::metadata::{GROUP_METADATA_TOPIC_NAME, MetadataImage, Placement};
use crate::types::{ConnectionId, Instant, Now, PartitionIndex, Ticket, TopicId};
use crate::zoo::{self, Bug};

/// The coordinators.
pub(crate) struct GroupCoordinatorService {
    settings: GroupSettings,
    shard_settings: ShardSettings,
    shards: RwLock<Shards>,
    timers: Arc<ShardTimers>,
    parts: AnswerParts,
    replica_manager: Arc<ReplicaManager>,
    random: Mutex<ChaCha12Rng>,
}

/// The shards of the topic as it was when it was loaded. Partitions that are added later count from the next start on, since groups
/// would move.
#[derive(Default)]
struct Shards {
    topic_id: Option<TopicId>,
    /// How many partitions groups are spread over.
    count: i32,
    /// Those whose log could be loaded.
    loaded: BTreeMap<PartitionIndex, Arc<GroupShard>>,
    /// Those whose log could not be read. A damaged one is not read again.
    unread: BTreeMap<PartitionIndex, Arc<Partition>>,
}

impl Shards {
    /// Whether groups are spread over this partition.
    fn has(&self, partition: &Partition) -> bool {
        self.topic_id == Some(partition.key.topic_id) && partition.key.partition.0 < self.count
    }
}

impl GroupCoordinatorService {
    /// No topic yet. `random` makes member ids.
    pub(crate) fn new(
        settings: GroupSettings,
        shard_settings: ShardSettings,
        replica_manager: Arc<ReplicaManager>,
        deadlines: Arc<Deadlines>,
        random: ChaCha12Rng,
    ) -> GroupCoordinatorService {
        GroupCoordinatorService {
            settings,
            shard_settings,
            shards: RwLock::default(),
            timers: Arc::new(ShardTimers::new(deadlines)),
            parts: AnswerParts::default(),
            replica_manager,
            random: Mutex::new(random),
        }
    }

    /// Takes note of partitions that have come and gone: loads coordinators, gives them up, and forgets the offsets of topics that are
    /// no more.
    pub(crate) fn follow(&self, now: Now, image: &MetadataImage, change: &FollowedChange) -> Vec<Completion> {
        let mut completions = Vec::new();
        let mut removed = BTreeSet::new();
        for partition in &change.removed {
            removed.insert((Arc::clone(&partition.log.topic_partition().topic), partition.key.topic_id));
        }
        for (topic, topic_id) in removed {
            completions.extend(if &*topic == GROUP_METADATA_TOPIC_NAME {
                self.unload(now, topic_id)
            } else {
                self.turn_all(now, |coordinator| coordinator.topic_deleted(&topic, topic_id))
            });
        }
        let is_ours =
            |partition: &&Arc<Partition>| &*partition.log.topic_partition().topic == GROUP_METADATA_TOPIC_NAME;
        let added: Vec<&Arc<Partition>> = change.added.iter().filter(is_ours).collect();
        if !added.is_empty() {
            self.load(now, image, &added);
        }
        completions
    }

    /// Loads the coordinators of a topic that has come into being, or is found at the start. How many there are says the image, not
    /// the logs: one that cannot be opened has its groups all the same.
    fn load(&self, now: Now, image: &MetadataImage, partitions: &[&Arc<Partition>]) {
        let Some(topic) = image.topic(GROUP_METADATA_TOPIC_NAME) else { return };
        {
            let mut shards = self.shards.write().unwrap_or_else(PoisonError::into_inner);
            if shards.topic_id.is_none() {
                (shards.topic_id, shards.count) = (Some(topic.topic_id), topic.partition_count());
            }
        }
        partitions.iter().for_each(|partition| self.load_shard(now, partition));
    }

    /// Replays a log, while the other shards go on, and serves its groups from then on.
    fn load_shard(&self, now: Now, partition: &Arc<Partition>) {
        if !self.shards.read().unwrap_or_else(PoisonError::into_inner).has(partition) {
            return;
        }
        let mut coordinator = GroupCoordinator::new(self.settings.clone());
        if let Err(error) = replay(&partition.log, &mut coordinator) {
            Mark::GroupsNotRead.reached();
            let name = partition.log.topic_partition();
            tracing::error!(partition = %name, %error, "the groups of a partition cannot be loaded and are not served");
            let mut shards = self.shards.write().unwrap_or_else(PoisonError::into_inner);
            if matches!(error, GroupLoadError::Read(_)) && shards.has(partition) {
                shards.unread.insert(partition.key.partition, Arc::clone(partition));
            }
            return;
        }
        coordinator.loaded(now);
        let timers = Arc::clone(&self.timers);
        let shard = Arc::new(GroupShard::new(Arc::clone(partition), self.shard_settings, timers, coordinator));
        {
            let mut shards = self.shards.write().unwrap_or_else(PoisonError::into_inner);
            if !shards.has(partition) {
                // The topic has gone meanwhile, and nobody has asked this shard anything.
                return;
            }
            shards.loaded.insert(partition.key.partition, Arc::clone(&shard));
        }
        shard.open(now);
    }

    /// Loads what could not be read before: a disk may come to itself again.
    pub(crate) fn load_again(&self, now: Now) {
        if self.shards.read().unwrap_or_else(PoisonError::into_inner).unread.is_empty() {
            return;
        }
        let unread = std::mem::take(&mut self.shards.write().unwrap_or_else(PoisonError::into_inner).unread);
        Mark::GroupsReadAgain.reached();
        unread.values().for_each(|partition| self.load_shard(now, partition));
    }

    fn unload(&self, now: Now, topic_id: TopicId) -> Vec<Completion> {
        let unloaded = {
            let mut shards = self.shards.write().unwrap_or_else(PoisonError::into_inner);
            if shards.topic_id != Some(topic_id) || zoo::is(Bug::GroupsOutliveTopic) {
                return Vec::new();
            }
            std::mem::take(&mut *shards).loaded
        };
        unloaded.into_values().flat_map(|shard| self.completions(shard.unload(now).answers)).collect()
    }

    /// Asks the coordinator of a group, which may answer others too.
    pub(crate) fn ask(
        &self,
        now: Now,
        group_id: &str,
        act: impl FnOnce(&mut GroupCoordinator) -> CoordinatorResult,
    ) -> Result<Vec<Completion>, ErrorCode> {
        self.ask_shard(now, &*self.shard_of(group_id)?, act)
    }

    /// Asks one coordinator on behalf of several groups that are its own.
    pub(crate) fn ask_shard(
        &self,
        now: Now,
        shard: &GroupShard,
        act: impl FnOnce(&mut GroupCoordinator) -> CoordinatorResult,
    ) -> Result<Vec<Completion>, ErrorCode> {
        let turn = shard.turn(now, act)?;
        Ok(self.take_in(now, shard, turn))
    }

    /// Asks the coordinator of a group something that changes nothing.
    pub(crate) fn read<T>(&self, group_id: &str, ask: impl FnOnce(&GroupCoordinator) -> T) -> Result<T, ErrorCode> {
        self.shard_of(group_id)?.read(ask)
    }

    /// Asks all coordinators something that changes nothing.
    pub(crate) fn read_all<T>(&self, ask: impl Fn(&GroupCoordinator) -> T) -> Vec<T> {
        self.all().iter().filter_map(|shard| shard.read(&ask).ok()).collect()
    }

    /// The shard of a group.
    pub(crate) fn shard_of(&self, group_id: &str) -> Result<Arc<GroupShard>, ErrorCode> {
        let shards = self.shards.read().unwrap_or_else(PoisonError::into_inner);
        let partition = Placement::coordinator_partition(group_id, shards.count);
        shards.loaded.get(&partition).cloned().ok_or(ErrorCode::NotCoordinator)
    }

    /// What the handler adds to an answer that comes later.
    pub(crate) fn parts(&self) -> &AnswerParts {
        &self.parts
    }

    /// The logs of these keys have been synced, or failed to be: goes on with what waited for that.
    pub(crate) fn settle(&self, now: Now, keys: impl IntoIterator<Item = LogKey>) -> Vec<Completion> {
        let settled: Vec<Arc<GroupShard>> = {
            let shards = self.shards.read().unwrap_or_else(PoisonError::into_inner);
            let keys = keys.into_iter().filter(|key| shards.topic_id == Some(key.topic_id));
            keys.filter_map(|key| shards.loaded.get(&key.partition).cloned()).collect()
        };
        settled.iter().flat_map(|shard| self.take_in(now, shard, shard.settle(now))).collect()
    }

    /// Ends what has waited long enough.
    pub(crate) fn expire(&self, now: Now) -> Vec<Completion> {
        let due = self.timers.take_due(now.instant);
        let due: Vec<Arc<GroupShard>> = {
            let shards = self.shards.read().unwrap_or_else(PoisonError::into_inner);
            due.iter().filter_map(|partition| shards.loaded.get(partition).cloned()).collect()
        };
        due.iter().flat_map(|shard| self.take_in(now, shard, shard.expire(now))).collect()
    }

    /// Lets whoever waits for others look for another coordinator, and refuses what still comes: the broker is about to stop.
    pub(crate) fn drain(&self, now: Now) -> Vec<Completion> {
        self.all().iter().flat_map(|shard| self.take_in(now, shard, shard.drain(now))).collect()
    }

    /// The next deadline of any group.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.timers.next_deadline()
    }

    /// Forgets what a connection waits for.
    pub(crate) fn connection_closed(&self, now: Now, connection: ConnectionId) {
        self.all().iter().for_each(|shard| shard.connection_closed(now, connection));
        self.parts.connection_closed(connection);
    }

    /// A random number, for a member id.
    pub(crate) fn draw(&self) -> u128 {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64())
    }

    fn all(&self) -> Vec<Arc<GroupShard>> {
        self.shards.read().unwrap_or_else(PoisonError::into_inner).loaded.values().cloned().collect()
    }

    fn turn_all(&self, now: Now, act: impl Fn(&mut GroupCoordinator) -> CoordinatorResult) -> Vec<Completion> {
        // One that was given up in between has nothing left to do.
        self.all().iter().filter_map(|shard| self.ask_shard(now, shard, &act).ok()).flatten().collect()
    }

    /// Sees to the sync and to those who read the log, and words the answers.
    fn take_in(&self, now: Now, shard: &GroupShard, turn: Turn) -> Vec<Completion> {
        if turn.wants_sync {
            self.replica_manager.want_sync_with_all(shard.partition());
        }
        let mut completions = self.completions(turn.answers);
        if turn.is_readable {
            completions.extend(self.replica_manager.high_watermark_moved(now, shard.partition().key));
        }
        completions
    }

    pub(crate) fn completions(&self, answers: Vec<(Ticket, GroupAnswer)>) -> Vec<Completion> {
        let whole =
            answers.into_iter().filter_map(|(ticket, answer)| Some((ticket, self.parts.whole(ticket, answer)?)));
        whole.map(|(ticket, answer)| Completion { ticket, answer: word(ticket, &answer) }).collect()
    }
}
