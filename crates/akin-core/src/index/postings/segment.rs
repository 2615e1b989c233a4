//! The postings of a page under the keys with a common prefix of bits, in lines.
//!
//! A posting is stored in the emptier of the two lines selected by its tag (Azar, Broder, Karlin
//! and Upfal 1994), so that lines can be nine tenths full and hardly any posting overflows. A
//! posting that overflows is in a line after the second of the two, and the lines between are
//! marked.
//!
//! Only the bits of a key that its page and segment do not determine are stored (quotienting:
//! Cleary 1984). A segment has some thousand postings, so the remaining bits of a key and the bits
//! of an entry number fit into 48 bits for any number of documents. If too many keys are alike,
//! there may be too few bits: then the lowest bits of keys are dropped, and a lookup may read
//! postings of another key, too.

use super::line::{LINE_POSTINGS, Line, POSTING_BITS, Tag};
use crate::simd::prefetch;

/// The share of full lines, in percent, at which a segment is full. Neighbouring pages have
/// different shares, so that pages do not grow at the same time. Full lines are counted, not
/// postings: their number changes rarely, so that a segment's header stays in the caches of all
/// cores.
const FULL_PERCENT: [usize; 4] = [54, 62, 70, 78];

/// The share of places that is taken in a full segment, about.
const LOAD_PERCENT: usize = 95;

/// Prefetch distance, in lines, when a segment is rebuilt.
const AHEAD: usize = 12;

/// Minimum bits of an entry number. A rebuilt segment gets two more than needed, so that it is not
/// rebuilt soon for larger numbers.
const ENTRY_BITS_MIN: u32 = 16;
const ENTRY_BITS_SPARE: u32 = 2;

#[derive(Debug)]
pub(super) struct Segment<X> {
    lines: Box<[Line<X>]>,
    /// How many more lines may become full before the segment is.
    full_lines_left: i32,
    /// Number of bits of the page's keys that are equal in the whole segment.
    pub depth: u8,
    /// The number of bits of a key that are stored, after the bits of the depth.
    key_bits: u8,
    entry_bits: u8,
}

/// Sizes as used by allocators: four per power of two.
fn next_size(lines: usize) -> usize {
    lines + (1 << lines.max(4).ilog2() >> 2)
}

/// The least size with so many places.
fn size_for(postings: usize) -> usize {
    let mut lines = 1;
    while lines * LINE_POSTINGS < postings {
        lines = next_size(lines);
    }
    lines
}

/// A size 1.33 to 1.5 times as large, or 1.6 to 1.75 times for a quarter of the cases. This depends
/// on the page's number, so that pages do not grow at the same time.
fn larger(lines: usize, depth: u8, page: u32) -> usize {
    let larger = next_size(next_size(lines));
    let drawn = super::spread(super::spread(page) ^ (u32::from(depth) << 16) ^ lines as u32);
    if drawn >> 30 == 0 { next_size(larger) } else { larger }
}

/// A mask of the highest `count` bits.
#[inline]
fn top_bits(count: u8) -> u32 {
    (u64::from(u32::MAX) << (32 - count)) as u32
}

impl<X: Copy + Default> Segment<X> {
    /// The first segment of a page with keys of `key_bits` bits.
    pub fn new(key_bits: u32) -> Self {
        Self {
            lines: Box::default(),
            full_lines_left: 0,
            depth: 0,
            key_bits: key_bits as u8,
            entry_bits: ENTRY_BITS_MIN as u8,
        }
    }

    /// A directory slot for keys in an earlier segment of this depth.
    pub fn alias(depth: u8) -> Self {
        Self { depth, ..Self::new(0) }
    }

    /// `rest`: the bits of a key that its page does not determine, left-aligned.
    #[inline]
    pub fn tag(&self, rest: u32) -> Tag {
        let rest = (u64::from(rest) << self.depth) as u32;
        Tag::new(rest, top_bits(self.key_bits), self.entry_mask())
    }

    #[inline]
    fn entry_mask(&self) -> u32 {
        ((1_u64 << self.entry_bits) - 1) as u32
    }

    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// Whether another posting with this entry fits.
    #[inline]
    pub fn has_room(&self, entry: u32) -> bool {
        !self.is_full() && entry <= self.entry_mask()
    }

