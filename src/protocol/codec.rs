//! The primitives of the wire: a reader over borrowed bytes that bounds what it allocates, and a writer that can leave holes.
//!
//! It must not know any message.

use thiserror::Error;

use crate::protocol::frame::Hole;
use crate::types::TopicId;

/// The longest string that the protocol carries, in bytes, whichever length form is used.
pub const STRING_BYTES_MAX: usize = i16::MAX as usize;
/// Bytes of decoded structures that every frame may cost, however short it is.
const BUDGET_BASE_BYTES: usize = 64 * 1024;
/// Bytes of decoded structures that one byte of a frame may cost.
const BUDGET_PER_BYTE: usize = 16;

/// Why bytes are not the message that they should be. The peer's fault in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// A field reaches beyond the end of the bytes.
    #[error("a field of {needed} bytes where {remaining} remain")]
    EndOfInput {
        /// Bytes that the field takes.
        needed: usize,
        /// Bytes that were left.
        remaining: usize,
    },
    /// A variable-length integer does not fit into 32 bits.
    #[error("a variable-length integer of more than 32 bits")]
    VarintTooLong,
    /// Null where the version allows none.
    #[error("null in a field that is never null")]
    Null,
    /// A string is not UTF-8.
    #[error("a string that is not UTF-8")]
    InvalidUtf8,
    /// A string is longer than [`STRING_BYTES_MAX`].
    #[error("a string of {bytes} bytes")]
    StringTooLong {
        /// Its declared length.
        bytes: usize,
    },
    /// An array declares more elements than the remaining bytes can hold.
    #[error("an array of {elements} elements where {remaining} bytes remain")]
    ArrayTooLong {
        /// The declared number of elements.
        elements: usize,
        /// Bytes that were left.
        remaining: usize,
    },
    /// The decoded structures would take far more memory than the frame itself.
    #[error("a message that takes more memory than its length allows")]
    BudgetExceeded,
    /// A tagged field that the message knows, in a version that lacks it.
    #[error("tag {tag} in a version that does not have it")]
    TagNotInVersion {
        /// The tag's number.
        tag: u32,
    },
    /// A tagged field is shorter or longer than its declared size.
    #[error("tag {tag} has another size than declared")]
    TagSize {
        /// The tag's number.
        tag: u32,
    },
    /// The message does not exist in this version.
    #[error("version {version} does not exist")]
    UnsupportedVersion {
        /// The version asked for.
        version: i16,
    },
}

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
        Decoder { bytes, budget: bytes.len().saturating_mul(BUDGET_PER_BYTE).saturating_add(BUDGET_BASE_BYTES) }
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
        let length = if is_flexible { self.get_compact_length()? } else { usize::try_from(self.get_i16()?).ok() };
        let Some(length) = length else { return Ok(None) };
        if length > STRING_BYTES_MAX {
            return Err(DecodeError::StringTooLong { bytes: length });
        }
        std::str::from_utf8(self.take(length)?).map(Some).map_err(|_| DecodeError::InvalidUtf8)
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

    #[inline]
    fn get_compact_length(&mut self) -> Result<Option<usize>, DecodeError> {
        let length = self.get_unsigned_varint()?;
        Ok(length.checked_sub(1).and_then(|length| usize::try_from(length).ok()))
    }
}

/// Writes one message into one growing buffer. A hole is counted in every length but has no bytes: whoever sends the frame fills it.
#[derive(Debug, Default)]
pub struct Encoder {
    bytes: Vec<u8>,
    holes: Vec<Hole>,
}

impl Encoder {
    /// A writer with room for `capacity` bytes before it grows.
    pub fn with_capacity(capacity: usize) -> Encoder {
        Encoder { bytes: Vec::with_capacity(capacity), holes: Vec::new() }
    }

    /// The bytes written so far, without the holes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes and the holes between them.
    pub fn into_parts(self) -> (Vec<u8>, Vec<Hole>) {
        (self.bytes, self.holes)
    }

