//! What a record says: who wrote it and in which order, so that any record seen anywhere tells its origin.
//!
//! It must not know partitions or offsets.

use std::fmt;

/// The identity of one record: its client and the how-manieth record of that client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value {
    /// The client's number.
    pub client: u32,
    /// Counted by the client, from 0.
    pub sequence: u32,
}

impl Value {
    /// The record's bytes: the identity, and some padding that follows from it.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let padding = (self.client.wrapping_mul(31) ^ self.sequence.wrapping_mul(7)) % 200;
        let mut bytes = Vec::with_capacity(8 + padding as usize);
        bytes.extend_from_slice(&self.client.to_be_bytes());
        bytes.extend_from_slice(&self.sequence.to_be_bytes());
        bytes.extend((0..padding).map(|index| self.pad(index)));
        bytes
    }

    /// The identity in a record's bytes; `None` if they are not the bytes of any value.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Value> {
        let client = u32::from_be_bytes(*bytes.first_chunk()?);
        let sequence = u32::from_be_bytes(*bytes.get(4..)?.first_chunk()?);
        let value = Value { client, sequence };
        (value.to_bytes() == bytes).then_some(value)
    }

    fn pad(self, index: u32) -> u8 {
        (self.client.wrapping_add(self.sequence).wrapping_add(index.wrapping_mul(131)) & 0xff) as u8
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "c{}#{}", self.client, self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::Value;

    #[test]
    fn a_value_is_read_back_and_damage_is_seen() {
        let value = Value { client: 3, sequence: 77 };
        let mut bytes = value.to_bytes();
        assert_eq!(Value::from_bytes(&bytes), Some(value));
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        assert_eq!(Value::from_bytes(&bytes), None);
        assert_eq!(Value::from_bytes(&bytes[..3]), None);
    }
}
