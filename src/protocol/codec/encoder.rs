//! A writer of one message into one buffer, which can leave holes for bytes that are elsewhere.
//!
//! It must not know any message, nor what fills a hole.

use crate::limits::STRING_BYTES_MAX;
use crate::protocol::frame::Hole;

/// Writes one message into one growing buffer. A hole is counted in every length but has no bytes: whoever sends the frame fills it.
#[derive(Debug)]
pub struct Encoder {
    bytes: Vec<u8>,
    holes: Vec<Hole>,
    bytes_max: usize,
    is_too_long: bool,
}

impl Default for Encoder {
    fn default() -> Encoder {
        Encoder::bounded(0, usize::MAX)
    }
}

impl Encoder {
    /// A writer with room for `capacity` bytes before it grows.
    pub fn with_capacity(capacity: usize) -> Encoder {
        Encoder::bounded(capacity, usize::MAX)
    }

    /// A writer that keeps at most `bytes_max` bytes: once that is too little it takes no more, and what it has is of no use.
    pub(in crate::protocol) fn bounded(capacity: usize, bytes_max: usize) -> Encoder {
        Encoder { bytes: Vec::with_capacity(capacity), holes: Vec::new(), bytes_max, is_too_long: false }
    }

    /// Whether something was left out since it did not fit, into the bound or into a length of the protocol.
    pub(in crate::protocol) fn is_too_long(&self) -> bool {
        self.is_too_long
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
        if self.is_too_long || bytes.len() > self.bytes_max - self.bytes.len() {
            self.is_too_long = true;
            return;
        }
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
            self.put_slice(&[(value & 0x7f) as u8 | 0x80]);
            value >>= 7;
        }
        self.put_slice(&[value as u8]);
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
        let length = length.map_or(-1, |length| i32::try_from(length).unwrap_or_else(|_| self.refuse_length()));
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
        let length = i32::try_from(value_bytes).unwrap_or_else(|_| self.refuse_length());
        self.put_unsigned_varint(length.cast_unsigned());
        let size_bytes = self.bytes.len() - start - value_bytes;
        if let Some(field) = self.bytes.get_mut(start..) {
            field.rotate_right(size_bytes);
        }
    }

    /// The protocol has no such length. What stands in for it is never sent.
    #[cold]
    fn refuse_length(&mut self) -> i32 {
        self.is_too_long = true;
        0
    }

    /// Overwrites the four bytes at `at` with `value`: a length that is known only at the end.
    pub(in crate::protocol) fn set_i32(&mut self, at: usize, value: i32) {
        if let Some(place) = self.bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<4>()) {
            *place = value.to_be_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Encoder;
    use crate::limits::STRING_BYTES_MAX;
    use crate::protocol::codec::Decoder;

    #[test]
    fn lengths_are_plain_or_compact() {
        let mut encoder = Encoder::default();
        encoder.put_string(Some("ab"), false);
        encoder.put_string(Some("ab"), true);
        encoder.put_string(None, false);
        encoder.put_string(None, true);
        encoder.put_bytes(Some(&[9]), false);
        encoder.put_bytes(Some(&[9]), true);
        encoder.put_length(Some(300), true);
        let expected: &[u8] = &[0, 2, b'a', b'b', 3, b'a', b'b', 0xff, 0xff, 0, 0, 0, 0, 1, 9, 2, 9, 0xad, 0x02];
        assert_eq!(encoder.bytes(), expected);
    }

    #[test]
    fn a_tagged_field_has_its_size_in_front_even_if_that_takes_two_bytes() {
        let mut encoder = Encoder::default();
        encoder.put_tagged(1, |encoder| encoder.put_i16(7));
        assert_eq!(encoder.bytes(), [1, 2, 0, 7]);
        encoder.put_tagged(2, |encoder| encoder.put_slice(&[5; 200]));
        assert_eq!(encoder.bytes().get(4..8), Some(&[2, 0xc8, 0x01, 5][..]));
        assert_eq!(encoder.bytes().len(), 4 + 3 + 200);
    }

    #[test]
    fn a_bounded_writer_keeps_no_more_than_its_bound_and_says_so() {
        let mut encoder = Encoder::bounded(0, 5);
        encoder.put_i32(1);
        assert!(!encoder.is_too_long());
        encoder.put_bytes(Some(&[7; 100]), true);
        encoder.put_tagged(0, |encoder| encoder.put_i16(7));
        assert!(encoder.is_too_long());
        assert_eq!(encoder.bytes(), [0, 0, 0, 1, 101]);
    }

    #[test]
    fn a_length_that_the_protocol_cannot_carry_makes_the_message_too_long() {
        let mut encoder = Encoder::default();
        encoder.put_length(Some(1 << 31), true);
        assert!(encoder.is_too_long());
    }

    #[test]
    fn a_string_without_wire_form_is_cut_at_a_character() {
        let text = "é".repeat(STRING_BYTES_MAX);
        for is_flexible in [false, true] {
            let mut encoder = Encoder::default();
            encoder.put_string(Some(&text), is_flexible);
            let decoded = Decoder::new(encoder.bytes()).get_string(is_flexible);
            assert_eq!(decoded.map(|text| text.map(str::len)), Ok(Some(STRING_BYTES_MAX - 1)));
        }
    }
}
