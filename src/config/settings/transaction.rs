//! Settings of transactional producers.
//!
//! It must not know how a transaction ends.

use crate::config::layers::Layers;

/// Transactional producers and the topic that keeps their state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionSettings {
    /// `transaction.max.timeout.ms`.
    pub timeout_ms_max: i32,
    /// `transactional.id.expiration.ms`.
    pub transactional_id_expiration_ms: i32,
    /// `transaction.abort.timed.out.transaction.cleanup.interval.ms`.
    pub timed_out_check_interval_ms: i32,
    /// `transaction.remove.expired.transaction.cleanup.interval.ms`.
    pub expired_check_interval_ms: i32,
    /// `transaction.partition.verification.enable`.
    pub verifies_partitions: bool,
    /// `transaction.state.log.num.partitions`.
    pub topic_partitions: i32,
    /// `transaction.state.log.segment.bytes`.
    pub topic_segment_bytes: i64,
}

impl TransactionSettings {
    pub(super) fn resolve(layers: Layers<'_>) -> TransactionSettings {
        TransactionSettings {
            timeout_ms_max: layers.int("transaction.max.timeout.ms"),
            transactional_id_expiration_ms: layers.int("transactional.id.expiration.ms"),
            timed_out_check_interval_ms: layers.int("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
            expired_check_interval_ms: layers.int("transaction.remove.expired.transaction.cleanup.interval.ms"),
            verifies_partitions: layers.boolean("transaction.partition.verification.enable"),
            topic_partitions: layers.int("transaction.state.log.num.partitions"),
            topic_segment_bytes: layers.long("transaction.state.log.segment.bytes"),
        }
    }
}
