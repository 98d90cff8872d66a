//! The seam between requests and logs: append, read, and those who wait for either (Kafka's type of the same name; there are no
//! replicas on one node).
//!
//! Offsets come out of appends and nowhere else. It must not know how a request or an answer is worded.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use rand::Rng;
use rand_chacha::ChaCha12Rng;

use super::answer::Completion;
use super::deadlines::Deadlines;
use super::delayed_fetch::{FetchPlan, PartitionPlan};
use super::delayed_produce::DelayedProduce;
use super::diverging_epoch::diverging_epoch;
use super::fetch_session::{FetchSessionCache, SessionPartition, Told};
use super::log_directory::LogDirectory;
use super::partition::Partition;
use super::sync_queue::{SyncQueue, SyncRound};
use crate::env::{DiskError, Piece, SyncJob};
use crate::error_code::ErrorCode;
use crate::log::log_validator::{LogValidator, ValidationError, ValidationOrigin};
use crate::log::{AbortedTransaction, AppendError, Durability, ReadError, SyncPoint, TransactionContext, UnifiedLog};
use crate::purgatory::Purgatory;
use crate::types::{ConnectionId, Instant, LeaderEpoch, Now, Offset, PartitionIndex, Ticket, TopicId, WallTime};
use crate::zoo::{self, Bug};

/// Names a log for as long as its topic lives: topics that are made again have another id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LogKey {
    pub(crate) topic_id: TopicId,
    pub(crate) partition: PartitionIndex,
}

/// What an append did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appended {
    pub(crate) base_offset: Offset,
    pub(crate) last_offset: Offset,
    pub(crate) log_start_offset: Offset,
    /// The broker's own timestamp, if the topic stamps records itself; of a repeated batch the one that it has.
    pub(crate) log_append_time: Option<WallTime>,
    /// Whoever appended has to ask for a sync, once for all that it appended.
    pub(crate) wants_sync: bool,
}

/// Why a batch was not appended.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) error: ErrorCode,
    pub(crate) message: Option<String>,
    /// Where the log starts, -1 for faults that are seen without a look at the log.
    pub(crate) log_start_offset: Offset,
    /// The records at fault: place in the batch, and what is wrong.
    pub(crate) record_errors: Vec<(i32, Option<String>)>,
}

impl Refusal {
    fn of_append(error: &AppendError, log_start_offset: Offset) -> Refusal {
        let code = ErrorCode::from(error);
        let log_start_offset = if tells_log_start(code) { log_start_offset } else { Offset(-1) };
        Refusal { error: code, message: Some(error.to_string()), log_start_offset, record_errors: Vec::new() }
    }

    fn of_batch(error: ValidationError, log_start_offset: Offset) -> Refusal {
        let (code, message) = (ErrorCode::from(&error), Some(error.to_string()));
        let is_of_request = matches!(
            error,
            ValidationError::NoBatch | ValidationError::MoreThanOneBatch | ValidationError::OldMagic(_)
        );
        let log_start_offset = if tells_log_start(code) && !is_of_request { log_start_offset } else { Offset(-1) };
        let record_errors = match error {
            ValidationError::InvalidRecords(rejected) | ValidationError::InvalidTimestamps(rejected) => {
                rejected.into_iter().map(|record| (record.batch_index, Some(record.message.to_string()))).collect()
            }
            _ => Vec::new(),
        };
        Refusal { error: code, message, log_start_offset, record_errors }
    }
}

/// Whether Kafka tells beside this error where the log starts: not for what a look at the bytes or at the log's state refuses.
fn tells_log_start(error: ErrorCode) -> bool {
    !matches!(
        error,
        ErrorCode::CorruptMessage
            | ErrorCode::MessageTooLarge
            | ErrorCode::RecordListTooLarge
            | ErrorCode::UnsupportedCompressionType
            | ErrorCode::KafkaStorageError
            | ErrorCode::UnknownTopicOrPartition
    )
}

