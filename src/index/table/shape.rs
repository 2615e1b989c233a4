//! How many lines a table has, and where keys belong in them.
//!
//! Lines are in groups of two or three pairs. A group of two becomes one of three; one of three
//! would become one of four, which is two groups of two. So a change of size never mixes groups
//! (partial expansions: Larson 1980, but here keys stay in their order).

use super::line::Packed;

/// Keys are in the order of their spread values: line l of L has those from l · 2³² / L on. So of a
/// posting in a known line the lowest 32 − ⌊log₂ L⌋ bits of its key say the whole key, and 8 +
/// ⌊log₂ L⌋ of 40 bits are left for the entry: with eight postings a line there are 2⁵ times as
/// many numbers as entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub lines: u32,
    pub groups: u32,
    pub entry_bits: u32,
}

const PACKED_BITS: u32 = 40;
const PACKED: u64 = (1 << PACKED_BITS) - 1;

/// Pairs of a group, in the two kinds of shape.
const FEWER: u32 = 2;
const MORE: u32 = 3;

impl Shape {
    /// The smallest of so many groups.
    pub fn new(groups: u32) -> Self {
        Self::of(groups, FEWER)
    }

    fn of(groups: u32, pairs_each: u32) -> Self {
        let lines = groups * pairs_each * 2;
        Self { lines, groups, entry_bits: (8 + lines.ilog2()).min(u32::BITS) }
    }

    /// Half as many lines again, or a third.
    pub fn larger(self) -> Self {
        match self.pairs_each(self.groups) {
            FEWER => Self::of(self.groups, MORE),
            _ => Self::of(self.groups * 2, FEWER),
        }
    }

    /// The shape that this one is the next larger of.
    pub fn smaller(self) -> Self {
        match self.pairs_each(self.groups) {
            FEWER => Self::of(self.groups / 2, MORE),
            _ => Self::of(self.groups, FEWER),
        }
    }

    /// The pairs of each group if there are so many groups.
    pub fn pairs_each(self, groups: u32) -> u32 {
        self.lines / 2 / groups
    }

    /// Whether entries of this number can be told.
    #[inline]
    pub fn holds(self, entry: u32) -> bool {
        u64::from(entry) >> self.entry_bits == 0
    }

    #[inline]
    pub fn home(self, key: u32) -> u32 {
        ((u64::from(key) * u64::from(self.lines)) >> 32) as u32
    }

    /// The first key at home in a line, or past the last for the line past the last.
    #[inline]
    pub fn start(self, line: u32) -> u64 {
        (u64::from(line) << 32).div_ceil(u64::from(self.lines))
    }

    #[inline]
    pub fn pack(self, key: u32, entry: u32) -> Packed {
        (u64::from(key) << self.entry_bits | u64::from(entry)) & PACKED
    }

    #[inline]
    pub fn entry(self, posting: Packed) -> u32 {
        (posting & ((1 << self.entry_bits) - 1)) as u32
    }

    /// The key of a posting at home in the line with this first key.
    #[inline]
    pub fn key(self, start: u32, posting: Packed) -> u32 {
        let low = (posting >> self.entry_bits) as u32;
        let low_bits = (1_u32 << (PACKED_BITS - self.entry_bits)) - 1;
        start.wrapping_add(low.wrapping_sub(start) & low_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_and_entry_come_back_from_the_line_and_40_bits() {
        for groups in [12, 17, 24, 2_048, 250_000, 3_086_419, 1 << 23] {
            for shape in [Shape::new(groups), Shape::new(groups).larger()] {
                let entry = (1_u64 << shape.entry_bits) - 1;
                assert!(shape.holds(entry as u32));
                for step in 0..10_000_u32 {
                    let key = step.wrapping_mul(0x9e37_79b1);
                    let home = shape.home(key);
                    let start = shape.start(home);
                    assert!(start <= u64::from(key) && u64::from(key) < shape.start(home + 1));
                    let posting = shape.pack(key, entry as u32);
                    assert_eq!(shape.key(start as u32, posting), key);
                    assert_eq!(u64::from(shape.entry(posting)), entry);
                }
            }
        }
    }

    #[test]
    fn sizes_are_a_half_and_a_third_apart_and_lead_back() {
        let mut shape = Shape::new(13);
        for lines in [52, 78, 104, 156, 208] {
            assert_eq!(shape.lines, lines);
            assert_eq!(shape.larger().smaller(), shape);
            shape = shape.larger();
        }
    }

    #[test]
    fn a_small_table_has_no_room_for_a_large_number() {
        assert!(Shape::new(16).holds((1 << 14) - 1));
        assert!(!Shape::new(16).holds(1 << 14));
    }
}
