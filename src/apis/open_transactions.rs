//! Ends the transactions that lie open in logs that come into use: Kafka left them so, and Klamm has no coordinator that would end them.
//!
//! It must not know who wrote them.

use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;

use super::partition::Partition;
use crate::log::{AppendError, AppendOrigin, Durability, OpenTransaction};
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
        for partition in partitions {
            if let (_, Some(error)) = abort_in(now, partition) {
                let name = partition.log.topic_partition();
                tracing::error!(partition = %name, %error, "a transaction that was left open cannot be aborted: its readers wait until it can");
                self.keep(partition);
            }
        }
    }

    /// Tries those again that could not be aborted. Returns the partitions in which there may be more to read now.
    pub(crate) fn abort_left(&self, now: Now) -> Vec<Arc<Partition>> {
        let mut partitions = std::mem::take(&mut *self.left());
        partitions.retain(|partition| {
            let (aborted, error) = abort_in(now, partition);
            if error.is_some() {
                self.keep(partition);
            }
            aborted > 0
        });
        partitions
    }

    /// What is offline is ended by the next start, and what is deleted has no readers.
    fn keep(&self, partition: &Arc<Partition>) {
        if !partition.log.is_offline() && !partition.log.is_deleted() {
            self.left().push(Arc::clone(partition));
        }
    }

    fn left(&self) -> MutexGuard<'_, Vec<Arc<Partition>>> {
        self.left.lock().expect("nobody panics while holding the partitions: panics abort the process")
    }
}

/// Aborts what is open in a partition. Says how many transactions that were, and why another one could not be.
fn abort_in(now: Now, partition: &Partition) -> (usize, Option<AppendError>) {
    let log = &partition.log;
    let mut aborted = 0;
    for OpenTransaction { producer_id, epoch, coordinator_epoch } in log.open_transactions() {
        let marker = end_transaction_batch(producer_id, epoch, false, coordinator_epoch, now.wall.0);
        if let Err(error) = log.append(now, Bytes::from(marker), AppendOrigin::Coordinator, Durability::Written) {
            return (aborted, Some(error));
        }
        tracing::warn!(partition = %log.topic_partition(), %producer_id, "a transaction that was left open is aborted");
        aborted += 1;
    }
    (aborted, None)
}
