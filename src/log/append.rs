//! Appends: checks, assigns offsets, writes header and body without a copy of the body, and undoes a failed write.
//!
//! It must not know who appends, nor run a sync.

use std::io::IoSlice;

use bytes::Bytes;

use crate::env::DiskError;
use crate::log::appended_batches::{AppendedBatches, IncomingBatch, check_batches, check_total};
use crate::log::error::AppendError;
use crate::log::failed_batches::FailedBatches;
use crate::log::log_segment::RollParams;
use crate::log::log_validator::ValidatedBatch;
use crate::log::producer_append_info::{ProducerAppendInfo, VerificationGuard};
use crate::log::settings::LogSettings;
use crate::log::transaction_index::AbortedTransaction;
use crate::log::unified_log::{LogState, LogStatus, UnifiedLog};
use crate::marks::Mark;
use crate::types::{Now, Offset, ProducerEpoch, ProducerId, WallTime};
use crate::zoo::{self, Bug};

/// Where an append comes from, which says how much of it is checked. Kafka's type of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOrigin {
    /// A client: everything is checked.
    Client,
    /// A coordinator (group offsets, transaction markers): epochs are checked, sequences are not.
    Coordinator,
    /// The log itself or another replica: it was checked before.
    Replication,
}

/// What an append must have reached before a consumer may see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The operating system's page cache.
    Written,
    /// The disk: it stays unseen until a sync has covered it.
    Synced,
}

/// What is known about the transaction of an append.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionContext {
    /// What [`UnifiedLog::start_verification`] gave out before the coordinator was asked.
    pub guard: Option<VerificationGuard>,
    /// Version of the transaction protocol (KIP-890): 2 raises the producer's epoch with every transaction.
    pub version: i16,
}

/// What an append did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendInfo {
    /// Offset of the first record; for a recognised retry that of the first try.
    pub base_offset: Offset,
    /// Offset of the last record. An `acks=all` append is done when [`UnifiedLog::durable_end_offset`] is above it.
    pub last_offset: Offset,
    /// The first offset of the log.
    pub log_start_offset: Offset,
    /// When it was appended, if the topic's timestamps are the broker's; for a recognised retry the timestamp of the first try.
    pub log_append_time: Option<WallTime>,
    /// Whether it was a retry of a remembered batch, so that nothing was appended.
    pub is_duplicate: bool,
    /// Whether `flush.messages` asks for a sync now.
    pub is_sync_due: bool,
}

impl UnifiedLog {
    /// Appends all of `batches`, or nothing. Offsets are assigned here and nowhere else. Headers and checksums are checked, records
    /// are not: for the broker's own batches.
    pub fn append(
        &self,
        now: Now,
        batches: Bytes,
        origin: AppendOrigin,
        durability: Durability,
    ) -> Result<AppendInfo, AppendError> {
        self.append_in_transaction(now, batches, origin, durability, TransactionContext::default())
    }

    /// Like [`UnifiedLog::append`], with what is known about the transaction: for a transaction coordinator's markers.
    pub fn append_in_transaction(
        &self,
        now: Now,
        batches: Bytes,
        origin: AppendOrigin,
        durability: Durability,
        transaction: TransactionContext,
    ) -> Result<AppendInfo, AppendError> {
        let settings = self.settings();
        let incoming = check_batches(&batches, &settings)?;
        self.append_checked(now, &incoming, &settings, Request { origin, durability, transaction, append_time: None })
    }

    /// Appends a client's batch, which a `LogValidator` has let through by these settings.
    pub fn append_validated(
        &self,
        now: Now,
        settings: &LogSettings,
        batch: &ValidatedBatch<'_>,
        durability: Durability,
        transaction: TransactionContext,
    ) -> Result<AppendInfo, AppendError> {
        check_total(batch.total_bytes(), settings)?;
        let incoming = [IncomingBatch { header: batch.header, body: &batch.body, marker: None }];
        let origin = AppendOrigin::Client;
        let request = Request { origin, durability, transaction, append_time: batch.log_append_time };
        self.append_checked(now, &incoming, settings, request)
    }

    /// Says that the coordinator is about to be asked whether a producer's transaction includes this partition. `None` if its
    /// transaction is open here already, or verification is off, so that there is nothing to ask.
    pub fn start_verification(
        &self,
        now: Now,
        producer_id: ProducerId,
        epoch: ProducerEpoch,
        sequence: i32,
        supports_epoch_bump: bool,
    ) -> Option<VerificationGuard> {
        let is_wanted = self.settings().transaction_verification;
        let mut state = self.lock();
        if !is_wanted || state.has_ongoing_transaction(producer_id, epoch) {
            return None;
        }
        Some(state.producers.start_verification(now.wall, producer_id, epoch, sequence, supports_epoch_bump))
    }

