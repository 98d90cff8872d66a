//! The five ways in which the body of a batch may be compressed.
//!
//! It must not know what a record is.

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

    /// The value of `compression.type` that stands for it.
    pub const fn name(self) -> &'static str {
        match self {
            CompressionType::None => "none",
            CompressionType::Gzip => "gzip",
            CompressionType::Snappy => "snappy",
            CompressionType::Lz4 => "lz4",
            CompressionType::Zstd => "zstd",
        }
    }
}
