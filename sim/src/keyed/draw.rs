//! One decided number, and how smaller numbers are taken from it. The arithmetic is written out, since seeds must outlive crates.
//!
//! It must not know which decision it belongs to.

/// A million: probabilities are parts of it.
pub(super) const MILLION: u64 = 1_000_000;

/// The quantiles of an exponential distribution of mean 1 024 at (i + 1/2) / 32.
const EXPONENTIAL: [u64; 32] = [
    16, 49, 83, 119, 155, 193, 233, 273, 316, 361, 407, 456, 507, 560, 617, 677, 740, 807, 879, 956, 1_038, 1_128,
    1_225, 1_332, 1_451, 1_585, 1_740, 1_921, 2_142, 2_427, 2_834, 3_548,
];

/// A decided number of 64 bits, or a number that an override put in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    bits: u64,
    fixed: Option<u64>,
}

impl Draw {
    pub(super) fn new(bits: u64) -> Draw {
        Draw { bits, fixed: None }
    }

    pub(super) fn fixed(bits: u64, value: u64) -> Draw {
        Draw { bits, fixed: Some(value) }
    }

    /// A number below `bound`; 0 if `bound` is 0. An override's number is clipped to fit.
    pub fn below(self, bound: u64) -> u64 {
        match self.fixed {
            Some(value) => value.min(bound.saturating_sub(1)),
            None => multiply_high(self.bits, bound),
        }
    }

    /// A number from `low` to `high`, both included.
    pub fn between(self, low: u64, high: u64) -> u64 {
        low.saturating_add(self.below(high.saturating_sub(low).saturating_add(1)))
    }

    /// Whether something with a probability of `parts` in a million happens.
    pub fn happens(self, parts: u32) -> bool {
        self.below(MILLION) < u64::from(parts)
    }

    /// A number with about an exponential distribution of this mean; an override's number stands as it is.
    pub fn exponential(self, mean: u64) -> u64 {
        if let Some(value) = self.fixed {
            return value;
        }
        let quantile = EXPONENTIAL[(self.bits >> 59) as usize];
        mean.saturating_mul(quantile) / 1_024
    }

    /// Another number of the same decision. Overrides reach only the decision's first number.
    pub fn part(self, index: u64) -> Draw {
        Draw::new(mix(self.bits.wrapping_add(mix(index.wrapping_add(0x6a09_e667_f3bc_c909)))))
    }

    /// 32 bytes to seed a generator for whatever wants a stream.
    pub fn seed(self) -> [u8; 32] {
        let mut seed = [0; 32];
        for (index, chunk) in (0..).zip(seed.chunks_exact_mut(8)) {
            chunk.copy_from_slice(&self.part(index).bits.to_le_bytes());
        }
        seed
    }
}

/// The finaliser of SplitMix64: every bit of the input reaches every bit of the output.
pub(crate) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Maps 64 even bits to `0..bound`: the high half of the product, no division, no rejection.
fn multiply_high(bits: u64, bound: u64) -> u64 {
    ((u128::from(bits) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_never_changes() {
        assert_eq!(mix(0), 0);
        assert_eq!(mix(1), 0x5692_161d_100b_05e5);
        assert_eq!(Draw::new(u64::MAX).below(10), 9);
        assert_eq!(Draw::new(0).below(10), 0);
        assert_eq!(Draw::new(1 << 63).below(10), 5);
    }

    #[test]
    fn a_range_is_covered_and_never_left() {
        let mut seen = [0u32; 7];
        for index in 0..7_000 {
            let value = Draw::new(mix(index)).between(3, 9);
            seen[usize::try_from(value - 3).unwrap()] += 1;
        }
        assert!(seen.iter().all(|count| (800..1_200).contains(count)), "{seen:?}");
        assert_eq!(Draw::new(77).below(0), 0);
        assert_eq!(Draw::new(77).between(5, 5), 5);
    }

    #[test]
    fn an_exponential_delay_has_its_mean() {
        let sum: u64 = (0..10_000).map(|index| Draw::new(mix(index)).exponential(1_000)).sum();
        assert!((9_300_000..10_500_000).contains(&sum), "{sum}");
    }

    #[test]
    fn an_override_is_clipped_to_the_range() {
        assert_eq!(Draw::fixed(9, 100).below(10), 9);
        assert_eq!(Draw::fixed(9, 0).between(5, 6), 5);
    }
}
