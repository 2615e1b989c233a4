//! All postings of a table under the keys with a common prefix of bits, covered by a lock.
//!
//! A page has a directory of segments, each for the keys with a certain next few bits. A full
//! segment is rebuilt alone, with 1.3 to 1.75 times as many lines; a large segment is split by
//! another bit (extendible hashing: Fagin, Nievergelt, Pippenger and Strong 1979). So an insertion
//! never moves more than some thousand postings.
//!
//! Most insertions change nothing but a line: a page and its segments stay in the caches of all
//! cores. Therefore postings are counted elsewhere.

use std::collections::BTreeMap;

use super::lengths::Long;
use super::line::Line;
use super::segment::Segment;

/// The maximum number of postings of a key in lines. Further postings are in the page's crowds, so
/// that a key does not fill lines, and the key's first line is marked.
const NEAR_MAX: usize = 8;

/// The maximum number of lines of a segment, which bounds the time of rebuilding it.
const LINES_MAX: usize = 512;

/// The minimum number of lines for each directory slot of a page. Keys crafted to share their first
/// bits get longer segments instead.
const LINES_PER_SLOT: usize = 8;

/// Postings of one key, by entry.
type Crowd<X> = BTreeMap<u32, X>;

#[derive(Debug)]
pub(super) struct PostingsPage<X> {
    number: u32,
    /// A power of two of slots: slot n is for the keys that begin with the bits of n. A segment of
    /// lower depth is in the first of its slots, and its other slots are aliases.
    segments: Vec<Segment<X>>,
    crowds: BTreeMap<u32, Crowd<X>>,
    crowded: usize,
    lines: usize,
    pub long: Long,
}

/// The number of postings of a key in lines, and in its crowd.
#[derive(Clone, Copy)]
pub(super) struct Length {
    pub near: usize,
    pub crowd: usize,
}

