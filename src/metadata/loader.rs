//! Batches of the metadata log to images: the one place where an image is replaced, at start as in operation.
//!
//! It must not know files or offsets to come: the broker reads or appends a batch and hands it over here.

use std::sync::Arc;

use crate::record::{
    BatchError, BatchIterator, BuildError, ControlRecord, RecordBatch, RecordBatchBuilder, RecordError,
};
use crate::types::{LeaderEpoch, Offset, WallTime};
use crate::zoo::{self, Bug};

use super::image::MetadataImage;
use super::record::MetadataRecord;
use super::record_codec::RecordCodecError;
use super::replay::ReplayError;

/// Why a batch of the metadata log cannot be obeyed. Nothing of it took effect in an image that was handed out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The bytes are no batch.
    #[error("the metadata log is damaged at offset {at}: {error}")]
    Batch {
        /// The offset where a batch was expected.
        at: Offset,
        /// What is wrong.
        error: BatchError,
    },
    /// The checksum is wrong.
    #[error("the metadata log is damaged: the batch at offset {0} has a wrong checksum")]
    Checksum(Offset),
    /// The batch is compressed, which no writer of metadata does.
    #[error("the batch at offset {0} of the metadata log is compressed")]
    Compressed(Offset),
    /// The frame of a record is damaged.
    #[error("the metadata log is damaged in the batch at offset {at}: {error}")]
    Record {
        /// The batch's base offset.
        at: Offset,
        /// What is wrong.
        error: RecordError,
    },
    /// A record is damaged or not known.
    #[error("offset {at} of the metadata log: {error}")]
    Codec {
        /// The record's offset.
        at: Offset,
        /// What is wrong.
        error: RecordCodecError,
    },
    /// A record does not fit those before it.
    #[error("batch at offset {at} of the metadata log: {error}")]
    Replay {
        /// The batch's base offset.
        at: Offset,
        /// What is wrong.
        error: ReplayError,
    },
    /// Begin, end and abort of transactions do not alternate.
    #[error(
        "batch at offset {0} of the metadata log: a transaction begins inside another, or ends without a beginning"
    )]
    Transaction(Offset),
    /// A snapshot does not end as one that was completed.
    #[error("the snapshot of the metadata up to offset {0} has no end")]
    Snapshot(Offset),
}

/// Follows the metadata log: an image, and the records of a transaction that has not ended yet.
#[derive(Clone, Debug)]
pub struct MetadataLoader {
    image: Arc<MetadataImage>,
    transaction: Option<Vec<MetadataRecord>>,
}

impl MetadataLoader {
    /// Begins with an image, mostly an empty one.
    pub fn new(image: MetadataImage) -> MetadataLoader {
        MetadataLoader { image: Arc::new(image), transaction: None }
    }

    /// Whether a transaction has begun and not ended.
    pub fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// The newest image.
    pub fn image(&self) -> &Arc<MetadataImage> {
        &self.image
    }

    /// Replays a whole snapshot (KIP-630), which stands for all records before `next_offset`, the last of which came in `leader_epoch`. To
    /// be called before anything else.
    pub fn replay_snapshot(
        &mut self,
        bytes: &[u8],
        next_offset: Offset,
        leader_epoch: LeaderEpoch,
    ) -> Result<(), LoadError> {
        self.replay_bytes(bytes)?;
        if !ends_with_footer(bytes) {
            return Err(LoadError::Snapshot(next_offset));
        }
        let image = Arc::make_mut(&mut self.image);
        (image.next_offset, image.leader_epoch) = (next_offset, leader_epoch);
        Ok(())
    }