    /// Takes over which clients' batches came before there was this log, lest a later one of their pipelines takes their place.
    pub fn take_failed(&self, failed: FailedBatches) {
        self.lock().producers.take_failed(failed);
    }

    fn append_checked(
        &self,
        now: Now,
        incoming: &[IncomingBatch<'_>],
        settings: &LogSettings,
        request: Request,
    ) -> Result<AppendInfo, AppendError> {
        let mut state = self.lock();
        state.check_online()?;
        state.is_idle = false;
        if let Some(info) = state.find_duplicate(incoming, request.origin) {
            Mark::Duplicate.reached();
            return Ok(info);
        }
        if request.origin == AppendOrigin::Client && self.is_disk_full() {
            Mark::DiskNearlyFull.reached();
            state.note_failed(incoming, request.origin);
            return Err(AppendError::DiskFull);
        }
        let append = AppendedBatches::stamp(incoming, state.end.offset, state.leader_epoch)?;
        let producers = state.check_producers(&append, incoming, settings, &request)?;
        let written = self.maybe_roll(&mut state, now.wall, &append, settings);
        if let Err(error) = written.and_then(|()| self.write(&mut state, &append, settings)) {
            state.note_failed(incoming, request.origin);
            if let AppendError::Disk(error) = &error {
                self.note_disk_error(&mut state, error);
            }
            return Err(error);
        }
        let start = state.end;
        state.note_written(&append, producers);
        state.sync.note_append(now, start, request.durability == Durability::Synced);
        state.advance_high_watermark();
        self.publish(&state);
        let unsynced = state.end.offset.0 - state.sync.durable_end().0;
        Ok(AppendInfo {
            base_offset: start.offset,
            last_offset: append.last_offset(),
            log_start_offset: state.log_start,
            log_append_time: request.append_time,
            is_duplicate: false,
            is_sync_due: unsynced >= settings.flush_messages,
        })
    }

    fn maybe_roll(
        &self,
        state: &mut LogState,
        now: WallTime,
        append: &AppendedBatches<'_>,
        settings: &LogSettings,
    ) -> Result<(), AppendError> {
        let roll = RollParams {
            now,
            bytes: append.bytes,
            last_offset: append.last_offset(),
            timestamp_max: append.timestamp_max,
            segment_ms: settings.segment_ms_of(self.seed()),
        };
        let should_roll = state.active().should_roll(&roll, settings).map_err(AppendError::Disk)?;
        if should_roll {
            Mark::Rolled.reached();
            self.roll_now(state, now).map_err(refusal)
        } else {
            Ok(())
        }
    }

    /// Writes the batches in one go. On an error the segment is cut back to what it was; if that fails too, the log goes offline.
    fn write(
        &self,
        state: &mut LogState,
        append: &AppendedBatches<'_>,
        settings: &LogSettings,
    ) -> Result<(), AppendError> {
        let active = state.active();
        let pieces: Vec<IoSlice<'_>> = append.pieces().map(IoSlice::new).collect();
        let Err(error) = active.append(&append.headers, &pieces, settings) else { return Ok(()) };
        let is_poisoned = matches!(error, DiskError::Poisoned { .. });
        if zoo::is(Bug::TornAppendStays) && !is_poisoned {
            return Err(refusal(error));
        }
        let is_lost = zoo::is(Bug::FullDiskOffline) && matches!(error, DiskError::Full { .. });
        if is_lost || is_poisoned || active.cut_back().is_err() {
            Mark::AppendEndsLog.reached();
            self.go_offline(state, &error);
            return Err(AppendError::Disk(error));
        }
        Mark::AppendCutBack.reached();
        Err(refusal(error))
    }

    /// A file that is not there was removed by somebody, and nothing that is appended would be found. After any other error the log is as it
    /// was.
    fn note_disk_error(&self, state: &mut LogState, error: &DiskError) {
        if state.status == LogStatus::Online {
            if error.is_not_found() {
                self.go_offline(state, error);
            } else {
                self.tell_of_trouble(state, error, "a batch could not be appended");
            }
        }
    }
}

/// What was asked for.
#[derive(Clone, Copy, Debug)]
struct Request {
    origin: AppendOrigin,
    durability: Durability,
    transaction: TransactionContext,
    append_time: Option<WallTime>,
}

impl LogState {
    pub(super) fn check_online(&self) -> Result<(), AppendError> {
        match self.status {
            LogStatus::Online => Ok(()),
            LogStatus::Offline | LogStatus::Closed => {
                Mark::AppendOffline.reached();
                Err(AppendError::Offline)
            }
            LogStatus::Deleted => Err(AppendError::Deleted),
        }
    }

