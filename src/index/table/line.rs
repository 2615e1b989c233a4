//! A cache line of postings.
//!
//! A posting is 40 bits: of the key as much as does not follow from the line it is in, and the
//! entry. The highest 8 bits are its tag, the others its word; the entry is in the lowest
//! `entry_bits`. A line has twelve places:
//!
//! ```text
//! 0      12 words, little-endian   48 bytes
//! 48     12 tags                   12 bytes
//! 60     marks: a bit for each place that is taken, then BORROWED, FAR, SPILLED and CROWDED
//! 62     nothing
//! ```

use crate::simd::equal_bytes;

/// Postings in a line.
pub(super) const PLACES: usize = 12;

/// Places of a line and what is beside them, where lines are gone through side by side.
pub(super) const LANES: usize = PLACES + 4;

/// A posting, or a key with entry 0: the lowest 40 bits.
pub(super) type Packed = u64;
pub(super) const PACKED_BITS: u32 = 40;
pub(super) const PACKED: Packed = (1 << PACKED_BITS) - 1;

/// The posting of this word and this tag.
#[inline]
pub(super) fn packed(word: u32, tag: u8) -> Packed {
    Packed::from(tag) << 32 | Packed::from(word)
}

const ALL_TAKEN: u16 = (1 << PLACES) - 1;

/// Marks beside the bits of the places: postings at home here are in the other line of the pair, in
/// other pairs of the group, with those that the group has no room for, or in the table's crowd.
/// They stay when those postings are gone, until the line is made anew.
const BORROWED: u16 = 1 << PLACES;
const FAR: u16 = 1 << (PLACES + 1);
const SPILLED: u16 = 1 << (PLACES + 2);
const CROWDED: u16 = 1 << (PLACES + 3);

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line {
    words: [u32; PLACES],
    /// Twelve tags, and what else there is: compared all at once.
    tags: [u8; LANES],
}

const MARKS_AT: usize = PLACES;

/// Places of a line, a bit each.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Places(u16);

impl Iterator for Places {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let place = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (place < PLACES).then_some(place)
    }
}

/// What is taken, and what is elsewhere, of a line or of several.
#[derive(Clone, Copy, Default)]
pub(super) struct Marks(u16);

impl Marks {
    #[inline]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All postings at home here are here.
    #[inline]
    pub fn is_plain(self) -> bool {
        self.0 <= ALL_TAKEN
    }

    /// All postings at home here are in the pair.
    #[inline]
    pub fn is_in_pair(self) -> bool {
        self.0 <= ALL_TAKEN | BORROWED
    }

    #[inline]
    pub fn borrows(self) -> bool {
        self.0 & BORROWED != 0
    }

    #[inline]
    pub fn borrows_far(self) -> bool {
        self.0 & FAR != 0
    }

    #[inline]
    pub fn is_spilled(self) -> bool {
        self.0 & SPILLED != 0
    }

    #[inline]
    pub fn is_crowded(self) -> bool {
        self.0 & CROWDED != 0
    }

    #[inline]
    pub fn taken(self) -> Places {
        Places(self.0 & ALL_TAKEN)
    }
}

impl Places {
    /// Those of them where the lanes have this value.
    #[inline]
    pub fn and_equal(&self, lanes: &[u8], value: u8) -> Self {
        let lanes = lanes.try_into().expect("a line has so many lanes");
        Self(self.0 & equal_bytes(lanes, value))
    }

    #[inline]
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The lowest bit is the first place.
    #[inline]
    pub fn bits(&self) -> u16 {
        self.0
    }
}

impl Line {
    pub const EMPTY: Self = Self { words: [0; PLACES], tags: [0; LANES] };

    /// Overwrites all of the line: `taken` says which lanes are postings, and nothing is elsewhere.
    #[inline(always)]
    pub fn fill(&mut self, words: &[u32], tags: &[u8], taken: &Places) {
        self.words.copy_from_slice(&words[..PLACES]);
        self.tags.copy_from_slice(&tags[..LANES]);
        self.set_marks(taken.0);
    }

    /// To so many lanes; what is past the last place means nothing.
    #[inline(always)]
    pub fn copy_to(&self, words: &mut [u32], tags: &mut [u8]) {
        words[..PLACES].copy_from_slice(&self.words);
        tags[..LANES].copy_from_slice(&self.tags);
    }

