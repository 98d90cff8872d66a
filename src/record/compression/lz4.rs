//! LZ4 frames as Kafka writes and reads them: one frame, independent blocks of at most 64 KiB, no content checksum.
//!
//! It must not know bounds: the façade has them. Frames that Java consumers could not read are refused before they are stored:
//! linked blocks, a dictionary, a missing end mark, anything behind the frame.

use std::io::{self, Write};

use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use super::invalid;

/// A stream of decompressed bytes.
pub(super) type Reader<'a> = FrameDecoder<&'a [u8]>;

const MAGIC: [u8; 4] = 0x184d_2204u32.to_le_bytes();
const VERSION_BITS: u8 = 0xc0;
const VERSION_1: u8 = 0x40;
const INDEPENDENT_BIT: u8 = 0x20;
const BLOCK_CHECKSUM_BIT: u8 = 0x10;
const CONTENT_SIZE_BIT: u8 = 0x08;
const CONTENT_CHECKSUM_BIT: u8 = 0x04;
/// A dictionary, and a bit without a meaning.
const REFUSED_BITS: u8 = 0x03;
/// The highest bit of a block's length says that the block is stored as it is.
const STORED_BIT: u32 = 1 << 31;

/// Compresses into one frame.
pub(super) fn writer<W: Write>(output: W) -> FrameEncoder<W> {
    let info = FrameInfo::new().block_mode(BlockMode::Independent).block_size(BlockSize::Max64KB);
    FrameEncoder::with_frame_info(info, output)
}

/// Walks over the frame's structure, then hands out its content.
pub(super) fn reader(input: &[u8]) -> io::Result<Reader<'_>> {
    check_structure(input)?;
    Ok(FrameDecoder::new(input))
}

fn check_structure(mut input: &[u8]) -> io::Result<()> {
    if take::<4>(&mut input)? != MAGIC {
        return Err(invalid("not an LZ4 frame"));
    }
    let [flags, _block_size] = take::<2>(&mut input)?;
    if flags & VERSION_BITS != VERSION_1 || flags & REFUSED_BITS != 0 {
        return Err(invalid("the frame's version or dictionary is not supported"));
    }
    if flags & INDEPENDENT_BIT == 0 {
        return Err(invalid("linked blocks are not supported"));
    }
    if flags & CONTENT_SIZE_BIT != 0 {
        take::<8>(&mut input)?;
    }
    take::<1>(&mut input)?;
    skip_blocks(&mut input, flags & BLOCK_CHECKSUM_BIT != 0)?;
    if flags & CONTENT_CHECKSUM_BIT != 0 {
        take::<4>(&mut input)?;
    }
    if input.is_empty() { Ok(()) } else { Err(invalid("bytes behind the frame")) }
}

/// Steps over all blocks and the end mark.
fn skip_blocks(input: &mut &[u8], have_checksums: bool) -> io::Result<()> {
    loop {
        let length = u32::from_le_bytes(take::<4>(input)?) & !STORED_BIT;
        if length == 0 {
            return Ok(());
        }
        let length = usize::try_from(length).map_err(|_| invalid("a block's length"))?;
        let (_block, rest) = input.split_at_checked(length).ok_or(invalid("a block is cut"))?;
        *input = rest;
        if have_checksums {
            take::<4>(input)?;
        }
    }
}

fn take<const BYTES: usize>(input: &mut &[u8]) -> io::Result<[u8; BYTES]> {
    let (taken, rest) = input.split_first_chunk().ok_or(invalid("the frame is cut"))?;
    *input = rest;
    Ok(*taken)
}
