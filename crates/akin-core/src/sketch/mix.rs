//! The hash functions of sketches.

use crate::text::finalise;

/// An odd factor without pattern: the fractional part of the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A bijection applied to every shingle first, so that sampled shingles ("0 mod m") and shingles
/// hashed with the same seed do not bias the sketch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remix {
    seed: u64,
}

impl Remix {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed: finalise(seed.wrapping_add(GOLDEN)) }
    }

    /// The high half depends on all bits of the shingle, and the low half on the high half.
    #[inline]
    pub(super) fn apply(self, shingle: u64) -> u64 {
        let h = (shingle ^ self.seed).wrapping_mul(GOLDEN);
        h ^ h >> 32
    }
}

/// The splitmix64 generator (Steele, Lea, Flood 2014): pseudo-random numbers from a seed.
#[derive(Clone, Debug)]
pub(super) struct SplitMix(u64);

impl SplitMix {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
