//! CRC-32C (Castagnoli), the checksum of record batches and of the files that Klamm shares with Kafka.
//!
//! It must not know what is checked. The algorithm comes from a crate that nothing else knows, so that it can be exchanged.

use crc_fast::{CrcAlgorithm, Digest};

/// The CRC-32C of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    narrow(crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes))
}

/// The CRC-32 of zip files, which the messages of Kafka before 0.11 carry.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    narrow(crc_fast::checksum(CrcAlgorithm::Crc32IsoHdlc, bytes))
}

/// The CRC-32C of all `parts` one after another, without joining them.
pub fn crc32c_of_parts(parts: &[&[u8]]) -> u32 {
    let mut crc = Crc32c::new();
    parts.iter().for_each(|part| crc.update(part));
    crc.finish()
}

/// A CRC-32C in the making, for bytes that come piece by piece.
#[derive(Debug)]
pub struct Crc32c(Digest);

impl Default for Crc32c {
    fn default() -> Crc32c {
        Crc32c::new()
    }
}

impl Crc32c {
    /// That of no bytes.
    pub fn new() -> Crc32c {
        Crc32c(Digest::new(CrcAlgorithm::Crc32Iscsi))
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of all.
    pub fn finish(self) -> u32 {
        narrow(self.0.finalize())
    }
}

fn narrow(checksum: u64) -> u32 {
    u32::try_from(checksum).expect("a 32-bit checksum fits 32 bits")
}

#[cfg(test)]
mod tests {
    use super::{crc32c, crc32c_of_parts};

    #[test]
    fn the_check_value_of_the_catalogue_is_met() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(b""), 0);
    }

    #[test]
    fn two_implementations_agree_for_every_length_and_alignment() {
        let noise: Vec<u8> = (0u32..4096 + 64).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for length in 0..=4096 {
            let start = length % 64;
            let bytes = &noise[start..start + length];
            assert_eq!(crc32c(bytes), crc32c::crc32c(bytes), "length {length} from {start}");
        }
        for start in 0..64 {
            for length in [0, 1, 15, 16, 17, 61, 255, 256, 257, 1024, 4096] {
                let bytes = &noise[start..start + length];
                assert_eq!(crc32c(bytes), crc32c::crc32c(bytes), "length {length} from {start}");
            }
        }
    }

    #[test]
    fn parts_count_as_one_piece() {
        let noise: Vec<u8> = (0u32..500).map(|index| (index.wrapping_mul(40_503) >> 5) as u8).collect();
        for cut in 0..noise.len() {
            let (left, right) = noise.split_at(cut);
            assert_eq!(crc32c_of_parts(&[left, right]), crc32c(&noise));
        }
    }
}
