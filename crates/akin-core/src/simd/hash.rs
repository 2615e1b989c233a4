//! The hashes of words.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Loop;

/// Words of at most this many bytes are hashed as two 64-bit halves.
pub const SHORT_BYTES_MAX: usize = 16;

/// The primes of XXH64 (<https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>).
const PRIME_1: u64 = 0x9E37_79B1_85EB_CA87;
/// The second prime of XXH64.
pub const PRIME_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
/// The third prime of XXH64.
pub const PRIME_3: u64 = 0x1656_67B1_9E37_79F9;

/// Words that are hashed side by side.
const LANES: usize = 8;

/// The hash function of words, chosen by a seed: NH (Black, Halevi, Krawczyk, Krovetz and Rogaway
/// 1999, UMAC) with two keys, and a finaliser. Without the seed nobody can choose two words that
/// collide with a probability above 2⁻³², and other words collide as rarely as 64-bit hashes do.
#[derive(Clone, Copy, Debug)]
pub struct WordMix {
    seed: u64,
    /// Two for each half of a word: a 32-bit number in either half of each.
    keys: [[u64; 2]; 2],
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
        self.mix(halves(&padded))
    }

    /// The second sum is rotated, so that all bits of the hash depend on high bits of a product.
    #[inline(always)]
    fn mix(&self, [first_half, second_half]: [u64; 2]) -> u64 {
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

/// Two little-endian numbers.
#[inline(always)]
fn halves(bytes: &[u8; SHORT_BYTES_MAX]) -> [u64; 2] {
    let (halves, _) = bytes.as_chunks();
    [u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1])]
}

/// Keeps the lowest `bits` bits of a number: all from 64 on.
#[inline(always)]
fn keep(number: u64, bits: u64) -> u64 {
    let dropped = 64_u64.saturating_sub(bits);
    number & if dropped > 63 { 0 } else { u64::MAX >> dropped }
}

/// Hashes all words of a text. Words are loaded one by one, since gathering them would be slower,
/// and hashed side by side.
pub(super) struct Hashing<'a> {
    pub mix: WordMix,
    /// Continues after the last word for the maximum length of a short word.
    pub text: &'a [u8],
    /// Starts and ends are padded with zeros to a multiple of eight.
    pub starts: &'a [u32],
    pub ends: &'a [u32],
    /// The number of words.
    pub count: usize,
    /// Where the hashes are added.
    pub hashes: &'a mut Vec<u64>,
}

impl Loop for Hashing<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { mix, text, starts, ends, count, hashes } = self;
        let count = hashes.len() + count;
        let (starts, _) = starts.as_chunks::<LANES>();
        let (ends, _) = ends.as_chunks::<LANES>();
        for (starts, ends) in starts.iter().zip(ends) {
            let (mut loaded, mut longest) = ([[0; 2]; LANES], 0);
            for lane in 0..LANES {
                let first = text[starts[lane] as usize..].first_chunk();
                loaded[lane] = halves(first.expect("the text has slack"));
                longest = longest.max(ends[lane].wrapping_sub(starts[lane]));
            }
            let mut group = [0; LANES];
            for lane in 0..LANES {
                // A place of no word has an end of 0, and its hash is dropped.
                let bits = 8 * u64::from(ends[lane].wrapping_sub(starts[lane]));
                let [low, high] = loaded[lane];
                group[lane] = mix.mix([keep(low, bits), keep(high, bits.saturating_sub(64))]);
            }
            if longest as usize > SHORT_BYTES_MAX {
                for lane in 0..LANES {
                    let word = starts[lane] as usize..ends[lane] as usize;
                    if word.len() > SHORT_BYTES_MAX {
                        group[lane] = mix.hash(&text[word]);
                    }
                }
            }
            hashes.extend_from_slice(&group);
        }
        hashes.truncate(count);
    }
}
