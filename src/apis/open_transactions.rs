//! Ends the transactions that lie open in logs that come into use: Kafka left them so, and Klamm has no coordinator that would end them.
//!
//! It must not know who wrote them.

use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;

use super::partition::Partition;
use crate::log::{AppendOrigin, Durability, OpenTransaction};
use crate::record::end_transaction_batch;
use crate::types::Now;
use crate::zoo::{self, Bug};

/// The partitions in which a transaction could not be ended, be it for want of space.
#[derive(Default)]
pub(crate) struct OpenTransactions {
    left: Mutex<Vec<Arc<Partition>>>,
}

impl OpenTransactions {
    /// Aborts every transaction that is open in these partitions, or their transactional readers would stand still for ever.
    pub(crate) fn abort(&self, now: Now, partitions: &[Arc<Partition>]) {
        if zoo::is(Bug::OpenTransactionStays) {
            return;
        }
        let is_left = |partition: &&Arc<Partition>| {
            let log = &partition.log;
            !is_aborted(now, partition) && !log.is_offline() && !log.is_deleted()
        };
        let left: Vec<Arc<Partition>> = partitions.iter().filter(is_left).cloned().collect();
        self.left().extend(left);
    }

    /// Tries those again that could not be aborted. Returns the partitions in which there is more to read now.
    pub(crate) fn abort_left(&self, now: Now) -> Vec<Arc<Partition>> {
        let mut partitions = std::mem::take(&mut *self.left());
        self.abort(now, &partitions);
        partitions.retain(|partition| partition.log.open_transactions().is_empty());
        partitions
    }

    fn left(&self) -> MutexGuard<'_, Vec<Arc<Partition>>> {
        self.left.lock().expect("nobody panics while holding the partitions: panics abort the process")
    }
}

/// Aborts what is open in a partition, and says whether all of it is.
fn is_aborted(now: Now, partition: &Partition) -> bool {
    let log = &partition.log;
    let mut is_aborted = true;
    for OpenTransaction { producer_id, epoch, coordinator_epoch } in log.open_transactions() {
        let marker = end_transaction_batch(producer_id, epoch, false, coordinator_epoch, now.wall.0);
        let (partition, origin) = (log.topic_partition(), AppendOrigin::Coordinator);
        match log.append(now, Bytes::from(marker), origin, Durability::Written) {
            Ok(_) => tracing::warn!(%partition, %producer_id, "a transaction that was left open is aborted"),
            Err(error) => {
                tracing::error!(%partition, %producer_id, %error, "a transaction that was left open cannot be aborted: its readers wait until it can");
                is_aborted = false;
            }
        }
    }
    is_aborted
}
