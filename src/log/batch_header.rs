//! The fixed header of a record batch (magic 2), as much of it as a log needs to walk over batches without touching their records.
//!
//! It must not know records or compression.

use crate::limits::BATCH_HEADER_BYTES;
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

/// Bytes of a batch before its length is known: base offset and length.
pub(super) const LOG_OVERHEAD_BYTES: usize = 12;
/// Where the checksum stands; it covers what follows [`CRC_COVERS_FROM`].
const CRC_AT: usize = 17;
/// The first byte that the checksum covers; base offset and leader epoch lie before it, so that they can be stamped.
const CRC_COVERS_FROM: usize = 21;
/// The only magic that is written; 0 and 1 were the formats before Kafka 0.11.
const MAGIC: i8 = 2;
/// The sequence number that stands for none.
pub(super) const NO_SEQUENCE: i32 = -1;
/// The timestamp that stands for none.
pub(super) const NO_TIMESTAMP: i64 = -1;

/// Why bytes are not the header of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Fewer bytes than a header has.
    #[error("fewer than 61 bytes")]
    Short,
    /// The length field is smaller than a header.
    #[error("a batch length of {0} bytes")]
    Length(i32),
    /// A magic that is unknown, or that of a format before Kafka 0.11.
    #[error("magic {0}, not 2")]
    Magic(i8),
    /// The offsets run backwards or out of range.
    #[error("offsets out of range")]
    Offsets,
}

/// The fixed header of a record batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// Offset of the first record.
    pub base_offset: Offset,
    /// Length of the whole batch, header included.
    pub bytes: usize,
    /// Epoch of the leader that appended it.
    pub leader_epoch: LeaderEpoch,
    /// CRC-32C from the attributes to the end.
    pub crc: u32,
    /// Compression, timestamp type, transactional, control.
    pub attributes: i16,
    /// Offset of the last record, counted from the base offset.
    pub last_offset_delta: i32,
    /// Timestamp of the first record, or the delete horizon.
    pub base_timestamp: i64,
    /// Largest timestamp of its records, -1 for none.
    pub timestamp_max: i64,
    /// Producer, -1 for none.
    pub producer_id: ProducerId,
    /// Producer's epoch, -1 for none.
    pub producer_epoch: ProducerEpoch,
    /// Sequence number of the first record, -1 for none.
    pub base_sequence: i32,
    /// How many records it holds.
    pub record_count: i32,
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], HeaderError> {
    bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()).copied().ok_or(HeaderError::Short)
}

impl BatchHeader {
    /// Reads the header at the start of `bytes`, which may end before the batch does.
    pub fn parse(bytes: &[u8]) -> Result<BatchHeader, HeaderError> {
        let length = i32::from_be_bytes(field(bytes, 8)?);
        let magic = i8::from_be_bytes(field(bytes, 16)?);
        if magic != MAGIC {
            return Err(HeaderError::Magic(magic));
        }
        let bytes_total = usize::try_from(length).map_err(|_| HeaderError::Length(length))? + LOG_OVERHEAD_BYTES;
        if bytes_total < BATCH_HEADER_BYTES {
            return Err(HeaderError::Length(length));
        }
        let header = BatchHeader {
            base_offset: Offset(i64::from_be_bytes(field(bytes, 0)?)),
            bytes: bytes_total,
            leader_epoch: LeaderEpoch(i32::from_be_bytes(field(bytes, 12)?)),
            crc: u32::from_be_bytes(field(bytes, CRC_AT)?),
            attributes: i16::from_be_bytes(field(bytes, CRC_COVERS_FROM)?),
            last_offset_delta: i32::from_be_bytes(field(bytes, 23)?),
            base_timestamp: i64::from_be_bytes(field(bytes, 27)?),
            timestamp_max: i64::from_be_bytes(field(bytes, 35)?),
            producer_id: ProducerId(i64::from_be_bytes(field(bytes, 43)?)),
            producer_epoch: ProducerEpoch(i16::from_be_bytes(field(bytes, 51)?)),
            base_sequence: i32::from_be_bytes(field(bytes, 53)?),
            record_count: i32::from_be_bytes(field(bytes, 57)?),
        };
        let last = header.base_offset.0.checked_add(i64::from(header.last_offset_delta));
        if header.base_offset.0 < 0 || header.last_offset_delta < 0 || last.is_none_or(|last| last == i64::MAX) {
            return Err(HeaderError::Offsets);
        }
        Ok(header)
    }

    /// Offset of the last record.
    pub fn last_offset(&self) -> Offset {
        self.base_offset.plus(i64::from(self.last_offset_delta))
    }

    /// The offset after the last record.
    pub fn next_offset(&self) -> Offset {
        self.base_offset.plus(i64::from(self.last_offset_delta) + 1)
    }

    /// Sequence number of the last record, wrapping from 2^31 - 1 to 0; -1 for none.
    pub fn last_sequence(&self) -> i32 {
        if self.base_sequence == NO_SEQUENCE {
            return NO_SEQUENCE;
        }
        self.base_sequence.wrapping_add(self.last_offset_delta) & i32::MAX
    }

    /// Whether the producer is known by an id, so that retries are recognised.
    pub fn has_producer_id(&self) -> bool {
        self.producer_id.0 > ProducerId::NONE.0
    }

    /// Whether it belongs to a transaction.
    pub fn is_transactional(&self) -> bool {
        self.attributes & 0x10 != 0
    }

    /// Whether it holds control records.
    pub fn is_control(&self) -> bool {
        self.attributes & 0x20 != 0
    }

    /// The compression codec's number; 0 is none.
    pub fn compression(&self) -> i16 {
        self.attributes & 7
    }

    /// Whether its timestamps are those of the append (bit 3).
    pub fn is_log_append_time(&self) -> bool {
        self.attributes & 8 != 0
    }

    /// Whether `batch`, the bytes of the whole batch, has the checksum that the header names.
    pub fn crc_is_valid(&self, batch: &[u8]) -> bool {
        batch.get(CRC_COVERS_FROM..self.bytes).is_some_and(|covered| crc32c(covered) == self.crc)
    }

    /// The header with its base offset and leader epoch set, as it goes to disk. Neither is covered by the checksum.
    pub(super) fn stamp(batch: &[u8], base_offset: Offset, leader_epoch: LeaderEpoch) -> Option<[u8; BATCH_HEADER_BYTES]> {
        let mut header = *batch.first_chunk::<BATCH_HEADER_BYTES>()?;
        header[..8].copy_from_slice(&base_offset.0.to_be_bytes());
        header[12..16].copy_from_slice(&leader_epoch.0.to_be_bytes());
        Some(header)
    }
}

/// CRC-32C (Castagnoli), as batches and producer snapshots use it.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    let checksum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes);
    u32::try_from(checksum & 0xffff_ffff).expect("masked to 32 bits")
}