    #[inline]
    pub fn marks(&self) -> Marks {
        Marks(u16::from_le_bytes([self.tags[MARKS_AT], self.tags[MARKS_AT + 1]]))
    }

    pub fn mark_borrowed(&mut self) {
        self.set_marks(self.marks().0 | BORROWED);
    }

    pub fn mark_borrowed_far(&mut self) {
        self.set_marks(self.marks().0 | BORROWED | FAR);
    }

    pub fn mark_spilled(&mut self) {
        self.set_marks(self.marks().0 | BORROWED | FAR | SPILLED);
    }

    pub fn mark_crowded(&mut self) {
        self.set_marks(self.marks().0 | CROWDED);
    }

    /// The places of a key's postings.
    #[inline]
    pub fn of_key(&self, key: Packed, entry_bits: u32) -> impl Iterator<Item = usize> {
        let tagged = equal_bytes(&self.tags, (key >> 32) as u8) & self.marks().0 & ALL_TAKEN;
        Places(tagged).filter(move |place| (self.packed(*place) ^ key) >> entry_bits == 0)
    }

    #[inline]
    pub fn packed(&self, place: usize) -> Packed {
        packed(self.word(place), self.tags[place])
    }

    #[inline]
    pub fn word(&self, place: usize) -> u32 {
        self.words[place]
    }

    /// `false` if there is no room.
    #[inline]
    pub fn put(&mut self, posting: Packed) -> bool {
        let marks = self.marks().0;
        let place = (!marks).trailing_zeros() as usize;
        if place >= PLACES {
            return false;
        }
        self.set(place, posting);
        // The lowest bit that is not set.
        self.set_marks(marks | marks.wrapping_add(1));
        true
    }

    #[inline]
    pub fn set(&mut self, place: usize, posting: Packed) {
        self.words[place] = posting as u32;
        self.tags[place] = (posting >> 32) as u8;
    }

    #[inline]
    pub fn clear(&mut self, place: usize) {
        self.set_marks(self.marks().0 & !(1 << place));
    }

    #[inline]
    fn set_marks(&mut self, marks: u16) {
        [self.tags[MARKS_AT], self.tags[MARKS_AT + 1]] = marks.to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_twelve_and_tells_them_by_their_keys() {
        assert_eq!(size_of::<Line>(), 64);
        let mut line = Line::EMPTY;
        for number in 0..PLACES as u64 {
            assert!(line.put(0xab_0000_0000 | number));
        }
        assert!(line.marks().is_plain() && !line.put(1));
        assert_eq!(line.of_key(0xab_0000_0000, 8).count(), PLACES);
        assert_eq!(line.of_key(0xab_0000_0000, 2).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(line.of_key(0xac_0000_0000, 8).count(), 0);
        line.clear(1);
        assert_eq!(line.of_key(0xab_0000_0000, 2).collect::<Vec<_>>(), [0, 2, 3]);
        assert!(line.put(0xff_ffff_ffff));
        assert_eq!(line.packed(1), 0xff_ffff_ffff);
        assert_eq!(line.marks().taken().count(), PLACES);
    }

    #[test]
    fn a_line_made_of_lanes_has_what_is_taken() {
        let words: [u32; LANES] = std::array::from_fn(|lane| 0x0102_0304 * (lane as u32 + 1));
        let tags: [u8; LANES] = std::array::from_fn(|lane| lane as u8 % 2);
        let mut line = Line::EMPTY;
        line.fill(&words, &tags, &Places(ALL_TAKEN).and_equal(&tags, 1));
        let places: Vec<usize> = line.marks().taken().collect();
        assert_eq!(places, [1, 3, 5, 7, 9, 11]);
        for place in places {
            assert_eq!(line.packed(place), 1 << 32 | u64::from(words[place]));
        }
        let (mut words_back, mut tags_back) = ([0; LANES], [0; LANES]);
        line.copy_to(&mut words_back, &mut tags_back);
        assert_eq!(
            (&words_back[..PLACES], &tags_back[..PLACES]),
            (&words[..PLACES], &tags[..PLACES])
        );
    }
}