    fn has_ongoing_transaction(&self, producer_id: ProducerId, epoch: ProducerEpoch) -> bool {
        let entry = self.producers.entry(producer_id);
        entry.is_some_and(|entry| entry.transaction_first_offset.is_some() && entry.epoch == epoch)
    }

    /// The first try of what is appended, if it is remembered.
    fn find_duplicate(&self, incoming: &[IncomingBatch<'_>], origin: AppendOrigin) -> Option<AppendInfo> {
        let [IncomingBatch { header, .. }] = incoming else { return None };
        if origin != AppendOrigin::Client || !header.has_producer_id() {
            return None;
        }
        let entry = self.producers.entry(header.producer_id())?;
        let batch = entry.find_duplicate(header.producer_epoch(), header.base_sequence(), header.last_sequence())?;
        Some(AppendInfo {
            base_offset: if zoo::is(Bug::DuplicateElsewhere) { self.end.offset } else { batch.first_offset() },
            last_offset: batch.last_offset,
            log_start_offset: self.log_start,
            log_append_time: Some(WallTime(batch.timestamp)),
            is_duplicate: true,
            is_sync_due: false,
        })
    }

    /// Remembers that a client's batch could not be written, lest a later one of a producer that is not known yet takes its place.
    fn note_failed(&mut self, incoming: &[IncomingBatch<'_>], origin: AppendOrigin) {
        if let [IncomingBatch { header, .. }] = incoming
            && origin == AppendOrigin::Client
        {
            self.producers.note_failed(header);
        }
    }

    /// What the append would make of each producer's state, or why it may not be.
    fn check_producers(
        &self,
        append: &AppendedBatches<'_>,
        incoming: &[IncomingBatch<'_>],
        settings: &LogSettings,
        request: &Request,
    ) -> Result<Vec<ProducerAppendInfo>, AppendError> {
        let mut infos: Vec<ProducerAppendInfo> = Vec::new();
        let mut position = 0;
        for (header, incoming) in append.headers.iter().zip(incoming) {
            let producer_id = header.producer_id();
            if header.has_producer_id() {
                if request.origin == AppendOrigin::Client
                    && header.is_transactional()
                    && settings.transaction_verification
                {
                    self.check_verified(producer_id, header.producer_epoch(), request.transaction.guard)?;
                }
                if !infos.iter().any(|info| info.producer_id() == producer_id) {
                    infos.push(self.producers.prepare(producer_id, request.origin));
                }
                let info = infos.iter_mut().find(|info| info.producer_id() == producer_id);
                let info = info.expect("it was pushed above");
                info.append(header, incoming.marker, request.transaction.version, position)?;
            }
            position += header.total_bytes() as u64;
        }
        Ok(infos)
    }

    fn check_verified(
        &self,
        producer_id: ProducerId,
        epoch: ProducerEpoch,
        guard: Option<VerificationGuard>,
    ) -> Result<(), AppendError> {
        let known = self.producers.entry(producer_id).map(|entry| entry.epoch);
        if let Some(known) = known.filter(|known| epoch < *known) {
            return Err(AppendError::InvalidProducerEpoch { epoch: epoch.0, known: known.0 });
        }
        if self.has_ongoing_transaction(producer_id, epoch) || self.producers.is_verified(producer_id, guard) {
            return Ok(());
        }
        Err(AppendError::InvalidTransactionState("the transaction was not verified to include this partition"))
    }

    /// Takes what was written into everything that is known about the log.
    fn note_written(&mut self, append: &AppendedBatches<'_>, producers: Vec<ProducerAppendInfo>) {
        let start = self.end;
        for header in &append.headers {
            self.recent.push(header.base_offset(), self.end.position);
            self.end.offset = header.next_offset();
            self.end.position += header.total_bytes() as u64;
        }
        if self.epochs.latest() != Some(self.leader_epoch) {
            self.epochs.assign(self.leader_epoch, start.offset);
        }
        for info in producers {
            for transaction in self.producers.update(info, start) {
                let last_stable_offset = self.producers.last_stable_after(&transaction);
                if transaction.is_aborted {
                    self.active().note_aborted(&AbortedTransaction::new(&transaction, last_stable_offset));
                }
                self.producers.complete(&transaction);
            }
        }
        self.producers.set_end(self.end.offset);
    }
}

/// An error after which the log is as it was.
fn refusal(error: DiskError) -> AppendError {
    match error {
        DiskError::Full { .. } => AppendError::DiskFull,
        error => AppendError::Disk(error),
    }
}