    pub fn is_full(&self) -> bool {
        self.full_lines_left <= 0
    }

    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.len() == 0)
    }

    /// The number of lines when it grows.
    pub fn lines_grown(&self, page: u32) -> usize {
        larger(self.lines.len(), self.depth, page)
    }

    /// The two lines of a tag. Tags that share one line have many different second lines.
    #[inline]
    fn lines_of(&self, tag: Tag) -> [usize; 2] {
        let scale = |bits: u32| ((u64::from(bits) * self.lines.len() as u64) >> u32::BITS) as usize;
        [scale(tag.rest()), scale(super::spread(tag.rest()))]
    }

    #[inline]
    pub fn prefetch(&self, tag: Tag) {
        if !self.lines.is_empty() {
            let [first, second] = self.lines_of(tag);
            prefetch(&self.lines[first]);
            prefetch(&self.lines[second]);
        }
    }

    #[inline]
    fn next(&self, at: usize) -> usize {
        if at + 1 == self.lines.len() { 0 } else { at + 1 }
    }

    /// There must be [room](Self::has_room).
    #[inline]
    pub fn put(&mut self, tag: Tag, entry: u32, extra: X) {
        let [first, second] = self.lines_of(tag);
        let first_is_emptier = self.lines[first].len() < self.lines[second].len();
        let mut at = if first_is_emptier { first } else { second };
        while !self.lines[at].push(tag, entry, extra) {
            at = self.next(at);
        }
        if self.lines[at].len() == LINE_POSTINGS {
            self.full_lines_left -= 1;
        }
    }

    /// Calls `each` for every line that may have postings of the tag.
    #[inline]
    fn each_line(&self, tag: Tag, mut each: impl FnMut(usize, &Line<X>)) {
        if self.lines.is_empty() {
            return;
        }
        let [first, second] = self.lines_of(tag);
        each(first, &self.lines[first]);
        if second != first {
            each(second, &self.lines[second]);
        }
        let mut at = second;
        while self.lines[at].has_overflowed(tag) {
            at = self.next(at);
            if at == second {
                return;
            }
            if at != first {
                each(at, &self.lines[at]);
            }
        }
    }

    /// Calls `each` with the entry and extra of each posting with the tag.
    #[inline]
    pub fn each(&self, tag: Tag, mut each: impl FnMut(u32, X)) {
        self.each_line(tag, |_, line| line.each(tag, |at, entry| each(entry, line.extra(at))));
    }

    #[inline]
    pub fn count(&self, tag: Tag) -> usize {
        let mut count = 0;
        self.each(tag, |_, _| count += 1);
        count
    }

    #[inline]
    pub fn is_crowded(&self, tag: Tag) -> bool {
        self.lines.get(self.lines_of(tag)[0]).is_some_and(Line::is_crowded)
    }

    pub fn mark_crowded(&mut self, tag: Tag) {
        let [first, _] = self.lines_of(tag);
        if let Some(line) = self.lines.get_mut(first) {
            line.mark_crowded();
        }
    }

    /// Returns the line of the posting, if it existed.
    pub fn remove(&mut self, tag: Tag, entry: u32) -> Option<usize> {
        let mut found = None;
        self.each_line(tag, |line, postings| {
            postings.each(tag, |at, other| {
                found = found.or((other == entry).then_some((line, at)));
            });
        });
        let (line, at) = found?;
        if self.lines[line].len() == LINE_POSTINGS {
            self.full_lines_left += 1;
        }
        self.lines[line].remove(at);
        Some(line)
    }

    /// Whether a third of the lines would be enough. Postings are only counted where a removal left
    /// two empty lines side by side.
    pub fn is_sparse_at(&self, line: usize) -> bool {
        self.lines.len() > 2
            && self.lines[line].len() + self.lines[self.next(line)].len() == 0
            && self.count_all() * 300 < self.lines.len() * LINE_POSTINGS * LOAD_PERCENT
    }

    fn count_all(&self) -> usize {
        self.lines.iter().map(Line::len).sum()
    }

    /// Rebuilds the segment with more lines if it is full, with room for a posting of this entry.
    pub fn grow(&mut self, entry: u32, page: u32) {
        let lines = match self.lines.len() {
            0 => 1,
            _ if self.is_full() => self.lines_grown(page),
            lines => lines,
        };
        let mut grown = self.empty_for(entry, self.depth, lines, page);
        self.each_posting(|rest, entry, extra| grown.put(grown.tag_of(rest), entry, extra));
        *self = grown;
    }

    pub fn shrink(&mut self, page: u32) {
        let mut shrunk = self.empty_for(0, self.depth, self.lines.len() / 2, page);
        self.each_posting(|rest, entry, extra| shrunk.put(shrunk.tag_of(rest), entry, extra));
        *self = shrunk;
    }

    /// Splits the segment in two by the first bit of the tags.
    pub fn split(&self, entry: u32, page: u32) -> [Self; 2] {
        let mut counts = [0; 2];
        self.each_posting(|rest, _, _| counts[(rest >> 31) as usize] += 1);
        let mut halves = counts.map(|count| {
            let lines = larger(size_for(count), self.depth, page);
            self.empty_for(entry, self.depth + 1, lines, page)
        });
        self.each_posting(|rest, entry, extra| {
            let half = &mut halves[(rest >> 31) as usize];
            half.put(half.tag_of(rest << 1), entry, extra);
        });
        halves
    }

    /// `depth`: the depth of this segment, or 1 more.
    fn empty_for(&self, entry: u32, depth: u8, lines: usize, page: u32) -> Self {
        let full_percent = FULL_PERCENT[page as usize % FULL_PERCENT.len()];
        let needed = u32::BITS - entry.leading_zeros() + ENTRY_BITS_SPARE;
        let entry_bits = needed.min(u32::BITS).max(u32::from(self.entry_bits));
        let key_bits = u32::from(self.key_bits.saturating_sub(depth - self.depth));
        Self {
            lines: vec![Line::empty(); lines].into(),
            full_lines_left: (lines * full_percent).div_ceil(100) as i32,
            depth,
            key_bits: key_bits.min(POSTING_BITS - entry_bits) as u8,
            entry_bits: entry_bits as u8,
        }
    }

    /// Like [`Segment::tag`] for the bits that the segment does not determine.
    #[inline]
    fn tag_of(&self, rest: u32) -> Tag {
        Tag::new(rest, top_bits(self.key_bits), self.entry_mask())
    }

    fn each_posting(&self, mut each: impl FnMut(u32, u32, X)) {
        self.lines.iter().take(AHEAD).for_each(prefetch);
        for (number, line) in self.lines.iter().enumerate() {
            self.lines.get(number + AHEAD).into_iter().for_each(prefetch);
            for (rest, entry, extra) in line.all(self.entry_mask()) {
                each(rest, entry, extra);
            }
        }
    }
}
