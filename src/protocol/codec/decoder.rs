//! A reader over the borrowed bytes of one frame, which bounds what decoding may allocate.
//!
//! It must not know any message.

use std::borrow::Cow;

use crate::limits::{DECODE_BUDGET_BASE_BYTES, DECODE_BUDGET_PER_BYTE, STRING_BYTES_MAX};
use crate::protocol::codec::DecodeError;
use crate::types::TopicId;

/// Reads the bytes of one frame from front to back, borrowing from them.
///
/// Its element budget bounds the memory of all arrays together, so that a frame costs at most a small multiple of its length.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    budget: usize,
}

impl<'a> Decoder<'a> {
    /// A reader over `bytes`, which are one frame without its length prefix.
    pub fn new(bytes: &'a [u8]) -> Decoder<'a> {
        Decoder {
            bytes,
            budget: bytes.len().saturating_mul(DECODE_BUDGET_PER_BYTE).saturating_add(DECODE_BUDGET_BASE_BYTES),
        }
    }

    /// How many bytes are left; after a message these are trailing bytes, which Kafka ignores.
    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self
            .bytes
            .split_at_checked(count)
            .ok_or(DecodeError::EndOfInput { needed: count, remaining: self.bytes.len() })?;
        self.bytes = rest;
        Ok(taken)
    }

    /// The next `N` bytes as an array: the body of every integer of fixed size.
    #[inline]
    pub fn take_array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self
            .bytes
            .split_first_chunk::<N>()
            .ok_or(DecodeError::EndOfInput { needed: N, remaining: self.bytes.len() })?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// An `INT8`.
    #[inline]
    pub fn get_i8(&mut self) -> Result<i8, DecodeError> {
        self.take_array().map(i8::from_be_bytes)
    }

    /// An `INT16`.
    #[inline]
    pub fn get_i16(&mut self) -> Result<i16, DecodeError> {
        self.take_array().map(i16::from_be_bytes)
    }

    /// A `UINT16`.
    #[inline]
    pub fn get_u16(&mut self) -> Result<u16, DecodeError> {
        self.take_array().map(u16::from_be_bytes)
    }

    /// An `INT32`.
    #[inline]
    pub fn get_i32(&mut self) -> Result<i32, DecodeError> {
        self.take_array().map(i32::from_be_bytes)
    }

    /// An `INT64`.
    #[inline]
    pub fn get_i64(&mut self) -> Result<i64, DecodeError> {
        self.take_array().map(i64::from_be_bytes)
    }

    /// A `UUID`.
    #[inline]
    pub fn get_uuid(&mut self) -> Result<TopicId, DecodeError> {
        self.take_array().map(TopicId)
    }

