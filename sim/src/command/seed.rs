//! A seed as people write it: decimal, hexadecimal with `0x`, or the name of a commit.
//!
//! It must not know what a seed is for.

/// Digits of a commit that make a seed.
const COMMIT_DIGITS: usize = 16;
/// The shortest name of a commit.
const COMMIT_DIGITS_MIN: usize = 7;

/// Reads a seed. A commit's name counts by its first sixteen digits; one of decimal digits alone is a decimal number.
pub(super) fn parse(text: &str) -> Result<u64, String> {
    let seed = if let Some(digits) = text.strip_prefix("0x") {
        u64::from_str_radix(digits, 16).ok()
    } else if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok()
    } else if text.len() >= COMMIT_DIGITS_MIN && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        u64::from_str_radix(text.get(..COMMIT_DIGITS).unwrap_or(text), 16).ok()
    } else {
        None
    };
    seed.ok_or_else(|| format!("'{text}' is no seed: a seed is a number such as 17 or 0x1f, or the hash of a commit"))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_seed_is_decimal_hexadecimal_or_a_commit() {
        assert_eq!(parse("17"), Ok(17));
        assert_eq!(parse("0x1F"), Ok(31));
        assert_eq!(parse("c66110f"), Ok(0xc66_110f));
        assert_eq!(parse("00a304e5cd17f9b2a6a1e4a7ad5c1d8c99e0b6d3"), Ok(0x00a3_04e5_cd17_f9b2));
        for wrong in ["", "banana", "c6611", "-1", "18446744073709551616", "0x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
