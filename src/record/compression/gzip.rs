//! gzip (RFC 1952). Several members one after another are one stream, as Java reads them.
//!
//! It must not know bounds: the façade has them.

use std::io::Write;

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

/// A stream of decompressed bytes.
pub(super) type Reader<'a> = MultiGzDecoder<&'a [u8]>;

/// Compresses into one member of `output`. Level -1 is the default.
pub(super) fn writer<W: Write>(level: i32, output: W) -> GzEncoder<W> {
    let level = match u32::try_from(level) {
        Ok(level) => flate2::Compression::new(level.clamp(1, 9)),
        Err(_) => flate2::Compression::default(),
    };
    GzEncoder::new(output, level)
}

/// Reads all members of `input`.
pub(super) fn reader(input: &[u8]) -> Reader<'_> {
    MultiGzDecoder::new(input)
}
