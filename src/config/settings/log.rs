//! Settings of the logs on disk.
//!
//! It must not know how a log works. What a single topic may change is in `topic.rs`.

use crate::config::layers::Layers;

/// The logs on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerLogSettings {
    /// `log.dirs`, else `log.dir`.
    pub dirs: Vec<String>,
    /// `metadata.log.dir`, else the first of `dirs`.
    pub metadata_dir: String,
    /// `klamm.acks.all.fsync`: whether acks=all waits for the disk.
    pub acks_all_fsync: bool,
    /// `klamm.log.dirs.free.bytes.min`.
    pub free_bytes_min: u64,
    /// `klamm.log.dirs.given.up`: ids of directories that will not come back.
    pub given_up_dirs: Vec<String>,
    /// `log.retention.check.interval.ms`.
    pub retention_check_interval_ms: i64,
    /// `log.flush.offset.checkpoint.interval.ms`.
    pub recovery_point_checkpoint_interval_ms: i64,
    /// `log.flush.start.offset.checkpoint.interval.ms`.
    pub start_offset_checkpoint_interval_ms: i64,
    /// `log.initial.task.delay.ms`.
    pub initial_task_delay_ms: i64,
    /// `producer.id.expiration.ms`.
    pub producer_id_expiration_ms: i64,
}

impl BrokerLogSettings {
    pub(super) fn resolve(layers: Layers<'_>) -> BrokerLogSettings {
        let several = layers.list("log.dirs");
        let mut dirs = Vec::new();
        for dir in if several.is_empty() { layers.list("log.dir") } else { several } {
            // Named twice in the same words it counts once, as in Kafka.
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
        let first = dirs.first().cloned().unwrap_or_default();
        BrokerLogSettings {
            metadata_dir: layers.text("metadata.log.dir").unwrap_or(first),
            dirs,
            acks_all_fsync: layers.boolean("klamm.acks.all.fsync"),
            free_bytes_min: u64::try_from(layers.long("klamm.log.dirs.free.bytes.min")).unwrap_or(0),
            given_up_dirs: layers.list("klamm.log.dirs.given.up"),
            retention_check_interval_ms: layers.long("log.retention.check.interval.ms"),
            recovery_point_checkpoint_interval_ms: layers.long("log.flush.offset.checkpoint.interval.ms"),
            start_offset_checkpoint_interval_ms: layers.long("log.flush.start.offset.checkpoint.interval.ms"),
            initial_task_delay_ms: layers.long("log.initial.task.delay.ms"),
            producer_id_expiration_ms: layers.long("producer.id.expiration.ms"),
        }
    }
}
