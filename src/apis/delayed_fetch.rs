//! A fetch that waits until there are enough bytes, or its time is over.
//!
//! It must not know how bytes are stored: it asks the replica manager to read.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::answer::Answer;
use super::fetch_session::{SessionPartition, SessionUse};
use super::fetched::Fetched;
use super::handlers::fetch::respond_fetched;
use super::partition::Partition;
use super::replica_manager::{LogKey, ReplicaManager};
use crate::error_code::ErrorCode;
use crate::log::{FetchIsolation, UnifiedLog};
use crate::types::{Instant, Offset, Ticket};
use crate::zoo::{self, Bug};

/// All that a fetch asks for, owned.
#[derive(Debug)]
pub(crate) struct FetchPlan {
    pub(crate) partitions: Vec<PartitionPlan>,
    pub(crate) isolation: FetchIsolation,
    /// The answer waits for so many bytes.
    pub(crate) bytes_min: usize,
    /// The answer holds at most so many, apart from a first batch that is larger.
    pub(crate) bytes_max: usize,
    /// Which session the answer belongs to.
    pub(crate) session: SessionUse,
}

/// One partition of a fetch.
#[derive(Debug)]
pub(crate) struct PartitionPlan {
    pub(crate) wanted: SessionPartition,
    /// Where to read, or why that is impossible.
    pub(crate) source: Result<Arc<Partition>, ErrorCode>,
    /// A read has found nothing from where it is wanted up to here.
    pub(crate) empty_to: Offset,
}

impl FetchPlan {
    /// The logs whose growth may complete it.
    pub(crate) fn keys(&self) -> BTreeSet<LogKey> {
        self.partitions.iter().filter_map(|partition| partition.source.as_ref().ok().map(|source| source.key)).collect()
    }

    /// Whether it names anything that could be read; a fetch of what is unknown has nothing to wait for.
    pub(crate) fn has_readable(&self) -> bool {
        self.partitions.iter().any(|partition| partition.source.is_ok())
    }

    /// Remembers where a read that has found nothing has looked. The end of a log may lie behind its last record: a compaction of another broker, or a recovery, has
    /// taken what was there, and a reader in between waits for the next record (as in Kafka, whose read returns the end of the log then).
    pub(crate) fn note_empty(&mut self, fetched: &Fetched) {
        for (partition, found) in self.partitions.iter_mut().zip(&fetched.partitions) {
            if found.records.is_empty() && !zoo::is(Bug::HoleEndsWait) {
                partition.empty_to = found.readable_end(self.isolation);
            }
        }
    }

    /// Whether an answer now would hold enough bytes, or an error that the client should hear of at once.
    pub(crate) fn is_complete(&self, replica_manager: &ReplicaManager) -> bool {
        let awaits_any = self.bytes_min <= 1;
        if awaits_any || zoo::is(Bug::AnyByteEndsWait) {
            // The cheap question first: most fetches wait for any byte at all.
            return self.partitions.iter().any(|partition| match &partition.source {
                Ok(source) => is_worth_reading(&source.log, partition, self.isolation),
                Err(_) => false,
            });
        }
        let fetched = replica_manager.fetch(self);
        fetched.bytes >= self.bytes_min || fetched.ends_wait
    }

    /// The answer with whatever there is now.
    pub(crate) fn answer(&self, now: Instant, replica_manager: &ReplicaManager, ticket: Ticket) -> Answer {
        respond_fetched(now, ticket, replica_manager, self, replica_manager.fetch(self))
    }
}

/// Whether a read would find data or an error.
fn is_worth_reading(log: &UnifiedLog, partition: &PartitionPlan, isolation: FetchIsolation) -> bool {
    let offset = partition.wanted.offset;
    let is_readable = readable_end(log, isolation) > offset.max(partition.empty_to) || log.log_start_offset() > offset;
    is_readable || log.is_offline() || log.is_deleted()
}

/// The offset up to which a reader of this isolation sees.
fn readable_end(log: &UnifiedLog, isolation: FetchIsolation) -> Offset {
    match isolation {
        FetchIsolation::LogEnd => log.log_end_offset(),
        FetchIsolation::HighWatermark => log.high_watermark(),
        FetchIsolation::TransactionCommitted => log.last_stable_offset(),
    }
}
