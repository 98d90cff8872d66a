//! One record batch as a checked view over borrowed bytes, and the way through bytes that hold several.
//!
//! It must not know where the bytes come from. The records inside are read lazily by [`super::RecordIterator`].

use std::borrow::Cow;
use std::ops::Deref;

use crate::limits::BATCH_HEADER_BYTES;

use super::batch_header::{BatchError, BatchHeader, TimestampType};
use super::compression::{CompressionError, CompressionType, Decompressor};
use super::crc::crc32c;
use super::record::RecordIterator;

/// One record batch of magic 2. All getters of [`BatchHeader`] are its own.
#[derive(Clone, Copy, Debug)]
pub struct RecordBatch<'a> {
    header: BatchHeader,
    bytes: &'a [u8],
    body: &'a [u8],
}

impl<'a> RecordBatch<'a> {
    /// Reads the batch at the front of `bytes` and returns what stands behind it. The checksum is not looked at.
    pub fn parse(bytes: &'a [u8]) -> Result<(RecordBatch<'a>, &'a [u8]), BatchError> {
        let header = BatchHeader::parse(bytes)?;
        let needed = header.total_bytes();
        let torn = BatchError::Torn { needed, available: bytes.len() };
        let (bytes, rest) = bytes.split_at_checked(needed).ok_or(torn)?;
        let body = bytes.get(BATCH_HEADER_BYTES..).ok_or(torn)?;
        Ok((RecordBatch { header, bytes, body }, rest))
    }

    /// The whole batch, header and body.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The header.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// What stands behind the header: the records, compressed as one block if the batch is.
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Whether the stored checksum is that of the bytes. Base offset, length and leader epoch are outside of it.
    pub fn crc_is_valid(&self) -> bool {
        self.header.crc() == crc32c(self.bytes.get(BatchHeader::CHECKED_FROM..).unwrap_or_default())
    }

    /// The header with this max timestamp, and with a new checksum if that changes anything.
    pub fn header_with_max_timestamp(&self, timestamp_type: TimestampType, max_timestamp: i64) -> BatchHeader {
        let mut header = self.header;
        if header.timestamp_type() != timestamp_type || header.max_timestamp() != max_timestamp {
            header.set_max_timestamp(timestamp_type, max_timestamp);
            header.set_crc(header.compute_crc(self.body));
        }
        header
    }

    /// The uncompressed body, which holds at most `bytes_max`: a copy only if the batch is compressed.
    pub fn decompressed_body(
        &self,
        decompressor: &mut Decompressor,
        bytes_max: usize,
    ) -> Result<Cow<'a, [u8]>, CompressionError> {
        match self.compression() {
            CompressionType::None => Ok(Cow::Borrowed(self.body)),
            codec => decompressor.decompress(codec, self.body, bytes_max).map(Cow::Owned),
        }
    }

    /// The records in `body`, which is this batch's own, uncompressed by [`RecordBatch::decompressed_body`].
    pub fn records_in<'b>(&self, body: &'b [u8]) -> RecordIterator<'b> {
        RecordIterator::new(&self.header, body)
    }

    /// The records of an uncompressed batch; `None` if the batch is compressed.
    pub fn records(&self) -> Option<RecordIterator<'a>> {
        match self.compression() {
            CompressionType::None => Some(RecordIterator::new(&self.header, self.body)),
            _ => None,
        }
    }
}

impl Deref for RecordBatch<'_> {
    type Target = BatchHeader;

    fn deref(&self) -> &BatchHeader {
        &self.header
    }
}

/// The batches in `bytes`, one after another. It ends behind the first error; [`BatchIterator::position`] is then where the batch
/// starts that is no batch.
#[derive(Clone, Debug)]
pub struct BatchIterator<'a> {
    rest: &'a [u8],
    position: usize,
    failed: bool,
}

impl<'a> BatchIterator<'a> {
    /// Starts at the front of `bytes`.
    pub fn new(bytes: &'a [u8]) -> BatchIterator<'a> {
        BatchIterator { rest: bytes, position: 0, failed: false }
    }

    /// How many bytes the batches took that were returned so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The bytes behind the batches that were returned so far.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for BatchIterator<'a> {
    type Item = Result<RecordBatch<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() || self.failed {
            return None;
        }
        match RecordBatch::parse(self.rest) {
            Ok((batch, rest)) => {
                self.rest = rest;
                self.position = self.position.saturating_add(batch.bytes().len());
                Some(Ok(batch))
            }
            Err(error) => {
                self.failed = true;
                Some(Err(error))
            }
        }
    }
}

