//! The five ways in which the body of a batch may be compressed, behind one façade that is always bounded.
//!
//! It must not know what a record is. Callers own a [`Compressor`] or a [`Decompressor`], which keep what is dear to set up.

mod gzip;
mod lz4;
mod snappy;
mod zstd;

#[cfg(test)]
mod tests;

use std::io::{self, Read, Write};

/// The most memory that one codec keeps from one call to the next.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// The codec of a batch, as the three lowest attribute bits name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompressionType {
    /// As it is.
    #[default]
    None,
    /// RFC 1952.
    Gzip,
    /// Snappy blocks in the framing of the Java library (xerial).
    Snappy,
    /// LZ4 frames.
    Lz4,
    /// Zstandard frames (KIP-110).
    Zstd,
}

impl CompressionType {
    /// All of them, by id.
    pub const ALL: [CompressionType; 5] = [
        CompressionType::None,
        CompressionType::Gzip,
        CompressionType::Snappy,
        CompressionType::Lz4,
        CompressionType::Zstd,
    ];

    /// The number in the attribute bits.
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// The codec with this number.
    pub fn from_id(id: u8) -> Option<CompressionType> {
        CompressionType::ALL.get(usize::from(id)).copied()
    }

    /// Kafka's name for it.
    pub const fn name(self) -> &'static str {
        match self {
            CompressionType::None => "none",
            CompressionType::Gzip => "gzip",
            CompressionType::Snappy => "snappy",
            CompressionType::Lz4 => "lz4",
            CompressionType::Zstd => "zstd",
        }
    }

    /// The codec of this name.
    pub fn from_name(name: &str) -> Option<CompressionType> {
        CompressionType::ALL.into_iter().find(|codec| codec.name() == name)
    }

    /// The codec with Kafka's default level (`compression.gzip.level` -1, `compression.zstd.level` 3).
    pub const fn with_default_level(self) -> Compression {
        match self {
            CompressionType::None => Compression::None,
            CompressionType::Gzip => Compression::Gzip { level: -1 },
            CompressionType::Snappy => Compression::Snappy,
            CompressionType::Lz4 => Compression::Lz4,
            CompressionType::Zstd => Compression::Zstd { level: 3 },
        }
    }
}

impl std::fmt::Display for CompressionType {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A codec and how hard it shall try. Levels outside of a codec's range are taken as the nearest inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// Level 1 to 9; -1 stands for the library's default, 6.
    Gzip {
        /// `compression.gzip.level`.
        level: i32,
    },
    /// Snappy knows no levels.
    Snappy,
    /// The encoder has one level, the speed of which is that of Kafka's default.
    Lz4,
    /// Level -131072 to 22.
    Zstd {
        /// `compression.zstd.level`.
        level: i32,
    },
}

impl Compression {
    /// The codec.
    pub const fn compression_type(self) -> CompressionType {
        match self {
            Compression::None => CompressionType::None,
            Compression::Gzip { .. } => CompressionType::Gzip,
            Compression::Snappy => CompressionType::Snappy,
            Compression::Lz4 => CompressionType::Lz4,
            Compression::Zstd { .. } => CompressionType::Zstd,
        }
    }
}

/// Why bytes cannot be decompressed or compressed.
#[derive(Debug, thiserror::Error)]
pub enum CompressionError {
    /// The bytes are not what the codec wrote.
    #[error("the {codec} data is broken: {source}")]
    Broken {
        /// Which codec was asked.
        codec: CompressionType,
        /// What it said.
        source: io::Error,
    },
    /// The content is larger than the caller allows.
    #[error("the {codec} data holds more than {bytes_max} bytes")]
    TooLarge {
        /// Which codec was asked.
        codec: CompressionType,
        /// The bound.
        bytes_max: usize,
    },
}

/// Compresses, and keeps the codecs' contexts from one call to the next.
pub struct Compressor {
    snappy: snap::raw::Encoder,
    zstd: zstd::WritingContext,
}

impl Compressor {
    /// A compressor that has set up nothing yet.
    pub fn new() -> Compressor {
        Compressor { snappy: snap::raw::Encoder::new(), zstd: zstd::WritingContext::default() }
    }

    /// Appends `input`, compressed, to `output`.
    pub fn compress_into(
        &mut self,
        compression: Compression,
        input: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<(), CompressionError> {
        let writer = self.writer(compression, Some(input.len()), output);
        let result = writer.and_then(|mut writer| writer.write_all(input).and_then(|()| writer.finish()));
        self.release_excess();
        result.map_err(|source| CompressionError::Broken { codec: compression.compression_type(), source })
    }

    /// Compresses `input`.
    pub fn compress(&mut self, compression: Compression, input: &[u8]) -> Result<Vec<u8>, CompressionError> {
        let mut output = Vec::new();
        self.compress_into(compression, input, &mut output)?;
        Ok(output)
    }

    /// A stream that compresses what is written, which is `content_bytes` long if that is known, into `output`. To be followed by
    /// [`Compressor::release_excess`].
    pub(super) fn writer<W: Write>(
        &mut self,
        compression: Compression,
        content_bytes: Option<usize>,
        output: W,
    ) -> io::Result<CompressingWriter<'_, W>> {
        Ok(CompressingWriter(match compression {
            Compression::None => Target::None(output),
            Compression::Gzip { level } => Target::Gzip(gzip::writer(level, output)),
            Compression::Snappy => Target::Snappy(snappy::Writer::new(&mut self.snappy, output)?),
            Compression::Lz4 => Target::Lz4(Box::new(lz4::writer(output))),
            Compression::Zstd { level } => Target::Zstd(self.zstd.writer(level, content_bytes, output)?),
        }))
    }