/// What a fetch found, in the order of its plan.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) partitions: Vec<FetchedPartition>,
    pub(crate) bytes: usize,
    /// A partition could be found and not read: the client should hear of it at once.
    pub(crate) has_read_error: bool,
}

/// One partition of a fetch.
#[derive(Debug)]
pub(crate) struct FetchedPartition {
    pub(crate) error: ErrorCode,
    pub(crate) high_watermark: Offset,
    pub(crate) last_stable_offset: Offset,
    pub(crate) log_start_offset: Offset,
    /// Only for a reader of committed records, and empty for a partition that is unknown.
    pub(crate) aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// The epoch and offset up to which the client's log and this one agree, if the client's went another way (KIP-320).
    pub(crate) diverging: Option<(LeaderEpoch, Offset)>,
    pub(crate) records: Vec<Piece>,
}

impl FetchedPartition {
    /// A partition with an error has no offsets, so that the client looks them up.
    fn failed(error: ErrorCode) -> FetchedPartition {
        let none = Offset(-1);
        FetchedPartition {
            error,
            high_watermark: none,
            last_stable_offset: none,
            log_start_offset: none,
            aborted_transactions: None,
            diverging: None,
            records: Vec::new(),
        }
    }

    /// Where a log stands, without records.
    fn empty(log: &UnifiedLog) -> FetchedPartition {
        FetchedPartition {
            error: ErrorCode::None,
            high_watermark: log.high_watermark(),
            last_stable_offset: log.last_stable_offset(),
            log_start_offset: log.log_start_offset(),
            ..FetchedPartition::failed(ErrorCode::None)
        }
    }
}

/// Logs and those who wait for them.
pub(crate) struct ReplicaManager {
    logs: Arc<LogDirectory>,
    produces: Mutex<Purgatory<LogKey, DelayedProduce>>,
    fetches: Mutex<Purgatory<LogKey, FetchPlan>>,
    sessions: Mutex<FetchSessionCache>,
    random: Mutex<ChaCha12Rng>,
    syncs: Arc<SyncQueue>,
    deadlines: Arc<Deadlines>,
    must_stop: AtomicBool,
}

impl ReplicaManager {
    pub(crate) fn new(
        logs: Arc<LogDirectory>,
        syncs: Arc<SyncQueue>,
        deadlines: Arc<Deadlines>,
        sessions: FetchSessionCache,
        random: ChaCha12Rng,
    ) -> ReplicaManager {
        ReplicaManager {
            logs,
            produces: Mutex::new(Purgatory::new()),
            fetches: Mutex::new(Purgatory::new()),
            sessions: Mutex::new(sessions),
            random: Mutex::new(random),
            syncs,
            deadlines,
            must_stop: AtomicBool::new(false),
        }
    }

    /// The log of a topic's partition.
    pub(crate) fn find(&self, topic: &str, partition: PartitionIndex) -> Option<Arc<Partition>> {
        self.logs.find(topic, partition)
    }

    /// The log of a partition of the topic with this id.
    pub(crate) fn find_by_id(&self, topic_id: TopicId, partition: PartitionIndex) -> Option<Arc<Partition>> {
        self.logs.find_by_id(topic_id, partition)
    }

