//! The settings of one log, with Kafka's defaults.
//!
//! It must not know keys, texts or where a value came from: that is `config`'s.

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
}

impl LogSettings {
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
        }
    }
}