    /// Gives back what one unusual level made grow, so that it does not stay taken for ever.
    pub(super) fn release_excess(&mut self) {
        self.zstd.release_excess();
    }
}

impl Default for Compressor {
    fn default() -> Compressor {
        Compressor::new()
    }
}

/// A stream that compresses. What is written is complete only after [`CompressingWriter::finish`].
pub(super) struct CompressingWriter<'a, W: Write>(Target<'a, W>);

enum Target<'a, W: Write> {
    None(W),
    Gzip(flate2::write::GzEncoder<W>),
    Snappy(snappy::Writer<'a, W>),
    Lz4(Box<lz4_flex::frame::FrameEncoder<W>>),
    Zstd(zstd::Writer<'a, W>),
}

impl<W: Write> CompressingWriter<'_, W> {
    /// Writes what is still held back, and the codec's end.
    pub(super) fn finish(self) -> io::Result<()> {
        match self.0 {
            Target::None(_) => Ok(()),
            Target::Gzip(writer) => writer.finish().map(drop),
            Target::Snappy(writer) => writer.finish(),
            Target::Lz4(writer) => writer.finish().map(drop).map_err(io::Error::from),
            Target::Zstd(writer) => writer.finish().map(drop),
        }
    }
}

impl<W: Write> Write for CompressingWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Target::None(writer) => writer.write(bytes),
            Target::Gzip(writer) => writer.write(bytes),
            Target::Snappy(writer) => writer.write(bytes),
            Target::Lz4(writer) => writer.write(bytes),
            Target::Zstd(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Target::None(writer) => writer.flush(),
            Target::Gzip(writer) => writer.flush(),
            Target::Snappy(writer) => writer.flush(),
            Target::Lz4(writer) => writer.flush(),
            Target::Zstd(writer) => writer.flush(),
        }
    }
}

/// Decompresses, and keeps the codecs' contexts and buffers from one call to the next.
#[derive(Default)]
pub struct Decompressor {
    snappy_block: Vec<u8>,
    zstd: zstd::Context,
}

impl Decompressor {
    /// A decompressor that has set up nothing yet.
    pub fn new() -> Decompressor {
        Decompressor::default()
    }

    /// Decompresses all of `input`, which must hold at most `bytes_max`. Takes memory in proportion to what comes out, and not
    /// more than about twice `bytes_max`, whatever the input claims.
    pub fn decompress(
        &mut self,
        codec: CompressionType,
        input: &[u8],
        bytes_max: usize,
    ) -> Result<Vec<u8>, CompressionError> {
        let mut output = Vec::with_capacity(input.len().saturating_mul(2).min(bytes_max));
        let bound = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
        let result = self.reader(codec, input, bytes_max).map(|reader| reader.take(bound).read_to_end(&mut output));
        self.release_excess();
        result?.map_err(|source| CompressionError::Broken { codec, source })?;
        if output.len() > bytes_max {
            return Err(CompressionError::TooLarge { codec, bytes_max });
        }
        Ok(output)
    }

    /// The content of `input` as a stream, for which memory stays small however large the content is, and never above `bytes_max`. To
    /// be followed by [`Decompressor::release_excess`].
    pub(super) fn reader<'a>(
        &'a mut self,
        codec: CompressionType,
        input: &'a [u8],
        bytes_max: usize,
    ) -> Result<DecompressedReader<'a>, CompressionError> {
        let reader = match codec {
            CompressionType::None => Ok(Source::None(input)),
            CompressionType::Gzip => Ok(Source::Gzip(gzip::reader(input))),
            CompressionType::Snappy => {
                snappy::Reader::new(input, &mut self.snappy_block, bytes_max).map(Source::Snappy)
            }
            CompressionType::Lz4 => lz4::reader(input).map(Source::Lz4),
            CompressionType::Zstd => self.zstd.reader(input).map(Source::Zstd),
        };
        reader.map(DecompressedReader).map_err(|source| CompressionError::Broken { codec, source })
    }

    /// Gives back what one unusual input made grow, so that it does not stay taken for ever.
    pub(super) fn release_excess(&mut self) {
        self.zstd.release_excess();
        if self.snappy_block.capacity() > KEPT_BYTES_MAX {
            self.snappy_block = Vec::new();
        }
    }
}

/// Decompressed bytes as a stream.
pub(super) struct DecompressedReader<'a>(Source<'a>);

enum Source<'a> {
    None(&'a [u8]),
    Gzip(gzip::Reader<'a>),
    Snappy(snappy::Reader<'a>),
    Lz4(lz4::Reader<'a>),
    Zstd(zstd::Reader<'a>),
}

impl Read for DecompressedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Source::None(reader) => reader.read(buffer),
            Source::Gzip(reader) => reader.read(buffer),
            Source::Snappy(reader) => reader.read(buffer),
            Source::Lz4(reader) => reader.read(buffer),
            Source::Zstd(reader) => reader.read(buffer),
        }
    }
}

/// An error for input that breaks its codec's rules.
fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
