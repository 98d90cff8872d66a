//! Decides whether what a producer sent may be appended, and what of it must change first: the checks of Kafka's class of this
//! name, in its order.
//!
//! It must not know the partition, its next offset or its producers' state: offset and epoch are stamped at the append.

mod record_checks;
mod validation_error;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::limits::{BATCH_HEADER_BYTES, DECOMPRESSED_BODY_BYTES_MAX};
use crate::record::{
    BatchError, BatchHeader, BatchPrefix, BoundedBytes, Compression, CompressionType, Compressor, Decompressor,
    RecordBatch, ScanLimits, TimestampType, recompress, scan_records,
};
use crate::types::{LeaderEpoch, Now, Offset, WallTime};
use crate::zoo::{self, Bug};

use self::record_checks::{RecordChecks, RecordRules};
pub use self::validation_error::{RejectedRecord, ValidationError};

/// Who wants to append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationOrigin {
    /// A producer, which is not trusted.
    Client,
    /// A coordinator of this broker: it may write control batches, and batches without a sequence.
    Coordinator,
}

/// What the topic and the request say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidationSettings {
    /// The largest batch, header included (`max.message.bytes`).
    pub message_bytes_max: usize,
    /// The codec of stored batches; `None` keeps the producer's (`compression.type`).
    pub compression: Option<Compression>,
    /// Whether a key is needed (`cleanup.policy` contains `compact`).
    pub is_compacted: bool,
    /// Whose clock counts (`message.timestamp.type`).
    pub timestamp_type: TimestampType,
    /// How far behind the broker's clock a timestamp may be (`message.timestamp.before.max.ms`).
    pub timestamp_before_max_ms: i64,
    /// How far ahead of it (`message.timestamp.after.max.ms`).
    pub timestamp_after_max_ms: i64,
    /// The longest record of a compressed batch (`max.decompressed.message.bytes`).
    pub decompressed_message_bytes_max: usize,
    /// The most that a compressed batch may hold in all; Kafka knows no such bound.
    pub decompressed_body_bytes_max: usize,
    /// Whether the request is recent enough for zstd (KIP-110: Produce version 7).
    pub is_zstd_allowed: bool,
}

impl Default for ValidationSettings {
    /// Kafka's defaults.
    fn default() -> ValidationSettings {
        ValidationSettings {
            message_bytes_max: 1_048_588,
            compression: None,
            is_compacted: false,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: 3_600_000,
            decompressed_message_bytes_max: 2_147_483_639,
            decompressed_body_bytes_max: DECOMPRESSED_BODY_BYTES_MAX,
            is_zstd_allowed: true,
        }
    }
}

/// A batch that may be appended. Only its offset and leader epoch are still open.
#[derive(Clone, Debug)]
pub struct ValidatedBatch<'a> {
    /// The header with everything but those two.
    pub header: BatchHeader,
    /// What follows the header: the producer's own bytes, unless the batch had to be written anew.
    pub body: Cow<'a, [u8]>,
    /// The append time, if the topic's timestamps are those of the broker.
    pub log_append_time: Option<WallTime>,
}

impl ValidatedBatch<'_> {
    /// The header with its place in the log.
    pub fn stamped_header(&self, base_offset: Offset, leader_epoch: LeaderEpoch) -> [u8; BATCH_HEADER_BYTES] {
        let mut header = self.header;
        header.set_base_offset(base_offset);
        header.set_partition_leader_epoch(leader_epoch);
        *header.as_bytes()
    }

    /// Length of header and body.
    pub fn total_bytes(&self) -> usize {
        self.header.total_bytes()
    }
}

/// Validates batches, and keeps the codecs' contexts from one to the next.
#[derive(Default)]
pub struct LogValidator {
    compressor: Compressor,
    decompressor: Decompressor,
}

impl LogValidator {
    /// A validator that has set up nothing yet.
    pub fn new() -> LogValidator {
        LogValidator::default()
    }

