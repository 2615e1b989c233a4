//! A group of pairs of lines that lend each other room.
//!
//! A posting is put into the line where its key is at home; if that is full into the other of the
//! pair, or else into any of the group. The line at home is marked then. Bits of the key tell what
//! is whose, wherever in the group it is.

use super::line::{Line, Packed};
use super::pair::Pair;
use super::shape::{Home, Shape};

/// What there is of a group's key to be found by: bits of the key, and entry 0.
#[derive(Clone, Copy)]
pub(super) struct Sought {
    pub home: Home,
    pub shape: Shape,
    pub key: Packed,
}

impl Sought {
    #[inline]
    pub fn new(shape: Shape, key: u32) -> Self {
        Self { home: shape.home(key), shape, key: shape.pack(key, 0) }
    }

    /// Of the group: all its pairs are on one page.
    #[inline]
    pub fn first_pair(&self) -> u32 {
        self.home.group * self.shape.pairs
    }

    #[inline]
    pub fn posting(&self, entry: u32) -> Packed {
        self.key | Packed::from(entry)
    }

    #[inline]
    pub fn line<'a>(&self, group: &'a [Pair]) -> &'a Line {
        &group[self.home.pair as usize].0[self.home.line as usize]
    }

    #[inline]
    pub fn line_mut<'a>(&self, group: &'a mut [Pair]) -> &'a mut Line {
        &mut group[self.home.pair as usize].0[self.home.line as usize]
    }

    /// Calls for the pair and the line of each that may have postings of the key, beside the one
    /// where it is at home.
    #[inline]
    pub fn each_other(&self, group: &[Pair], mut look: impl FnMut(usize, usize)) {
        let (pair, line) = (self.home.pair as usize, self.home.line as usize);
        let marks = self.line(group).marks();
        if marks.borrows() {
            look(pair, line ^ 1);
        }
        if marks.borrows_far() {
            for other in (0..group.len()).filter(|other| *other != pair) {
                look(other, 0);
                look(other, 1);
            }
        }
    }

    #[inline]
    pub fn places(&self, line: &Line) -> impl Iterator<Item = usize> {
        line.of_key(self.key, self.shape.entry_bits)
    }

    /// How many postings of the key are in the group.
    pub fn count(&self, group: &[Pair]) -> usize {
        let mut count = self.places(self.line(group)).count();
        self.each_other(group, |pair, line| count += self.places(&group[pair].0[line]).count());
        count
    }

    /// The pair, the line and the place of a posting.
    pub fn find(&self, group: &[Pair], entry: u32) -> Option<(usize, usize, usize)> {
        let mut found = None;
        let mut look = |pair: usize, line: usize| {
            let lines = &group[pair].0[line];
            let mut places = self.places(lines);
            let place = places.find(|place| lines.packed(*place) == self.posting(entry));
            found = found.or(place.map(|place| (pair, line, place)));
        };
        look(self.home.pair as usize, self.home.line as usize);
        self.each_other(group, look);
        found
    }

    /// `false` if there is no room in all the group.
    pub fn put(&self, group: &mut [Pair], entry: u32) -> bool {
        let posting = self.posting(entry);
        let (pair, line) = (self.home.pair as usize, self.home.line as usize);
        if group[pair].put(line, posting) {
            return true;
        }
        let has_room = group.iter_mut().flat_map(|pair| &mut pair.0).any(|line| line.put(posting));
        match has_room {
            true => group[pair].0[line].mark_borrowed_far(),
            false => group[pair].0[line].mark_spilled(),
        }
        has_room
    }
}
