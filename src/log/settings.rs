//! The settings of one log, and of all, with Kafka's defaults.
//!
//! It must not know keys, texts or where a value came from: that is `config`'s.

use std::path::PathBuf;

use crate::limits::DECOMPRESSED_BODY_BYTES_MAX;
use crate::log::log_validator::ValidationSettings;
use crate::record::{Compression, TimestampType};
use crate::types::BrokerId;

/// The settings of all logs together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogManagerSettings {
    /// `log.dirs`.
    pub directories: Vec<PathBuf>,
    /// `metadata.log.dir`: the folder of the metadata log. No other new log is made there unless it is one of `directories`.
    pub metadata_directory: PathBuf,
    /// `node.id`.
    pub node_id: BrokerId,
    /// The cluster's id, if the operator gives one; else the directories' or a new one.
    pub cluster_id: Option<String>,
    /// Bytes below which clients may not append, so that the disk never fills up to the last.
    pub free_bytes_min: u64,
    /// `log.segment.delete.delay.ms`: how long folders that an earlier run has deleted stay on disk.
    pub file_delete_delay_ms: i64,
}

/// The settings of one log. Kafka's topic configs of the same names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// `segment.bytes`: a segment does not grow beyond it.
    pub segment_bytes: u32,
    /// `segment.ms`: the age at which a segment is rolled.
    pub segment_ms: i64,
    /// `segment.jitter.ms`: how much earlier some segments roll, so that not all partitions roll at once.
    pub segment_jitter_ms: i64,
    /// `segment.index.bytes`: the size at which an index is full and its segment rolls.
    pub segment_index_bytes: u32,
    /// `index.interval.bytes`: appended bytes between two index entries.
    pub index_interval_bytes: u32,
    /// `max.message.bytes`: the largest batch.
    pub message_bytes_max: u32,
    /// `retention.ms`: how long records are kept; below 0 for ever.
    pub retention_ms: i64,
    /// `retention.bytes`: how many bytes are kept; below 0 all.
    pub retention_bytes: i64,
    /// Whether `cleanup.policy` contains `delete`.
    pub delete: bool,
    /// Whether `cleanup.policy` contains `compact`.
    pub compact: bool,
    /// `flush.messages`: unsynced records after which a sync is due.
    pub flush_messages: i64,
    /// `flush.ms`: time after which a sync of unsynced records is due.
    pub flush_ms: i64,
    /// `file.delete.delay.ms`: how long a removed segment stays on disk.
    pub file_delete_delay_ms: i64,
    /// `producer.id.expiration.ms`: when a silent producer is forgotten.
    pub producer_id_expiration_ms: i64,
    /// `transaction.partition.verification.enable`: refuse transactional batches whose transaction the coordinator has not confirmed.
    pub transaction_verification: bool,
    /// `compression.type`: the codec of stored batches; `None` keeps the producer's.
    pub compression: Option<Compression>,
    /// `message.timestamp.type`: whose clock counts.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`: how far behind the broker's clock a timestamp may be.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`: how far ahead of it.
    pub timestamp_after_max_ms: i64,
    /// `max.decompressed.message.bytes`: the longest record of a compressed batch.
    pub decompressed_message_bytes_max: u32,
}

impl LogSettings {
    /// What a `LogValidator` needs of them; `is_zstd_allowed` depends on the request's version.
    pub fn validation(&self, is_zstd_allowed: bool) -> ValidationSettings {
        ValidationSettings {
            message_bytes_max: self.message_bytes_max as usize,
            compression: self.compression,
            is_compacted: self.compact,
            timestamp_type: self.timestamp_type,
            timestamp_before_max_ms: self.timestamp_before_max_ms,
            timestamp_after_max_ms: self.timestamp_after_max_ms,
            decompressed_message_bytes_max: self.decompressed_message_bytes_max as usize,
            decompressed_body_bytes_max: DECOMPRESSED_BODY_BYTES_MAX,
            is_zstd_allowed,
        }
    }

    /// How large a segment may become: never so large that a position does not fit an index entry.
    pub(super) fn segment_bytes_max(&self) -> u32 {
        self.segment_bytes.min(i32::MAX.cast_unsigned())
    }

    /// The age at which a segment rolls, earlier by a part of the jitter that `seed` chooses: the same in every run.
    pub(super) fn segment_ms_of(&self, seed: u64) -> i64 {
        let jitter_ms = match u64::try_from(self.segment_jitter_ms) {
            Ok(jitter_max_ms @ 1..) => (seed % jitter_max_ms).cast_signed(),
            _ => 0,
        };
        self.segment_ms.saturating_sub(jitter_ms)
    }
}

impl Default for LogSettings {
    fn default() -> LogSettings {
        LogSettings {
            segment_bytes: 1 << 30,
            segment_ms: 7 * 24 * 3_600_000,
            segment_jitter_ms: 0,
            segment_index_bytes: 10 << 20,
            index_interval_bytes: 4096,
            message_bytes_max: 1_048_588,
            retention_ms: 7 * 24 * 3_600_000,
            retention_bytes: -1,
            delete: true,
            compact: false,
            flush_messages: i64::MAX,
            flush_ms: i64::MAX,
            file_delete_delay_ms: 60_000,
            producer_id_expiration_ms: 24 * 3_600_000,
            transaction_verification: true,
            compression: None,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: 3_600_000,
            decompressed_message_bytes_max: 2_147_483_639,
        }
    }
}