    /// Asks for one sync of all these partitions.
    pub(crate) fn want_sync<'a>(&self, partitions: impl IntoIterator<Item = &'a Arc<Partition>>) {
        self.syncs.want(partitions.into_iter().map(|partition| (partition.key, &partition.log)));
    }

    /// Asks for the syncs that `flush.ms` makes due.
    pub(crate) fn want_due_syncs(&self, now: Now) {
        self.want_syncs(|log| log.settings().flush_ms < i64::MAX && log.is_sync_due(now));
    }

    /// Asks for a sync of every log that has anything which is not on the disk.
    pub(crate) fn want_all_syncs(&self) {
        self.want_syncs(UnifiedLog::owes_sync);
    }

    fn want_syncs(&self, is_wanted: impl Fn(&UnifiedLog) -> bool) {
        let wanted: Vec<_> = self.logs_where(is_wanted).collect();
        self.syncs.want(wanted.iter().map(|(key, log)| (*key, log)));
    }

    /// The logs that are not on the disk to the end that readers may know of.
    fn unsynced(&self) -> impl Iterator<Item = (LogKey, Arc<UnifiedLog>)> {
        self.logs_where(|log| log.durable_end_offset() < log.log_end_offset())
    }

    fn logs_where(&self, is_wanted: impl Fn(&UnifiedLog) -> bool) -> impl Iterator<Item = (LogKey, Arc<UnifiedLog>)> {
        let logs = self.logs.manager().logs().into_iter();
        logs.filter(move |log| is_wanted(log)).filter_map(|log| {
            let topic_id = log.topic_id()?;
            Some((LogKey { topic_id, partition: log.topic_partition().partition }, log))
        })
    }

    /// Appends a client's batch. The sync that it may want is for the caller to ask for.
    pub(crate) fn append(
        &self,
        now: Now,
        validator: &mut LogValidator,
        partition: &Partition,
        batch: &[u8],
        produce_version: i16,
        durability: Durability,
    ) -> Result<Appended, Refusal> {
        let validation = partition.log.settings().validation(produce_version >= 7);
        let log_start_offset = partition.log.log_start_offset();
        let validated = validator
            .validate(batch, &validation, ValidationOrigin::Client, now)
            .map_err(|error| Refusal::of_batch(error, log_start_offset))?;
        let appended = partition.log.append_validated(now, &validated, durability, TransactionContext::default());
        let appended = appended.map_err(|error| Refusal::of_append(&error, log_start_offset))?;
        Ok(Appended {
            base_offset: appended.base_offset,
            last_offset: appended.last_offset,
            log_start_offset: appended.log_start_offset,
            log_append_time: appended.log_append_time,
            wants_sync: durability == Durability::Synced || appended.is_sync_due,
        })
    }

    /// Parks a produce until its batches are durable. Returns it at once if they are by now.
    pub(crate) fn park_produce(
        &self,
        now: Now,
        ticket: Ticket,
        timeout_ms: i32,
        delayed: DelayedProduce,
    ) -> Vec<Completion> {
        let keys: Vec<LogKey> = delayed.awaited.iter().map(|awaited| awaited.partition.key).collect();
        let deadline = now.instant.after_ms(i64::from(timeout_ms));
        self.produces().watch(ticket, delayed, keys.clone(), deadline);
        // Only now: the expiry role, once awake, must find it.
        self.deadlines.add(deadline);
        // The sync may have ended between the append and the watch: then nobody would come again.
        keys.iter().flat_map(|key| self.complete_produces(*key)).collect()
    }

    /// Reads all partitions of a plan: each gets its own maximum, what is left of the whole, and the first that has any data at least
    /// one whole batch.
    pub(crate) fn fetch(&self, plan: &FetchPlan) -> Fetched {
        let mut fetched = Fetched { partitions: Vec::new(), bytes: 0, has_read_error: false };
        for partition in &plan.partitions {
            let read = self.read(plan, partition, fetched.bytes);
            let read = read.unwrap_or_else(|error| {
                // A client that asks for what is unknown waits, as in Kafka: it may come into being.
                let is_unknown = matches!(error, ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId);
                fetched.has_read_error |= partition.source.is_ok() || !is_unknown;
                // Kafka's answers differ here between what is unknown and what cannot be read.
                let aborted_transactions = is_unknown.then(Vec::new);
                FetchedPartition { aborted_transactions, ..FetchedPartition::failed(error) }
            });
            fetched.bytes += read.records.iter().map(Piece::bytes).sum::<usize>();
            fetched.partitions.push(read);
        }
        fetched
    }

    fn read(&self, plan: &FetchPlan, partition: &PartitionPlan, taken: usize) -> Result<FetchedPartition, ErrorCode> {
        let source = partition.source.as_ref().map_err(|error| *error)?;
        let log = &source.log;
        let wanted = &partition.wanted;
        source.check_leader_epoch(wanted.current_leader_epoch)?;
        if let Some(diverging) = diverging_epoch(log, wanted)? {
            return Ok(FetchedPartition { diverging: Some(diverging), ..FetchedPartition::empty(log) });
        }
        let bytes_max = usize::try_from(wanted.bytes_max)
            .map_err(|_| ErrorCode::InvalidRequest)?
            .min(plan.bytes_max.saturating_sub(taken));
        let data = log.read(wanted.offset, bytes_max, plan.isolation, taken == 0).map_err(|error| {
            // The log itself tells of damage, once for each place.
            if !matches!(error, ReadError::OffsetOutOfRange { .. } | ReadError::Damaged { .. }) {
                tracing::error!(partition = %log.topic_partition(), %error, "a fetch could not be served");
            }
            ErrorCode::from(&error)
        })?;
        Ok(FetchedPartition {
            error: ErrorCode::None,
            high_watermark: data.high_watermark,
            last_stable_offset: data.last_stable_offset,
            log_start_offset: data.log_start_offset,
            aborted_transactions: data.aborted_transactions,
            diverging: None,
            records: data.records,
        })
    }

    /// The fetch sessions.
    pub(crate) fn sessions(&self) -> MutexGuard<'_, FetchSessionCache> {
        self.sessions.lock().expect("nobody panics while holding the sessions: panics abort the process")
    }

    /// Opens a fetch session with everything that an answer tells. 0 if there is no room.
    pub(crate) fn open_session(
        &self,
        now: Instant,
        uses_topic_ids: bool,
        told: impl Iterator<Item = (SessionPartition, Option<Told>)>,
    ) -> i32 {
        let mut random = self.random.lock().expect("nobody panics while drawing: panics abort the process");
        self.sessions().open(now, uses_topic_ids, told, || random.next_u32())
    }

    /// Whether a topic with this id exists.
    pub(crate) fn knows_topic(&self, topic_id: TopicId) -> bool {
        self.find_by_id(topic_id, PartitionIndex(0)).is_some()
    }

    /// Parks a fetch until enough bytes are there. Returns it at once if they are by now.
    pub(crate) fn park_fetch(&self, now: Now, ticket: Ticket, wait_ms_max: i32, plan: FetchPlan) -> Vec<Completion> {
        let keys = plan.keys();
        let deadline = now.instant.after_ms(i64::from(wait_ms_max));
        self.fetches().watch(ticket, plan, keys.clone(), deadline);
        // Only now: the expiry role, once awake, must find it.
        self.deadlines.add(deadline);
        // Data may have come between the read and the watch: then nobody would come again.
        keys.iter().flat_map(|key| self.complete_fetches(now, *key)).collect()
    }

    /// Completes the fetches that the growth of a log's readable part satisfies.
    pub(crate) fn high_watermark_moved(&self, now: Now, key: LogKey) -> Vec<Completion> {
        self.complete_fetches(now, key)
    }

    /// Ends what waits for a partition that is gone.
    pub(crate) fn removed(&self, now: Now, key: LogKey) -> Vec<Completion> {
        let mut completions = self.complete_produces(key);
        completions.extend(self.complete_fetches(now, key));
        completions
    }

    /// What to sync now, if anything waits for it.
    pub(crate) fn begin_sync(&self) -> Option<(SyncRound, SyncJob)> {
        let mut covered: Vec<(LogKey, Arc<UnifiedLog>, SyncPoint)> = Vec::new();
        let mut lost: Vec<LogKey> = Vec::new();
        let (mut wanted, with_all) = self.syncs.take();
        if with_all {
            for (key, log) in self.unsynced() {
                wanted.entry(key).or_insert(log);
            }
        }
        for (key, log) in wanted {
            match log.sync_point() {
                Ok(point) => covered.push((key, log, point)),
                Err(error) => {
                    tracing::error!(partition = %log.topic_partition(), %error, "a log cannot be synced and goes offline");
                    log.sync_failed();
                    lost.push(key);
                }
            }
        }
        if covered.is_empty() && lost.is_empty() {
            return None;
        }
        let job = SyncPoint::job(covered.iter().map(|(_, _, point)| point));
        Some((SyncRound { covered, lost }, job))
    }

    /// Takes the outcome of a sync: answers those whose batches it covered.
    pub(crate) fn end_sync(&self, now: Now, round: SyncRound, result: Result<(), DiskError>) -> Vec<Completion> {
        let result = if zoo::is(Bug::FsyncErrorIgnored) { Ok(()) } else { result };
        if let Err(error) = &result {
            tracing::error!(%error, "a sync failed: what is on disk is unknown, so the broker must stop; its logs are checked at the next start");
            self.must_stop.store(true, Ordering::Release);
        }
        let mut completions = Vec::new();
        for (_, log, point) in &round.covered {
            match &result {
                Ok(()) => log.synced(point),
                Err(_) => log.sync_failed(),
            }
        }
        let keys = round.keys();
        for key in keys {
            completions.extend(self.complete_produces(key));
            completions.extend(self.complete_fetches(now, key));
        }
        completions
    }

    /// Whether the broker cannot go on, since nobody knows what is on the disk.
    pub(crate) fn must_stop(&self) -> bool {
        self.must_stop.load(Ordering::Acquire)
    }

    /// Says that the broker cannot go on; the role that syncs is the one to hear of it.
    pub(crate) fn stop(&self) {
        self.must_stop.store(true, Ordering::Release);
        self.syncs.wake();
    }

    /// Ends what has waited long enough.
    pub(crate) fn expire(&self, now: Now) -> Vec<Completion> {
        let produces = self.produces().expire(now.instant);
        let fetches = self.fetches().expire(now.instant);
        let produces =
            produces.into_iter().map(|(ticket, delayed)| Completion { ticket, answer: delayed.answer(ticket) });
        let fetches = fetches
            .into_iter()
            .map(|(ticket, plan)| Completion { ticket, answer: plan.answer(now.instant, self, ticket) });
        produces.chain(fetches).collect()
    }

    /// Ends every parked fetch with what there is: the broker is about to stop.
    pub(crate) fn release_fetches(&self, now: Now) -> Vec<Completion> {
        let released = self.fetches().expire(Instant(u64::MAX));
        self.answered(now, released)
    }

    /// The next deadline of anything parked.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        [self.produces().next_deadline(), self.fetches().next_deadline()].into_iter().flatten().min()
    }

    /// Ends the parked fetch of a connection with what there is.
    pub(crate) fn peer_finished(&self, now: Now, connection: ConnectionId) -> Vec<Completion> {
        let released = self.fetches().remove_connection(connection);
        self.answered(now, released)
    }

    /// Forgets what a connection waits for: nobody is there to be answered.
    pub(crate) fn connection_closed(&self, connection: ConnectionId) {
        self.produces().remove_connection(connection);
        self.fetches().remove_connection(connection);
    }

    fn complete_produces(&self, key: LogKey) -> Vec<Completion> {
        let done = self.produces().complete_where(&key, |delayed| delayed.is_complete());
        done.into_iter().map(|(ticket, delayed)| Completion { ticket, answer: delayed.answer(ticket) }).collect()
    }

    fn complete_fetches(&self, now: Now, key: LogKey) -> Vec<Completion> {
        let done = self.fetches().complete_where(&key, |plan| plan.is_complete(self));
        self.answered(now, done)
    }

    /// The answers of fetches, with what there is now.
    fn answered(&self, now: Now, fetches: Vec<(Ticket, FetchPlan)>) -> Vec<Completion> {
        let answer =
            |(ticket, plan): (Ticket, FetchPlan)| Completion { ticket, answer: plan.answer(now.instant, self, ticket) };
        fetches.into_iter().map(answer).collect()
    }

    fn produces(&self) -> MutexGuard<'_, Purgatory<LogKey, DelayedProduce>> {
        self.produces.lock().expect("nobody panics while holding the purgatory: panics abort the process")
    }

    fn fetches(&self) -> MutexGuard<'_, Purgatory<LogKey, FetchPlan>> {
        self.fetches.lock().expect("nobody panics while holding the purgatory: panics abort the process")
    }
}
