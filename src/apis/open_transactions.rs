//! Ends the transactions that lie open in logs that come into use: Kafka left them so, and Klamm has no coordinator that would end them.
//!
//! It must not know who wrote them.

use std::sync::Arc;

use bytes::Bytes;

use super::partition::Partition;
use crate::log::{AppendOrigin, Durability, OpenTransaction};
use crate::record::end_transaction_batch;
use crate::types::Now;
use crate::zoo::{self, Bug};

/// Aborts every transaction that is open in these partitions, or their transactional readers would stand still for ever.
pub(crate) fn abort_open_transactions(now: Now, partitions: &[Arc<Partition>]) {
    if zoo::is(Bug::OpenTransactionStays) {
        return;
    }
    for log in partitions.iter().map(|partition| &partition.log) {
        for OpenTransaction { producer_id, epoch, coordinator_epoch } in log.open_transactions() {
            let marker = end_transaction_batch(producer_id, epoch, false, coordinator_epoch, now.wall.0);
            let (partition, origin) = (log.topic_partition(), AppendOrigin::Coordinator);
            match log.append(now, Bytes::from(marker), origin, Durability::Written) {
                Ok(_) => tracing::warn!(%partition, %producer_id, "a transaction that was left open is aborted"),
                Err(error) => tracing::error!(%partition, %producer_id, %error, "an open transaction stays open"),
            }
        }
    }
}
