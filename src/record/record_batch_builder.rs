//! Makes record batches of magic 2: for coordinators, metadata, recompression, the simulator and tests.
//!
//! It must not know the time or which offset comes next: callers say both.

use crate::limits::BATCH_HEADER_BYTES;
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, WallTime};

use super::batch_header::{BatchHeader, TimestampType};
use super::compression::{Compression, CompressionError, CompressionType, Compressor};
use super::record::Header;
use super::varint::{varlong_bytes, write_varint, write_varlong};

/// The longest body: header and body together must stay below 2 GiB.
const BODY_BYTES_MAX: usize = i32::MAX as usize - BATCH_HEADER_BYTES;

/// Why a batch cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No record was appended.
    #[error("a batch needs at least one record")]
    Empty,
    /// The batch would be 2 GiB or more.
    #[error("the batch would be larger than 2 GiB")]
    TooLarge,
    /// Two timestamps are further apart than 64 bits can say.
    #[error("timestamp {0} is too far from the batch's first")]
    Timestamp(i64),
    /// The codec failed.
    #[error(transparent)]
    Compression(CompressionError),
}

/// Collects records and makes a batch of them. Without further word: base offset 0, no leader epoch, create time, no producer.
#[derive(Clone, Debug)]
pub struct RecordBatchBuilder {
    header: BatchHeader,
    /// Room for the header, then the records.
    batch: Vec<u8>,
    record_count: i32,
    next_offset_delta: i32,
    base_timestamp: Option<i64>,
    max_timestamp: i64,
    append_time: Option<WallTime>,
}

impl Default for RecordBatchBuilder {
    fn default() -> RecordBatchBuilder {
        RecordBatchBuilder::new()
    }
}

impl RecordBatchBuilder {
    /// A builder without records.
    pub fn new() -> RecordBatchBuilder {
        RecordBatchBuilder {
            header: BatchHeader::empty(),
            batch: vec![0; BATCH_HEADER_BYTES],
            record_count: 0,
            next_offset_delta: 0,
            base_timestamp: None,
            max_timestamp: -1,
            append_time: None,
        }
    }

    /// The offset of the first record.
    pub fn base_offset(mut self, offset: Offset) -> Self {
        self.header.set_base_offset(offset);
        self
    }

    /// The leader's epoch.
    pub fn leader_epoch(mut self, epoch: LeaderEpoch) -> Self {
        self.header.set_partition_leader_epoch(epoch);
        self
    }

    /// The producer and the sequence number of its first record (-1 for a transaction's marker).
    pub fn producer(mut self, id: ProducerId, epoch: ProducerEpoch, base_sequence: i32) -> Self {
        self.header.set_producer(id, epoch, base_sequence);
        self
    }

    /// Whether the batch belongs to a transaction.
    pub fn transactional(mut self, transactional: bool) -> Self {
        self.header.set_transactional(transactional);
        self
    }

    /// Whether it holds control records.
    pub fn control(mut self, control: bool) -> Self {
        self.header.set_control_batch(control);
        self
    }

    /// Makes it a batch of [`TimestampType::LogAppendTime`].
    pub fn log_append_time(mut self, time: WallTime) -> Self {
        self.append_time = Some(time);
        self
    }

    /// How many records it has.
    pub fn record_count(&self) -> usize {
        usize::try_from(self.record_count).unwrap_or(0)
    }

    /// Whether it has no records.
    pub fn is_empty(&self) -> bool {
        self.record_count == 0
    }

    /// Length of the batch so far, uncompressed.
    pub fn total_bytes(&self) -> usize {
        self.batch.len()
    }

    /// Appends a record at the next offset. `timestamp` is in milliseconds since 1970, -1 for none.
    pub fn append(&mut self, timestamp: i64, key: Option<&[u8]>, value: Option<&[u8]>) -> Result<(), BuildError> {
        self.append_with_headers(timestamp, key, value, &[])
    }

