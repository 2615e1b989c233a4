//! Two lines, side by side, of which each lends the other room.

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
    pub fn put(&mut self, home: usize, posting: Packed) -> bool {
        if self.0[home].put(posting) {
            return true;
        }
        let has_room = self.0[home ^ 1].put(posting);
        if has_room {
            self.0[home].mark_lent();
        }
        has_room
    }

    /// Files an entry under a key. How many the key had before; `None`, and nothing is done, if
    /// those that may be near are there already, if there is no room, or if some of those at home
    /// in the line are elsewhere.
    #[inline]
    pub fn file(&mut self, home: usize, key: Packed, entry_bits: u32, entry: u32) -> Option<usize> {
        let marks = self.0[home].marks();
        if !marks.is_near() {
            return None;
        }
        let mut near = self.0[home].of_key(key, entry_bits).count();
        if marks.lends() {
            near += self.0[home ^ 1].of_key(key, entry_bits).count();
        }
        let is_filed = near < NEAR_MAX && self.put(home, key | Packed::from(entry));
        is_filed.then_some(near)
    }
}
