//! A cache line of postings.
//!
//! A posting is 40 bits: of the key as much as does not follow from the line it is in, and the
//! entry. The highest 8 bits are its tag, the others its word; the entry is in the lowest
//! `entry_bits`. A line has twelve places:
//!
//! ```text
//! 0      12 words, little-endian   48 bytes
//! 48     12 tags                   12 bytes
//! 60     taken: a bit for each place, then LENT, SPILLED and CROWDED
//! 62     guests: a bit for each place whose posting is at home in the other line of the pair
//! ```
//!
//! Of a place that is free, both bits are unset.

use crate::simd::equal_bytes;

/// Postings in a line.
pub(super) const PLACES: usize = 12;

/// A posting, or a key with entry 0: the lowest 40 bits.
pub(super) type Packed = u64;

const ALL_TAKEN: u16 = (1 << PLACES) - 1;

/// Marks beside the bits of the places: postings at home here are in the other line of the pair, or
/// with those that neither had room for, or in the table's crowd. They stay when those postings are
/// gone, until the line is made anew.
const LENT: u16 = 1 << PLACES;
const SPILLED: u16 = 1 << (PLACES + 1);
const CROWDED: u16 = 1 << (PLACES + 2);

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line {
    words: [u32; PLACES],
    /// Twelve tags, and what else there is: compared all at once.
    tags: [u8; PLACES + 4],
}

const TAKEN_AT: usize = PLACES;
const GUESTS_AT: usize = PLACES + 2;

/// Places of a line, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    #[inline]
    pub fn is_crowded(self) -> bool {
        self.0 & CROWDED != 0
    }

    #[inline]
    pub fn is_spilled(self) -> bool {
        self.0 & SPILLED != 0
    }
}

impl Line {
    pub const EMPTY: Self = Self { words: [0; PLACES], tags: [0; PLACES + 4] };

    /// All postings at home here are here.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.marks() <= ALL_TAKEN
    }

    #[inline]
    pub fn lends(&self) -> bool {
        self.marks() & LENT != 0
    }

    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.marks() & CROWDED != 0
    }

    #[inline]
    pub fn is_spilled(&self) -> bool {
        self.marks() & SPILLED != 0
    }

    #[inline]
    pub fn mark_spilled(&mut self) {
        self.set_marks(self.marks() | SPILLED);
    }

    #[inline]
    pub fn mark_lent(&mut self) {
        self.set_marks(self.marks() | LENT);
    }

    #[inline]
    pub fn mark_crowded(&mut self) {
        self.set_marks(self.marks() | CROWDED);
    }

    #[inline]
    pub fn taken(&self) -> Places {
        Places(self.marks() & ALL_TAKEN)
    }

    /// The places of a key's postings that are at home here.
    #[inline]
    pub fn residents(&self, key: Packed, entry_bits: u32) -> Places {
        self.of_key(key, entry_bits, !self.guests_here())
    }

    /// The places of a key's postings that are at home in the other line.
    #[inline]
    pub fn guests(&self, key: Packed, entry_bits: u32) -> Places {
        self.of_key(key, entry_bits, self.guests_here())
    }

    #[inline]
    pub fn packed(&self, place: usize) -> Packed {
        Packed::from(self.tags[place]) << 32 | Packed::from(self.words[place])
    }

    /// `false` if there is no room.
    #[inline]
    pub fn put(&mut self, posting: Packed) -> bool {
        let marks = self.marks();
        let place = (!marks).trailing_zeros() as usize;
        if place >= PLACES {
            return false;
        }
        self.set(place, posting);
        // The lowest bit that is not set.
        self.set_marks(marks | marks.wrapping_add(1));
        true
    }

    /// The same for a posting that is at home in the other line.
    #[inline]
    pub fn put_guest(&mut self, posting: Packed) -> bool {
        let before = self.marks();
        let is_put = self.put(posting);
        self.set_guests_here(self.guests_here() | (self.marks() ^ before));
        is_put
    }

    /// A posting in the place of one that is at home in the same line.
    #[inline]
    pub fn set(&mut self, place: usize, posting: Packed) {
        self.words[place] = posting as u32;
        self.tags[place] = (posting >> 32) as u8;
    }

    /// So many places have been set, and no others are taken.
    #[inline]
    pub fn take_first(&mut self, places: usize) {
        self.set_marks((1 << places) - 1);
    }

    #[inline]
    pub fn clear(&mut self, place: usize) {
        self.set_marks(self.marks() & !(1 << place));
        self.set_guests_here(self.guests_here() & !(1 << place));
    }

    #[inline]
    fn of_key(&self, key: Packed, entry_bits: u32, among: u16) -> Places {
        let tagged = equal_bytes(&self.tags, (key >> 32) as u8);
        let mut places = tagged & among & self.marks() & ALL_TAKEN;
        for place in Places(places) {
            if (self.packed(place) ^ key) >> entry_bits != 0 {
                places &= !(1 << place);
            }
        }
        Places(places)
    }

    #[inline]
    fn marks(&self) -> u16 {
        u16::from_le_bytes([self.tags[TAKEN_AT], self.tags[TAKEN_AT + 1]])
    }

    #[inline]
    fn set_marks(&mut self, marks: u16) {
        [self.tags[TAKEN_AT], self.tags[TAKEN_AT + 1]] = marks.to_le_bytes();
    }

    /// A bit for each place whose posting is at home in the other line.
    #[inline]
    pub fn guests_here(&self) -> u16 {
        u16::from_le_bytes([self.tags[GUESTS_AT], self.tags[GUESTS_AT + 1]])
    }

    #[inline]
    fn set_guests_here(&mut self, guests: u16) {
        [self.tags[GUESTS_AT], self.tags[GUESTS_AT + 1]] = guests.to_le_bytes();
    }
}

