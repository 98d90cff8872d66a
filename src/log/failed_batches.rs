//! Batches of producers that a log does not know, which could not be written: none that comes later in a pipeline may take their place.
//!
//! It must not know which producers a log knows, nor why a batch could not be written.

use std::collections::BTreeMap;

use crate::record::BatchHeader;
use crate::types::{ProducerEpoch, ProducerId};

/// Producers whose failed batches are remembered; more are as in Kafka, which remembers none.
const PRODUCERS_MAX: usize = 10_000;

/// The first batch of each producer that failed, by its epoch and sequence.
#[derive(Debug, Default)]
pub struct FailedBatches(BTreeMap<ProducerId, (ProducerEpoch, i32)>);

impl FailedBatches {
    /// Remembers that this batch could not be written. Without a producer it has no place that another could take.
    pub fn note(&mut self, batch: &BatchHeader) {
        if batch.has_producer_id() {
            self.add(batch.producer_id(), (batch.producer_epoch(), batch.base_sequence()));
        }
    }

    /// How many producers are remembered.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Adds those of the others that are from producers which `is_wanted`.
    pub(super) fn take(&mut self, others: FailedBatches, is_wanted: impl Fn(ProducerId) -> bool) {
        let wanted = others.0.into_iter().filter(|(producer_id, _)| is_wanted(*producer_id));
        wanted.for_each(|(producer_id, failed)| self.add(producer_id, failed));
    }

    /// Epoch and sequence of a producer's batch that could not be written.
    pub(super) fn get(&self, producer_id: ProducerId) -> Option<(ProducerEpoch, i32)> {
        self.0.get(&producer_id).copied()
    }

    /// Forgets a producer's: the log knows the producer now.
    pub(super) fn forget(&mut self, producer_id: ProducerId) {
        self.0.remove(&producer_id);
    }

    fn add(&mut self, producer_id: ProducerId, (epoch, sequence): (ProducerEpoch, i32)) {
        if self.0.len() >= PRODUCERS_MAX && !self.0.contains_key(&producer_id) {
            return;
        }
        let failed = self.0.entry(producer_id).or_insert((epoch, sequence));
        if epoch > failed.0 || (epoch == failed.0 && sequence < failed.1) {
            *failed = (epoch, sequence);
        }
    }
}
