//! How many lines a table has, and where keys belong in them.
//!
//! Keys are in groups by their order, and a group has two pairs of lines or three. A table grows by
//! giving each group of two a third pair, and then each group of three a fourth, which makes two
//! groups of two of it: partial expansions (P.-Å. Larson, "Linear hashing with partial expansions",
//! 1980). Of the postings a third moves into the new pair, and the others stay as they are.

use super::line::{PACKED, PACKED_BITS, Packed};

/// Of a posting in a known group of G the lowest 32 − ⌊log₂ G⌋ bits of its key say the whole key,
/// and 8 + ⌊log₂ G⌋ of 40 bits are left for the entry: with eight postings a line there are four
/// times as many numbers as entries, or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub groups: u32,
    /// Of each group: [`FEWER`] or [`MORE`].
    pub pairs: u32,
    pub entry_bits: u32,
}

/// Where a key is at home: in which of a group's pairs, and which of the pair's lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    pub group: u32,
    pub pair: u32,
    pub line: u32,
}

const FEWER: u32 = 2;
const MORE: u32 = 3;

impl Shape {
    /// The smallest of so many groups.
    pub fn new(groups: u32) -> Self {
        Self::of(groups, FEWER)
    }

    fn of(groups: u32, pairs: u32) -> Self {
        Self { groups, pairs, entry_bits: (8 + groups.ilog2()).min(u32::BITS) }
    }

    /// Half as many lines again, or a third.
    pub fn larger(self) -> Self {
        match self.pairs {
            FEWER => Self::of(self.groups, MORE),
            _ => Self::of(self.groups * 2, FEWER),
        }
    }

    /// The shape that this one is the next larger of.
    pub fn smaller(self) -> Self {
        match self.pairs {
            FEWER => Self::of(self.groups / 2, MORE),
            _ => Self::of(self.groups, FEWER),
        }
    }

    /// Of lines, two by two.
    pub fn pairs_in_all(self) -> u32 {
        self.groups * self.pairs
    }

    /// The highest number of an entry that can be told.
    #[inline]
    pub fn entry_max(self) -> u32 {
        entry_of(u32::MAX, self.entry_bits)
    }

    /// The same, but for an eighth of the numbers, which are left for entries to come.
    #[inline]
    pub fn easy_max(self) -> u32 {
        match self.entry_max() {
            u32::MAX => u32::MAX,
            max => max - max / 8,
        }
    }

    #[inline(always)]
    pub fn group(self, key: u32) -> u32 {
        ((u64::from(key) * u64::from(self.groups)) >> 32) as u32
    }

    #[inline]
    pub fn home(self, key: u32) -> Home {
        let product = u64::from(key) * u64::from(self.groups);
        let pair = Self::pair(product as u32, self.pairs);
        Home { group: (product >> 32) as u32, pair, line: key & 1 }
    }

    /// Where a key is at home, counted from the table's first line.
    #[inline]
    pub fn line(self, key: u32) -> u32 {
        let Home { group, pair, line } = self.home(key);
        (group * self.pairs + pair) * 2 + line
    }

    /// Of the keys of a group, by where within it they are in 2³², half belong into its first pair
    /// and half into its last; but if there are three, two thirds of what would be the second and
    /// the fourth of four go to the middle.
    #[inline(always)]
    pub fn pair(within: u32, pairs: u32) -> u32 {
        /// Of 2³¹.
        const TWO_THIRDS: u32 = u32::MAX / 3;
        // Keys are at random, so branches would often be foretold wrong: there are none.
        // Twice the place within the second quarter or the fourth; 2³¹ or more in the others.
        let in_quarter = (within ^ (1 << 30)) << 1;
        let is_middle = in_quarter < if pairs == MORE { TWO_THIRDS } else { 0 };
        // Of two: 0 and 1. Of three: 0 and 2. Of four, which are two groups of two: the quarter.
        let pair = within >> (31 - (pairs >> 2)) << (pairs & 1);
        if is_middle { 1 } else { pair }
    }

    /// The first key of a group, or past the last for the group past the last.
    pub fn start(self, group: u32) -> u64 {
        (u64::from(group) << 32).div_ceil(u64::from(self.groups))
    }

    #[inline]
    pub fn pack(self, key: u32, entry: u32) -> Packed {
        (u64::from(key) << self.entry_bits | u64::from(entry)) & PACKED
    }

