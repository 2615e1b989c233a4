//! How a table grows and shrinks: in place, a group of lines at a time.
//!
//! Groups keep their order, so a table of more lines has the postings of group g where they were or
//! later: it is made anew from its end towards its beginning, and what was made never meets what
//! was not. Shrinking is the same from beginning to end. As in linear hashing (Litwin 1980) each
//! posting that is filed pays for a part; but then all lines have the same load.

use std::mem::size_of;

use smallvec::SmallVec;

use super::Table;
use super::line::{Line, Marks};
use super::moving::{Late, Moving, Span};
use super::pages::{NO_PAGE, PAGE_PAIRS, Pages};
use super::pair::Pair;
use super::shape::Shape;
use crate::simd::{Level, prefetch};

/// A table with more postings than these, for each of its lines, grows.
const FULL: f64 = 9.4;

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
        let has_room =
            |shape: Shape| (shape.pairs_in_all() * 2 * FILED_AT_ONCE) as usize > postings;
        while !has_room(shape) || entry_max > shape.entry_max() {
            shape = shape.larger();
        }
        self.entry_max = entry_max;
        self.pages = vec![NO_PAGE; pages_for(shape)];
        self.settle(shape);
    }

    /// At once to the next size, or that which it is changing to.
    #[cold]
    pub(super) fn grow(&mut self, pages: &mut Pages) {
        if !self.changes {
            self.begin_change(self.shape.larger());
        }
        while self.changes {
            self.change_group(pages);
        }
    }

    /// A step of a change that has begun, or the beginning of one that is due.
    pub(super) fn change_a_little(&mut self, pages: &mut Pages) {
        if self.changes {
            self.change_group(pages);
        } else if self.near() > full(self.shape) || self.entry_max > self.shape.easy_max() {
            self.begin_change(self.shape.larger());
        } else if self.near() < full(self.shape) / SPARSE && self.shape != self.smallest {
            self.begin_shrinking();
        }
    }

    /// Only if the numbers of the entries that are filed can be told then, too.
    fn begin_shrinking(&mut self) {
        let smaller = self.shape.smaller();
        if self.entry_max <= smaller.easy_max() {
            self.begin_change(smaller);
        }
    }

    fn begin_change(&mut self, next: Shape) {
        self.changes = true;
        self.next = next;
        self.sure_max = self.shape.easy_max().min(next.entry_max());
        self.boundary = 0;
        self.calm_max = 0;
        if self.grows() {
            self.boundary = self.shape.groups;
            let pages = pages_for(next);
            self.pages.reserve_exact(pages - self.pages.len());
            self.pages.resize(pages, NO_PAGE);
        }
    }

    #[inline]
    pub(super) fn grows(&self) -> bool {
        self.next.pairs_in_all() > self.shape.pairs_in_all()
    }

    /// Groups that are changed one by one: the fewer of before and after.
    #[inline]
    pub(super) fn groups_to_change(&self) -> u32 {
        self.shape.groups.min(self.next.groups)
    }

    /// What a group is, before or after the change.
    fn span(&self, shape: Shape, group: u32) -> Span {
        let groups_each = if shape.groups == self.groups_to_change() { 1 } else { 2 };
        Span { shape, first_group: group * groups_each, pairs: shape.pairs * groups_each }
    }

    /// Makes the next group anew, all pairs of it at once.
    fn change_group(&mut self, pages: &mut Pages) {
        let grows = self.grows();
        let group = if grows { self.boundary - 1 } else { self.boundary };
        let [from, to] = [self.shape, self.next].map(|shape| self.span(shape, group));
        self.boundary = if grows { group } else { group + 1 };
        let pairs = self.pairs(from.first_pair(), from.pairs, pages);
        let pairs = SmallVec::<[Pair; 4]>::from_slice(pairs);
        self.move_group(&pairs, from, to, pages);
        if self.boundary == if grows { 0 } else { self.groups_to_change() } {
            self.end_change(pages);
            return;
        }
        let next = if grows { group - 1 } else { group + 1 };
        for span in [self.shape, self.next].map(|shape| self.span(shape, next)) {
            for pair in self.pairs(span.first_pair(), span.pairs, pages) {
                prefetch(&pair.0[0]);
                prefetch(&pair.0[1]);
            }
        }
    }

    fn move_group(&mut self, pairs: &[Pair], from: Span, to: Span, pages: &mut Pages) {
        let marks = pairs.iter().map(Pair::marks).fold(Marks::default(), Marks::or);
        if marks.is_empty() && self.page_of(to.first_pair()) == NO_PAGE {
            return;
        }
        let mut late = Late::new();
        let groups = from.first_group..from.first_group + from.pairs / from.shape.pairs;
        if marks.is_spilled() {
            let groups = groups.clone();
            groups.for_each(|group| self.spill.take(group, |posting| late.push(posting)));
        }
        self.in_lines += late.len();
        let after = self.pairs_mut(to.first_pair(), to.pairs, pages);
        Level::best().run(Moving { pairs, from, after, to, late: &mut late });
        self.in_lines -= late.len();
        for (key, entry) in late {
            self.spill.push(self.next.home(key).group, key, entry);
        }
        if marks.is_crowded() {
            let [start, end] = [groups.start, groups.end].map(|group| from.shape.start(group));
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
        self.changes = false;
        self.shape = shape;
        self.next = shape;
        self.sure_max = shape.easy_max();
        self.calm_max = full(shape);
    }

    fn mark_crowd(&mut self, start: u64, end: u64, pages: &mut Pages) {
        for key in self.crowd.keys(start, end) {
            let sought = self.sought(key);
            sought.line_mut(self.group_mut(&sought, pages)).mark_crowded();
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
    (f64::from(shape.pairs_in_all() * 2) * FULL) as usize
}

pub(super) fn pages_for(shape: Shape) -> usize {
    (shape.pairs_in_all() as usize).div_ceil(PAGE_PAIRS)
}
