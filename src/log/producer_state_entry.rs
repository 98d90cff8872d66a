//! What a partition remembers of one producer: epoch, the last five batches, the open transaction.
//!
//! It must not decide what is allowed: that is `producer_append_info`.

use std::collections::VecDeque;

use crate::limits::PRODUCER_BATCHES_REMEMBERED;
use crate::types::{Offset, ProducerEpoch, ProducerId};
use crate::zoo::{self, Bug};

/// The sequence number that stands for none.
pub(super) const NO_SEQUENCE: i32 = -1;
/// The producer epoch that stands for none.
pub(super) const NO_EPOCH: ProducerEpoch = ProducerEpoch(-1);

/// A batch, as far as it takes to recognise its retry. Kafka's type of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchMetadata {
    pub(super) last_sequence: i32,
    pub(super) last_offset: Offset,
    pub(super) offset_delta: i32,
    pub(super) timestamp: i64,
}

impl BatchMetadata {
    /// Sequence number of its first record.
    pub(super) fn first_sequence(&self) -> i32 {
        (i64::from(self.last_sequence) - i64::from(self.offset_delta)).rem_euclid(1 << 31) as i32
    }

    /// Offset of its first record.
    pub(super) fn first_offset(&self) -> Offset {
        self.last_offset.plus(-i64::from(self.offset_delta))
    }
}

/// What a partition remembers of one producer. Kafka's type of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProducerStateEntry {
    pub(super) producer_id: ProducerId,
    pub(super) epoch: ProducerEpoch,
    pub(super) coordinator_epoch: i32,
    pub(super) last_timestamp: i64,
    pub(super) transaction_first_offset: Option<Offset>,
    batches: VecDeque<BatchMetadata>,
}

impl ProducerStateEntry {
    /// A producer of which nothing is known.
    pub(super) fn new(producer_id: ProducerId) -> ProducerStateEntry {
        ProducerStateEntry {
            producer_id,
            epoch: NO_EPOCH,
            coordinator_epoch: -1,
            last_timestamp: -1,
            transaction_first_offset: None,
            batches: VecDeque::new(),
        }
    }

    /// Whether no batch is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// The remembered batches, oldest first.
    pub(super) fn batches(&self) -> impl Iterator<Item = BatchMetadata> + '_ {
        self.batches.iter().copied()
    }

    /// Becomes `later`, which knows only its last batch, and keeps what it remembers of the same epoch before that.
    pub(super) fn followed_by(&mut self, later: ProducerStateEntry) {
        let earlier = std::mem::replace(self, later);
        if earlier.epoch == self.epoch {
            let own = std::mem::replace(&mut self.batches, earlier.batches);
            let timestamp = self.last_timestamp;
            own.into_iter().for_each(|batch| self.add_batch(self.epoch, batch));
            self.last_timestamp = timestamp;
        }
    }

    /// The last batch.
    pub(super) fn last_batch(&self) -> Option<BatchMetadata> {
        self.batches.back().copied()
    }

    /// Sequence number of the last record, -1 without one.
    pub(super) fn last_sequence(&self) -> i32 {
        self.last_batch().map_or(NO_SEQUENCE, |batch| batch.last_sequence)
    }

    /// Takes an epoch; another one than before makes all batches forgotten.
    pub(super) fn set_epoch(&mut self, epoch: ProducerEpoch) {
        if self.epoch != epoch {
            self.batches.clear();
            self.epoch = epoch;
        }
    }

    /// Remembers a batch, and forgets the sixth before it.
    pub(super) fn add_batch(&mut self, epoch: ProducerEpoch, batch: BatchMetadata) {
        self.set_epoch(epoch);
        if self.batches.len() == PRODUCER_BATCHES_REMEMBERED {
            self.batches.pop_front();
        }
        self.batches.push_back(batch);
        self.last_timestamp = batch.timestamp;
    }

    /// The remembered batch with exactly these epoch and sequence numbers.
    pub(super) fn find_duplicate(&self, epoch: ProducerEpoch, first: i32, last: i32) -> Option<BatchMetadata> {
        if self.epoch != epoch {
            return None;
        }
        let is_same = |batch: &&BatchMetadata| batch.first_sequence() == first && batch.last_sequence == last;
        let looked_at = if zoo::is(Bug::DedupKeepsLastSequence) { 1 } else { self.batches.len() };
        self.batches.iter().rev().take(looked_at).find(is_same).copied()
    }
}
