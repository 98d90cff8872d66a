//! Draws random messages from a seed, for round-trip and differential tests here and in other crates.
//!
//! It must not be used outside tests; the numbers are not stable between versions.

use crate::types::TopicId;

const TEXTS: [&str; 8] = ["", "a", "topic", "group-1", "ünïcödé ✓", "host.example", "0123456789abcdef", "x_y.z"];
const BYTES: [&[u8]; 5] = [&[], &[0], &[0xff, 0x80, 0x7f], b"some bytes of a record", &[7; 200]];

/// A source of field values: edge values often, small arrays always.
#[derive(Clone, Debug)]
pub struct Sampler {
    state: u64,
    depth_budget: u64,
}

impl Sampler {
    /// A source that always draws the same for the same seed.
    pub fn new(seed: u64) -> Sampler {
        Sampler { state: seed, depth_budget: 64 }
    }

    /// A number below `bound`, which must not be zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(super) fn integer(&mut self) -> u64 {
        match self.below(6) {
            0 => 0,
            1 => u64::MAX,
            2 => 0x8000_0000_0000_0000 >> self.below(64),
            3 => self.below(200),
            _ => self.next(),
        }
    }

    pub(super) fn uuid(&mut self) -> TopicId {
        if self.below(4) == 0 {
            return TopicId::ZERO;
        }
        TopicId((u128::from(self.next()) << 64 | u128::from(self.next())).to_be_bytes())
    }

    pub(super) fn text(&mut self) -> &'static str {
        let choice = self.below(TEXTS.len() as u64) as usize;
        TEXTS.get(choice).copied().unwrap_or_default()
    }

    pub(super) fn bytes(&mut self) -> &'static [u8] {
        let choice = self.below(BYTES.len() as u64) as usize;
        BYTES.get(choice).copied().unwrap_or_default()
    }

    /// How many elements an array gets. The sum over a message is bounded, so that nested arrays do not explode.
    pub(super) fn elements(&mut self) -> u64 {
        let elements = self.below(4).min(self.depth_budget);
        self.depth_budget -= elements;
        elements
    }

    /// The next number of SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
