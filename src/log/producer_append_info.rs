//! What one append would do to one producer's state, and whether it may: the rules of idempotence and transactions.
//!
//! It must not change the state itself: that happens only after the append was written.

use crate::log::append::AppendOrigin;
use crate::log::error::AppendError;
use crate::log::producer_state_entry::{BatchMetadata, NO_EPOCH, NO_SEQUENCE, ProducerStateEntry};
use crate::marks::Mark;
use crate::record::{BatchHeader, ControlRecord, RecordBatch};
use crate::types::{Offset, ProducerEpoch, ProducerId};
use crate::zoo::{self, Bug};

/// The version of the transaction protocol that raises the producer's epoch with every transaction (KIP-890).
const EPOCH_BUMP_VERSION: i16 = 2;

/// A marker that ends a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndTransactionMarker {
    /// Whether it aborts; else it commits.
    pub(super) is_abort: bool,
    /// Epoch of the coordinator that wrote it.
    pub(super) coordinator_epoch: i32,
    /// When.
    pub(super) timestamp: i64,
}

impl EndTransactionMarker {
    /// The marker in a control batch; `None` for control records of other kinds.
    pub(super) fn read(batch: &RecordBatch<'_>) -> Option<EndTransactionMarker> {
        let record = batch.records()?.next()?.ok()?;
        match ControlRecord::from_record(&record) {
            Ok(ControlRecord::EndTransaction { is_commit, coordinator_epoch }) => {
                Some(EndTransactionMarker { is_abort: !is_commit, coordinator_epoch, timestamp: record.timestamp })
            }
            _ => None,
        }
    }
}

/// A transaction that a marker has ended. Kafka's type of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CompletedTransaction {
    pub(super) producer_id: ProducerId,
    pub(super) first_offset: Offset,
    /// Offset of the marker.
    pub(super) last_offset: Offset,
    pub(super) is_aborted: bool,
}

/// What is known of a producer whose transaction is being verified (KIP-890): a later batch must not overtake an earlier one that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VerificationState {
    /// When the verification began.
    pub(super) since: i64,
    /// What the append that may begin the transaction has to show.
    pub(super) guard: VerificationGuard,
    /// The lowest sequence number that was seen.
    pub(super) lowest_sequence: i32,
    /// In this epoch.
    pub(super) epoch: ProducerEpoch,
    /// Whether the client raises its epoch with every transaction, so that a first sequence other than 0 is a loss.
    pub(super) supports_epoch_bump: bool,
}

/// Proof that the coordinator was asked whether the transaction is open, since the last time that one ended here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerificationGuard(pub(super) u64);

/// What an append of batches of one producer would make of its state. Kafka's type of the same name.
#[derive(Clone, Debug)]
pub(super) struct ProducerAppendInfo {
    known_epoch: ProducerEpoch,
    had_batches: bool,
    entry: ProducerStateEntry,
    origin: AppendOrigin,
    verification: Option<VerificationState>,
    /// Epoch and sequence of a batch of this unknown producer that could not be written.
    failed: Option<(ProducerEpoch, i32)>,
    /// First offsets of transactions that begin with this append, each with its byte position counted from the append's start.
    pub(super) started: Vec<(Offset, u64)>,
    /// Transactions that end with this append.
    pub(super) completed: Vec<CompletedTransaction>,
}

impl ProducerAppendInfo {
    /// Nothing so far, on top of what is known.
    pub(super) fn new(
        entry: ProducerStateEntry,
        origin: AppendOrigin,
        verification: Option<VerificationState>,
        failed: Option<(ProducerEpoch, i32)>,
    ) -> ProducerAppendInfo {
        ProducerAppendInfo {
            known_epoch: entry.epoch,
            had_batches: !entry.is_empty(),
            entry,
            origin,
            verification,
            failed,
            started: Vec::new(),
            completed: Vec::new(),
        }
    }

    /// Whose.
    pub(super) fn producer_id(&self) -> ProducerId {
        self.entry.producer_id
    }

    /// The state after the append.
    pub(super) fn into_entry(self) -> ProducerStateEntry {
        self.entry
    }

