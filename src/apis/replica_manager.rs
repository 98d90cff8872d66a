//! The seam between requests and logs: append, read, and those who wait for either (Kafka's type of the same name; there are no
//! replicas on one node).
//!
//! Offsets come out of appends and nowhere else. It must not know how a request or an answer is worded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use rand::Rng;
use rand_chacha::ChaCha12Rng;

use super::answer::Completion;
use super::appended::{Appended, Refusal};
use super::deadlines::Deadlines;
use super::decisions::request_deadline;
use super::delayed_fetch::{FetchPlan, PartitionPlan};
use super::delayed_produce::DelayedProduce;
use super::diverging_epoch::diverging_epoch;
use super::fetch_session::{FetchSessionCache, SessionPartition, Told};
use super::fetched::{Fetched, FetchedPartition};
use super::log_directory::LogDirectory;
use super::partition::Partition;
use super::sync_queue::{SyncQueue, SyncRound};
use crate::env::{DiskError, Piece, SyncJob};
use crate::error_code::ErrorCode;
use crate::log::log_validator::{LogValidator, ValidationOrigin};
use crate::log::{Durability, SyncPoint, TransactionContext, UnifiedLog};
use crate::marks::Mark;
use crate::metadata::GROUP_METADATA_TOPIC_NAME;
use crate::purgatory::Purgatory;
use crate::record::RecordBatch;
use crate::types::{ConnectionId, Instant, Now, PartitionIndex, Ticket, TopicId};
use crate::zoo::{self, Bug};

/// Names a log for as long as its topic lives: topics that are made again have another id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LogKey {
    pub(crate) topic_id: TopicId,
    pub(crate) partition: PartitionIndex,
}

/// Logs and those who wait for them.
pub(crate) struct ReplicaManager {
    logs: Arc<LogDirectory>,
    produces: Purgatory<LogKey, DelayedProduce>,
    fetches: Purgatory<LogKey, FetchPlan>,
    sessions: Mutex<FetchSessionCache>,
    random: Mutex<ChaCha12Rng>,
    syncs: SyncQueue,
    deadlines: Arc<Deadlines>,
    /// The broker is about to stop: no fetch waits any more.
    is_draining: AtomicBool,
    must_stop: AtomicBool,
}

impl ReplicaManager {
    pub(crate) fn new(
        logs: Arc<LogDirectory>,
        syncs: SyncQueue,
        deadlines: Arc<Deadlines>,
        sessions: FetchSessionCache,
        random: ChaCha12Rng,
    ) -> ReplicaManager {
        ReplicaManager {
            logs,
            produces: Purgatory::new(),
            fetches: Purgatory::new(),
            sessions: Mutex::new(sessions),
            random: Mutex::new(random),
            syncs,
            deadlines,
            is_draining: AtomicBool::new(false),
            must_stop: AtomicBool::new(false),
        }
    }

    /// The log of a topic's partition.
    pub(crate) fn find(&self, topic: &str, partition: PartitionIndex) -> Option<Arc<Partition>> {
        self.logs.find(topic, partition)
    }

    /// Whether a produce or a fetch waits.
    pub(crate) fn has_parked(&self) -> bool {
        self.produces.next_deadline().is_some() || self.fetches.next_deadline().is_some()
    }

    /// The log of a partition of the topic with this id.
    pub(crate) fn find_by_id(&self, topic_id: TopicId, partition: PartitionIndex) -> Option<Arc<Partition>> {
        self.logs.find_by_id(topic_id, partition)
    }

    /// Takes note that a client's batch for a partition found no log. One that is damaged says nothing.
    pub(crate) fn note_failed(&self, key: LogKey, records: &[u8]) {
        if let Ok((batch, _)) = RecordBatch::parse(records)
            && batch.header().has_producer_id()
            && self.logs.has_missing()
            && batch.crc_is_valid()
        {
            self.logs.note_failed(key, batch.header());
        }
    }

