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
    tags: [u8; PLACES],
    taken: u16,
    guests: u16,
}

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

impl Places {
    #[inline]
    pub fn count(self) -> usize {
        self.0.count_ones() as usize
    }
}

impl Line {
    pub const EMPTY: Self = Self { words: [0; PLACES], tags: [0; PLACES], taken: 0, guests: 0 };

    #[inline]
    pub fn lends(&self) -> bool {
        self.taken & LENT != 0
    }

    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.taken & CROWDED != 0
    }

    #[inline]
    pub fn is_spilled(&self) -> bool {
        self.taken & SPILLED != 0
    }

    #[inline]
    pub fn mark_spilled(&mut self) {
        self.taken |= SPILLED;
    }

    #[inline]
    pub fn mark_lent(&mut self) {
        self.taken |= LENT;
    }

    #[inline]
    pub fn mark_crowded(&mut self) {
        self.taken |= CROWDED;
    }

    #[inline]
    pub fn taken(&self) -> Places {
        Places(self.taken & ALL_TAKEN)
    }

    #[inline]
    pub fn is_guest(&self, place: usize) -> bool {
        self.guests & 1 << place != 0
    }

    /// The places of a key's postings that are at home here.
    #[inline]
    pub fn residents(&self, key: Packed, entry_bits: u32) -> Places {
        Places(self.of_key(key, entry_bits) & !self.guests)
    }

    /// The places of a key's postings that are at home in the other line.
    #[inline]
    pub fn guests(&self, key: Packed, entry_bits: u32) -> Places {
        Places(self.of_key(key, entry_bits) & self.guests)
    }

    #[inline]
    pub fn packed(&self, place: usize) -> Packed {
        Packed::from(self.tags[place]) << 32 | Packed::from(self.words[place])
    }

    /// `false` if there is no room.
    #[inline]
    pub fn put(&mut self, posting: Packed, is_guest: bool) -> bool {
        let place = (!self.taken).trailing_zeros() as usize;
        if place >= PLACES {
            return false;
        }
        self.set(place, posting);
        self.taken |= 1 << place;
        self.guests = self.guests & !(1 << place) | u16::from(is_guest) << place;
        true
    }

    /// A posting in the place of one that is at home in the same line.
    #[inline]
    pub fn set(&mut self, place: usize, posting: Packed) {
        self.words[place] = posting as u32;
        self.tags[place] = (posting >> 32) as u8;
    }

    #[inline]
    pub fn clear(&mut self, place: usize) {
        self.taken &= !(1 << place);
    }

    #[inline]
    fn of_key(&self, key: Packed, entry_bits: u32) -> u16 {
        let tagged = Places(self.tagged((key >> 32) as u8) & self.taken & ALL_TAKEN);
        let same = |place: &usize| (self.packed(*place) ^ key) >> entry_bits == 0;
        tagged.filter(same).fold(0, |places, place| places | 1 << place)
    }

    #[inline]
    fn tagged(&self, tag: u8) -> u16 {
        let (low, high) = self.tags.split_at(8);
        let low = u64::from_le_bytes(low.try_into().expect("eight of twelve tags"));
        let high = u32::from_le_bytes(high.try_into().expect("four of twelve tags"));
        equal_bytes(low, tag) | equal_bytes(u64::from(high), tag) << 8
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

    #[inline]
    pub fn holds_any(&self) -> bool {
        self.0.iter().any(|line| line.taken != 0)
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
        if self.line_mut(home).put(posting, false) {
            return true;
        }
        if !self.line_mut(home ^ 1).put(posting, true) {
            return false;
        }
        self.line_mut(home).mark_lent();
        true
    }
}

/// A bit for each of eight bytes that is the wanted one (Mycroft 1987, in the form that carries
/// nothing from byte to byte; Warren, Hacker's Delight 6-1).
#[inline]
fn equal_bytes(bytes: u64, wanted: u8) -> u16 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const LOW_BITS: u64 = 0x7f * ONES;
    let differing = bytes ^ (u64::from(wanted) * ONES);
    let equal = !(((differing & LOW_BITS) + LOW_BITS) | differing | LOW_BITS);
    // One bit a byte, gathered in the highest byte by adding up shifted copies.
    ((equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_told_from_all_others() {
        for wanted in [0, 1, 0x7f, 0x80, 0xff] {
            for other in 0..=255_u8 {
                let bytes = [wanted, other, wanted, other, other, other, wanted, other];
                let expected = if wanted == other { 0xff } else { 0b0100_0101 };
                assert_eq!(equal_bytes(u64::from_le_bytes(bytes), wanted), expected);
            }
        }
    }

    #[test]
    fn a_line_holds_twelve_and_knows_its_guests() {
        assert_eq!(size_of::<Line>(), 64);
        let mut line = Line::EMPTY;
        for number in 0..PLACES as u64 {
            assert!(line.put(0xab_0000_0000 | number, number % 3 == 0));
        }
        assert!(!line.put(1, false));
        assert_eq!(line.guests(0xab_0000_0000, 8).collect::<Vec<_>>(), [0, 3, 6, 9]);
        assert_eq!(line.residents(0xab_0000_0000, 2).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(line.residents(0xac_0000_0000, 8).count(), 0);
        line.clear(1);
        assert!(line.put(0xff_ffff_ffff, false));
        assert_eq!(line.packed(1), 0xff_ffff_ffff);
        assert_eq!(line.taken().count(), PLACES);
    }
}
