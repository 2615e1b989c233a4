//! Outlines of values: a few bytes from which a lower bound of the edit distance follows (E.
//! Ukkonen, "Approximate string-matching with q-grams and maximal matches", 1992, for q = 1 and 2).
//!
//! ```text
//! the number of characters                     2 bytes, at most 65,535
//! the characters, in 32 classes                8 bytes: a bit for one, and a bit for a second
//! the pairs of neighbours, in 64 classes       8 bytes: a bit each, with the start and the end
//! ```
//!
//! An edit removes at most one character and two pairs, and adds as many. Classes, and counts that
//! end at two, only hide differences, so the bound stays below the distance.

/// The outline of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    characters: u16,
    letters: u64,
    pairs: u64,
}

impl Outline {
    /// The length of [`to_bytes`](Self::to_bytes).
    pub const BYTES: usize = 18;

    /// The outline of a value.
    #[must_use]
    pub fn of(value: &str) -> Self {
        let mut outline = Self { characters: 0, letters: 0, pairs: 0 };
        let mut before = '\0';
        for character in value.chars() {
            let letter = 1 << (u32::from(character) % 32);
            outline.letters |= if outline.letters & letter == 0 { letter } else { letter << 32 };
            outline.pairs |= pair(before, character);
            outline.characters = outline.characters.saturating_add(1);
            before = character;
        }
        outline.pairs |= pair(before, '\0');
        outline
    }

    /// The fields in order, each little-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..2].copy_from_slice(&self.characters.to_le_bytes());
        bytes[2..10].copy_from_slice(&self.letters.to_le_bytes());
        bytes[10..].copy_from_slice(&self.pairs.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let number = |from: usize| u64::from_le_bytes(std::array::from_fn(|at| bytes[from + at]));
        Self {
            characters: u16::from_le_bytes([bytes[0], bytes[1]]),
            letters: number(2),
            pairs: number(10),
        }
    }

    /// At most the edit distance of the values.
    pub(super) fn edits_min(self, other: Self) -> u32 {
        let missing = |a: u64, b: u64| (a & !b).count_ones();
        let letters =
            missing(self.letters, other.letters).max(missing(other.letters, self.letters));
        let pairs = missing(self.pairs, other.pairs).max(missing(other.pairs, self.pairs));
        let characters = u32::from(self.characters.abs_diff(other.characters));
        letters.max(pairs.div_ceil(2)).max(characters)
    }

    /// The characters of the longer value, or 65,535 if it has more.
    pub(super) fn longer(self, other: Self) -> u32 {
        u32::from(self.characters.max(other.characters))
    }
}

/// The bit of a pair: the highest bits of a product (Knuth, TAOCP 3, 6.4).
fn pair(first: char, second: char) -> u64 {
    let both = u64::from(first) << 32 | u64::from(second);
    1 << (both.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::edit_distance;

    fn edits_min(a: &str, b: &str) -> u32 {
        let [a, b] = [a, b].map(|value| Outline::from_bytes(&Outline::of(value).to_bytes()));
        a.edits_min(b)
    }

    #[test]
    fn unlike_values_have_many_edits() {
        assert_eq!(edits_min("anna berg", "anna berg"), 0);
        assert_eq!(edits_min("anna berg", "anna burg"), 1);
        assert_eq!(edits_min("anna berg", "bruno dupont"), 7);
        assert_eq!(edits_min("5551234", "7779999"), 6);
        assert_eq!(edits_min("ab", "cd"), 2);
        assert_eq!(edits_min("", "abc"), 3);
        assert_eq!(edits_min(&"a".repeat(70_000), "a"), 65_534);
    }

    proptest! {
        #[test]
        fn the_bound_is_at_most_the_edit_distance(
            a in "[a-eé0-3 ]{0,40}", b in "[a-eé0-3 ]{0,40}",
            cut in 0..40_usize, added in "[a-c]{0,4}",
        ) {
            let near: String = a.chars().take(cut).chain(added.chars())
                .chain(a.chars().skip(cut + 1)).collect();
            for other in [&b, &near] {
                let distance = edit_distance(&a, other);
                prop_assert!(edits_min(&a, other) as usize <= distance, "{a:?} {other:?}");
                prop_assert_eq!(edits_min(&a, other), edits_min(other, &a));
            }
        }
    }
}
