//! Zstandard frames (KIP-110). Several frames one after another are one stream, as Java reads them.
//!
//! It must not know bounds: the façade has them. Contexts are kept, since setting one up costs more than a small batch.

use std::io;

use zstd::bulk::Compressor;
use zstd::stream::read::Decoder;
use zstd::zstd_safe::{DCtx, compress_bound};

use super::KEPT_BYTES_MAX;

/// A stream of decompressed bytes.
pub(super) type Reader<'a> = Decoder<'a, &'a [u8]>;

/// Appends one frame to `output`.
pub(super) fn compress(
    context: &mut Option<Compressor<'static>>,
    level: i32,
    input: &[u8],
    output: &mut Vec<u8>,
) -> io::Result<()> {
    let range = zstd::compression_level_range();
    let level = level.clamp(*range.start(), *range.end());
    let compressor = match context {
        Some(compressor) => {
            compressor.set_compression_level(level)?;
            compressor
        }
        None => context.insert(Compressor::new(level)?),
    };
    let start = output.len();
    output.resize(start.saturating_add(compress_bound(input.len())), 0);
    let written = compressor.compress_to_buffer(input, output.get_mut(start..).unwrap_or_default())?;
    output.truncate(start.saturating_add(written));
    // High levels take many MiB, which shall not stay with everyone who ever used one.
    context.take_if(|compressor| compressor.context_mut().sizeof() > KEPT_BYTES_MAX);
    Ok(())
}

/// A decompression context, made at its first use.
#[derive(Default)]
pub(super) struct Context(Option<DCtx<'static>>);

impl Context {
    /// Reads all frames of `input`.
    pub(super) fn reader<'a>(&'a mut self, input: &'a [u8]) -> io::Result<Reader<'a>> {
        let kept = match self.0.take() {
            Some(context) => context,
            None => DCtx::try_create().ok_or(io::Error::from(io::ErrorKind::OutOfMemory))?,
        };
        Ok(Decoder::with_context(input, self.0.insert(kept)))
    }

    /// How much memory it holds.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, DCtx::sizeof)
    }

    /// Does not keep a context that grew too large: a window is up to 128 MiB.
    pub(super) fn release_excess(&mut self) {
        self.0.take_if(|context| context.sizeof() > KEPT_BYTES_MAX);
    }
}
