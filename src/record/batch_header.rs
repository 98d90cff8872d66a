//! The 61 bytes in front of every record batch of magic 2 (KIP-98), with a getter and a setter for each field.
//!
//! It must not know the body behind it: nothing here has looked at the checksum.

use crate::limits::BATCH_HEADER_BYTES;
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

use super::compression::CompressionType;
use super::crc::crc32;

/// Where the fields stand.
mod at {
    pub(super) const BASE_OFFSET: usize = 0;
    pub(super) const BATCH_LENGTH: usize = 8;
    pub(super) const PARTITION_LEADER_EPOCH: usize = 12;
    pub(super) const MAGIC: usize = 16;
    /// Where messages of magic 0 and 1 have their checksum.
    pub(super) const OLD_CRC: usize = 12;
    pub(super) const CRC: usize = 17;
    pub(super) const ATTRIBUTES: usize = 21;
    pub(super) const LAST_OFFSET_DELTA: usize = 23;
    pub(super) const BASE_TIMESTAMP: usize = 27;
    pub(super) const MAX_TIMESTAMP: usize = 35;
    pub(super) const PRODUCER_ID: usize = 43;
    pub(super) const PRODUCER_EPOCH: usize = 51;
    pub(super) const BASE_SEQUENCE: usize = 53;
    pub(super) const RECORD_COUNT: usize = 57;
}

/// Base offset and length: what stands in front of the bytes that the length counts, in every format.
const LOG_OVERHEAD_BYTES: usize = 12;
/// The smallest value of the length field in any format (a magic 0 message without key and value).
const SMALLEST_LENGTH: i32 = 14;
/// Bytes that must be there to learn the format.
const PREFIX_BYTES: usize = at::MAGIC + 1;

const COMPRESSION_BITS: i16 = 0x07;
const LOG_APPEND_TIME_BIT: i16 = 0x08;
const TRANSACTIONAL_BIT: i16 = 0x10;
const CONTROL_BIT: i16 = 0x20;
const DELETE_HORIZON_BIT: i16 = 0x40;

/// Why bytes are no record batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// The bytes end before the batch does: the tail of a bounded read, or of an append that a crash tore.
    #[error("the batch needs {needed} bytes, but only {available} are left")]
    Torn {
        /// How many bytes must be there, as far as can be told.
        needed: usize,
        /// How many there are.
        available: usize,
    },
    /// The length field is too small for any batch.
    #[error("batch length {0} is too small")]
    Length(i32),
    /// A message of the formats before Kafka 0.11, which is recognised and not read.
    #[error("message format {magic} ({bytes} bytes) is too old; only record batches of magic 2 are read")]
    OldMagic {
        /// 0 or 1.
        magic: i8,
        /// The whole length of the message, so that a scan may step over it.
        bytes: usize,
    },
    /// A format that does not exist.
    #[error("magic {0} is unknown")]
    UnknownMagic(i8),
    /// A codec that does not exist (5, 6 or 7).
    #[error("compression codec {0} is unknown")]
    UnknownCompression(u8),
}

impl BatchError {
    /// Whether more bytes could make it a batch.
    pub fn is_torn(&self) -> bool {
        matches!(self, BatchError::Torn { .. })
    }
}

/// Whose clock a batch's timestamps come from (`message.timestamp.type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimestampType {
    /// The producer's, one timestamp per record.
    #[default]
    CreateTime,
    /// The broker's, one for all records of a batch: the batch's max timestamp.
    LogAppendTime,
}

/// What a scan needs of a message or batch of any format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchPrefix {
    /// Its format: 0, 1 or 2.
    pub magic: i8,
    /// Its whole length, which for magic 2 may still be too short for a header.
    pub bytes: usize,
}

impl BatchPrefix {
    /// Reads the length and the format at the front of `bytes`, in the order of Kafka's scan: the length is refused before the format
    /// is there.
    pub fn parse(bytes: &[u8]) -> Result<BatchPrefix, BatchError> {
        let torn = BatchError::Torn { needed: PREFIX_BYTES, available: bytes.len() };
        let length = bytes.get(at::BATCH_LENGTH..).and_then(|tail| tail.first_chunk()).ok_or(torn)?;
        let length = i32::from_be_bytes(*length);
        if length < SMALLEST_LENGTH {
            return Err(BatchError::Length(length));
        }
        let total = usize::try_from(length).map_err(|_| BatchError::Length(length))?.saturating_add(LOG_OVERHEAD_BYTES);
        match i8::from_be_bytes([*bytes.get(at::MAGIC).ok_or(torn)?]) {
            magic @ 0..=2 => Ok(BatchPrefix { magic, bytes: total }),
            magic => Err(BatchError::UnknownMagic(magic)),
        }
    }

