//! How a table grows and shrinks: in place, a group of lines at a time.
//!
//! Keys keep their order, so a table of more lines has the postings of line l in line l or later:
//! it is made anew from its end towards its beginning, and what was made never meets what was not.
//! Shrinking is the same from beginning to end. As in linear hashing (Litwin 1980) each posting
//! that is filed pays for a part; but then all lines have the same load.

use std::mem::size_of;

use smallvec::SmallVec;

use super::Table;
use super::line::{Line, Marks, Pair};
use super::moving::{Late, Lines, Moving};
use super::pages::{NO_PAGE, PAGE_PAIRS, Pages};
use super::shape::Shape;
use crate::simd::{Level, prefetch};

/// A table with more postings in lines than these, for each of its lines, grows.
const FULL: f64 = 9.6;

/// A table with so many times fewer shrinks.
const SPARSE: usize = 3;

/// For each line of a table that is filed at once: it has room for some more.
const FILED_AT_ONCE: u32 = 8;

/// Of a posting, on average over the sizes between two growths; few are in the crowd.
pub(in crate::index) const POSTING_BYTES: f64 = size_of::<Line>() as f64 / FULL * 1.2;

/// The smallest tables have from so many groups to twice as many.
const GROUPS_MIN: f64 = 12.0;

impl Table {
    /// Has an empty table be of a size for so many postings.
    pub(super) fn expect(&mut self, postings: usize, entry_max: u32) {
        let mut shape = self.shape;
        while (shape.lines * FILED_AT_ONCE) as usize <= postings || !shape.holds(entry_max) {
            shape = shape.larger();
        }
        self.entry_max = entry_max;
        self.pages = vec![NO_PAGE; pages_for(shape)];
        self.settle(shape);
    }

    /// Has the table grow at once as far as it takes for an entry's number.
    #[cold]
    pub(super) fn make_room(&mut self, entry: u32, pages: &mut Pages) {
        while !self.holds(entry) {
            if !self.changes() {
                self.begin_change(self.shape.larger());
            }
            while self.changes() {
                self.change_group(pages);
            }
        }
    }

    /// A step of a change that has begun, or the beginning of one that is due.
    pub(super) fn change_a_little(&mut self, pages: &mut Pages) {
        if self.changes() {
            self.change_group(pages);
        } else if self.near() > full(self.shape) {
            self.begin_change(self.shape.larger());
        } else if self.near() < full(self.shape) / SPARSE && self.shape != self.smallest {
            self.begin_shrinking();
        }
    }

    #[inline]
    fn changes(&self) -> bool {
        self.next != self.shape
    }

    /// Only if the numbers of the entries that are filed can be told then, too.
    fn begin_shrinking(&mut self) {
        let smaller = self.shape.smaller();
        if smaller.holds(self.entry_max) {
            self.begin_change(smaller);
        }
    }

    fn begin_change(&mut self, next: Shape) {
        self.next = next;
        self.boundary = 0;
        self.calm_max = 0;
        if next.lines > self.shape.lines {
            self.boundary = self.shape.lines;
            let pages = pages_for(next);
            self.pages.reserve_exact(pages - self.pages.len());
            self.pages.resize(pages, NO_PAGE);
        }
    }

    /// Makes the next group anew, all pairs of it at once.
    fn change_group(&mut self, pages: &mut Pages) {
        let (old, new) = (self.shape, self.next);
        let grows = new.lines > old.lines;
        let groups = old.groups.min(new.groups);
        let [lines, lines_after] = [old, new].map(|shape| shape.pairs_each(groups) * 2);
        let first = if grows { self.boundary - lines } else { self.boundary };
        let first_after = first / lines * lines_after;
        self.boundary = if grows { first } else { first + lines };

        let pairs = SmallVec::<[Pair; 4]>::from_slice(self.pairs(first, lines, pages));
        let after = Lines { first: first_after, count: lines_after };
        self.move_group(&pairs, Lines { first, count: lines }, after, pages);
        if self.boundary == if grows { 0 } else { old.lines } {
            self.end_change(pages);
        } else {
            let ahead = |first: u32, by: u32| if grows { first - by } else { first + by };
            self.prefetch_lines(ahead(first, lines), lines, pages);
            self.prefetch_lines(ahead(first_after, lines_after), lines_after, pages);
        }
    }

    fn move_group(&mut self, pairs: &[Pair], from: Lines, to: Lines, pages: &mut Pages) {
        let marks = pairs.iter().map(Pair::marks).fold(Marks::default(), Marks::or);
        if marks.is_empty() && self.page_of(to.first) == NO_PAGE {
            return;
        }
        let (old, new) = (self.shape, self.next);
        // What did not fit before may fit now.
        let mut late = Late::new();
        if marks.is_spilled() {
            for line in (from.first..from.first + from.count).step_by(2) {
                self.spill.take(line, |key, entry| late.push((new.home(key), key, entry)));
            }
        }
        self.in_lines += late.len();
        let after = self.pairs_mut(to.first, to.count, pages);
        let left = Level::best().run(Moving { pairs, from, old, after, to, new, late });
        self.in_lines -= left.len();
        for (line, key, entry) in left {
            self.spill.push(line, key, entry);
        }
        if marks.is_crowded() {
            let [start, end] = [from.first, from.first + from.count].map(|line| old.start(line));
            self.mark_crowd(start, end, pages);
        }
    }

    fn end_change(&mut self, pages: &mut Pages) {
        for page in self.pages.drain(pages_for(self.next)..).filter(|page| *page != NO_PAGE) {
            pages.give_back(page);
        }
        self.pages.shrink_to_fit();
        self.settle(self.next);
    }

    fn settle(&mut self, shape: Shape) {
        self.shape = shape;
        self.next = shape;
        self.boundary = shape.lines;
        self.calm_max = full(shape);
    }

    fn mark_crowd(&mut self, start: u64, end: u64, pages: &mut Pages) {
        for key in self.crowd.keys(start, end) {
            let line = self.home(key).line;
            self.pair_mut(line, pages).line_mut(line).mark_crowded();
        }
    }

    fn prefetch_lines(&self, first: u32, count: u32, pages: &Pages) {
        for pair in self.pairs(first, count, pages) {
            pair.0.iter().for_each(prefetch);
        }
    }
}

/// The smallest shape of a table. They are spread evenly between one size and twice as much, as the
/// golden ratio's multiples are however many there are (Knuth, TAOCP 3, 6.4), so that tables do not
/// all grow at once.
pub(super) fn smallest(number: u32) -> Shape {
    let phase = (f64::from(number) * 0.618_033_988_749_895).fract();
    Shape::new((GROUPS_MIN * phase.exp2()) as u32)
}

pub(super) fn full(shape: Shape) -> usize {
    (f64::from(shape.lines) * FULL) as usize
}

pub(super) fn pages_for(shape: Shape) -> usize {
    (shape.lines as usize / 2).div_ceil(PAGE_PAIRS)
}