    /// Checks the records field of one partition. Nothing is copied unless the batch must be written anew: for another codec, or
    /// because its records' offsets are not 0, 1, 2 ….
    pub fn validate<'a>(
        &mut self,
        records: &'a [u8],
        settings: &ValidationSettings,
        origin: ValidationOrigin,
        now: Now,
    ) -> Result<ValidatedBatch<'a>, ValidationError> {
        let batch = single_batch(records)?;
        check_batch(&batch, settings, origin)?;
        let seen = self.check_records(&batch, settings, now)?;
        let compression = target_compression(&batch, settings);
        let validated = if compression.compression_type() == batch.compression() && seen.offsets_are_consecutive {
            in_place(&batch, settings, seen.max_timestamp, now)
        } else {
            self.rebuilt(&batch, compression, settings, seen.max_timestamp, now)?
        };
        Ok(validated)
    }

    /// Looks at every record once; a compressed batch streams through.
    fn check_records(
        &mut self,
        batch: &RecordBatch<'_>,
        settings: &ValidationSettings,
        now: Now,
    ) -> Result<RecordChecks, ValidationError> {
        let limits = ScanLimits {
            record_bytes_max: settings.decompressed_message_bytes_max,
            body_bytes_max: settings.decompressed_body_bytes_max,
        };
        let rules = RecordRules::new(batch, settings, now);
        let mut checks = RecordChecks::new();
        scan_records(batch, &mut self.decompressor, limits, |record| checks.see(&rules, record))?;
        match (checks.rejected.is_empty(), checks.has_invalid_timestamp) {
            (true, _) => Ok(checks),
            (false, true) => Err(ValidationError::InvalidTimestamps(checks.rejected)),
            (false, false) => Err(ValidationError::InvalidRecords(checks.rejected)),
        }
    }

    /// Writes the batch anew, with consecutive offsets and the wanted codec. It ends as soon as the batch is too large.
    fn rebuilt(
        &mut self,
        batch: &RecordBatch<'_>,
        compression: Compression,
        settings: &ValidationSettings,
        max_timestamp: i64,
        now: Now,
    ) -> Result<ValidatedBatch<'static>, ValidationError> {
        let mut output = BoundedBytes::new(settings.message_bytes_max.saturating_sub(BATCH_HEADER_BYTES));
        let body_bytes_max = settings.decompressed_body_bytes_max;
        let (decompressor, compressor) = (&mut self.decompressor, &mut self.compressor);
        let written = recompress(batch, decompressor, body_bytes_max, compressor, compression, &mut output);
        let bytes_max = settings.message_bytes_max;
        let too_large = ValidationError::TooLarge { bytes: bytes_max.saturating_add(1), bytes_max };
        if output.is_exceeded() {
            return Err(too_large);
        }
        written?;
        let body = output.into_bytes();
        let ValidatedBatch { header, log_append_time, .. } = in_place(batch, settings, max_timestamp, now);
        let codec = if zoo::is(Bug::CodecUntold) { batch.compression() } else { compression.compression_type() };
        let header = header.with_body(codec, &body).ok_or(too_large)?;
        Ok(ValidatedBatch { header, body: Cow::Owned(body), log_append_time })
    }
}

/// Exactly one whole batch of magic 2. The torn front of another behind it is dropped, as everywhere in the protocol.
fn single_batch(records: &[u8]) -> Result<RecordBatch<'_>, ValidationError> {
    match RecordBatch::parse(records) {
        Ok((batch, rest)) => match BatchPrefix::of_whole(rest).map_err(ValidationError::Corrupt)? {
            Some(_) if !zoo::is(Bug::SecondBatchDropped) => Err(ValidationError::MoreThanOneBatch),
            Some(_) | None => Ok(batch),
        },
        Err(BatchError::Torn { .. }) => Err(ValidationError::NoBatch),
        Err(BatchError::OldMagic { magic, .. }) => Err(ValidationError::OldMagic(magic)),
        Err(error) => Err(ValidationError::Corrupt(error)),
    }
}

/// What the header says, and whether it may be believed.
fn check_batch(
    batch: &RecordBatch<'_>,
    settings: &ValidationSettings,
    origin: ValidationOrigin,
) -> Result<(), ValidationError> {
    if batch.compression() == CompressionType::Zstd && !settings.is_zstd_allowed {
        return Err(ValidationError::ZstdNotAllowed);
    }
    let is_client = origin == ValidationOrigin::Client;
    if is_client && batch.base_offset() != Offset(0) {
        return Err(ValidationError::BaseOffset(batch.base_offset()));
    }
    check_size(batch.total_bytes(), settings)?;
    if !batch.crc_is_valid() {
        return Err(ValidationError::Checksum(batch.crc()));
    }
    if is_client { check_client_batch(batch) } else { Ok(()) }
}

fn check_size(bytes: usize, settings: &ValidationSettings) -> Result<(), ValidationError> {
    let bytes_max = settings.message_bytes_max;
    if bytes > bytes_max { Err(ValidationError::TooLarge { bytes, bytes_max }) } else { Ok(()) }
}

fn check_client_batch(batch: &RecordBatch<'_>) -> Result<(), ValidationError> {
    let (last_offset_delta, record_count) = (batch.last_offset_delta(), batch.record_count());
    if last_offset_delta < 0 {
        return Err(ValidationError::OffsetRange { last_offset_delta });
    }
    if record_count <= 0 {
        return Err(ValidationError::RecordCount(record_count));
    }
    if i64::from(last_offset_delta) + 1 != i64::from(record_count) {
        return Err(ValidationError::CountMismatch { last_offset_delta, record_count });
    }
    if batch.is_control_batch() {
        return Err(ValidationError::ControlBatch);
    }
    if batch.has_producer_id() && batch.base_sequence() < 0 {
        return Err(ValidationError::Sequence(batch.base_sequence()));
    }
    Ok(())
}

/// The codec to store with. Control batches are not compressed, lest a reader that looks only for markers has to decompress.
fn target_compression(batch: &RecordBatch<'_>, settings: &ValidationSettings) -> Compression {
    match settings.compression {
        Some(compression) if !batch.is_control_batch() => compression,
        _ => batch.compression().with_default_level(),
    }
}

fn append_time(settings: &ValidationSettings, now: Now) -> Option<WallTime> {
    (settings.timestamp_type == TimestampType::LogAppendTime).then_some(now.wall)
}

/// The producer's bytes as they are, under a header that tells the right max timestamp.
fn in_place<'a>(
    batch: &RecordBatch<'a>,
    settings: &ValidationSettings,
    max_timestamp: i64,
    now: Now,
) -> ValidatedBatch<'a> {
    let log_append_time = append_time(settings, now);
    let max_timestamp = log_append_time.map_or(max_timestamp, |time| time.0);
    let header = batch.header_with_max_timestamp(settings.timestamp_type, max_timestamp);
    ValidatedBatch { header, body: Cow::Borrowed(batch.body()), log_append_time }
}
