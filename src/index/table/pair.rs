//! Two lines, side by side; one that is full borrows room from the other.

use super::NEAR_MAX;
use super::line::{Line, Marks, Packed};

/// Processors that fetch lines two by two fetch these together.
#[derive(Clone, Copy, Debug)]
#[repr(align(128))]
pub(super) struct Pair(pub [Line; 2]);

impl Pair {
    pub const EMPTY: Self = Self([Line::EMPTY; 2]);

    /// Of both lines.
    #[inline]
    pub fn marks(&self) -> Marks {
        self.0[0].marks().or(self.0[1].marks())
    }

    /// Puts a posting into the line where it is at home, or else into the other. `false` if there
    /// is no room.
    #[inline]
    pub fn put(&mut self, line: usize, posting: Packed) -> bool {
        if self.0[line].put(posting) {
            return true;
        }
        let has_room = self.0[line ^ 1].put(posting);
        if has_room {
            self.0[line].mark_borrowed();
        }
        has_room
    }

    /// Files an entry under a key that is at home in this line. Gives how many the key had before;
    /// or `None`, with nothing done, if it has [`NEAR_MAX`] already, if the pair has no room, or if
    /// postings at home in the line are outside the pair.
    #[inline]
    pub fn file(&mut self, line: usize, key: Packed, entry_bits: u32, entry: u32) -> Option<usize> {
        let marks = self.0[line].marks();
        if !marks.is_in_pair() {
            return None;
        }
        let mut near = self.0[line].of_key(key, entry_bits).count();
        if marks.borrows() {
            near += self.0[line ^ 1].of_key(key, entry_bits).count();
        }
        let is_filed = near < NEAR_MAX && self.put(line, key | Packed::from(entry));
        is_filed.then_some(near)
    }
}
