//! Settings of the logs on disk and of their cleaner.
//!
//! It must not know how a log works. What a single topic may change is in `topic.rs`.

use crate::config::layers::Layers;

/// The logs on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// `log.dirs`, else `log.dir`.
    pub dirs: Vec<String>,
    /// `metadata.log.dir`, else the first of `dirs`.
    pub metadata_dir: String,
    /// `klamm.acks.all.fsync`: whether acks=all waits for the disk.
    pub acks_all_fsync: bool,
    /// `klamm.log.dirs.free.bytes.min`.
    pub free_bytes_min: u64,
    /// `log.retention.check.interval.ms`.
    pub retention_check_interval_ms: i64,
    /// `log.flush.scheduler.interval.ms`.
    pub flush_check_interval_ms: i64,
    /// `log.flush.offset.checkpoint.interval.ms`.
    pub recovery_point_checkpoint_interval_ms: i64,
    /// `log.flush.start.offset.checkpoint.interval.ms`.
    pub start_offset_checkpoint_interval_ms: i64,
    /// `log.initial.task.delay.ms`.
    pub initial_task_delay_ms: i64,
    /// `num.recovery.threads.per.data.dir`.
    pub recovery_threads_per_dir: usize,
    /// `producer.id.expiration.ms`.
    pub producer_id_expiration_ms: i64,
    /// `producer.id.expiration.check.interval.ms`.
    pub producer_id_expiration_check_interval_ms: i64,
}

impl LogSettings {
    pub(super) fn resolve(layers: Layers<'_>) -> LogSettings {
        let several = layers.list("log.dirs");
        let dirs = if several.is_empty() { layers.list("log.dir") } else { several };
        let first = dirs.first().cloned().unwrap_or_default();
        LogSettings {
            metadata_dir: layers.text("metadata.log.dir").unwrap_or(first),
            dirs,
            acks_all_fsync: layers.boolean("klamm.acks.all.fsync"),
            free_bytes_min: u64::try_from(layers.long("klamm.log.dirs.free.bytes.min")).unwrap_or(0),
            retention_check_interval_ms: layers.long("log.retention.check.interval.ms"),
            flush_check_interval_ms: layers.long("log.flush.scheduler.interval.ms"),
            recovery_point_checkpoint_interval_ms: layers.long("log.flush.offset.checkpoint.interval.ms"),
            start_offset_checkpoint_interval_ms: layers.long("log.flush.start.offset.checkpoint.interval.ms"),
            initial_task_delay_ms: layers.long("log.initial.task.delay.ms"),
            recovery_threads_per_dir: layers.size("num.recovery.threads.per.data.dir"),
            producer_id_expiration_ms: layers.long("producer.id.expiration.ms"),
            producer_id_expiration_check_interval_ms: layers.long("producer.id.expiration.check.interval.ms"),
        }
    }
}

/// Compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogCleanerSettings {
    /// `log.cleaner.enable`.
    pub is_enabled: bool,
    /// `log.cleaner.threads`.
    pub threads: usize,
    /// `log.cleaner.backoff.ms`.
    pub backoff_ms: i64,
    /// `log.cleaner.dedupe.buffer.size`, of all threads together.
    pub dedupe_buffer_bytes: usize,
}

impl LogCleanerSettings {
    pub(super) fn resolve(layers: Layers<'_>) -> LogCleanerSettings {
        LogCleanerSettings {
            is_enabled: layers.boolean("log.cleaner.enable"),
            threads: layers.size("log.cleaner.threads"),
            backoff_ms: layers.long("log.cleaner.backoff.ms"),
            dedupe_buffer_bytes: layers.size("log.cleaner.dedupe.buffer.size"),
        }
    }
}
