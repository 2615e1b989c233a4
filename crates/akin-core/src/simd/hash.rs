//! The hashes of words.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Loop;
use super::words::WordPlaces;

/// Words of at most this many bytes are hashed as two 64-bit halves.
pub const SHORT_BYTES_MAX: usize = 16;

/// The primes of XXH64 (<https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>).
pub(super) const PRIME_1: u64 = 0x9E37_79B1_85EB_CA87;
/// The second prime of XXH64.
pub const PRIME_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
/// The third prime of XXH64.
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

/// The hash function of words, chosen by a seed: NH (Black, Halevi, Krawczyk, Krovetz and Rogaway
/// 1999, UMAC) with two keys, and a finaliser. Without the seed nobody can choose two words that
/// collide with a probability above 2⁻³², and other words collide as rarely as 64-bit hashes do.
#[derive(Clone, Copy, Debug)]
pub struct WordMix {
    seed: u64,
    /// Two for each half of a word: a 32-bit number in either half of each.
    pub(super) keys: [[u64; 2]; 2],
}

impl WordMix {
    /// The hash function of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let key = |index| xxh3_64_with_seed(b"a key of the hash of words", seed ^ index);
        Self { seed, keys: [[key(1), key(2)], [key(3), key(4)]] }
    }

    /// The hash of a word's bytes, none of which is 0, without case folding.
    #[must_use]
    #[inline]
    pub fn hash(&self, word: &[u8]) -> u64 {
        if word.len() > SHORT_BYTES_MAX {
            return xxh3_64_with_seed(word, self.seed);
        }
        let mut padded = [0; SHORT_BYTES_MAX];
        padded[..word.len()].copy_from_slice(word);
        self.mix(u128::from_le_bytes(padded))
    }

    /// The second sum is rotated, so that all bits of the hash depend on high bits of a product.
    #[inline(always)]
    fn mix(&self, word: u128) -> u64 {
        let (first_half, second_half) = (word as u64, (word >> 64) as u64);
        let [first, second] = self.keys.map(|[low, high]| {
            keyed_product(first_half, low).wrapping_add(keyed_product(second_half, high))
        });
        let mut h = first.wrapping_add(second.rotate_left(32));
        h = (h ^ h >> 32).wrapping_mul(PRIME_2);
        h = (h ^ h >> 29).wrapping_mul(PRIME_1);
        h ^ h >> 32
    }
}

/// The product of the two 32-bit numbers in `half`, each with that of the key added.
#[inline(always)]
fn keyed_product(half: u64, key: u64) -> u64 {
    let low = (half as u32).wrapping_add(key as u32);
    let high = ((half >> 32) as u32).wrapping_add((key >> 32) as u32);
    u64::from(low) * u64::from(high)
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
                (Some(loaded), Some(keep)) => mix.mix(u128::from_le_bytes(*loaded) & keep),
                _ => mix.hash(&words.text[start as usize..end as usize]),
            };
        }
    }
}