/// Two lines that lend each other room: line numbers that differ in the lowest bit.
#[derive(Clone, Copy, Debug)]
#[repr(align(128))]
pub(super) struct Pair(pub [Line; 2]);

impl Pair {
    pub const EMPTY: Self = Self([Line::EMPTY; 2]);

    /// The line of this number or that of the other one, as seen from a line of the pair.
    #[inline]
    pub fn line(&self, number: u32) -> &Line {
        &self.0[number as usize % 2]
    }

    #[inline]
    pub fn line_mut(&mut self, number: u32) -> &mut Line {
        &mut self.0[number as usize % 2]
    }

    /// Of both lines.
    #[inline]
    pub fn marks(&self) -> Marks {
        Marks(self.0[0].marks() | self.0[1].marks())
    }

    /// How many postings of a key that is at home in a line are in the pair.
    #[inline]
    pub fn count(&self, home: u32, key: Packed, entry_bits: u32) -> usize {
        let line = self.line(home);
        let mut count = line.residents(key, entry_bits).count();
        if line.lends() {
            count += self.line(home ^ 1).guests(key, entry_bits).count();
        }
        count
    }

    /// Puts a posting into its home line, or else into the other. `false` if there is no room.
    #[inline]
    pub fn put(&mut self, home: u32, posting: Packed) -> bool {
        if self.line_mut(home).put(posting) {
            return true;
        }
        if !self.line_mut(home ^ 1).put_guest(posting) {
            return false;
        }
        self.line_mut(home).mark_lent();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_twelve_and_knows_its_guests() {
        assert_eq!(size_of::<Line>(), 64);
        let mut line = Line::EMPTY;
        for number in 0..PLACES as u64 {
            let posting = 0xab_0000_0000 | number;
            assert!(if number % 3 == 0 { line.put_guest(posting) } else { line.put(posting) });
        }
        assert!(line.is_plain() && !line.put(1) && !line.put_guest(1));
        assert_eq!(line.guests(0xab_0000_0000, 8).collect::<Vec<_>>(), [0, 3, 6, 9]);
        assert_eq!(line.residents(0xab_0000_0000, 2).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(line.residents(0xac_0000_0000, 8).count(), 0);
        line.clear(1);
        assert!(line.put(0xff_ffff_ffff));
        assert_eq!(line.packed(1), 0xff_ffff_ffff);
        assert_eq!(line.taken().count(), PLACES);
    }
}
