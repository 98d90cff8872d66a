//! The records in the body of a batch, read lazily and without copying: keys, values and headers borrow from the body.
//!
//! It must not know compression; it never believes a count or a length before the bytes are there.

use crate::types::Offset;

use super::batch_header::{BatchHeader, TimestampType};
use super::varint::{read_varint, read_varlong};

/// Why the bytes of a body are no records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The record count of the batch is negative.
    #[error("record count {0} is negative")]
    Count(i32),
    /// The bytes end before the last record that the batch claims.
    #[error("the batch claims {claimed} records, but its bytes end inside record {index}")]
    Truncated {
        /// The record, counted from 0, in which the bytes end.
        index: i32,
        /// How many the batch claims.
        claimed: i32,
    },
    /// Bytes are left behind the last record.
    #[error("{bytes} bytes are left behind the last record")]
    TrailingBytes {
        /// How many.
        bytes: usize,
    },
    /// A record whose inside does not fit its length.
    #[error("record {index} is malformed: {what}")]
    Malformed {
        /// The record, counted from 0.
        index: i32,
        /// What of it.
        what: &'static str,
    },
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its offset in the partition.
    pub offset: Offset,
    /// Its offset less the batch's base offset.
    pub offset_delta: i32,
    /// Milliseconds since 1970, -1 for none; the append time in a batch of [`TimestampType::LogAppendTime`].
    pub timestamp: i64,
    /// The key, if it has one.
    pub key: Option<&'a [u8]>,
    /// The value; none is a tombstone.
    pub value: Option<&'a [u8]>,
    /// The headers in the producer's order; one key may stand more than once.
    pub headers: Headers<'a>,
    /// Length of the record with its length field.
    pub total_bytes: usize,
}

/// A header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// The key, by convention UTF-8.
    pub key: &'a [u8],
    /// The value, if it has one.
    pub value: Option<&'a [u8]>,
}

/// The headers of a record, which were checked when the record was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers<'a> {
    bytes: &'a [u8],
    count: usize,
}

impl<'a> Headers<'a> {
    /// How many are left.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        self.count = self.count.checked_sub(1)?;
        read_header(&mut self.bytes).ok()
    }
}

/// The records of a body, as many as the batch claims. It ends behind the first error.
#[derive(Clone, Debug)]
pub struct RecordIterator<'a> {
    rest: &'a [u8],
    base_offset: i64,
    base_timestamp: i64,
    append_time: Option<i64>,
    claimed: i32,
    index: i32,
    ended: bool,
}

impl<'a> RecordIterator<'a> {
    /// Reads `body`, which must be uncompressed by now, with what the header says about it.
    pub fn new(header: &BatchHeader, body: &'a [u8]) -> RecordIterator<'a> {
        let append_time = match header.timestamp_type() {
            TimestampType::CreateTime => None,
            TimestampType::LogAppendTime => Some(header.max_timestamp()),
        };
        RecordIterator {
            rest: body,
            base_offset: header.base_offset().0,
            base_timestamp: header.base_timestamp(),
            append_time,
            claimed: header.record_count(),
            index: 0,
            ended: false,
        }
    }

    fn read_next(&mut self) -> Result<Option<Record<'a>>, RecordError> {
        if self.claimed < 0 {
            return Err(RecordError::Count(self.claimed));
        }
        if self.index == self.claimed {
            return match self.rest.len() {
                0 => Ok(None),
                bytes => Err(RecordError::TrailingBytes { bytes }),
            };
        }
        let record = self.read_record()?;
        self.index = self.index.saturating_add(1);
        Ok(Some(record))
    }

    fn read_record(&mut self) -> Result<Record<'a>, RecordError> {
        let index = self.index;
        let malformed = |what| RecordError::Malformed { index, what };
        let truncated = RecordError::Truncated { index, claimed: self.claimed };
        let bytes_before = self.rest.len();
        if bytes_before == 0 {
            return Err(truncated);
        }
        let length = read_varint(&mut self.rest).ok_or(malformed("length"))?;
        let length = usize::try_from(length).map_err(|_| malformed("length"))?;
        let (mut inside, rest) = self.rest.split_at_checked(length).ok_or(truncated)?;
        self.rest = rest;
        let fields = RecordFields::read(&mut inside).map_err(malformed)?;
        let timestamp = match self.append_time {
            Some(append_time) => append_time,
            None => self.base_timestamp.checked_add(fields.timestamp_delta).ok_or(malformed("timestamp"))?,
        };
        let offset = self.base_offset.checked_add(i64::from(fields.offset_delta)).ok_or(malformed("offset"))?;
        Ok(Record {
            offset: Offset(offset),
            offset_delta: fields.offset_delta,
            timestamp,
            key: fields.key,
            value: fields.value,
            headers: fields.headers,
            total_bytes: bytes_before - rest.len(),
        })
    }
}

impl<'a> Iterator for RecordIterator<'a> {
    type Item = Result<Record<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.read_next().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl std::iter::FusedIterator for RecordIterator<'_> {}

/// What stands in a record, before it is joined with the batch.
struct RecordFields<'a> {
    timestamp_delta: i64,
    offset_delta: i32,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
    headers: Headers<'a>,
}

impl<'a> RecordFields<'a> {
    /// Reads all of `inside`; on an error says which part is wrong.
    fn read(inside: &mut &'a [u8]) -> Result<RecordFields<'a>, &'static str> {
        let (_attributes, rest) = inside.split_first().ok_or("attributes")?;
        *inside = rest;
        let timestamp_delta = read_varlong(inside).ok_or("timestamp delta")?;
        let offset_delta = read_varint(inside).ok_or("offset delta")?;
        let key = read_nullable(inside).ok_or("key")?;
        let value = read_nullable(inside).ok_or("value")?;
        let headers = read_headers(inside)?;
        if !inside.is_empty() {
            return Err("bytes behind the last header");
        }
        Ok(RecordFields { timestamp_delta, offset_delta, key, value, headers })
    }
}

/// Walks over all headers once, so that [`Headers`] cannot fail later.
fn read_headers<'a>(inside: &mut &'a [u8]) -> Result<Headers<'a>, &'static str> {
    let count = read_varint(inside).ok_or("header count")?;
    let count = usize::try_from(count).map_err(|_| "header count")?;
    let bytes = *inside;
    for _ in 0..count {
        read_header(inside)?;
    }
    Ok(Headers { bytes, count })
}

fn read_header<'a>(inside: &mut &'a [u8]) -> Result<Header<'a>, &'static str> {
    let key = read_nullable(inside).flatten().ok_or("header key")?;
    let value = read_nullable(inside).ok_or("header value")?;
    Ok(Header { key, value })
}

/// Takes a length and as many bytes; a negative length is null.
fn read_nullable<'a>(inside: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let Ok(length) = usize::try_from(read_varint(inside)?) else {
        return Some(None);
    };
    let (bytes, rest) = inside.split_at_checked(length)?;
    *inside = rest;
    Some(Some(bytes))
}