    /// Replays all batches in `bytes`, which a read of the log gave. Those that a snapshot stands for are stepped over.
    pub fn replay_bytes(&mut self, bytes: &[u8]) -> Result<&Arc<MetadataImage>, LoadError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let at = self.image.next_offset();
            let (batch, behind) = RecordBatch::parse(rest).map_err(|error| LoadError::Batch { at, error })?;
            if batch.next_offset() > at {
                self.replay_batch(&batch)?;
            }
            rest = behind;
        }
        Ok(&self.image)
    }

    /// Replays one batch. All of it takes effect, or, with an error, nothing in an image that was handed out.
    pub fn replay_batch(&mut self, batch: &RecordBatch<'_>) -> Result<&Arc<MetadataImage>, LoadError> {
        let header = batch.header();
        let mut records = decode_batch(batch)?;
        let is_of_new_topic = records.iter().any(|record| matches!(record, MetadataRecord::Topic { .. }));
        records.retain(|record| match record {
            MetadataRecord::Config { .. } => !zoo::is(Bug::ConfigForgotten),
            MetadataRecord::Partition { .. } => is_of_new_topic || !zoo::is(Bug::PartitionsForgotten),
            _ => true,
        });
        self.replay_records(records, header.base_offset(), header.next_offset(), header.partition_leader_epoch())
    }

    /// Replays the records of a batch that was appended and is at hand still.
    pub fn replay_records(
        &mut self,
        records: Vec<MetadataRecord>,
        base_offset: Offset,
        next_offset: Offset,
        leader_epoch: LeaderEpoch,
    ) -> Result<&Arc<MetadataImage>, LoadError> {
        let mut transaction = self.transaction.clone();
        let mut settled = Vec::with_capacity(records.len());
        for record in records {
            match (record, &mut transaction) {
                (MetadataRecord::BeginTransaction { .. }, open @ None) => *open = Some(Vec::new()),
                (MetadataRecord::EndTransaction, open @ Some(_)) => settled.extend(open.take().into_iter().flatten()),
                (MetadataRecord::AbortTransaction { .. }, open @ Some(_)) => *open = None,
                (
                    MetadataRecord::BeginTransaction { .. }
                    | MetadataRecord::EndTransaction
                    | MetadataRecord::AbortTransaction { .. },
                    _,
                ) => return Err(LoadError::Transaction(base_offset)),
                (record, Some(pending)) => pending.push(record),
                (record, None) => settled.push(record),
            }
        }
        let unfit = |error| LoadError::Replay { at: base_offset, error };
        if let Some(image) = Arc::get_mut(&mut self.image) {
            // Nobody has it yet, as while a log is loaded: it need not be copied for each batch.
            image.replay(&settled, next_offset, leader_epoch).map_err(unfit)?;
        } else {
            let mut image = MetadataImage::clone(&self.image);
            image.replay(&settled, next_offset, leader_epoch).map_err(unfit)?;
            self.image = Arc::new(image);
        }
        self.transaction = transaction;
        Ok(&self.image)
    }
}

fn ends_with_footer(snapshot: &[u8]) -> bool {
    let last_batch = BatchIterator::new(snapshot).filter_map(Result::ok).last();
    let last_record =
        last_batch.as_ref().and_then(RecordBatch::records).and_then(|records| records.filter_map(Result::ok).last());
    last_record.is_some_and(|record| matches!(ControlRecord::from_record(&record), Ok(ControlRecord::SnapshotFooter)))
}

/// Control batches (who leads the quorum, who votes) hold nothing for an image.
fn decode_batch(batch: &RecordBatch<'_>) -> Result<Vec<MetadataRecord>, LoadError> {
    let at = batch.header().base_offset();
    if !batch.crc_is_valid() {
        return Err(LoadError::Checksum(at));
    }
    if batch.header().is_control_batch() {
        return Ok(Vec::new());
    }
    let mut records = Vec::new();
    for record in batch.records().ok_or(LoadError::Compressed(at))? {
        let record = record.map_err(|error| LoadError::Record { at, error })?;
        let decoded = MetadataRecord::decode(record.value.unwrap_or_default());
        records.push(decoded.map_err(|error| LoadError::Codec { at: record.offset, error })?);
    }
    Ok(records)
}

/// One batch of these records, ready to append; the log sets its offset. Fails without records, and above 2 GiB.
pub fn encode_batch(
    records: &[MetadataRecord],
    now: WallTime,
    leader_epoch: LeaderEpoch,
) -> Result<Vec<u8>, BuildError> {
    encode_batches(records, usize::MAX, now, leader_epoch)
}

/// As few batches of these records as `batch_bytes_max` allows. A crash may leave the first of them and not the last.
pub fn encode_batches(
    records: &[MetadataRecord],
    batch_bytes_max: usize,
    now: WallTime,
    leader_epoch: LeaderEpoch,
) -> Result<Vec<u8>, BuildError> {
    let empty = RecordBatchBuilder::new().leader_epoch(leader_epoch);
    let (mut bytes, mut builder) = (Vec::new(), empty.clone());
    for record in records {
        let value = record.encode();
        let with_record = builder.total_bytes() + value.len() + RECORD_OVERHEAD_BYTES_MAX;
        if !builder.is_empty() && with_record > batch_bytes_max {
            bytes.extend(std::mem::replace(&mut builder, empty.clone()).build()?);
        }
        builder.append(now.0, None, Some(&value))?;
    }
    bytes.extend(builder.build()?);
    Ok(bytes)
}

/// Lengths, deltas and attributes of one record, each at its longest.
const RECORD_OVERHEAD_BYTES_MAX: usize = 40;