    /// The word of what [`Shape::pack`] gives; [`Shape::tag`] is its tag. Of numbers so narrow,
    /// twice as many are reckoned at once. (All 32 bits may be the entry's.)
    #[inline(always)]
    pub fn word(self, key: u32, entry: u32) -> u32 {
        key.unbounded_shl(self.entry_bits) | entry
    }

    #[inline(always)]
    pub fn tag(self, key: u32) -> u8 {
        (key >> (u32::BITS - self.entry_bits)) as u8
    }

    #[inline(always)]
    pub fn entry(self, word: u32) -> u32 {
        entry_of(word, self.entry_bits)
    }

    /// The key of a posting in the group with this first key.
    #[inline(always)]
    pub fn key(self, start: u32, word: u32, tag: u8) -> u32 {
        let high = u32::from(tag) << (u32::BITS - self.entry_bits);
        let low = high | word.unbounded_shr(self.entry_bits);
        let low_bits = (1_u32 << (PACKED_BITS - self.entry_bits)) - 1;
        start.wrapping_add(low.wrapping_sub(start) & low_bits)
    }
}

/// The entry in the word of a posting.
#[inline(always)]
pub(super) fn entry_of(word: u32, entry_bits: u32) -> u32 {
    word & (u32::MAX >> (u32::BITS - entry_bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_and_entry_come_back_from_the_group_and_40_bits() {
        for groups in [12, 17, 24, 2_048, 250_000, 3_086_419, 1 << 23, 1 << 24, 1 << 25] {
            let shape = Shape::new(groups);
            let entry = (1_u64 << shape.entry_bits) - 1;
            assert_eq!(u64::from(shape.entry_max()), entry);
            for step in 0..10_000_u32 {
                let key = step.wrapping_mul(0x9e37_79b1);
                let group = shape.home(key).group;
                let start = shape.start(group);
                assert!(start <= u64::from(key) && u64::from(key) < shape.start(group + 1));
                let posting = shape.pack(key, entry as u32);
                let (word, tag) = (posting as u32, (posting >> 32) as u8);
                assert_eq!((shape.word(key, entry as u32), shape.tag(key)), (word, tag));
                assert_eq!(shape.key(start as u32, word, tag), key);
                assert_eq!(u64::from(shape.entry(word)), entry);
            }
        }
    }

    #[test]
    fn sizes_are_a_half_and_a_third_apart_and_lead_back() {
        let mut shape = Shape::new(13);
        for pairs in [26, 39, 52, 78, 104] {
            assert_eq!(shape.pairs_in_all(), pairs);
            assert_eq!(shape.larger().smaller(), shape);
            shape = shape.larger();
        }
    }

    #[test]
    fn all_lines_have_as_many_keys() {
        for shape in [Shape::new(13), Shape::new(13).larger()] {
            let mut keys = vec![0; shape.pairs_in_all() as usize * 2];
            for step in 0..1_000_000_u32 {
                let Home { group, pair, line } = shape.home(step.wrapping_mul(0x9e37_79b1));
                keys[((group * shape.pairs + pair) * 2 + line) as usize] += 1;
            }
            let each = 1_000_000 / keys.len();
            assert!(keys.iter().all(|&keys| keys > each * 9 / 10 && keys < each * 11 / 10));
        }
    }

    #[test]
    fn a_pair_is_by_halves_and_quarters_and_has_two_thirds_of_some_in_the_middle() {
        let plainly = |within: u32, pairs| {
            let (quarter, rest) = (within >> 30, u64::from(within) & ((1 << 30) - 1));
            match (pairs, quarter) {
                (2, _) => quarter / 2,
                (3, 1 | 3) if 3 * rest < 1 << 31 => 1,
                (3, _) => quarter / 2 * 2,
                _ => quarter,
            }
        };
        for quarter in 0..4_u32 {
            for step in [0, 1, 2, (1 << 29), 715_827_881, 715_827_882, 715_827_883, (1 << 30) - 1] {
                let within = quarter << 30 | step;
                for pairs in 2..=4 {
                    assert_eq!(Shape::pair(within, pairs), plainly(within, pairs), "{within:#x}");
                }
            }
        }
    }

    #[test]
    fn a_small_table_has_no_room_for_a_large_number() {
        assert_eq!(Shape::new(64).entry_max(), (1 << 14) - 1);
    }
}