    /// The same of what is there in whole; `None` if `bytes` end before it does.
    pub fn of_whole(bytes: &[u8]) -> Result<Option<BatchPrefix>, BatchError> {
        match BatchPrefix::parse(bytes) {
            Ok(prefix) => Ok((prefix.bytes <= bytes.len()).then_some(prefix)),
            Err(BatchError::Torn { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Whether `records` begin with a whole batch of a transaction, as far as can be told without a look at its checksum.
pub fn begins_with_transaction(records: &[u8]) -> Result<bool, BatchError> {
    let is_batch = BatchPrefix::of_whole(records)?.is_some_and(|prefix| prefix.magic == 2);
    let attributes = records.get(at::ATTRIBUTES..).and_then(|tail| tail.first_chunk()).copied();
    Ok(is_batch && attributes.is_some_and(|attributes| i16::from_be_bytes(attributes) & TRANSACTIONAL_BIT != 0))
}

/// Whether `bytes` are one whole message of magic 0 or 1, by its own checksum. A torn batch of magic 2 may only look like one.
pub fn is_old_message(bytes: &[u8]) -> bool {
    let is_whole = BatchPrefix::parse(bytes).is_ok_and(|prefix| prefix.magic != 2 && prefix.bytes == bytes.len());
    let crc = bytes.get(at::OLD_CRC..).and_then(|tail| tail.first_chunk()).copied().map(u32::from_be_bytes);
    is_whole && crc == bytes.get(at::MAGIC..).map(crc32)
}

/// The header of one record batch of magic 2, a copy of its bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader([u8; BATCH_HEADER_BYTES]);

impl BatchHeader {
    /// Where the bytes start that the checksum covers; they end with the batch.
    pub(crate) const CHECKED_FROM: usize = at::ATTRIBUTES;
    /// Value of the base sequence, and of the timestamps, when there is none.
    pub const NONE: i32 = -1;

    /// Reads the header at the front of `bytes`, which may end right behind it. Length, magic and codec are checked.
    pub fn parse(bytes: &[u8]) -> Result<BatchHeader, BatchError> {
        let available = bytes.len();
        let BatchPrefix { magic, bytes: total } = BatchPrefix::parse(bytes)?;
        if magic != 2 {
            return Err(BatchError::OldMagic { magic, bytes: total });
        }
        if total < BATCH_HEADER_BYTES {
            let length = bytes.get(at::BATCH_LENGTH..).and_then(|tail| tail.first_chunk()).copied();
            return Err(BatchError::Length(length.map_or(0, i32::from_be_bytes)));
        }
        let Some(header) = bytes.first_chunk::<BATCH_HEADER_BYTES>() else {
            return Err(BatchError::Torn { needed: total, available });
        };
        let header = BatchHeader(*header);
        match CompressionType::from_id(header.compression_id()) {
            Some(_) => Ok(header),
            None => Err(BatchError::UnknownCompression(header.compression_id())),
        }
    }

    /// A header of an uncompressed batch without records: no producer, no timestamps, length of a bare header, checksum 0.
    pub(super) fn empty() -> BatchHeader {
        let mut header = BatchHeader([0; BATCH_HEADER_BYTES]);
        put(&mut header.0, at::MAGIC, [2]);
        header.set_body_bytes(0);
        header.set_partition_leader_epoch(LeaderEpoch(-1));
        header.set_base_timestamp(-1);
        header.set_max_timestamp(TimestampType::CreateTime, -1);
        header.set_producer(ProducerId::NONE, ProducerEpoch(-1), BatchHeader::NONE);
        header
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; BATCH_HEADER_BYTES] {
        &self.0
    }

    /// The offset of the first record. Not covered by the checksum.
    pub fn base_offset(&self) -> Offset {
        Offset(i64::from_be_bytes(field(&self.0, at::BASE_OFFSET)))
    }

    /// The offset of the last record, which stays when compaction takes that record away. Saturates on nonsense.
    pub fn last_offset(&self) -> Offset {
        Offset(self.base_offset().0.saturating_add(i64::from(self.last_offset_delta())))
    }

    /// The offset behind the last record. Saturates on nonsense.
    pub fn next_offset(&self) -> Offset {
        Offset(self.last_offset().0.saturating_add(1))
    }

    /// Length of header and body together.
    pub fn total_bytes(&self) -> usize {
        let length = i32::from_be_bytes(field(&self.0, at::BATCH_LENGTH));
        usize::try_from(length).unwrap_or(0).saturating_add(LOG_OVERHEAD_BYTES)
    }

    /// The leader's epoch at the time of the append. Not covered by the checksum.
    pub fn partition_leader_epoch(&self) -> LeaderEpoch {
        LeaderEpoch(i32::from_be_bytes(field(&self.0, at::PARTITION_LEADER_EPOCH)))
    }

    /// The stored CRC-32C of everything from the attributes to the end.
    pub fn crc(&self) -> u32 {
        u32::from_be_bytes(field(&self.0, at::CRC))
    }

    /// The attribute bits as stored.
    pub fn attributes(&self) -> i16 {
        i16::from_be_bytes(field(&self.0, at::ATTRIBUTES))
    }

    /// How the body is compressed.
    pub fn compression(&self) -> CompressionType {
        CompressionType::from_id(self.compression_id()).expect("parse refused unknown codecs")
    }

    fn compression_id(&self) -> u8 {
        (self.attributes() & COMPRESSION_BITS) as u8
    }

    /// Whose clock the timestamps come from.
    pub fn timestamp_type(&self) -> TimestampType {
        if self.attributes() & LOG_APPEND_TIME_BIT == 0 {
            TimestampType::CreateTime
        } else {
            TimestampType::LogAppendTime
        }
    }

    /// Whether the batch belongs to a transaction.
    pub fn is_transactional(&self) -> bool {
        self.attributes() & TRANSACTIONAL_BIT != 0
    }

    /// Whether the batch holds control records, which consumers do not see.
    pub fn is_control_batch(&self) -> bool {
        self.attributes() & CONTROL_BIT != 0
    }

    /// When the cleaner may drop tombstones and abort markers of this batch, in milliseconds since 1970; it then stands in
    /// place of the base timestamp.
    pub fn delete_horizon_ms(&self) -> Option<i64> {
        (self.attributes() & DELETE_HORIZON_BIT != 0).then(|| self.base_timestamp())
    }

    /// Offset of the last record less the base offset. Negative only in a batch that is wrong.
    pub fn last_offset_delta(&self) -> i32 {
        i32::from_be_bytes(field(&self.0, at::LAST_OFFSET_DELTA))
    }

    /// What the records' timestamp deltas count from, in milliseconds since 1970.
    pub fn base_timestamp(&self) -> i64 {
        i64::from_be_bytes(field(&self.0, at::BASE_TIMESTAMP))
    }

    /// The latest timestamp of the batch, or the append time, in milliseconds since 1970; -1 stands for none.
    pub fn max_timestamp(&self) -> i64 {
        i64::from_be_bytes(field(&self.0, at::MAX_TIMESTAMP))
    }

    /// Who produced it, [`ProducerId::NONE`] without idempotence.
    pub fn producer_id(&self) -> ProducerId {
        ProducerId(i64::from_be_bytes(field(&self.0, at::PRODUCER_ID)))
    }

    /// Whether it has a producer id.
    pub fn has_producer_id(&self) -> bool {
        self.producer_id().0 > ProducerId::NONE.0
    }

    /// Which incarnation of the producer.
    pub fn producer_epoch(&self) -> ProducerEpoch {
        ProducerEpoch(i16::from_be_bytes(field(&self.0, at::PRODUCER_EPOCH)))
    }

    /// Sequence number of the first record, -1 without idempotence.
    pub fn base_sequence(&self) -> i32 {
        i32::from_be_bytes(field(&self.0, at::BASE_SEQUENCE))
    }

    /// Sequence number of the last record, -1 without idempotence. Behind 2³¹-1 follows 0.
    pub fn last_sequence(&self) -> i32 {
        match self.base_sequence() {
            BatchHeader::NONE => BatchHeader::NONE,
            base => (i64::from(base) + i64::from(self.last_offset_delta())).rem_euclid(1 << 31) as i32,
        }
    }

    /// How many records the body claims to hold. Negative or too large only in a batch that is wrong.
    pub fn record_count(&self) -> i32 {
        i32::from_be_bytes(field(&self.0, at::RECORD_COUNT))
    }

    /// Sets the base offset; the checksum stays right.
    pub fn set_base_offset(&mut self, offset: Offset) {
        put(&mut self.0, at::BASE_OFFSET, offset.0.to_be_bytes());
    }

    /// Sets the leader epoch; the checksum stays right.
    pub fn set_partition_leader_epoch(&mut self, epoch: LeaderEpoch) {
        put(&mut self.0, at::PARTITION_LEADER_EPOCH, epoch.0.to_be_bytes());
    }

    /// Sets the max timestamp and whose clock it is; the checksum is no longer right.
    pub(super) fn set_max_timestamp(&mut self, timestamp_type: TimestampType, timestamp: i64) {
        self.set_attribute(LOG_APPEND_TIME_BIT, timestamp_type == TimestampType::LogAppendTime);
        put(&mut self.0, at::MAX_TIMESTAMP, timestamp.to_be_bytes());
    }

    pub(super) fn set_base_timestamp(&mut self, timestamp: i64) {
        put(&mut self.0, at::BASE_TIMESTAMP, timestamp.to_be_bytes());
    }

    pub(super) fn set_producer(&mut self, id: ProducerId, epoch: ProducerEpoch, base_sequence: i32) {
        put(&mut self.0, at::PRODUCER_ID, id.0.to_be_bytes());
        put(&mut self.0, at::PRODUCER_EPOCH, epoch.0.to_be_bytes());
        put(&mut self.0, at::BASE_SEQUENCE, base_sequence.to_be_bytes());
    }

    pub(super) fn set_compression(&mut self, compression: CompressionType) {
        let attributes = (self.attributes() & !COMPRESSION_BITS) | i16::from(compression.id());
        put(&mut self.0, at::ATTRIBUTES, attributes.to_be_bytes());
    }

    pub(super) fn set_transactional(&mut self, transactional: bool) {
        self.set_attribute(TRANSACTIONAL_BIT, transactional);
    }

    pub(super) fn set_control_batch(&mut self, control: bool) {
        self.set_attribute(CONTROL_BIT, control);
    }

    pub(super) fn set_counts(&mut self, record_count: i32, last_offset_delta: i32) {
        put(&mut self.0, at::RECORD_COUNT, record_count.to_be_bytes());
        put(&mut self.0, at::LAST_OFFSET_DELTA, last_offset_delta.to_be_bytes());
    }

    /// Sets the length for a body of `body_bytes`, which must be below 2 GiB.
    pub(super) fn set_body_bytes(&mut self, body_bytes: u32) {
        let length = body_bytes.saturating_add((BATCH_HEADER_BYTES - LOG_OVERHEAD_BYTES) as u32);
        put(&mut self.0, at::BATCH_LENGTH, length.to_be_bytes());
    }

    /// The CRC-32C of this header with `body` behind it.
    pub(crate) fn compute_crc(&self, body: &[u8]) -> u32 {
        super::crc32c_of_parts(&[&self.0[at::ATTRIBUTES..], body])
    }

    /// This header in front of another body, with its codec, length and checksum; `None` if it is so long that the batch would be 2 GiB
    /// or more.
    pub fn with_body(mut self, compression: CompressionType, body: &[u8]) -> Option<BatchHeader> {
        let body_bytes = u32::try_from(body.len()).ok()?;
        i32::try_from(body_bytes.checked_add(BATCH_HEADER_BYTES as u32)?).ok()?;
        self.set_body_bytes(body_bytes);
        self.set_compression(compression);
        self.set_crc(self.compute_crc(body));
        Some(self)
    }

    pub(super) fn set_crc(&mut self, crc: u32) {
        put(&mut self.0, at::CRC, crc.to_be_bytes());
    }

    fn set_attribute(&mut self, bit: i16, on: bool) {
        let attributes = if on { self.attributes() | bit } else { self.attributes() & !bit };
        put(&mut self.0, at::ATTRIBUTES, attributes.to_be_bytes());
    }
}

impl std::fmt::Debug for BatchHeader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("BatchHeader")
            .field("base_offset", &self.base_offset().0)
            .field("last_offset_delta", &self.last_offset_delta())
            .field("total_bytes", &self.total_bytes())
            .field("partition_leader_epoch", &self.partition_leader_epoch().0)
            .field("attributes", &format_args!("{:#x}", self.attributes()))
            .field("max_timestamp", &self.max_timestamp())
            .field("producer_id", &self.producer_id().0)
            .field("producer_epoch", &self.producer_epoch().0)
            .field("base_sequence", &self.base_sequence())
            .field("record_count", &self.record_count())
            .finish()
    }
}

/// The `FIELD` bytes at a constant place of an array that is known to hold them.
fn field<const FIELD: usize>(bytes: &[u8], at: usize) -> [u8; FIELD] {
    *bytes.get(at..).and_then(|tail| tail.first_chunk()).expect("the places are constants within the header")
}

fn put<const FIELD: usize>(header: &mut [u8; BATCH_HEADER_BYTES], at: usize, value: [u8; FIELD]) {
    let place = header.get_mut(at..).and_then(|tail| tail.first_chunk_mut());
    *place.expect("the places are constants within the header") = value;
}
