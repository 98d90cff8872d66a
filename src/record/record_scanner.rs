//! Walks over the records of a batch, compressed or not, and tells of each what a validator needs. Keys and values are stepped over,
//! so that a compressed batch streams through a small buffer however large its content is.
//!
//! It must not know what makes a record acceptable, only whether it can be read at all.

use std::ops::ControlFlow;

use super::batch::RecordBatch;
use super::batch_header::{BatchHeader, TimestampType};
use super::compression::{CompressionError, Decompressor};
use super::decompressed_input::DecompressedInput;
use super::record::RecordError;
use super::varint::{read_varint, read_varlong};

/// What a validator needs of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSummary {
    /// Its place in the batch, counted from 0.
    pub index: i32,
    /// The offset that it claims, less the batch's base offset.
    pub offset_delta: i32,
    /// Milliseconds since 1970, -1 for none; the append time in a batch of [`TimestampType::LogAppendTime`].
    pub timestamp: i64,
    /// Whether its key is not null.
    pub has_key: bool,
}

/// How much may come out of a compressed batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanLimits {
    /// The longest record, without its length field (`max.decompressed.message.bytes`).
    pub record_bytes_max: usize,
    /// The longest body.
    pub body_bytes_max: usize,
}

/// Why a body cannot be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The compressed bytes are wrong, or hold too much.
    #[error(transparent)]
    Compression(#[from] CompressionError),
    /// The records are wrong.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A record is longer than the topic allows.
    #[error("record {index} takes {bytes} bytes decompressed, more than the {bytes_max} that are allowed")]
    RecordTooLarge {
        /// The record, counted from 0.
        index: i32,
        /// Its length.
        bytes: usize,
        /// The bound.
        bytes_max: usize,
    },
}

/// Calls `visit` for each record in order. Takes no memory in proportion to the batch. The limits hold for compressed batches:
/// an uncompressed one is as large as it is.
pub fn scan_records(
    batch: &RecordBatch<'_>,
    decompressor: &mut Decompressor,
    limits: ScanLimits,
    mut visit: impl FnMut(RecordSummary),
) -> Result<(), ScanError> {
    walk(batch, decompressor, limits, &mut |record| {
        visit(record);
        ControlFlow::Continue(())
    })
}

