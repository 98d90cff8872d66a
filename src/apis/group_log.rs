//! Between the records of a group coordinator and the bytes of its log: batches to append, and the replay of a whole log.
//!
//! It must not know what a record does to a group, nor who waits for it.

use std::sync::Arc;

use bytes::Bytes;

use super::read_whole::read_whole;
use crate::coordinator::group::{Append, GroupCoordinator, GroupRecord, GroupRecordError};
use crate::error_code::ErrorCode;
use crate::limits::DECOMPRESSED_BODY_BYTES_MAX;
use crate::log::{ReadError, UnifiedLog};
use crate::record::{BatchIterator, BuildError, ControlRecord, Decompressor, RecordBatch, RecordBatchBuilder};
use crate::types::{ProducerId, WallTime};

/// Why a coordinator cannot be loaded from its log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GroupLoadError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A batch, or a record in it, is damaged.
    #[error("the log is damaged at offset {offset}: {reason}")]
    Damaged { offset: i64, reason: String },
}

/// The batches of an append, ready for the log, each of at most `batch_bytes_max` where the append may be split.
pub(crate) fn encode_append(append: &Append, now: WallTime, batch_bytes_max: usize) -> Result<Bytes, ErrorCode> {
    let mut bytes = Vec::new();
    let mut builder = RecordBatchBuilder::new();
    for record in &append.records {
        let (key, value) = (record.encode_key(), record.encode_value());
        let next_bytes = key.len() + value.as_ref().map_or(0, Vec::len) + RECORD_OVERHEAD_BYTES_MAX;
        if !append.atomic && !builder.is_empty() && builder.total_bytes() + next_bytes > batch_bytes_max {
            bytes.extend(std::mem::take(&mut builder).build().map_err(|error| code_of(&error))?);
        }
        builder.append(now.0, Some(&key), value.as_deref()).map_err(|error| code_of(&error))?;
    }
    bytes.extend(builder.build().map_err(|error| code_of(&error))?);
    Ok(Bytes::from(bytes))
}

/// Lengths, deltas and attributes of one record, each at its longest.
const RECORD_OVERHEAD_BYTES_MAX: usize = 40;

fn code_of(error: &BuildError) -> ErrorCode {
    tracing::error!(%error, "records of a group cannot be written");
    ErrorCode::RecordListTooLarge
}

/// Replays a whole log into a new coordinator.
pub(crate) fn replay(log: &Arc<UnifiedLog>, coordinator: &mut GroupCoordinator) -> Result<(), GroupLoadError> {
    let mut replay = Replay { coordinator, decompressor: Decompressor::default(), skipped: 0 };
    read_whole(log, |chunk| {
        BatchIterator::new(chunk).try_for_each(|batch| replay.batch(&batch.map_err(|error| damaged(-1, &error))?))
    })?;
    if replay.skipped > 0 {
        tracing::debug!(partition = %log.topic_partition(), records = replay.skipped, "skipped records of other kinds of groups");
    }
    Ok(())
}

/// A replay in progress.
struct Replay<'a> {
    coordinator: &'a mut GroupCoordinator,
    decompressor: Decompressor,
    /// Records of groups of other kinds.
    skipped: usize,
}

impl Replay<'_> {
    fn batch(&mut self, batch: &RecordBatch<'_>) -> Result<(), GroupLoadError> {
        let at = batch.base_offset().0;
        if !batch.crc_is_valid() {
            return Err(damaged(at, &"the checksum of a batch is wrong"));
        }
        let body = batch.decompressed_body(&mut self.decompressor, DECOMPRESSED_BODY_BYTES_MAX);
        let body = body.map_err(|error| damaged(at, &error))?;
        let producer_id = if batch.is_transactional() { batch.producer_id() } else { ProducerId::NONE };
        for record in batch.records_in(&body) {
            let record = record.map_err(|error| damaged(at, &error))?;
            if batch.is_control_batch() {
                if let Ok(ControlRecord::EndTransaction { is_commit, .. }) = ControlRecord::from_record(&record) {
                    self.coordinator.end_transaction(batch.producer_id(), is_commit);
                }
                continue;
            }
            match GroupRecord::decode(record.key.unwrap_or_default(), record.value) {
                Ok(decoded) => self.coordinator.replay(record.offset, producer_id, &decoded),
                Err(GroupRecordError::UnknownType(_)) => self.skipped += 1,
                Err(error) => return Err(damaged(record.offset.0, &error)),
            }
        }
        Ok(())
    }
}

fn damaged(offset: i64, reason: &dyn std::fmt::Display) -> GroupLoadError {
    GroupLoadError::Damaged { offset, reason: reason.to_string() }
}
