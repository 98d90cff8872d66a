//! The content of a batch's body as a stream with a small buffer in front, however large the content is.
//!
//! It must not know what a record is.

use std::io::Read;

use super::batch::RecordBatch;
use super::compression::{CompressionError, CompressionType, DecompressedReader, Decompressor};
use super::varint::LONGEST_BYTES;

/// Decompressed bytes with a small buffer in front.
pub(super) struct DecompressedInput<'a> {
    reader: DecompressedReader<'a>,
    codec: CompressionType,
    bytes_max: usize,
    chunk: [u8; DecompressedInput::CHUNK_BYTES],
    start: usize,
    end: usize,
    /// How many bytes were taken so far.
    position: usize,
}

impl<'a> DecompressedInput<'a> {
    const CHUNK_BYTES: usize = 8 * 1024;

    /// The body of `batch`, which holds at most `bytes_max`. To be followed by [`Decompressor::release_excess`].
    pub(super) fn new(
        batch: &RecordBatch<'a>,
        decompressor: &'a mut Decompressor,
        bytes_max: usize,
    ) -> Result<DecompressedInput<'a>, CompressionError> {
        let codec = batch.compression();
        let reader = decompressor.reader(codec, batch.body(), bytes_max)?;
        let chunk = [0; DecompressedInput::CHUNK_BYTES];
        Ok(DecompressedInput { reader, codec, bytes_max, chunk, start: 0, end: 0, position: 0 })
    }

    /// How many bytes were taken so far.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Takes a number; `None` if there is none.
    pub(super) fn number<T>(&mut self, read: fn(&mut &[u8]) -> Option<T>) -> Result<Option<T>, CompressionError> {
        let buffered = self.fill()?;
        let mut rest = buffered;
        let number = read(&mut rest);
        let taken = buffered.len().saturating_sub(rest.len());
        self.take(taken);
        Ok(number)
    }

    /// The buffered bytes: enough for the longest number, unless the content ends before.
    pub(super) fn fill(&mut self) -> Result<&[u8], CompressionError> {
        while self.end.saturating_sub(self.start) < LONGEST_BYTES {
            self.chunk.copy_within(self.start..self.end, 0);
            self.end = self.end.saturating_sub(self.start);
            self.start = 0;
            if self.read_more()? == 0 {
                break;
            }
        }
        Ok(self.buffered())
    }

    fn buffered(&self) -> &[u8] {
        self.chunk.get(self.start..self.end).unwrap_or_default()
    }

    fn read_more(&mut self) -> Result<usize, CompressionError> {
        let codec = self.codec;
        let space = self.chunk.get_mut(self.end..).unwrap_or_default();
        let bytes = self.reader.read(space).map_err(|source| CompressionError::Broken { codec, source })?;
        self.end = self.end.saturating_add(bytes);
        let held = self.end.saturating_sub(self.start);
        if self.position.saturating_add(held) > self.bytes_max {
            return Err(CompressionError::TooLarge { codec, bytes_max: self.bytes_max });
        }
        Ok(bytes)
    }

    fn take(&mut self, bytes: usize) {
        self.start = self.start.saturating_add(bytes).min(self.end);
        self.position = self.position.saturating_add(bytes);
    }

    /// Steps over `bytes`; `false` if the content ends before.
    pub(super) fn skip(&mut self, bytes: usize) -> Result<bool, CompressionError> {
        self.pass(bytes, |_| Ok(()))
    }

    /// Takes `bytes` and hands them to `sink`, piece by piece; `false` if the content ends before.
    pub(super) fn pass(
        &mut self,
        mut bytes: usize,
        mut sink: impl FnMut(&[u8]) -> Result<(), CompressionError>,
    ) -> Result<bool, CompressionError> {
        loop {
            let piece = self.buffered();
            let piece = piece.get(..bytes).unwrap_or(piece);
            let step = piece.len();
            sink(piece)?;
            self.take(step);
            bytes = bytes.saturating_sub(step);
            if bytes == 0 {
                return Ok(true);
            }
            (self.start, self.end) = (0, 0);
            if self.read_more()? == 0 {
                return Ok(false);
            }
        }
    }
}
