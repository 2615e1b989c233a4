//! Exact measures of two strings by bit-parallel algorithms; their work is the product of the
//! lengths divided by 64.

use rapidfuzz::distance::{lcs_seq, levenshtein};

/// The edit distance: the fewest characters to insert, delete or replace to turn a string into the
/// other (Levenshtein 1966; computed by Hyyrö 2003).
pub fn edit_distance(a: &str, b: &str) -> usize {
    levenshtein::distance(a.chars(), b.chars())
}

/// The longest common subsequence of the characters of two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonSubsequence {
    /// In characters.
    pub length: usize,
    /// The fewest characters to insert or delete to turn a text into the other.
    pub distance: usize,
}

impl CommonSubsequence {
    /// Computed by the algorithm of Hyyrö 2004.
    pub fn of(a: &str, b: &str) -> Self {
        let length = lcs_seq::similarity(a.chars(), b.chars());
        let characters = a.chars().count() + b.chars().count();
        Self { length, distance: characters - 2 * length }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Texts of two letters of the same or of different lengths in bytes, so that they have much in
    /// common.
    fn string() -> impl Strategy<Value = String> {
        prop_oneof!["[abé]{0,12}", "[abé]{60,140}"]
    }

    /// By the textbook's table, a row at a time.
    fn by_table(a: &str, b: &str, exchange: usize) -> usize {
        let b: Vec<char> = b.chars().collect();
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (at, character) in a.chars().enumerate() {
            let mut diagonal = row[0];
            row[0] = at + 1;
            for (column, other) in b.iter().enumerate() {
                let kept = diagonal + if character == *other { 0 } else { exchange };
                diagonal = row[column + 1];
                row[column + 1] = kept.min(diagonal + 1).min(row[column] + 1);
            }
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn distances_match_the_textbook(a in string(), b in string()) {
            prop_assert_eq!(edit_distance(&a, &b), by_table(&a, &b, 1));
            prop_assert_eq!(CommonSubsequence::of(&a, &b).distance, by_table(&a, &b, 2));
        }

        #[test]
        fn distances_of_strings_are_metrics(a in string(), b in string(), c in string()) {
            for distance in [
                edit_distance,
                |a: &str, b: &str| CommonSubsequence::of(a, b).distance,
            ] {
                prop_assert_eq!(distance(&a, &b), distance(&b, &a));
                prop_assert_eq!(distance(&a, &b) == 0, a == b);
                prop_assert!(distance(&a, &c) <= distance(&a, &b) + distance(&b, &c));
            }
        }
    }

    /// "Mining of Massive Datasets", 3.5.5.
    #[test]
    fn the_textbook_s_strings_are_3_apart() {
        let common = CommonSubsequence::of("abcde", "acfdeg");
        assert_eq!(common, CommonSubsequence { length: 4, distance: 3 });
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "é"), 1);
    }
}
