//! Snappy blocks in the framing of the Java library (xerial): a header of 16 bytes, then blocks with their length in front.
//! A single block without any framing is read too, as Kafka does.
//!
//! It must not know bounds but the one that it is given. A block's claim is believed only as far as that, and as Snappy can compress.

use std::io::{self, Read, Write};

use super::invalid;

/// What starts a framed stream.
const MAGIC: &[u8; 8] = b"\x82SNAPPY\0";
/// Version of the framing, and the lowest version of a reader that understands it.
const VERSIONS: &[u8; 8] = &[0, 0, 0, 1, 0, 0, 0, 1];
/// Java's default; large enough to compress well, small enough for every reader.
const BLOCK_BYTES: usize = 32 * 1024;
/// The densest element copies 64 bytes and takes 3, so a block cannot hold more than this times its length.
const RATIO_MAX: usize = 22;

/// A stream that compresses into framed blocks.
pub(super) struct Writer<'a, W> {
    encoder: &'a mut snap::raw::Encoder,
    output: W,
    /// What is to become the next block.
    block: Vec<u8>,
    compressed: Vec<u8>,
}

impl<'a, W: Write> Writer<'a, W> {
    /// Begins with the header.
    pub(super) fn new(encoder: &'a mut snap::raw::Encoder, mut output: W) -> io::Result<Writer<'a, W>> {
        output.write_all(MAGIC)?;
        output.write_all(VERSIONS)?;
        Ok(Writer { encoder, output, block: Vec::new(), compressed: Vec::new() })
    }

    /// Writes the last block.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.flush()
    }
}

impl<W: Write> Write for Writer<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(BLOCK_BYTES.saturating_sub(self.block.len()));
        self.block.extend_from_slice(bytes.get(..taken).unwrap_or_default());
        if self.block.len() == BLOCK_BYTES {
            self.flush()?;
        }
        Ok(taken)
    }

    /// Ends the block.
    fn flush(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        self.compressed.resize(snap::raw::max_compress_len(self.block.len()), 0);
        let written = self.encoder.compress(&self.block, &mut self.compressed)?;
        let length = u32::try_from(written).map_err(|_| invalid("block too large"))?;
        self.block.clear();
        self.output.write_all(&length.to_be_bytes())?;
        self.output.write_all(self.compressed.get(..written).unwrap_or_default())
    }
}

/// A stream of decompressed bytes, block by block through a buffer that the owner keeps.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    is_framed: bool,
    block: &'a mut Vec<u8>,
    /// The longest block.
    block_bytes_max: usize,
    position: usize,
}

impl<'a> Reader<'a> {
    /// Looks whether `input` is framed.
    pub(super) fn new(input: &'a [u8], block: &'a mut Vec<u8>, block_bytes_max: usize) -> io::Result<Reader<'a>> {
        if input.is_empty() {
            return Err(invalid("empty"));
        }
        block.clear();
        let is_framed = input.starts_with(MAGIC);
        Ok(Reader { rest: input, is_framed, block, block_bytes_max, position: 0 })
    }

    /// Decompresses the next block; `false` at the end.
    fn next_block(&mut self) -> io::Result<bool> {
        let compressed = if self.is_framed { self.next_framed()? } else { self.take_all() };
        let Some(compressed) = compressed else {
            return Ok(false);
        };
        let claimed = snap::raw::decompress_len(compressed)?;
        if claimed > compressed.len().saturating_mul(RATIO_MAX).min(self.block_bytes_max) {
            return Err(invalid("a block claims more than it can hold"));
        }
        self.position = 0;
        self.block.clear();
        self.block.resize(claimed, 0);
        let written = snap::raw::Decoder::new().decompress(compressed, self.block)?;
        self.block.truncate(written);
        Ok(true)
    }

    fn take_all(&mut self) -> Option<&'a [u8]> {
        Some(std::mem::take(&mut self.rest)).filter(|rest| !rest.is_empty())
    }

    /// Cuts off the next block. Another header may stand between two blocks, when streams were joined.
    fn next_framed(&mut self) -> io::Result<Option<&'a [u8]>> {
        while let Some(rest) = self.rest.strip_prefix(MAGIC) {
            let (versions, rest) = rest.split_first_chunk::<8>().ok_or(invalid("the header is cut"))?;
            if versions.get(..4) < VERSIONS.get(..4) {
                return Err(invalid("the version of the framing is unknown"));
            }
            self.rest = rest;
        }
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (length, rest) = self.rest.split_first_chunk::<4>().ok_or(invalid("a block's length is cut"))?;
        let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| invalid("a block's length"))?;
        let (block, rest) = rest.split_at_checked(length).ok_or(invalid("a block is cut"))?;
        self.rest = rest;
        Ok(Some(block))
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.position >= self.block.len() {
            if !self.next_block()? {
                return Ok(0);
            }
        }
        let mut unread = self.block.get(self.position..).unwrap_or_default();
        let bytes = unread.read(buffer)?;
        self.position = self.position.saturating_add(bytes);
        Ok(bytes)
    }
}