    /// Appends a record with headers at the next offset.
    pub fn append_with_headers(
        &mut self,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[Header<'_>],
    ) -> Result<(), BuildError> {
        let mut bytes = Vec::new();
        for header in headers {
            write_nullable(&mut bytes, Some(header.key))?;
            write_nullable(&mut bytes, header.value)?;
        }
        let parts = Parts { timestamp, key, value, header_count: headers.len(), headers: &bytes };
        self.append_parts(parts)
    }

    /// The batch, uncompressed, with its checksum.
    pub fn build(mut self) -> Result<Vec<u8>, BuildError> {
        let batch = std::mem::take(&mut self.batch);
        self.finish(CompressionType::None, batch)
    }

    /// The batch, compressed, with its checksum.
    pub fn build_compressed(
        self,
        compression: Compression,
        compressor: &mut Compressor,
    ) -> Result<Vec<u8>, BuildError> {
        let mut batch = vec![0; BATCH_HEADER_BYTES];
        let body = self.batch.get(BATCH_HEADER_BYTES..).unwrap_or_default();
        compressor.compress_into(compression, body, &mut batch).map_err(BuildError::Compression)?;
        self.finish(compression.compression_type(), batch)
    }

    fn append_parts(&mut self, parts: Parts<'_>) -> Result<(), BuildError> {
        let offset_delta = self.next_offset_delta;
        let base_timestamp = *self.base_timestamp.get_or_insert(parts.timestamp);
        let timestamp_delta =
            parts.timestamp.checked_sub(base_timestamp).ok_or(BuildError::Timestamp(parts.timestamp))?;
        let next_offset_delta = offset_delta.checked_add(1).ok_or(BuildError::TooLarge)?;
        let inside = parts.inside_bytes(timestamp_delta, offset_delta);
        let length = i32::try_from(inside).map_err(|_| BuildError::TooLarge)?;
        if self.batch.len().saturating_add(inside).saturating_add(5) > BODY_BYTES_MAX {
            return Err(BuildError::TooLarge);
        }
        write_varint(&mut self.batch, length);
        self.batch.push(0);
        write_varlong(&mut self.batch, timestamp_delta);
        write_varint(&mut self.batch, offset_delta);
        write_nullable(&mut self.batch, parts.key)?;
        write_nullable(&mut self.batch, parts.value)?;
        write_length(&mut self.batch, parts.header_count)?;
        self.batch.extend_from_slice(parts.headers);
        self.record_count = self.record_count.saturating_add(1);
        self.next_offset_delta = next_offset_delta;
        self.max_timestamp = self.max_timestamp.max(parts.timestamp);
        Ok(())
    }

    /// Completes the header and puts it in front of the body, where room was kept for it.
    fn finish(mut self, compression: CompressionType, mut batch: Vec<u8>) -> Result<Vec<u8>, BuildError> {
        let (place, body) = batch.split_first_chunk_mut::<BATCH_HEADER_BYTES>().expect("room was kept for the header");
        let last_offset_delta = self.next_offset_delta.checked_sub(1).filter(|delta| *delta >= 0);
        let body_bytes = u32::try_from(body.len()).ok().filter(|_| body.len() <= BODY_BYTES_MAX);
        self.header.set_counts(self.record_count, last_offset_delta.ok_or(BuildError::Empty)?);
        self.header.set_body_bytes(body_bytes.ok_or(BuildError::TooLarge)?);
        self.header.set_compression(compression);
        self.header.set_base_timestamp(self.base_timestamp.unwrap_or(-1));
        match self.append_time {
            Some(time) => self.header.set_max_timestamp(TimestampType::LogAppendTime, time.0),
            None => self.header.set_max_timestamp(TimestampType::CreateTime, self.max_timestamp),
        }
        self.header.set_crc(self.header.compute_crc(body));
        *place = *self.header.as_bytes();
        Ok(batch)
    }
}

/// What a record is made of.
struct Parts<'a> {
    timestamp: i64,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
    header_count: usize,
    headers: &'a [u8],
}

impl Parts<'_> {
    /// Length of the record behind its length field.
    fn inside_bytes(&self, timestamp_delta: i64, offset_delta: i32) -> usize {
        let fields = [
            1,
            varlong_bytes(timestamp_delta),
            varlong_bytes(i64::from(offset_delta)),
            nullable_bytes(self.key),
            nullable_bytes(self.value),
            varlong_bytes(i64::try_from(self.header_count).unwrap_or(i64::MAX)),
            self.headers.len(),
        ];
        fields.into_iter().fold(0, usize::saturating_add)
    }
}

fn nullable_bytes(bytes: Option<&[u8]>) -> usize {
    let length = bytes.map_or(-1, |bytes| i64::try_from(bytes.len()).unwrap_or(i64::MAX));
    varlong_bytes(length).saturating_add(bytes.map_or(0, <[u8]>::len))
}

fn write_nullable(output: &mut Vec<u8>, bytes: Option<&[u8]>) -> Result<(), BuildError> {
    match bytes {
        None => write_varint(output, -1),
        Some(bytes) => {
            write_length(output, bytes.len())?;
            output.extend_from_slice(bytes);
        }
    }
    Ok(())
}

fn write_length(output: &mut Vec<u8>, length: usize) -> Result<(), BuildError> {
    write_varint(output, i32::try_from(length).map_err(|_| BuildError::TooLarge)?);
    Ok(())
}