    /// An `UNSIGNED_VARINT` of at most 32 bits. Padding with zero bits is legal, as in Kafka; a sixth byte or a bit above 32 is not.
    #[inline]
    pub fn get_unsigned_varint(&mut self) -> Result<u32, DecodeError> {
        let mut value = 0u32;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.take_array::<1>()?;
            if shift == 28 && byte > 0x0f {
                return Err(DecodeError::VarintTooLong);
            }
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DecodeError::VarintTooLong)
    }

    /// A string or null; any negative length is null, as in Kafka.
    #[inline]
    pub fn get_string(&mut self, is_flexible: bool) -> Result<Option<&'a str>, DecodeError> {
        let Some(bytes) = self.get_string_bytes(is_flexible)? else { return Ok(None) };
        std::str::from_utf8(bytes).map(Some).map_err(|_| DecodeError::InvalidUtf8)
    }

    /// A plain string or null, in which bytes that are not UTF-8 become replacement characters, as in Kafka: only for names that
    /// nothing is looked up by.
    pub fn get_string_lossy(&mut self) -> Result<Option<Cow<'a, str>>, DecodeError> {
        Ok(self.get_string_bytes(false)?.map(String::from_utf8_lossy))
    }

    #[inline]
    fn get_string_bytes(&mut self, is_flexible: bool) -> Result<Option<&'a [u8]>, DecodeError> {
        let length = if is_flexible { self.get_compact_length()? } else { usize::try_from(self.get_i16()?).ok() };
        let Some(length) = length else { return Ok(None) };
        if length > STRING_BYTES_MAX {
            return Err(DecodeError::StringTooLong { bytes: length });
        }
        self.take(length).map(Some)
    }

    /// Bytes or null.
    #[inline]
    pub fn get_bytes(&mut self, is_flexible: bool) -> Result<Option<&'a [u8]>, DecodeError> {
        match self.get_length(is_flexible)? {
            Some(length) => self.take(length).map(Some),
            None => Ok(None),
        }
    }

    /// The number of elements of an array, or null. `element_bytes_min` is the least that one element takes on the wire and
    /// `element_bytes` what it takes in memory; the latter is charged to the budget.
    #[inline]
    pub fn get_array_length(
        &mut self,
        is_flexible: bool,
        element_bytes_min: usize,
        element_bytes: usize,
    ) -> Result<Option<usize>, DecodeError> {
        let Some(elements) = self.get_length(is_flexible)? else { return Ok(None) };
        let remaining = self.bytes.len();
        if elements > remaining / element_bytes_min.max(1) {
            return Err(DecodeError::ArrayTooLong { elements, remaining });
        }
        let cost = elements.checked_mul(element_bytes).ok_or(DecodeError::BudgetExceeded)?;
        self.budget = self.budget.checked_sub(cost).ok_or(DecodeError::BudgetExceeded)?;
        Ok(Some(elements))
    }

    /// Reads the value of a tagged field of `bytes` bytes, all of which it must take.
    pub fn get_tagged<T>(
        &mut self,
        tag: u32,
        bytes: usize,
        read: impl FnOnce(&mut Decoder<'a>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let mut field = Decoder { bytes: self.take(bytes)?, budget: self.budget };
        let value = read(&mut field)?;
        self.budget = field.budget;
        if field.bytes.is_empty() { Ok(value) } else { Err(DecodeError::TagSize { tag }) }
    }

    /// Skips the tagged fields of a structure that knows none.
    pub fn skip_tagged_fields(&mut self) -> Result<(), DecodeError> {
        for _ in 0..self.get_unsigned_varint()? {
            self.get_unsigned_varint()?;
            let bytes = self.get_tag_size()?;
            self.take(bytes)?;
        }
        Ok(())
    }

    /// The size of a tagged field in bytes.
    #[inline]
    pub fn get_tag_size(&mut self) -> Result<usize, DecodeError> {
        usize::try_from(self.get_unsigned_varint()?).map_err(|_| DecodeError::VarintTooLong)
    }

    #[inline]
    fn get_length(&mut self, is_flexible: bool) -> Result<Option<usize>, DecodeError> {
        if is_flexible { self.get_compact_length() } else { Ok(usize::try_from(self.get_i32()?).ok()) }
    }

    /// One less than the number on the wire. A number above 31 bits is a negative one for Kafka, and therefore null as well.
    #[inline]
    fn get_compact_length(&mut self) -> Result<Option<usize>, DecodeError> {
        let length = self.get_unsigned_varint()?.cast_signed().wrapping_sub(1);
        Ok(usize::try_from(length).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::Decoder;
    use crate::limits::STRING_BYTES_MAX;
    use crate::protocol::codec::{DecodeError, Encoder};

    fn varint(bytes: &[u8]) -> Result<u32, DecodeError> {
        Decoder::new(bytes).get_unsigned_varint()
    }

    #[test]
    fn a_varint_takes_five_bytes_at_most_and_fits_into_32_bits() {
        assert_eq!(varint(&[0x00]), Ok(0));
        assert_eq!(varint(&[0x7f]), Ok(127));
        assert_eq!(varint(&[0x80, 0x01]), Ok(128));
        assert_eq!(varint(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok(u32::MAX));
        assert_eq!(varint(&[0x81, 0x80, 0x00]), Ok(1), "padding is legal");
        assert_eq!(varint(&[0xff, 0xff, 0xff, 0xff, 0x1f]), Err(DecodeError::VarintTooLong), "bit 33");
        assert_eq!(varint(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x00]), Err(DecodeError::VarintTooLong), "six bytes");
        assert_eq!(varint(&[0x80]), Err(DecodeError::EndOfInput { needed: 1, remaining: 0 }));
    }

    #[test]
    fn any_negative_length_is_null() {
        assert_eq!(Decoder::new(&[0xff, 0xff]).get_string(false), Ok(None));
        assert_eq!(Decoder::new(&[0x80, 0x00]).get_string(false), Ok(None));
        assert_eq!(Decoder::new(&[0x80, 0, 0, 0]).get_bytes(false), Ok(None));
        assert_eq!(Decoder::new(&[0]).get_string(true), Ok(None));
        assert_eq!(Decoder::new(&[0xff, 0xff, 0xff, 0xff, 0x0f]).get_string(true), Ok(None));
    }

    #[test]
    fn a_compact_string_may_not_be_longer_than_a_plain_one_could_be() {
        for (bytes, expected) in [(STRING_BYTES_MAX, None), (STRING_BYTES_MAX + 1, Some(STRING_BYTES_MAX + 1))] {
            let mut encoder = Encoder::default();
            encoder.put_bytes(Some(&vec![b'x'; bytes]), true);
            let result = Decoder::new(encoder.bytes()).get_string(true);
            assert_eq!(result.err(), expected.map(|bytes| DecodeError::StringTooLong { bytes }));
        }
        assert_eq!(Decoder::new(&[2, 0xff]).get_string(true), Err(DecodeError::InvalidUtf8));
    }

    #[test]
    fn an_array_is_charged_by_what_its_elements_take_in_memory() {
        let bytes = [0, 0, 0, 4, 0, 0, 0, 0];
        assert_eq!(Decoder::new(&bytes).get_array_length(false, 1, 1), Ok(Some(4)));
        let too_long = DecodeError::ArrayTooLong { elements: 4, remaining: 4 };
        assert_eq!(Decoder::new(&bytes).get_array_length(false, 2, 1), Err(too_long));
        assert_eq!(Decoder::new(&bytes).get_array_length(false, 1, 17_000), Err(DecodeError::BudgetExceeded));
        assert_eq!(Decoder::new(&bytes).get_array_length(false, 1, usize::MAX), Err(DecodeError::BudgetExceeded));
    }

    #[test]
    fn a_tagged_field_must_fill_its_declared_size() {
        let read = |bytes: &'static [u8], size| Decoder::new(bytes).get_tagged(3, size, |field| field.get_i16());
        assert_eq!(read(&[0, 7, 9], 2), Ok(7));
        assert_eq!(read(&[0, 7, 9], 3), Err(DecodeError::TagSize { tag: 3 }));
        assert_eq!(read(&[0, 7, 9], 1), Err(DecodeError::EndOfInput { needed: 2, remaining: 1 }));
        assert_eq!(read(&[0, 7, 9], 4), Err(DecodeError::EndOfInput { needed: 4, remaining: 3 }));
    }
}