    /// Asks for one sync of all these partitions.
    pub(crate) fn want_sync<'a>(&self, partitions: impl IntoIterator<Item = &'a Arc<Partition>>) {
        self.syncs.want(partitions.into_iter().map(|partition| (partition.key, &partition.log)));
    }

    /// Asks for a sync of this partition, and of all else that is written by then.
    pub(crate) fn want_sync_with_all(&self, partition: &Partition) {
        self.syncs.want_with_all(partition.key, &partition.log);
    }

    /// Asks for the syncs that `flush.ms` makes due.
    pub(crate) fn want_due_syncs(&self, now: Now) {
        self.want_syncs(|log| log.settings().flush_ms < i64::MAX && log.is_sync_due(now));
    }

    /// Asks for a sync of every log that has anything which is not on the disk.
    pub(crate) fn want_all_syncs(&self) {
        self.want_syncs(UnifiedLog::owes_sync);
    }

    /// Stops the broker if a log has made a sync by itself that failed.
    pub(crate) fn stop_if_a_sync_failed(&self) {
        for (_, log) in self.logs_where(UnifiedLog::has_failed_sync) {
            tracing::error!(partition = %log.topic_partition(), "a sync failed: what is on disk is unknown, so the broker must stop; its logs are checked at the next start");
            self.stop();
        }
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
        let settings = partition.log.settings();
        let validation = settings.validation(produce_version >= 7);
        let log_start_offset = partition.log.log_start_offset();
        let validated = validator
            .validate(batch, &validation, ValidationOrigin::Client, now)
            .map_err(|error| Refusal::of_batch(error, log_start_offset))?;
        let context = TransactionContext::default();
        let appended = partition.log.append_validated(now, &settings, &validated, durability, context);
        let appended = appended.map_err(|error| Refusal::of_append(&error, log_start_offset))?;
        Ok(Appended {
            base_offset: appended.base_offset,
            last_offset: appended.last_offset,
            log_start_offset: appended.log_start_offset,
            log_append_time: appended.log_append_time,
            wants_sync: durability == Durability::Synced && !(appended.is_duplicate && zoo::is(Bug::RetryDoesNotWait))
                || appended.is_sync_due,
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
        let keys: BTreeSet<LogKey> = delayed.awaited.iter().map(|awaited| awaited.partition.key).collect();
        let timeout_ms = if zoo::is(Bug::ProduceGivenUp) { timeout_ms / 1_000 } else { timeout_ms };
        let deadline = request_deadline(now, timeout_ms);
        let parked = self.produces.watch(ticket, delayed, keys, deadline);
        // Only now: the expiry role, once awake, must find it.
        self.deadlines.add(deadline);
        // The sync may have ended between the append and the watch: then nobody would come again.
        answered_produces(self.produces.complete_one(parked, DelayedProduce::is_complete))
    }

    /// Reads all partitions of a plan: each gets its own maximum, what is left of the whole, and the first that has any data at least
    /// one whole batch.
    pub(crate) fn fetch(&self, plan: &FetchPlan) -> Fetched {
        let mut fetched = Fetched { partitions: Vec::new(), bytes: 0, ends_wait: false };
        for partition in &plan.partitions {
            let read = self.read(plan, partition, fetched.bytes);
            let read = read.unwrap_or_else(|error| {
                // A client that asks for what is unknown waits, as in Kafka: it may come into being.
                let is_unknown = matches!(error, ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId);
                fetched.ends_wait |= partition.source.is_ok() || !is_unknown || zoo::is(Bug::MissingEndsWait);
                // Kafka's answers differ here between what is unknown and what cannot be read.
                let aborted_transactions = is_unknown.then(Vec::new);
                FetchedPartition { aborted_transactions, ..FetchedPartition::failed(error) }
            });
            fetched.ends_wait |= read.diverging.is_some();
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
        // The log itself tells the operator of trouble, and does so once.
        let data =
            log.read(wanted.offset, bytes_max, plan.isolation, taken == 0).map_err(|error| ErrorCode::from(&error))?;
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

    /// Parks a fetch until enough bytes are there. Returns it at once if they are by now.
    pub(crate) fn park_fetch(&self, now: Now, ticket: Ticket, wait_ms_max: i32, plan: FetchPlan) -> Vec<Completion> {
        let keys = plan.keys();
        let deadline = now.instant.after_ms(i64::from(wait_ms_max));
        let parked = self.fetches.watch(ticket, plan, keys, deadline);
        // Only now: the expiry role, once awake, must find it.
        if !zoo::is(Bug::DeadlineUnannounced) {
            self.deadlines.add(deadline);
        }
        // Data may have come between the read and the watch: then nobody would come again.
        let mut completions = self.answered(now, self.fetches.complete_one(parked, |plan| plan.is_complete(self)));
        // So may the end of the broker: from then on nobody waits.
        if self.is_draining.load(Ordering::SeqCst) {
            completions.extend(self.release_fetches(now));
        }
        completions
    }

    /// Completes the fetches that the growth of a log's readable part satisfies.
    pub(crate) fn high_watermark_moved(&self, now: Now, key: LogKey) -> Vec<Completion> {
        if zoo::is(Bug::AppendWakesNoFetch) { Vec::new() } else { self.complete_fetches(now, key) }
    }

    /// Ends what waits for a partition that is gone.
    pub(crate) fn removed(&self, now: Now, key: LogKey) -> Vec<Completion> {
        let mut completions = self.complete_produces(key);
        if !zoo::is(Bug::WaitOutlivesTopic) {
            completions.extend(self.complete_fetches(now, key));
        }
        completions
    }

    /// What to sync now, if anything waits for it.
    pub(crate) fn begin_sync(&self) -> Option<(SyncRound, SyncJob)> {
        let mut covered: Vec<(LogKey, Arc<UnifiedLog>, SyncPoint)> = Vec::new();
        let mut lost: Vec<LogKey> = Vec::new();
        for (key, log) in self.to_sync() {
            match log.sync_point() {
                Ok(point) => covered.push((key, log, point)),
                Err(error) => {
                    tracing::error!(partition = %log.topic_partition(), %error, "a log cannot be synced and goes offline: it is not served until the disk is mended and the broker started again");
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

    /// The logs of the next sync. Those of groups tell of others, so that with any of them all else that is written is synced, too; and
    /// how far they go is noted first, lest a commit be covered and not what it tells of.
    fn to_sync(&self) -> impl Iterator<Item = (LogKey, Arc<UnifiedLog>)> + '_ {
        let tells_of_others = |log: &UnifiedLog| &*log.topic_partition().topic == GROUP_METADATA_TOPIC_NAME;
        let (mut wanted, with_all) = self.syncs.take();
        let with_all = with_all || wanted.values().any(|log| tells_of_others(log));
        let with_all = with_all && !zoo::is(Bug::CommitSyncedAlone);
        if with_all {
            wanted.extend(self.unsynced().filter(|(_, log)| tells_of_others(log)));
        }
        let (first, mut rest): (BTreeMap<_, _>, BTreeMap<_, _>) =
            wanted.into_iter().partition(|(_, log)| tells_of_others(log));
        let later = std::iter::once_with(move || {
            if with_all {
                Mark::SyncTellsOfOthers.reached();
                rest.extend(self.unsynced().filter(|(_, log)| !tells_of_others(log)));
            }
            rest
        });
        first.into_iter().chain(later.flatten())
    }

    /// Takes the outcome of a sync: answers those whose batches it covered.
    pub(crate) fn end_sync(&self, now: Now, round: SyncRound, result: Result<(), DiskError>) -> Vec<Completion> {
        let result = if zoo::is(Bug::FsyncErrorIgnored) { Ok(()) } else { result };
        if let Err(error) = &result {
            Mark::SyncFailed.reached();
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
            if !zoo::is(Bug::SyncWakesNoFetch) {
                completions.extend(self.complete_fetches(now, key));
            }
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
        let mut completions = answered_produces(self.produces.expire(now.instant));
        let fetches = self.fetches.expire(now.instant);
        if !fetches.is_empty() {
            Mark::FetchExpires.reached();
        }
        completions.extend(self.answered(now, fetches));
        completions
    }

    /// Ends every parked fetch with what there is, and from now on each that comes: the broker is about to stop.
    pub(crate) fn release_fetches(&self, now: Now) -> Vec<Completion> {
        self.is_draining.store(true, Ordering::SeqCst);
        let waiting = self.fetches.expire(Instant(u64::MAX));
        if !waiting.is_empty() {
            Mark::FetchReleased.reached();
        }
        self.answered(now, waiting)
    }

    /// The next deadline of anything parked.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        [self.produces.next_deadline(), self.fetches.next_deadline()].into_iter().flatten().min()
    }

    /// Ends the parked fetch of a connection with what there is.
    pub(crate) fn peer_finished(&self, now: Now, connection: ConnectionId) -> Vec<Completion> {
        self.answered(now, self.fetches.remove_connection(connection))
    }

    /// Forgets what a connection waits for: nobody is there to be answered.
    pub(crate) fn connection_closed(&self, connection: ConnectionId) {
        if !self.produces.remove_connection(connection).is_empty() {
            Mark::ProduceAbandoned.reached();
        }
        if !self.fetches.remove_connection(connection).is_empty() {
            Mark::FetchAbandoned.reached();
        }
    }

    fn complete_produces(&self, key: LogKey) -> Vec<Completion> {
        answered_produces(self.produces.complete_where(&key, DelayedProduce::is_complete))
    }

    fn complete_fetches(&self, now: Now, key: LogKey) -> Vec<Completion> {
        let complete = self.fetches.complete_where(&key, |plan| plan.is_complete(self));
        if !complete.is_empty() {
            Mark::FetchServedLater.reached();
        }
        self.answered(now, complete)
    }

    /// The answers of fetches, with what there is now.
    fn answered(&self, now: Now, fetches: impl IntoIterator<Item = (Ticket, Arc<FetchPlan>)>) -> Vec<Completion> {
        let answer = |(ticket, plan): (Ticket, Arc<FetchPlan>)| Completion {
            ticket,
            answer: plan.answer(now.instant, self, ticket),
        };
        fetches.into_iter().map(answer).collect()
    }
}

fn answered_produces(produces: impl IntoIterator<Item = (Ticket, Arc<DelayedProduce>)>) -> Vec<Completion> {
    produces.into_iter().map(|(ticket, delayed)| Completion { ticket, answer: delayed.answer(ticket) }).collect()
}
