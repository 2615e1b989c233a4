//! How a table grows and shrinks: in place, a pair of lines at a time.
//!
//! Keys keep their order, so a table of more lines has the postings of line l in line l or later:
//! it is made anew from its end towards its beginning, and what was made never meets what was not.
//! Shrinking is the same from beginning to end. As in linear hashing (Litwin 1980) each posting
//! that is filed pays for a part; but then all lines have the same load.

use std::mem::{replace, size_of};

use smallvec::SmallVec;

use super::Table;
use super::line::{Line, Pair};
use super::pages::{NO_PAGE, PAGE_PAIRS, Pages};
use super::shape::Shape;
use crate::simd::prefetch;

/// A table with more postings in lines than these, for each of its lines, grows.
const FULL: f64 = 9.6;

/// A table with so many times fewer shrinks.
const SPARSE: usize = 3;

/// So many times as many lines: a table is at most so much emptier than a full one.
const GROWTH: f64 = 1.5;

/// For each line of a table that is filed at once: it has room for some more.
const FILED_AT_ONCE: f64 = 8.0;

/// Of a posting, on average over the sizes between two growths; few are in the crowd.
pub(in crate::index) const POSTING_BYTES: f64 = size_of::<Line>() as f64 / FULL * 1.2;

/// A page of them.
pub(super) const LINES_MIN: u32 = 2 * PAGE_PAIRS as u32;

/// Pairs that those of one pair can come to: a change at most doubles the lines.
const PAIRS_AFTER_MAX: usize = 4;

impl Table {
    /// Has an empty table be of a size for so many postings.
    pub(super) fn expect(&mut self, postings: usize, entry_max: u32) {
        let mut lines = lines_for(postings as f64 / FILED_AT_ONCE);
        while !Shape::new(lines).holds(entry_max) {
            lines *= 2;
        }
        self.pages = vec![NO_PAGE; (lines / LINES_MIN) as usize];
        self.settle(Shape::new(lines));
    }

    /// Has the table grow at once as far as it takes for an entry's number.
    #[inline]
    pub(super) fn make_room(&mut self, entry: u32, pages: &mut Pages) {
        self.entry_max = self.entry_max.max(entry);
        while !(self.shape.holds(entry) && self.next.holds(entry)) {
            if self.next == self.shape {
                self.begin_change(self.step(1));
            }
            while self.changes() {
                self.change_pair(pages);
            }
        }
    }

    /// A step of a change that has begun, or the beginning of one that is due.
    #[inline]
    pub(super) fn change_a_little(&mut self, pages: &mut Pages) {
        if self.changes() {
            self.change_pair(pages);
        } else if self.in_lines > self.full {
            self.begin_change(self.step(1));
        } else if self.in_lines < self.full / SPARSE && self.shape.lines > LINES_MIN {
            self.begin_shrinking();
        }
    }

    #[inline]
    pub(super) fn changes(&self) -> bool {
        self.next != self.shape
    }

    /// Only if the numbers of the entries that are filed can be told then, too.
    fn begin_shrinking(&mut self) {
        let lines = self.step(-1);
        if Shape::new(lines).holds(self.entry_max) {
            self.begin_change(lines);
        }
    }

    fn begin_change(&mut self, lines: u32) {
        self.next = Shape::new(lines);
        self.boundary = 0;
        if lines > self.shape.lines {
            self.boundary = self.shape.lines;
            let pages = (lines / LINES_MIN) as usize;
            self.pages.reserve_exact(pages - self.pages.len());
            self.pages.resize(pages, NO_PAGE);
        }
    }

    fn change_pair(&mut self, pages: &mut Pages) {
        let grows = self.next.lines > self.shape.lines;
        let first = if grows { self.boundary - 2 } else { self.boundary };
        let pair = self.take_pair(first, pages);
        self.boundary = if grows { first } else { first + 2 };
        let starts = [0, 1, 2].map(|line| self.shape.start(first + line));
        if pair.holds_any() {
            self.put_anew(&pair, starts, pages);
        }
        if pair.0.iter().any(Line::is_spilled) {
            self.put_spilled_anew(first, pages);
        }
        for at in [0, 1].into_iter().filter(|&at| pair.0[at].is_crowded()) {
            self.mark_crowd(starts[at], starts[at + 1], pages);
        }
        if self.boundary == if grows { 0 } else { self.shape.lines } {
            self.end_change(pages);
        } else {
            let next = self.pair(if grows { first - 2 } else { first + 2 }, pages);
            next.0.iter().for_each(prefetch);
        }
    }

