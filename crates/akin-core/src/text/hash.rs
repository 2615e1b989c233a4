//! Word hashes, and how they combine to shingles.
//!
//! Both use only 64-bit multiplications (low half), shifts, exclusive ors and additions, so that
//! eight words fit a vector register. Their results decide the stored data: a change breaks the
//! golden shingles in `golden.rs` and every existing collection.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::simd::{Level, Loop, PRIME_2, PRIME_3};

/// The maximum number of units in a shingle.
pub(super) const UNITS_MAX: usize = 64;

/// A set of hashes.
pub(super) type HashesSet = HashSet<u64, BuildHasherDefault<Unhashed>>;

/// A map from hashes.
pub(crate) type HashesMap<V> = HashMap<u64, V, BuildHasherDefault<Unhashed>>;

/// Takes hashes as they are, without hashing them again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unhashed(u64);

impl Hasher for Unhashed {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("hashes are written whole");
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// An odd factor for each place in a shingle, so that "a b" is not "b a".
const PLACES: [u64; UNITS_MAX] = places();

const fn places() -> [u64; UNITS_MAX] {
    let mut factors = [0; UNITS_MAX];
    let mut place = 0;
    while place < UNITS_MAX {
        factors[place] = split_mix(place as u64) | 1;
        place += 1;
    }
    factors
}

/// Output `index` of the splitmix64 generator started at 0 (Steele, Lea, Flood 2014).
const fn split_mix(index: u64) -> u64 {
    let mut z = (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The 64-bit finaliser of MurmurHash3 (Appleby 2011): a bijection with full avalanche.
#[inline(always)]
pub(crate) const fn finalise(mut h: u64) -> u64 {
    h = (h ^ (h >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    h = (h ^ (h >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    h ^ (h >> 33)
}

/// The element of a set for a token, which is not normalised.
pub(super) fn token_element(token: &str, seed: u64) -> u64 {
    xxh3_64_with_seed(token.as_bytes(), seed)
}

/// The element of a set for a field: the hash of its value, seeded with the hash of its name, so
/// that "ab", "c" differs from "a", "bc".
pub(super) fn field_element(name: &str, value: &str, seed: u64) -> u64 {
    xxh3_64_with_seed(value.as_bytes(), xxh3_64_with_seed(name.as_bytes(), seed))
}

/// The element of a set for a value of a signature: equal values in the same place are equal
/// elements.
pub(super) fn value_element(place: usize, value: u64, seed: u64) -> u64 {
    xxh3_64_with_seed(&value.to_le_bytes(), seed.wrapping_add(place as u64))
}

/// Turns the hashes of a text's words into the hashes of its shingles of `size` words, in place:
/// entry i becomes the hash of words i..i + size. There must be at least `size` words.
pub(super) fn combine_in_place(hashes: &mut Vec<u64>, size: usize, level: Level) {
    level.run(Windows { hashes, size });
    hashes.truncate(hashes.len() + 1 - size);
}

struct Windows<'h> {
    hashes: &'h mut [u64],
    size: usize,
}

/// The number of windows that are combined in a loop: too many for the compiler to unroll, so that
/// it reads them in memory order.
const LANES: usize = 64;

impl Loop for Windows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { hashes, size } = self;
        let windows = hashes.len() + 1 - size;
        let together = windows - windows % LANES;
        for first in (0..together).step_by(LANES) {
            let mut sums = [0_u64; LANES];
            for (place, factor) in PLACES.iter().enumerate().take(size) {
                let hashes: &[u64; LANES] =
                    hashes[first + place..].first_chunk().expect("windows end within the hashes");
                for (sum, hash) in sums.iter_mut().zip(hashes) {
                    *sum = sum.wrapping_add(hash.wrapping_mul(*factor));
                }
            }
            for (hash, sum) in hashes[first..first + LANES].iter_mut().zip(sums) {
                *hash = finalise(sum);
            }
        }
        for first in together..windows {
            hashes[first] = finalise(weighted_sum(&hashes[first..first + size]));
        }
    }
}

/// The element of a bag for an occurrence of a shingle: occurrence 0 is the shingle itself.
pub(super) fn occurrence(shingle: u64, number: u64) -> u64 {
    if number == 0 {
        return shingle;
    }
    finalise(shingle.wrapping_add(number.wrapping_mul(PRIME_2)))
}

/// The hash of the shingle of these words, as [`combine_in_place`] computes it.
pub(super) fn combine(hashes: &[u64]) -> u64 {
    finalise(weighted_sum(hashes))
}

/// The only shingle of a text that is shorter than a shingle. The number of its words is part of
/// the hash, so that it differs from a shingle with further words of hash 0. Takes any number of
/// words.
pub(super) fn combine_whole(hashes: &[u64]) -> u64 {
    let count = (hashes.len() as u64).wrapping_mul(PRIME_3);
    let chunks = hashes.chunks(UNITS_MAX);
    chunks.fold(count, |before, chunk| finalise(weighted_sum(chunk).wrapping_add(before)))
}

#[inline]
fn weighted_sum(hashes: &[u64]) -> u64 {
    let weighted = hashes.iter().zip(&PLACES).map(|(hash, place)| hash.wrapping_mul(*place));
    weighted.fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::WordMix;

    /// A million pronounceable words of 2 to 20 bytes: base-5 and base-21 digits in turn.
    fn words() -> impl Iterator<Item = String> {
        (0..1_000_000_u64).map(|mut number| {
            let mut word = String::new();
            loop {
                word.push(b"bcdfghjklmnpqrstvwxyz"[(number % 21) as usize] as char);
                word.push(b"aeiou"[(number / 21 % 5) as usize] as char);
                number /= 105;
                if number == 0 {
                    break word;
                }
            }
        })
    }

    fn assert_distinct(mut hashes: Vec<u64>) {
        let count = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), count);
    }

    #[test]
    fn a_million_words_do_not_collide() {
        let hasher = WordMix::new(0);
        assert_distinct(words().map(|word| hasher.hash(word.as_bytes())).collect());
        let long = words().take(300_000).map(|word| format!("under{word}ing"));
        assert_distinct(long.map(|word| hasher.hash(word.as_bytes())).collect());
    }

    /// Words with the letters of `'1'` and `'q'` in the same three places.
    fn forged_pair(stem: &str) -> [String; 2] {
        let word = |ends: char| {
            let (a, b, c) = (&stem[..7], &stem[7..10], &stem[10..13]);
            format!("{a}{ends}{b}{ends}{c}{ends}")
        };
        ['1', 'q'].map(word)
    }

    /// A former hash had a seed, too, but a difference in the second highest bit of a word's first
    /// half stayed in two bits of a product, so these pairs collided under a quarter of all seeds.
    #[test]
    fn forged_words_collide_under_no_seed() {
        for seed in (0..1_000).map(split_mix) {
            let mix = WordMix::new(seed);
            let [one, other] = forged_pair("forgerybydiff").map(|word| mix.hash(word.as_bytes()));
            assert_ne!(one, other, "seed {seed}");
        }
    }

    #[test]
    fn similar_shingles_do_not_collide() {
        let hasher = WordMix::new(0);
        let endings: Vec<u64> =
            (0..1000_u32).map(|n| hasher.hash(format!("characteristi{n:03}").as_bytes())).collect();
        let pairs = endings.iter().flat_map(|a| endings.iter().map(|b| weighted_sum(&[*a, *b])));
        assert_distinct(pairs.collect());
    }

    #[test]
    fn word_hashes_have_full_avalanche() {
        let hasher = WordMix::new(7);
        for (bit, bytes) in (0..128).map(|bit| (bit, 16)).chain((0..24).map(|bit| (bit, 3))) {
            let flips: u32 = (0..64)
                .map(|n| u128::from(split_mix(n)) << 64 | u128::from(split_mix(n + 64)))
                .map(|word| {
                    moved_bits(hasher, word & u128::MAX >> (128 - 8 * bytes), 1 << bit, bytes)
                })
                .sum();
            let mean = f64::from(flips) / 64.0;
            assert!((20.0..44.0).contains(&mean), "bit {bit} of {bytes} bytes moves {mean}");
        }
    }

    fn moved_bits(hasher: WordMix, word: u128, change: u128, bytes: usize) -> u32 {
        let hash = |word: u128| hasher.hash(&word.to_le_bytes()[..bytes]);
        (hash(word) ^ hash(word ^ change)).count_ones()
    }

    #[test]
    fn combining_in_place_gives_each_window() {
        let hashes: Vec<u64> = (0..100).map(split_mix).collect();
        for (size, level) in
            (1..=UNITS_MAX).flat_map(|size| Level::available().into_iter().map(move |l| (size, l)))
        {
            let mut combined = hashes.clone();
            combine_in_place(&mut combined, size, level);
            let windows = hashes.windows(size).map(|window| finalise(weighted_sum(window)));
            assert_eq!(combined, windows.collect::<Vec<_>>(), "size {size}, {level:?}");
        }
    }
}