    /// Bytes written and left out so far, together.
    pub fn length(&self) -> usize {
        self.holes.iter().fold(self.bytes.len(), |length, hole| length + hole.bytes)
    }

    /// Bytes as they are, without a length.
    #[inline]
    pub fn put_slice(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// An `INT8`.
    #[inline]
    pub fn put_i8(&mut self, value: i8) {
        self.put_slice(&value.to_be_bytes());
    }

    /// An `INT16`.
    #[inline]
    pub fn put_i16(&mut self, value: i16) {
        self.put_slice(&value.to_be_bytes());
    }

    /// A `UINT16`.
    #[inline]
    pub fn put_u16(&mut self, value: u16) {
        self.put_slice(&value.to_be_bytes());
    }

    /// An `INT32`.
    #[inline]
    pub fn put_i32(&mut self, value: i32) {
        self.put_slice(&value.to_be_bytes());
    }

    /// An `INT64`.
    #[inline]
    pub fn put_i64(&mut self, value: i64) {
        self.put_slice(&value.to_be_bytes());
    }

    /// An `UNSIGNED_VARINT`.
    #[inline]
    pub fn put_unsigned_varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// A string or null. A string beyond [`STRING_BYTES_MAX`] has no wire form and is cut at the last character that fits.
    #[inline]
    pub fn put_string(&mut self, value: Option<&str>, is_flexible: bool) {
        let value =
            value.map(|text| text.split_at_checked(text.floor_char_boundary(STRING_BYTES_MAX)).map_or("", |cut| cut.0));
        match (value, is_flexible) {
            (Some(text), true) => self.put_length(Some(text.len()), true),
            (Some(text), false) => self.put_i16(i16::try_from(text.len()).expect("cut to STRING_BYTES_MAX")),
            (None, true) => self.put_length(None, true),
            (None, false) => self.put_i16(-1),
        }
        self.put_slice(value.unwrap_or_default().as_bytes());
    }

    /// Bytes or null.
    #[inline]
    pub fn put_bytes(&mut self, value: Option<&[u8]>, is_flexible: bool) {
        self.put_length(value.map(<[u8]>::len), is_flexible);
        self.put_slice(value.unwrap_or_default());
    }

    /// The length of bytes or the number of elements of an array, or null.
    #[inline]
    pub fn put_length(&mut self, length: Option<usize>, is_flexible: bool) {
        let length = length.map_or(-1, |length| i32::try_from(length).expect("one message is shorter than 2 GiB"));
        if is_flexible {
            self.put_unsigned_varint(length.wrapping_add(1).cast_unsigned());
        } else {
            self.put_i32(length);
        }
    }

    /// Leaves `bytes` bytes out at this place.
    pub fn put_hole(&mut self, bytes: usize) {
        if bytes > 0 {
            self.holes.push(Hole { at: self.bytes.len(), bytes });
        }
    }

    /// A tagged field: tag, size, and the value that `write` writes, which must not leave a hole.
    pub fn put_tagged(&mut self, tag: u32, write: impl FnOnce(&mut Encoder)) {
        self.put_unsigned_varint(tag);
        let start = self.bytes.len();
        write(self);
        let value_bytes = self.bytes.len() - start;
        // The size stands before the value but is known only after it: append it, then turn the two round.
        self.put_unsigned_varint(u32::try_from(value_bytes).expect("one message is shorter than 2 GiB"));
        let size_bytes = self.bytes.len() - start - value_bytes;
        if let Some(field) = self.bytes.get_mut(start..) {
            field.rotate_right(size_bytes);
        }
    }

    /// Overwrites the four bytes at `at` with `value`: a length that is known only at the end.
    pub(super) fn set_i32(&mut self, at: usize, value: i32) {
        if let Some(place) = self.bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<4>()) {
            *place = value.to_be_bytes();
        }
    }
}
