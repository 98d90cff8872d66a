//! Zstandard frames (KIP-110). Several frames one after another are one stream, as Java reads them.
//!
//! It must not know bounds: the façade has them. Contexts are kept, since setting one up costs more than a small batch.

use std::io::{self, Write};

use zstd::stream::read::Decoder;
use zstd::stream::write::Encoder;
use zstd::zstd_safe::{CCtx, CParameter, DCtx};

use super::KEPT_BYTES_MAX;

/// A stream of decompressed bytes.
pub(super) type Reader<'a> = Decoder<'a, &'a [u8]>;

/// A stream that compresses.
pub(super) type Writer<'a, W> = Encoder<'a, W>;

/// A compression context, made at its first use.
#[derive(Default)]
pub(super) struct WritingContext(Option<CCtx<'static>>);

impl WritingContext {
    /// Compresses into one frame. Small content that says its length takes less time and memory.
    pub(super) fn writer<W: Write>(
        &mut self,
        level: i32,
        content_bytes: Option<usize>,
        output: W,
    ) -> io::Result<Writer<'_, W>> {
        let kept = match self.0.take() {
            Some(context) => context,
            None => CCtx::try_create().ok_or(io::Error::from(io::ErrorKind::OutOfMemory))?,
        };
        let range = zstd::compression_level_range();
        let mut writer = Encoder::with_context(output, self.0.insert(kept));
        writer.set_parameter(CParameter::CompressionLevel(level.clamp(*range.start(), *range.end())))?;
        writer.set_pledged_src_size(content_bytes.and_then(|bytes| u64::try_from(bytes).ok()))?;
        Ok(writer)
    }

    /// Does not keep a context that grew too large: high levels take many MiB.
    pub(super) fn release_excess(&mut self) {
        self.0.take_if(|context| context.sizeof() > KEPT_BYTES_MAX);
    }
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
