//! Which words of a text are covered: a bit for each.

use std::ops::Range;

#[derive(Clone, Debug)]
pub(super) struct Coverage(Vec<u64>);

impl Coverage {
    pub fn new(words: usize) -> Self {
        Self(vec![0; words.div_ceil(64)])
    }

    /// Covers a range, and returns whether a word of it was not covered.
    pub fn cover(&mut self, range: Range<usize>) -> bool {
        let (mut at, mut is_new) = (range.start, false);
        while at < range.end {
            let (number, bit) = (at / 64, at % 64);
            let count = (64 - bit).min(range.end - at);
            let bits = u64::MAX >> (64 - count) << bit;
            is_new |= self.0[number] & bits != bits;
            self.0[number] |= bits;
            at += count;
        }
        is_new
    }

    /// The number of covered words.
    pub fn count(&self) -> usize {
        self.0.iter().map(|bits| bits.count_ones() as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_ranges_join_across_words_of_bits() {
        let mut covered = Coverage::new(300);
        assert!(covered.cover(60..130));
        assert!(!covered.cover(64..128));
        assert!(covered.cover(129..131));
        assert!(covered.cover(192..256));
        assert!(covered.cover(299..300));
        assert_eq!(covered.count(), 71 + 64 + 1);
        assert!(!covered.cover(7..7));
    }
}
