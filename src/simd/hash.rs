//! The hashes of words.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Loop;
use super::words::WordPlaces;

/// Words of at most this many bytes are hashed as two 64-bit halves.
pub const SHORT_BYTES_MAX: usize = 16;

/// The primes of XXH64 (<https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>).
pub(super) const PRIME_1: u64 = 0x9E37_79B1_85EB_CA87;
pub const PRIME_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
pub const PRIME_3: u64 = 0x1656_67B1_9E37_79F9;

/// `KEEP[n]` keeps the first n bytes of a little-endian load.
const KEEP: [u128; SHORT_BYTES_MAX + 1] = keep();

const fn keep() -> [u128; SHORT_BYTES_MAX + 1] {
    let mut masks = [0; SHORT_BYTES_MAX + 1];
    let mut bytes = 1;
    while bytes <= SHORT_BYTES_MAX {
        masks[bytes] = u128::MAX >> (128 - 8 * bytes);
        bytes += 1;
    }
    masks
}

/// The hash function of words.
#[derive(Clone, Copy, Debug)]
pub struct WordMix {
    pub seed: u64,
}

impl WordMix {
    /// The hash of a word's bytes, without case folding.
    #[inline]
    pub fn hash(self, word: &[u8]) -> u64 {
        if word.len() > SHORT_BYTES_MAX {
            return xxh3_64_with_seed(word, self.seed);
        }
        let mut padded = [0; SHORT_BYTES_MAX];
        padded[..word.len()].copy_from_slice(word);
        let word_bits = u128::from_le_bytes(padded);
        self.mix(word_bits as u64, (word_bits >> 64) as u64, word.len())
    }

    /// With one multiplication, the last letter of a long word would affect only the highest bits;
    /// three reach all bits. For a given length every step is a bijection of either half, so words
    /// that differ in only one half never collide.
    #[inline(always)]
    fn mix(self, low: u64, high: u64, bytes: usize) -> u64 {
        let mut h = (low ^ self.seed).wrapping_mul(PRIME_1);
        h ^= h >> 32;
        h = (h ^ high).wrapping_add((bytes as u64).wrapping_mul(PRIME_3)).wrapping_mul(PRIME_2);
        h ^= h >> 32;
        h = h.wrapping_mul(PRIME_1);
        h ^ h >> 29
    }
}

/// Vector multiplication of 64 bits needs AVX-512; without it, hashing words one by one is faster.
pub(super) struct OneByOne<'a> {
    pub mix: WordMix,
    pub words: WordPlaces<'a>,
    pub hashes: &'a mut Vec<u64>,
}

impl Loop for OneByOne<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { mix, words, hashes } = self;
        let before = hashes.len();
        hashes.resize(before + words.count, 0);
        let places = words.starts.iter().zip(words.ends);
        for (hash, (&start, &end)) in hashes[before..].iter_mut().zip(places) {
            let bytes = (end - start) as usize;
            let loaded = words.text[start as usize..].first_chunk();
            *hash = match (loaded, KEEP.get(bytes)) {
                (Some(loaded), Some(keep)) => {
                    let word_bits = u128::from_le_bytes(*loaded) & keep;
                    mix.mix(word_bits as u64, (word_bits >> 64) as u64, bytes)
                }
                _ => mix.hash(&words.text[start as usize..end as usize]),
            };
        }
    }
}