    /// Adds a batch whose offsets are final. `header` is the one with those, `position` its place in the append.
    pub(super) fn append(
        &mut self,
        header: &BatchHeader,
        marker: Option<EndTransactionMarker>,
        transaction_version: i16,
        position: u64,
    ) -> Result<(), AppendError> {
        if header.is_control_batch() {
            return marker.map_or(Ok(()), |marker| self.append_marker(header, marker, transaction_version));
        }
        self.check_epoch(header.producer_epoch())?;
        if self.origin == AppendOrigin::Client {
            self.check_sequence(header)?;
        }
        match self.entry.transaction_first_offset {
            Some(_) if !header.is_transactional() => {
                return Err(AppendError::InvalidTransactionState("a non-transactional batch inside a transaction"));
            }
            None if header.is_transactional() => {
                self.entry.transaction_first_offset = Some(header.base_offset());
                self.started.push((header.base_offset(), position));
            }
            _ => {}
        }
        let batch = BatchMetadata {
            last_sequence: header.last_sequence(),
            last_offset: header.last_offset(),
            offset_delta: header.last_offset_delta(),
            timestamp: header.max_timestamp(),
        };
        self.entry.add_batch(header.producer_epoch(), batch);
        Ok(())
    }

    fn append_marker(
        &mut self,
        header: &BatchHeader,
        marker: EndTransactionMarker,
        transaction_version: i16,
    ) -> Result<(), AppendError> {
        let (epoch, known) = (header.producer_epoch(), self.entry.epoch);
        self.check_epoch(epoch)?;
        let is_open = self.entry.transaction_first_offset.is_some();
        let bumps = transaction_version >= EPOCH_BUMP_VERSION && self.origin != AppendOrigin::Replication;
        if bumps && epoch == known && is_open {
            return Err(AppendError::InvalidProducerEpoch { epoch: epoch.0, known: known.0 });
        }
        if marker.coordinator_epoch < self.entry.coordinator_epoch && self.origin != AppendOrigin::Replication {
            let known = self.entry.coordinator_epoch;
            return Err(AppendError::CoordinatorFenced { epoch: marker.coordinator_epoch, known });
        }
        if let Some(first_offset) = self.entry.transaction_first_offset.take() {
            self.completed.push(CompletedTransaction {
                producer_id: self.entry.producer_id,
                first_offset,
                last_offset: header.last_offset(),
                is_aborted: marker.is_abort,
            });
        }
        self.entry.set_epoch(epoch);
        self.entry.coordinator_epoch = marker.coordinator_epoch;
        self.entry.last_timestamp = marker.timestamp;
        Ok(())
    }

    fn check_epoch(&self, epoch: ProducerEpoch) -> Result<(), AppendError> {
        let known = self.entry.epoch;
        if epoch < known && self.origin != AppendOrigin::Replication {
            return Err(AppendError::InvalidProducerEpoch { epoch: epoch.0, known: known.0 });
        }
        Ok(())
    }

    fn check_sequence(&self, header: &BatchHeader) -> Result<(), AppendError> {
        let first = header.base_sequence();
        let out_of_order = |last| Err(AppendError::OutOfOrderSequence { sequence: first, last });
        if let Some(verification) = self.verification {
            let is_unknown = !self.had_batches && self.known_epoch == NO_EPOCH;
            if verification.supports_epoch_bump && first != 0 && is_unknown {
                return out_of_order(NO_SEQUENCE);
            }
            if first > verification.lowest_sequence {
                return out_of_order(verification.lowest_sequence);
            }
        }
        if self.entry.epoch == NO_EPOCH {
            // Any sequence may be the first of a producer that was forgotten, but none may take the place of a batch that has just failed.
            let overtakes =
                self.failed.is_some_and(|(epoch, failed)| header.producer_epoch() == epoch && first > failed);
            if overtakes {
                Mark::OvertakesFailed.reached();
            }
            return if overtakes { out_of_order(NO_SEQUENCE) } else { Ok(()) };
        }
        if header.producer_epoch() != self.entry.epoch {
            return if first == 0 { Ok(()) } else { out_of_order(NO_SEQUENCE) };
        }
        let last = self.entry.last_sequence();
        let begins_again = first == 0 && last == i32::MAX && !zoo::is(Bug::SequenceEnds);
        let follows = i64::from(first) == i64::from(last) + 1 || begins_again;
        if follows {
            return Ok(());
        }
        Mark::OutOfOrder.reached();
        out_of_order(last)
    }
}
