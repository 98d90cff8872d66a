//! Writes the records of a batch anew: with another codec, and with offsets that count 0, 1, 2 …. They stream through, so that memory
//! stays small however large the content is.
//!
//! It must not know headers of batches, nor what makes a record acceptable: a scan has let the batch through before.

use std::io::Write;

use super::batch::RecordBatch;
use super::compression::{Compression, CompressionError, CompressionType, Compressor, Decompressor};
use super::decompressed_input::DecompressedInput;
use super::record::RecordError;
use super::record_scanner::ScanError;
use super::varint::{read_varint, read_varlong, varlong_bytes, write_varint, write_varlong};

/// Writes the records of `batch` into `output`, compressed anew. A compressed body may hold at most `body_bytes_max`. The first error of
/// `output` ends it.
pub fn recompress(
    batch: &RecordBatch<'_>,
    decompressor: &mut Decompressor,
    body_bytes_max: usize,
    compressor: &mut Compressor,
    compression: Compression,
    output: &mut impl Write,
) -> Result<(), ScanError> {
    let bytes_max = if batch.compression() == CompressionType::None { usize::MAX } else { body_bytes_max };
    let failed = |source| CompressionError::Broken { codec: compression.compression_type(), source };
    let result = DecompressedInput::new(batch, decompressor, bytes_max).map_err(ScanError::from).and_then(|input| {
        let mut writer = compressor.writer(compression, None, output).map_err(failed)?;
        copy_records(input, batch.record_count(), |bytes| writer.write_all(bytes).map_err(failed))?;
        Ok(writer.finish().map_err(failed)?)
    });
    decompressor.release_excess();
    compressor.release_excess();
    result
}

/// Hands all records to `write`, piece by piece, with the offset that is their place.
fn copy_records(
    mut input: DecompressedInput<'_>,
    record_count: i32,
    mut write: impl FnMut(&[u8]) -> Result<(), CompressionError>,
) -> Result<(), ScanError> {
    let mut front = Vec::new();
    for index in 0..record_count {
        let cut = RecordError::Truncated { index, claimed: record_count };
        let bytes = input.number(read_varint)?.and_then(|bytes| usize::try_from(bytes).ok()).ok_or(cut)?;
        let start = input.position();
        input.skip(1)?;
        let timestamp_delta = input.number(read_varlong)?.ok_or(cut)?;
        input.number(read_varint)?.ok_or(cut)?;
        let rest = bytes.checked_sub(input.position().saturating_sub(start)).ok_or(cut)?;
        let numbers = varlong_bytes(timestamp_delta).saturating_add(varlong_bytes(i64::from(index)));
        let bytes = i32::try_from(rest.saturating_add(numbers).saturating_add(1)).map_err(|_| cut)?;
        front.clear();
        write_varint(&mut front, bytes);
        front.push(0);
        write_varlong(&mut front, timestamp_delta);
        write_varint(&mut front, index);
        write(&front)?;
        if !input.pass(rest, &mut write)? {
            return Err(cut.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{BoundedBytes, RecordBatchBuilder};

    fn recompressed(content: &[u8], from: CompressionType, to: CompressionType, output: &mut BoundedBytes) -> bool {
        let mut builder = RecordBatchBuilder::new();
        (0..3).for_each(|timestamp| builder.append(timestamp, Some(b"key"), Some(content)).unwrap());
        let bytes = builder.build_compressed(from.with_default_level(), &mut Compressor::new()).unwrap();
        let (batch, _) = RecordBatch::parse(&bytes).unwrap();
        let (decompressor, compressor) = (&mut Decompressor::new(), &mut Compressor::new());
        recompress(&batch, decompressor, 1 << 20, compressor, to.with_default_level(), output).is_ok()
    }

    #[test]
    fn records_of_many_pieces_survive_from_every_codec_to_every_codec() {
        let content: Vec<u8> = (0..100_000u32).map(|index| (index % 251) as u8).collect();
        let mut plain = BoundedBytes::new(usize::MAX);
        assert!(recompressed(&content, CompressionType::None, CompressionType::None, &mut plain));
        let plain = plain.into_bytes();
        for from in CompressionType::ALL {
            for to in CompressionType::ALL {
                let mut output = BoundedBytes::new(usize::MAX);
                assert!(recompressed(&content, from, to, &mut output));
                let body = Decompressor::new().decompress(to, &output.into_bytes(), 1 << 20).unwrap();
                assert!(body == plain, "{from} to {to}");
            }
        }
    }

    #[test]
    fn nothing_is_written_beyond_the_bound() {
        let mut state = 1u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u8
        };
        let content: Vec<u8> = (0..100_000).map(|_| noise()).collect();
        for to in CompressionType::ALL {
            let mut output = BoundedBytes::new(50_000);
            assert!(!recompressed(&content, CompressionType::Gzip, to, &mut output), "{to}");
            assert!(output.is_exceeded() && output.into_bytes().capacity() <= 100_000, "{to}");
        }
    }
}