impl<X: Copy + Default> PostingsPage<X> {
    /// `key_bits`: number of bits of a key that the page's number does not determine.
    pub fn new(number: u32, key_bits: u32) -> Self {
        Self {
            number,
            segments: vec![Segment::new(key_bits)],
            crowds: BTreeMap::new(),
            crowded: 0,
            lines: 0,
            long: Long::default(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.crowds.is_empty() && self.segments.iter().all(Segment::is_empty)
    }

    /// The slot of a key's segment. `rest`: its bits after the bits of the page, left-aligned.
    #[inline]
    fn segment_at(&self, rest: u32) -> usize {
        let bits = self.directory_bits();
        let at = (u64::from(rest) << bits >> u32::BITS) as usize;
        let depth = u32::from(self.segments[at].depth);
        at >> (bits - depth) << (bits - depth)
    }

    #[inline]
    fn directory_bits(&self) -> u32 {
        self.segments.len().trailing_zeros()
    }

    #[inline]
    pub fn prefetch(&self, rest: u32) {
        let segment = &self.segments[self.segment_at(rest)];
        segment.prefetch(segment.tag(rest));
    }

    /// Returns the key's number of postings before.
    pub fn insert(&mut self, rest: u32, entry: u32, extra: X) -> usize {
        let mut at = self.segment_at(rest);
        let length = self.length_in(at, rest);
        let all = length.near + length.crowd;
        self.long.change(all, all + 1);
        if length.near >= NEAR_MAX {
            self.crowds.entry(rest).or_default().insert(entry, extra);
            self.crowded += 1;
            let tag = self.segments[at].tag(rest);
            self.segments[at].mark_crowded(tag);
            return all;
        }
        while !self.segments[at].has_room(entry) {
            self.make_room(at, entry);
            at = self.segment_at(rest);
        }
        let tag = self.segments[at].tag(rest);
        self.segments[at].put(tag, entry, extra);
        all
    }

    /// Returns the key's number of postings before, if the posting existed.
    pub fn remove(&mut self, rest: u32, entry: u32) -> Option<usize> {
        let at = self.segment_at(rest);
        let length = self.length_in(at, rest);
        let tag = self.segments[at].tag(rest);
        if let Some(line) = self.segments[at].remove(tag, entry) {
            if self.segments[at].is_sparse_at(line) {
                let number = self.number;
                self.replace(at, |segment| segment.shrink(number));
            }
        } else if !self.remove_from_crowd(rest, entry) {
            return None;
        }
        let all = length.near + length.crowd;
        self.long.change(all, all - 1);
        Some(all)
    }

    fn remove_from_crowd(&mut self, rest: u32, entry: u32) -> bool {
        let Some(crowd) = self.crowds.get_mut(&rest) else { return false };
        if crowd.remove(&entry).is_none() {
            return false;
        }
        if crowd.is_empty() {
            self.crowds.remove(&rest);
        }
        self.crowded -= 1;
        true
    }

    /// Calls `each` for each posting of a key that is in lines.
    #[inline]
    pub fn read_near(&self, rest: u32, mut each: impl FnMut(u32, X)) -> Length {
        let at = self.segment_at(rest);
        let segment = &self.segments[at];
        let tag = segment.tag(rest);
        let mut near = 0;
        segment.each(tag, |entry, extra| {
            near += 1;
            each(entry, extra);
        });
        let crowd = if segment.is_crowded(tag) { self.crowd_len(rest) } else { 0 };
        Length { near, crowd }
    }

    /// Calls `each` for the next postings of a key's crowd, at most `max`, with entries from `from`
    /// on.
    pub fn read_crowd(&self, rest: u32, from: u32, max: usize, mut each: impl FnMut(u32, X)) {
        let crowd = self.crowds.get(&rest).into_iter().flat_map(|crowd| crowd.range(from..));
        crowd.take(max).for_each(|(entry, extra)| each(*entry, *extra));
    }

    pub fn bytes(&self) -> usize {
        let crowds = self.crowds.len() * size_of::<(u32, Crowd<X>)>()
            + self.crowded * (size_of::<u32>() + size_of::<X>());
        self.lines * size_of::<Line<X>>()
            + self.segments.capacity() * size_of::<Segment<X>>()
            // B-tree nodes are two thirds full on average.
            + crowds * 3 / 2
            + size_of::<Self>()
    }

    fn length_in(&self, at: usize, rest: u32) -> Length {
        let segment = &self.segments[at];
        let tag = segment.tag(rest);
        let crowd = if segment.is_crowded(tag) { self.crowd_len(rest) } else { 0 };
        Length { near: segment.count(tag), crowd }
    }

    fn crowd_len(&self, rest: u32) -> usize {
        self.crowds.get(&rest).map_or(0, Crowd::len)
    }

    #[cold]
    fn make_room(&mut self, at: usize, entry: u32) {
        let (segment, number) = (&self.segments[at], self.number);
        if segment.is_full() && segment.lines_grown(number) > LINES_MAX {
            let is_deepest = u32::from(segment.depth) == self.directory_bits();
            if !is_deepest || self.segments.len() * 2 * LINES_PER_SLOT <= self.lines {
                return self.split(at, entry);
            }
        }
        self.replace(at, |segment| segment.grow(entry, number));
    }

    /// Changes a segment and updates the totals.
    fn replace(&mut self, at: usize, change: impl FnOnce(&mut Segment<X>)) {
        self.lines -= self.segments[at].lines();
        change(&mut self.segments[at]);
        self.lines += self.segments[at].lines();
        self.mark_crowds(at);
    }

    fn split(&mut self, at: usize, entry: u32) {
        let depth = self.segments[at].depth;
        let mut at = at;
        if u32::from(depth) == self.directory_bits() {
            self.double();
            at *= 2;
        }
        let [low, high] = self.segments[at].split(entry, self.number);
        self.lines += low.lines() + high.lines();
        self.lines -= self.segments[at].lines();
        let run = 1 << (self.directory_bits() - u32::from(depth));
        self.segments[at..at + run].fill_with(|| Segment::alias(depth + 1));
        self.segments[at] = low;
        self.segments[at + run / 2] = high;
        self.mark_crowds(at);
        self.mark_crowds(at + run / 2);
    }

    fn double(&mut self) {
        let segments = std::mem::take(&mut self.segments);
        self.segments.reserve_exact(2 * segments.len());
        for segment in segments {
            let alias = Segment::alias(segment.depth);
            self.segments.extend([segment, alias]);
        }
    }

    /// Marks the keys of a segment that have crowds.
    fn mark_crowds(&mut self, at: usize) {
        let bits = self.directory_bits();
        let segment = &mut self.segments[at];
        let first = ((at as u64) << u32::BITS >> bits) as u32;
        let last = first | (u64::from(u32::MAX) >> segment.depth) as u32;
        for rest in self.crowds.range(first..=last).map(|(rest, _)| *rest) {
            segment.mark_crowded(segment.tag(rest));
        }
    }
}
