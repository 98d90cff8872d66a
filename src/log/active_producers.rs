//! What an operator may know about the producers of a partition (DescribeProducers).
//!
//! It must not know requests.

use crate::log::unified_log::UnifiedLog;
use crate::types::{Offset, ProducerEpoch, ProducerId};

/// A producer that has written and is not forgotten yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveProducer {
    /// Who.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub epoch: ProducerEpoch,
    /// Sequence number of its last record, -1 for none.
    pub last_sequence: i32,
    /// Timestamp of its last batch or marker, in milliseconds.
    pub last_timestamp: i64,
    /// Epoch of the coordinator that wrote its last marker, -1 for none.
    pub coordinator_epoch: i32,
    /// First offset of its open transaction.
    pub transaction_first_offset: Option<Offset>,
}

impl UnifiedLog {
    /// The known producers, by id.
    pub fn active_producers(&self) -> Vec<ActiveProducer> {
        let state = self.lock();
        let producers = state.producers.producers().map(|entry| ActiveProducer {
            producer_id: entry.producer_id,
            epoch: entry.epoch,
            last_sequence: entry.last_sequence(),
            last_timestamp: entry.last_timestamp,
            coordinator_epoch: entry.coordinator_epoch,
            transaction_first_offset: entry.transaction_first_offset,
        });
        producers.collect()
    }
}
