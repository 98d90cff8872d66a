//! What one append would do to one producer's state, and whether it may: the rules of idempotence and transactions.
//!
//! It must not change the state itself: that happens only after the append was written.

use crate::log::append::AppendOrigin;
use crate::log::error::AppendError;
use crate::log::producer_state_entry::{BatchMetadata, NO_EPOCH, NO_SEQUENCE, ProducerStateEntry};
use crate::marks::Mark;
use crate::record::{BatchHeader, ControlRecord, RecordBatch};
use crate::types::{Offset, ProducerEpoch, ProducerId};

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

/// What an append of batches of one producer would make of its state. Kafka's type of the same name.
#[derive(Clone, Debug)]
pub(super) struct ProducerAppendInfo {
    entry: ProducerStateEntry,
    origin: AppendOrigin,
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
        failed: Option<(ProducerEpoch, i32)>,
    ) -> ProducerAppendInfo {
        ProducerAppendInfo { entry, origin, failed, started: Vec::new(), completed: Vec::new() }
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
        position: u64,
    ) -> Result<(), AppendError> {
        if header.is_control_batch() {
            return marker.map_or(Ok(()), |marker| self.append_marker(header, marker));
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

    fn append_marker(&mut self, header: &BatchHeader, marker: EndTransactionMarker) -> Result<(), AppendError> {
        let epoch = header.producer_epoch();
        self.check_epoch(epoch)?;
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
        let follows = i64::from(first) == i64::from(last) + 1 || (first == 0 && last == i32::MAX);
        if follows {
            return Ok(());
        }
        Mark::OutOfOrder.reached();
        out_of_order(last)
    }
}
