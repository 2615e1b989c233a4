//! The postings of a page whose keys have a common prefix of bits, in lines.
//!
//! A posting is stored in the emptier of the two lines selected by its tag (Azar, Broder, Karlin
//! and Upfal 1994), so that lines can be nine tenths full and hardly any posting overflows: then it
//! is in a line after the second one, and the lines between are marked.
//!
//! Only the bits of a key that its page and segment do not determine are stored (quotienting:
//! Cleary 1984). A segment has some thousand postings, so the remaining bits of a key and those of
//! an entry number fit into 48 bits, whatever the number of documents. If too many keys are alike,
//! there may be too few bits: then the lowest bits of keys are dropped, and a lookup may read
//! postings of another key, too.

use super::line::{LINE_POSTINGS, Line, POSTING_BITS, Tag};
use crate::simd::prefetch;

/// Maximum load of the lines, in percent.
const FULL_PERCENT: usize = 93;

/// Prefetch distance, in lines, when a segment is rebuilt.
const AHEAD: usize = 12;

/// Minimum bits of an entry number. A rebuilt segment gets two more than needed, so that it is not
/// rebuilt soon for larger numbers.
const ENTRY_BITS_MIN: u32 = 16;
const ENTRY_BITS_SPARE: u32 = 2;

#[derive(Debug)]
pub(super) struct Segment<X> {
    lines: Box<[Line<X>]>,
    pub postings: u32,
    /// Number of bits of the page's keys that are equal in the whole segment.
    pub depth: u8,
    /// Number of bits stored of a key, after those.
    key_bits: u8,
    entry_bits: u8,
}

/// Sizes as used by allocators: four per power of two.
fn next_size(lines: usize) -> usize {
    lines + (1 << lines.max(4).ilog2() >> 2)
}

/// The number of lines for this number of postings and a third more.
fn lines_for(postings: usize) -> usize {
    let least = (postings * 4 * 100).div_ceil(3 * LINE_POSTINGS * FULL_PERCENT);
    let mut lines = 1;
    while lines < least {
        lines = next_size(lines);
    }
    lines
}

/// The highest `bits` bits.
#[inline]
fn top_bits(count: u8) -> u32 {
    (u64::from(u32::MAX) << (32 - count)) as u32
}

impl<X: Copy + Default> Segment<X> {
    /// The first segment of a page whose keys have `key_bits` bits.
    pub fn new(key_bits: u32) -> Self {
        Self {
            lines: Box::default(),
            postings: 0,
            depth: 0,
            key_bits: key_bits as u8,
            entry_bits: ENTRY_BITS_MIN as u8,
        }
    }

    /// A directory slot whose keys are in an earlier segment of this depth.
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
        let places = self.lines.len() * LINE_POSTINGS;
        (self.postings as usize) * 100 < places * FULL_PERCENT && entry <= self.entry_mask()
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
        self.postings += 1;
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

    /// Returns whether the posting existed.
    pub fn remove(&mut self, tag: Tag, entry: u32) -> bool {
        let mut found = None;
        self.each_line(tag, |line, postings| {
            postings.each(tag, |at, other| {
                found = found.or((other == entry).then_some((line, at)));
            });
        });
        let Some((line, at)) = found else { return false };
        self.lines[line].remove(at);
        self.postings -= 1;
        true
    }

    /// Whether a third of the lines would be enough.
    pub fn is_sparse(&self) -> bool {
        let places = self.lines.len() * LINE_POSTINGS;
        self.lines.len() > 2 && self.postings as usize * 300 < places * FULL_PERCENT
    }

    /// Rebuilds the segment with more lines if necessary, with room for a posting of this entry.
    /// `first_lines`: the initial number of lines.
    pub fn grow(&mut self, entry: u32, first_lines: usize, lines_max: usize) {
        let lines = match self.lines.len() {
            0 => first_lines,
            lines if self.postings as usize * 100 < lines * LINE_POSTINGS * FULL_PERCENT => lines,
            lines => next_size(next_size(lines)).min(lines_max),
        };
        let mut grown = self.empty_for(entry, self.depth, lines);
        self.each_posting(|rest, entry, extra| grown.put(grown.tag_of(rest), entry, extra));
        *self = grown;
    }

    pub fn shrink(&mut self) {
        let mut shrunk = self.empty_for(0, self.depth, self.lines.len() / 2);
        self.each_posting(|rest, entry, extra| shrunk.put(shrunk.tag_of(rest), entry, extra));
        *self = shrunk;
    }

    /// Splits the segment in two by the first bit of the tags.
    pub fn split(&self, entry: u32) -> [Self; 2] {
        let mut counts = [0; 2];
        self.each_posting(|rest, _, _| counts[(rest >> 31) as usize] += 1);
        let mut halves =
            counts.map(|count| self.empty_for(entry, self.depth + 1, lines_for(count)));
        self.each_posting(|rest, entry, extra| {
            let half = &mut halves[(rest >> 31) as usize];
            half.put(half.tag_of(rest << 1), entry, extra);
        });
        halves
    }

    /// `depth`: that of this segment, or one more.
    fn empty_for(&self, entry: u32, depth: u8, lines: usize) -> Self {
        let needed = u32::BITS - entry.leading_zeros() + ENTRY_BITS_SPARE;
        let entry_bits = needed.min(u32::BITS).max(u32::from(self.entry_bits));
        let key_bits = u32::from(self.key_bits.saturating_sub(depth - self.depth));
        Self {
            lines: vec![Line::empty(); lines].into(),
            postings: 0,
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
