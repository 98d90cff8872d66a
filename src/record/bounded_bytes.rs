//! Bytes that are written up to a bound and not beyond.
//!
//! It must not know what the bytes are.

use std::io::{self, Write};

/// Bytes that may grow up to a bound: what goes beyond is refused.
#[derive(Debug)]
pub struct BoundedBytes {
    bytes: Vec<u8>,
    bytes_max: usize,
    is_exceeded: bool,
}

impl BoundedBytes {
    /// No bytes yet.
    pub fn new(bytes_max: usize) -> BoundedBytes {
        BoundedBytes { bytes: Vec::new(), bytes_max, is_exceeded: false }
    }

    /// The bytes, all of them unless the bound is exceeded.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Whether more than the bound was written.
    pub fn is_exceeded(&self) -> bool {
        self.is_exceeded
    }
}

impl Write for BoundedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_exceeded |= bytes.len() > self.bytes_max.saturating_sub(self.bytes.len());
        if self.is_exceeded {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
