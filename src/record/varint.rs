//! Zig-zag variable-length integers, as records use them for lengths and deltas.
//!
//! It must not know what a number means. Whatever would need more bits than the type has is refused, not cut.

/// Bytes of the longest number.
pub(super) const LONGEST_BYTES: usize = 10;

/// Takes a 32-bit number off the front of `input`; `None` if the bytes end inside it or it is too large.
pub(super) fn read_varint(input: &mut &[u8]) -> Option<i32> {
    // Most deltas and many lengths are one byte; the general case stands behind.
    if let [first @ 0..0x80, rest @ ..] = *input {
        *input = rest;
        return Some(unzigzag_32(u32::from(*first)));
    }
    let raw = u32::try_from(read_unsigned(input, 5)?).ok()?;
    Some(unzigzag_32(raw))
}

/// Takes a 64-bit number off the front of `input`; `None` if the bytes end inside it or it is too large.
pub(super) fn read_varlong(input: &mut &[u8]) -> Option<i64> {
    let raw = read_unsigned(input, 10)?;
    Some(((raw >> 1) as i64) ^ -((raw & 1) as i64))
}

fn unzigzag_32(raw: u32) -> i32 {
    ((raw >> 1) as i32) ^ -((raw & 1) as i32)
}

fn read_unsigned(input: &mut &[u8], bytes_max: u32) -> Option<u64> {
    let mut raw = 0u64;
    for index in 0..bytes_max {
        let (first, rest) = input.split_first()?;
        *input = rest;
        let bits = u64::from(first & 0x7f);
        let shifted = bits << (7 * index);
        if shifted >> (7 * index) != bits {
            return None;
        }
        raw |= shifted;
        if first & 0x80 == 0 {
            return Some(raw);
        }
    }
    None
}

/// Takes a 32-bit number without sign off the front of `input`, as messages of a flexible version use it.
pub(super) fn read_unsigned_varint(input: &mut &[u8]) -> Option<u32> {
    u32::try_from(read_unsigned(input, 5)?).ok()
}

/// Appends a 32-bit number without sign.
pub(super) fn write_unsigned_varint(output: &mut Vec<u8>, number: u32) {
    write_raw(output, u64::from(number));
}

/// Appends a 32-bit number.
pub(super) fn write_varint(output: &mut Vec<u8>, number: i32) {
    write_varlong(output, i64::from(number));
}

/// Appends a 64-bit number.
pub(super) fn write_varlong(output: &mut Vec<u8>, number: i64) {
    write_raw(output, zigzag(number));
}

fn write_raw(output: &mut Vec<u8>, mut raw: u64) {
    while raw >= 0x80 {
        output.push((raw as u8 & 0x7f) | 0x80);
        raw >>= 7;
    }
    output.push(raw as u8);
}

/// How many bytes a number takes.
pub(super) fn varlong_bytes(number: i64) -> usize {
    let bits = (u64::BITS - zigzag(number).leading_zeros()).max(1);
    bits.div_ceil(7) as usize
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_encodings_are_met() {
        for (number, bytes) in [
            (0i32, &[0u8][..]),
            (-1, &[1]),
            (1, &[2]),
            (63, &[0x7e]),
            (-64, &[0x7f]),
            (64, &[0x80, 0x01]),
            (i32::MAX, &[0xfe, 0xff, 0xff, 0xff, 0x0f]),
            (i32::MIN, &[0xff, 0xff, 0xff, 0xff, 0x0f]),
        ] {
            let mut written = Vec::new();
            write_varint(&mut written, number);
            assert_eq!(written, bytes);
            assert_eq!(read_varint(&mut &bytes[..]), Some(number));
        }
    }

    #[test]
    fn numbers_with_too_many_bits_are_refused() {
        assert_eq!(read_varint(&mut &[0xff, 0xff, 0xff, 0xff, 0x1f][..]), None);
        assert_eq!(read_varint(&mut &[0x80, 0x80, 0x80, 0x80, 0x80, 0x00][..]), None);
        assert_eq!(read_varlong(&mut &[0xff; 10][..]), None);
        assert_eq!(read_varlong(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02][..]), None);
    }

    proptest! {
        #[test]
        fn every_number_survives_and_has_the_length_foretold(number: i64) {
            let mut written = Vec::new();
            write_varlong(&mut written, number);
            prop_assert_eq!(written.len(), varlong_bytes(number));
            for cut in 0..written.len() {
                prop_assert_eq!(read_varlong(&mut &written[..cut]), None);
            }
            let mut input = &written[..];
            prop_assert_eq!(read_varlong(&mut input), Some(number));
            prop_assert!(input.is_empty());
        }
    }
}
