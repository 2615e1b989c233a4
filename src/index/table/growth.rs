//! How a table grows and shrinks: in place, a pair of lines at a time.
//!
//! Keys keep their order, so a table of more lines has the postings of line l in line l or later:
//! it is made anew from its end towards its beginning, and what was made never meets what was not.
//! Shrinking is the same from beginning to end. As in linear hashing (Litwin 1980) each posting
//! that is filed pays for a part; but then all lines have the same load.

use std::mem::{replace, size_of};

use super::line::Line;
use super::pages::{NO_PAGE, PAGE_LINES, Pages};
use super::shape::Shape;
use super::{Home, NEAR_MAX, Table};
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

const LINES_MIN: u32 = PAGE_LINES as u32;

impl Table {
    /// Has an empty table be of a size for so many postings.
    pub(super) fn expect(&mut self, postings: usize, entry_max: u32) {
        let mut lines = lines_for(postings as f64 / FILED_AT_ONCE);
        while !Shape::new(lines).holds(entry_max) {
            lines *= 2;
        }
        self.pages = vec![NO_PAGE; lines as usize / PAGE_LINES];
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
            let pages = lines as usize / PAGE_LINES;
            self.pages.reserve_exact(pages - self.pages.len());
            self.pages.resize(pages, NO_PAGE);
        }
    }

    fn change_pair(&mut self, pages: &mut Pages) {
        let grows = self.next.lines > self.shape.lines;
        let first = if grows { self.boundary - 2 } else { self.boundary };
        let pair = [self.take_line(first, pages), self.take_line(first + 1, pages)];
        self.boundary = if grows { first } else { first + 2 };
        let starts = [0, 1, 2].map(|line| self.shape.start(first + line));
        for (at, line) in pair.iter().enumerate() {
            self.put_anew(line, starts[at], starts[at ^ 1], pages);
        }
        for at in [0, 1].into_iter().filter(|&at| pair[at].is_crowded()) {
            self.place_crowd(starts[at], starts[at + 1], pages);
        }
        if self.boundary == if grows { 0 } else { self.shape.lines } {
            self.end_change(pages);
        } else {
            let next = if grows { first - 2 } else { first + 2 };
            (next..next + 2).for_each(|line| prefetch(self.line(line, pages)));
        }
    }

    fn end_change(&mut self, pages: &mut Pages) {
        let pages_left = self.next.lines as usize / PAGE_LINES;
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

    fn take_line(&mut self, line: u32, pages: &mut Pages) -> Line {
        if self.pages[line as usize / PAGE_LINES] == NO_PAGE {
            return Line::EMPTY;
        }
        let line = replace(self.line_mut(line, pages), Line::EMPTY);
        self.in_lines -= line.taken().count();
        line
    }

    /// `start`: the first key of the line, and `other_start` of the other of its pair.
    fn put_anew(&mut self, line: &Line, start: u64, other_start: u64, pages: &mut Pages) {
        let (old, new) = (self.shape, self.next);
        for place in line.taken() {
            let posting = line.packed(place);
            let start = if line.is_guest(place) { other_start } else { start };
            let key = old.key(start, posting);
            let home = Home { line: new.home(key), shape: new, key: new.pack(key, 0) };
            self.put(home, key, old.entry(posting), pages);
        }
    }

    /// Puts the few that did not fit into lines now, and leaves a mark for the others.
    fn place_crowd(&mut self, start: u64, end: u64, pages: &mut Pages) {
        for (key, postings) in self.crowd.keys(start, end) {
            let home = self.home(key);
            if postings > NEAR_MAX {
                self.line_mut(home.line, pages).mark_crowded();
                continue;
            }
            for entry in self.crowd.take(key) {
                let (near, _) = self.count(key, pages);
                match near < NEAR_MAX {
                    true => self.put(home, key, entry, pages),
                    false => self.put_far(home, key, entry, pages),
                }
            }
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