    fn end_change(&mut self, pages: &mut Pages) {
        let pages_left = (self.next.lines / LINES_MIN) as usize;
        for page in self.pages.drain(pages_left..).filter(|page| *page != NO_PAGE) {
            pages.give_back(page);
        }
        self.pages.shrink_to_fit();
        self.settle(self.next);
    }

    fn settle(&mut self, shape: Shape) {
        self.shape = shape;
        self.next = shape;
        self.boundary = shape.lines;
        self.full = full(shape);
    }

    /// The next of the table's sizes, or the one before. They are [`GROWTH`] apart, and those of
    /// several tables evenly between each other.
    fn step(&self, by: i32) -> u32 {
        let lines = self.shape.lines;
        let size = (f64::from(lines) / f64::from(LINES_MIN)).log(GROWTH) - self.phase;
        let next = lines_for(
            GROWTH.powf(size.round() + f64::from(by) + self.phase) * f64::from(LINES_MIN),
        );
        if by > 0 { next.max(lines + LINES_MIN) } else { next.min(lines - LINES_MIN) }
    }

    fn take_pair(&mut self, line: u32, pages: &mut Pages) -> Pair {
        if self.pages[line as usize / 2 / PAGE_PAIRS] == NO_PAGE {
            return Pair::EMPTY;
        }
        replace(self.pair_mut(line, pages), Pair::EMPTY)
    }

    /// `starts`: the first keys of the pair's lines, and of the next line.
    fn put_anew(&mut self, pair: &Pair, starts: [u64; 3], pages: &mut Pages) {
        let (old, new) = (self.shape, self.next);
        let first = new.home(starts[0] as u32) & !1;
        let last = new.home((starts[2] - 1) as u32);
        // A copy in one piece, since they may be on two pages.
        let mut after = [Pair::EMPTY; PAIRS_AFTER_MAX];
        let lines = || (first..=last).step_by(2);
        for (pair, line) in after.iter_mut().zip(lines()) {
            *pair = *self.pair_mut(line, pages);
        }
        let mut anew: SmallVec<[(u32, u32, u32); 4]> = SmallVec::new();
        for (at, line) in pair.0.iter().enumerate() {
            for place in line.taken() {
                let posting = line.packed(place);
                let key = old.key(starts[at ^ usize::from(line.is_guest(place))], posting);
                let (home, entry) = (new.home(key), old.entry(posting));
                let pair = &mut after[(home - first) as usize / 2];
                if !pair.put(home, new.pack(key, entry)) {
                    self.in_lines -= 1;
                    pair.line_mut(home).mark_spilled();
                    anew.push((home, key, entry));
                }
            }
        }
        for (pair, line) in after.iter().zip(lines()) {
            *self.pair_mut(line, pages) = *pair;
        }
        for (line, key, entry) in anew {
            self.spill.push(line, key, entry);
        }
    }

    /// What did not fit into the pair of lines that begins here may fit into lines now.
    fn put_spilled_anew(&mut self, line: u32, pages: &mut Pages) {
        for (key, entry) in self.spill.take(line) {
            let (near, _) = self.count(key, pages);
            self.put(self.home(key), key, entry, near, pages);
        }
    }

    fn mark_crowd(&mut self, start: u64, end: u64, pages: &mut Pages) {
        for key in self.crowd.keys(start, end) {
            let line = self.home(key).line;
            self.pair_mut(line, pages).line_mut(line).mark_crowded();
        }
    }
}

/// The golden ratio's multiples are spread evenly however many there are (Knuth, TAOCP 3, 6.4).
pub(super) fn phase(number: u32) -> f64 {
    (f64::from(number) * 0.618_033_988_749_895).fract()
}

pub(super) fn full(shape: Shape) -> usize {
    (f64::from(shape.lines) * FULL) as usize
}

/// Whole pages.
fn lines_for(lines: f64) -> u32 {
    (lines / f64::from(LINES_MIN)).round().max(1.0) as u32 * LINES_MIN
}
