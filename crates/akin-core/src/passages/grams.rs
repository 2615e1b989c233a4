//! Rolling hashes of runs of words.

use crate::scheme::Key;
use crate::text::finalise;

/// Odd, so that the hash of a gram keeps all bits of its first word.
const ROLL: u64 = 0xd6e8_feb8_6659_fd93;

/// An odd factor for the number of words, so that grams of different lengths differ.
const LENGTH: u64 = 0x9e37_79b9_7f4a_7c15;

/// Visits the hash of every run of `size` words in order, with the number of its first word: a
/// polynomial of the word hashes modulo 2⁶⁴ (Karp and Rabin 1987), finalised. There must be at
/// least one word in a gram.
#[inline]
pub(super) fn each_gram(words: &[u64], size: usize, mut visit: impl FnMut(usize, u64)) {
    if words.len() < size {
        return;
    }
    let power = (0..size).fold(1_u64, |power, _| power.wrapping_mul(ROLL));
    let length = (size as u64).wrapping_mul(LENGTH);
    let push = |rolled: u64, word: u64| rolled.wrapping_mul(ROLL).wrapping_add(word);
    let mut rolled = words[..size].iter().fold(0, |rolled, word| push(rolled, *word));
    visit(0, finalise(rolled ^ length));
    for (first, (left, entered)) in words.iter().zip(&words[size..]).enumerate() {
        rolled = push(rolled, *entered).wrapping_sub(left.wrapping_mul(power));
        visit(first + 1, finalise(rolled ^ length));
    }
}

/// The hashes of all runs of a text's words, each in constant time.
pub(super) struct RunHashes {
    /// The polynomial of the words before each word, and of all words.
    before: Vec<u64>,
}

/// The hashes of all runs of a number of words.
#[derive(Clone, Copy)]
pub(super) struct RunsOfWords<'h> {
    before: &'h [u64],
    size: usize,
    power: u64,
}

impl RunHashes {
    pub fn new(words: &[u64]) -> Self {
        let mut before = Vec::with_capacity(words.len() + 1);
        let mut rolled = 0_u64;
        before.push(rolled);
        before.extend(words.iter().map(|word| {
            rolled = rolled.wrapping_mul(ROLL).wrapping_add(*word);
            rolled
        }));
        Self { before }
    }

    pub fn of_words(&self, size: usize) -> RunsOfWords<'_> {
        RunsOfWords { before: &self.before, size, power: ROLL.wrapping_pow(size as u32) }
    }
}

impl RunsOfWords<'_> {
    /// The hash of the run that begins with this word, as [`each_gram`] computes it.
    #[inline]
    pub fn at(self, first: usize) -> u64 {
        let [before, up_to] = [self.before[first], self.before[first + self.size]];
        let rolled = up_to.wrapping_sub(before.wrapping_mul(self.power));
        finalise(rolled ^ (self.size as u64).wrapping_mul(LENGTH))
    }
}

/// The hash of a run of words, as [`each_gram`] computes it.
pub(super) fn gram(words: &[u64]) -> u64 {
    let mut only = 0;
    each_gram(words, words.len(), |_, gram| only = gram);
    only
}

/// The key of the index for a hash: its highest 40 bits.
#[inline]
pub(super) fn key(hash: u64) -> Key {
    Key { table: (hash >> 56) as u32, value: (hash >> 24) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_the_hashes_of_grams() {
        let words: Vec<u64> = (0..200).map(finalise).collect();
        let hashes = RunHashes::new(&words);
        for size in [1, 2, 50, 200] {
            let mut grams = Vec::new();
            each_gram(&words, size, |_, gram| grams.push(gram));
            let runs = hashes.of_words(size);
            assert_eq!((0..=200 - size).map(|at| runs.at(at)).collect::<Vec<_>>(), grams);
        }
    }
}