impl std::iter::FusedIterator for BatchIterator<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Header, RecordBatchBuilder, RecordError};
    use crate::types::{Offset, ProducerEpoch, ProducerId};

    fn batch() -> Vec<u8> {
        let mut builder = RecordBatchBuilder::new().producer(ProducerId(7), ProducerEpoch(3), 41).transactional(true);
        builder.append(1_000, Some(b"key"), Some(b"value")).unwrap();
        builder.append(2_000, None, None).unwrap();
        let twice = [Header { key: b"h", value: None }, Header { key: b"h", value: Some(b"2") }];
        builder.append_with_headers(1_500, Some(b""), Some(b""), &twice).unwrap();
        builder.build().unwrap()
    }

    #[test]
    fn what_was_built_is_read_back() {
        let bytes = batch();
        let (batch, rest) = RecordBatch::parse(&bytes).unwrap();
        assert!(rest.is_empty());
        assert!(batch.crc_is_valid());
        assert_eq!(batch.total_bytes(), bytes.len());
        assert_eq!((batch.base_offset(), batch.last_offset(), batch.record_count()), (Offset(0), Offset(2), 3));
        assert_eq!((batch.base_timestamp(), batch.max_timestamp()), (1_000, 2_000));
        assert_eq!((batch.producer_id(), batch.producer_epoch()), (ProducerId(7), ProducerEpoch(3)));
        assert_eq!((batch.base_sequence(), batch.last_sequence()), (41, 43));
        assert!(batch.is_transactional() && !batch.is_control_batch());
        let records: Vec<_> = batch.records().unwrap().map(Result::unwrap).collect();
        assert_eq!(
            (records[0].key, records[0].value, records[0].timestamp),
            (Some(&b"key"[..]), Some(&b"value"[..]), 1_000)
        );
        assert_eq!((records[1].key, records[1].value, records[1].offset), (None, None, Offset(1)));
        let headers: Vec<_> = records[2].headers.collect();
        assert_eq!(headers, [Header { key: b"h", value: None }, Header { key: b"h", value: Some(b"2") }]);
    }

    #[test]
    fn a_batch_cut_anywhere_is_torn() {
        let bytes = batch();
        for cut in 0..bytes.len() {
            let error = RecordBatch::parse(&bytes[..cut]).unwrap_err();
            assert!(error.is_torn(), "{cut}: {error}");
        }
    }

    #[test]
    fn a_changed_byte_anywhere_under_the_checksum_is_noticed() {
        let mut bytes = batch();
        for place in 17..bytes.len() {
            for bit in 0..8 {
                bytes[place] ^= 1 << bit;
                let noticed = match RecordBatch::parse(&bytes) {
                    Ok((batch, _)) => !batch.crc_is_valid(),
                    Err(error) => matches!(error, BatchError::UnknownCompression(_)),
                };
                assert!(noticed, "byte {place}, bit {bit}");
                bytes[place] ^= 1 << bit;
            }
        }
    }

    #[test]
    fn the_iterator_stops_where_the_damage_starts() {
        let one = batch();
        let mut bytes = [&one[..], &one[..], &one[..20]].concat();
        let mut batches = BatchIterator::new(&bytes);
        assert_eq!(batches.by_ref().filter(Result::is_ok).count(), 2);
        assert_eq!(batches.position(), 2 * one.len());
        assert!(batches.next().is_none());

        bytes[one.len() + 16] = 9;
        let mut batches = BatchIterator::new(&bytes);
        assert!(batches.next().unwrap().is_ok());
        assert_eq!(batches.next().unwrap().unwrap_err(), BatchError::UnknownMagic(9));
        assert_eq!(batches.position(), one.len());
        assert!(batches.next().is_none());
    }

    #[test]
    fn old_formats_are_named_with_their_length() {
        let mut bytes = [0u8; 40];
        bytes[8..12].copy_from_slice(&22i32.to_be_bytes());
        bytes[16] = 1;
        assert_eq!(BatchHeader::parse(&bytes).unwrap_err(), BatchError::OldMagic { magic: 1, bytes: 34 });
    }

    #[test]
    fn lying_lengths_are_refused() {
        let mut bytes = batch();
        for length in [i32::MIN, -1, 0, 13, 14, 48] {
            bytes[8..12].copy_from_slice(&length.to_be_bytes());
            assert_eq!(RecordBatch::parse(&bytes).unwrap_err(), BatchError::Length(length));
        }
        bytes[8..12].copy_from_slice(&i32::MAX.to_be_bytes());
        assert!(RecordBatch::parse(&bytes).unwrap_err().is_torn());
    }

    #[test]
    fn lying_counts_are_refused() {
        let mut bytes = batch();
        for (count, error) in [
            (-1, RecordError::Count(-1)),
            (2, RecordError::TrailingBytes { bytes: 15 }),
            (4, RecordError::Truncated { index: 3, claimed: 4 }),
            (i32::MAX, RecordError::Truncated { index: 3, claimed: i32::MAX }),
        ] {
            bytes[57..61].copy_from_slice(&count.to_be_bytes());
            let (batch, _) = RecordBatch::parse(&bytes).unwrap();
            assert_eq!(batch.records().unwrap().last().unwrap().unwrap_err(), error);
        }
    }

    #[test]
    fn sequences_wrap_to_zero() {
        let mut builder = RecordBatchBuilder::new().producer(ProducerId(1), ProducerEpoch(0), i32::MAX - 1);
        for _ in 0..3 {
            builder.append(0, None, None).unwrap();
        }
        let bytes = builder.build().unwrap();
        assert_eq!(RecordBatch::parse(&bytes).unwrap().0.last_sequence(), 0);
    }
}
