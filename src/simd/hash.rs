//! The hashes of words.

use super::{Instructions, Level, Loop, Run};

/// Words up to this many bytes are hashed as two halves of 64 bits.
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

/// How a short word is hashed.
#[derive(Clone, Copy, Debug)]
pub struct WordMix {
    pub seed: u64,
    /// The bit that tells an ASCII letter's cases apart, in each byte; 0 where case is kept.
    pub case_bits: u64,
}

impl WordMix {
    /// The hash of a word of at most [`SHORT_BYTES_MAX`] bytes, as it is.
    #[inline]
    pub fn hash(self, word: &[u8]) -> u64 {
        let mut padded = [0; SHORT_BYTES_MAX];
        padded[..word.len()].copy_from_slice(word);
        let word_bits = u128::from_le_bytes(padded);
        self.mix(word_bits as u64, (word_bits >> 64) as u64, word.len())
    }

    /// The hash of a word of ASCII letters and digits, lowercased if that is wanted.
    #[inline]
    pub fn hash_ascii(self, word_bits: u128, bytes: usize) -> u64 {
        self.mix(self.lower(word_bits as u64), self.lower((word_bits >> 64) as u64), bytes)
    }

    /// Among ASCII letters and digits, those with bit 6 are the letters.
    #[inline]
    fn lower(self, half: u64) -> u64 {
        half | half >> 1 & self.case_bits
    }

    /// One multiplication would leave the last letter of a long word only the highest bits to act
    /// on; three reach all of them. For a given length every step is a bijection of the low half
    /// and of the high one, so words that differ in one half only never collide.
    #[inline]
    fn mix(self, low: u64, high: u64, bytes: usize) -> u64 {
        let mut h = (low ^ self.seed).wrapping_mul(PRIME_1);
        h ^= h >> 32;
        h = (h ^ high).wrapping_add((bytes as u64).wrapping_mul(PRIME_3)).wrapping_mul(PRIME_2);
        h ^= h >> 32;
        h = h.wrapping_mul(PRIME_1);
        h ^ h >> 29
    }
}

/// What became of runs.
#[derive(Debug, Default)]
pub struct Hashed {
    /// A hash for each run, and some more; of the runs below they mean nothing.
    pub hashes: Vec<u64>,
    /// The numbers of the runs that are no short ASCII words, or that end too near to the end of
    /// the text to be read at once; ascending.
    pub others: Vec<u32>,
}

/// Hashes the runs of a text that are short ASCII words.
///
/// # Panics
/// If a run is not within the text.
pub fn hash_runs(level: Level, mix: WordMix, text: &[u8], runs: &[Run], hashed: &mut Hashed) {
    let within = runs.last().is_none_or(|last| last.end as usize <= text.len());
    assert!(within, "runs are of this text, in its order");
    hashed.others.clear();
    hashed.hashes.resize(runs.len().next_multiple_of(8), 0);
    match level.0 {
        // SAFETY: a level is only made if the machine has its instructions.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => unsafe { super::avx512::hash_runs(mix, text, runs, hashed) },
        _ => level.run(OneByOne { mix, text, runs, hashed }),
    }
}

/// Multiplying 64 bits in vectors takes AVX-512: without, one word after the other is faster.
struct OneByOne<'a> {
    mix: WordMix,
    text: &'a [u8],
    runs: &'a [Run],
    hashed: &'a mut Hashed,
}

impl Loop for OneByOne<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Hashed { hashes, others } = self.hashed;
        for ((number, run), hash) in (0..).zip(self.runs).zip(hashes) {
            let bytes = (run.end - run.start) as usize;
            let loaded = self.text[run.start as usize..].first_chunk();
            match (loaded, KEEP.get(bytes)) {
                (Some(loaded), Some(keep)) => {
                    let word_bits = u128::from_le_bytes(*loaded) & keep;
                    *hash = self.mix.hash_ascii(word_bits, bytes);
                    if word_bits & NOT_ASCII != 0 {
                        others.push(number);
                    }
                }
                _ => others.push(number),
            }
        }
    }
}

/// The high bit of each byte.
const NOT_ASCII: u128 = u128::from_ne_bytes([0x80; 16]);