/// The first record for which `is_wanted` holds. What stands behind it is not looked at.
pub fn find_record(
    batch: &RecordBatch<'_>,
    decompressor: &mut Decompressor,
    limits: ScanLimits,
    is_wanted: impl Fn(&RecordSummary) -> bool,
) -> Result<Option<RecordSummary>, ScanError> {
    let mut found = None;
    walk(batch, decompressor, limits, &mut |record| {
        found = Some(record).filter(&is_wanted);
        if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(found)
}

fn walk(
    batch: &RecordBatch<'_>,
    decompressor: &mut Decompressor,
    limits: ScanLimits,
    visit: &mut impl FnMut(RecordSummary) -> ControlFlow<()>,
) -> Result<(), ScanError> {
    let Some(records) = batch.records() else {
        let result = walk_compressed(batch, decompressor, limits, visit);
        decompressor.release_excess();
        return result;
    };
    for (index, record) in (0..).zip(records) {
        let record = record?;
        let (offset_delta, timestamp, has_key) = (record.offset_delta, record.timestamp, record.key.is_some());
        if visit(RecordSummary { index, offset_delta, timestamp, has_key }).is_break() {
            break;
        }
    }
    Ok(())
}

fn walk_compressed(
    batch: &RecordBatch<'_>,
    decompressor: &mut Decompressor,
    limits: ScanLimits,
    visit: &mut impl FnMut(RecordSummary) -> ControlFlow<()>,
) -> Result<(), ScanError> {
    let input = DecompressedInput::new(batch, decompressor, limits.body_bytes_max)?;
    Scanner { input, header: batch.header(), record_bytes_max: limits.record_bytes_max, index: 0, record_end: 0 }
        .scan(visit)
}

/// The walk over one compressed body.
struct Scanner<'a> {
    input: DecompressedInput<'a>,
    header: &'a BatchHeader,
    record_bytes_max: usize,
    index: i32,
    /// Where in the decompressed body the present record ends.
    record_end: usize,
}

impl Scanner<'_> {
    fn scan(&mut self, visit: &mut impl FnMut(RecordSummary) -> ControlFlow<()>) -> Result<(), ScanError> {
        let claimed = self.header.record_count();
        if claimed < 0 {
            return Err(RecordError::Count(claimed).into());
        }
        while self.index < claimed {
            if self.input.fill()?.is_empty() {
                return Err(self.truncated().into());
            }
            if visit(self.record()?).is_break() {
                return Ok(());
            }
            self.index = self.index.saturating_add(1);
        }
        // Asking once more makes the codec check what stands behind its content.
        match self.input.fill()?.len() {
            0 => Ok(()),
            bytes => Err(RecordError::TrailingBytes { bytes }.into()),
        }
    }

    fn record(&mut self) -> Result<RecordSummary, ScanError> {
        self.record_end = usize::MAX;
        let bytes = self.length("length")?.ok_or(self.malformed("length"))?;
        if bytes > self.record_bytes_max {
            return Err(ScanError::RecordTooLarge { index: self.index, bytes, bytes_max: self.record_bytes_max });
        }
        self.record_end = self.input.position().saturating_add(bytes);
        self.skip(1, "attributes")?;
        let timestamp_delta = self.number(read_varlong, "timestamp delta")?;
        let offset_delta = self.number(read_varint, "offset delta")?;
        let has_key = self.skip_nullable("key")?;
        self.skip_nullable("value")?;
        let headers = self.length("header count")?.ok_or(self.malformed("header count"))?;
        for _ in 0..headers {
            if !self.skip_nullable("header key")? {
                return Err(self.malformed("header key").into());
            }
            self.skip_nullable("header value")?;
        }
        if self.input.position() != self.record_end {
            return Err(self.malformed("bytes behind the last header").into());
        }
        let timestamp = match self.header.timestamp_type() {
            TimestampType::LogAppendTime => self.header.max_timestamp(),
            TimestampType::CreateTime => {
                self.header.base_timestamp().checked_add(timestamp_delta).ok_or(self.malformed("timestamp"))?
            }
        };
        Ok(RecordSummary { index: self.index, offset_delta, timestamp, has_key })
    }

    /// Steps over a length and as many bytes; `false` if the length stands for null.
    fn skip_nullable(&mut self, what: &'static str) -> Result<bool, ScanError> {
        match self.length(what)? {
            None => Ok(false),
            Some(bytes) => self.skip(bytes, what).map(|()| true),
        }
    }

    /// Reads a length; `None` if it is negative.
    fn length(&mut self, what: &'static str) -> Result<Option<usize>, ScanError> {
        Ok(usize::try_from(self.number(read_varint, what)?).ok())
    }

    fn number<T>(&mut self, read: fn(&mut &[u8]) -> Option<T>, what: &'static str) -> Result<T, ScanError> {
        match self.input.number(read)? {
            Some(number) if self.input.position() <= self.record_end => Ok(number),
            _ => Err(self.malformed(what).into()),
        }
    }

    fn skip(&mut self, bytes: usize, what: &'static str) -> Result<(), ScanError> {
        if bytes > self.record_end.saturating_sub(self.input.position()) {
            return Err(self.malformed(what).into());
        }
        if self.input.skip(bytes)? { Ok(()) } else { Err(self.truncated().into()) }
    }

    fn malformed(&self, what: &'static str) -> RecordError {
        RecordError::Malformed { index: self.index, what }
    }

    fn truncated(&self) -> RecordError {
        RecordError::Truncated { index: self.index, claimed: self.header.record_count() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{CompressionType, Compressor, RecordBatchBuilder};

    #[test]
    fn a_search_stops_at_the_first_record_that_fits() {
        let mut builder = RecordBatchBuilder::new();
        for timestamp in 0..1_000 {
            builder.append(timestamp, None, Some(&[0; 1_000])).unwrap();
        }
        let codec = CompressionType::Zstd.with_default_level();
        let bytes = builder.build_compressed(codec, &mut Compressor::new()).unwrap();
        let (batch, _) = RecordBatch::parse(&bytes).unwrap();
        let limits = ScanLimits { record_bytes_max: usize::MAX, body_bytes_max: 100_000 };
        let find =
            |timestamp| find_record(&batch, &mut Decompressor::new(), limits, |record| record.timestamp >= timestamp);
        assert_eq!(find(50).unwrap().map(|record| record.offset_delta), Some(50));
        find(500).expect_err("what lies before it is more than may be decompressed");
    }
}
