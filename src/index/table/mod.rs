//! One table: key → the entries filed under it.
//!
//! Postings are in [lines](mod@line) of a cache line each, in the order of their keys. A line that
//! is full borrows from the other line of its pair; what neither has room for is put into the
//! [spill], and of a key with many postings most are in the [crowd]. When lines fill up the table
//! [grows](growth), a group of lines with each posting that is filed, so that nothing ever waits
//! for all of it.

mod crowd;
mod filing;
mod growth;
mod lengths;
mod line;
mod moving;
mod pages;
mod shape;
mod shelf;
mod spill;

use crate::simd::prefetch;
use crowd::Crowd;
use lengths::Lengths;
use line::{Line, Packed, Pair};
use pages::{NO_PAGE, Owner, PAGE_PAIRS, PageNumber, Pages};
use shape::Shape;
use spill::Spill;

pub(super) use growth::POSTING_BYTES;
pub(super) use shelf::Shelf;

/// Postings of one key in lines or spilled; further ones are in the crowd, so that a key does not
/// fill lines.
const NEAR_MAX: usize = 8;

#[derive(Debug)]
struct Table {
    /// The table's number among those that share its pages.
    number: u32,
    pages: Vec<PageNumber>,
    smallest: Shape,
    shape: Shape,
    /// What the table is changing to; the same as `shape` most of the time.
    next: Shape,
    /// While it grows, lines from here on are made anew already; while it shrinks, those before.
    boundary: u32,
    /// The highest number of an entry that was filed.
    entry_max: u32,
    /// Postings in lines. With more than `calm_max` the table is to change: none while it does.
    in_lines: usize,
    calm_max: usize,
    spill: Spill,
    crowd: Crowd,
    lengths: Lengths,
}

/// The entries under a key.
#[derive(Debug)]
pub(super) struct Postings<'a> {
    near: [u32; NEAR_MAX],
    near_count: usize,
    far: &'a [u32],
}

impl Postings<'_> {
    #[inline]
    pub fn len(&self) -> usize {
        self.near_count + self.far.len()
    }

    /// All of them, in two parts.
    #[inline]
    pub fn parts(&self) -> [&[u32]; 2] {
        [&self.near[..self.near_count], self.far]
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.parts().into_iter().flatten().copied()
    }

    #[inline]
    fn push(&mut self, entry: u32) {
        self.near[self.near_count] = entry;
        self.near_count += 1;
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TableSize {
    pub keys: u64,
    pub postings: u64,
    pub longest: u64,
    /// Without its pages.
    pub bytes: u64,
}

/// A key's home line, and the key as postings have it there.
#[derive(Clone, Copy)]
struct Home {
    line: u32,
    entry_bits: u32,
    key: Packed,
}

impl Table {
    /// `number`: among those that share its pages; `number_in_all`: in the whole index.
    pub fn new(number: u32, number_in_all: u32) -> Self {
        let shape = growth::smallest(number_in_all);
        Self {
            number,
            pages: vec![NO_PAGE; growth::pages_for(shape)],
            smallest: shape,
            shape,
            next: shape,
            boundary: shape.lines,
            entry_max: 0,
            in_lines: 0,
            calm_max: growth::full(shape),
            spill: Spill::default(),
            crowd: Crowd::default(),
            lengths: Lengths::default(),
        }
    }

    /// Filing an entry twice under a key would count it twice: callers file each once. If the table
    /// is restless then, [`Table::change_a_little`] is to follow.
    #[inline]
    pub fn insert(&mut self, key: u32, entry: u32, pages: &mut Pages) {
        self.entry_max = self.entry_max.max(entry);
        if !self.holds(entry) {
            self.make_room(entry, pages);
        }
        self.file(spread(key), entry, pages);
    }

    #[inline]
    pub fn is_restless(&self) -> bool {
        self.near() > self.calm_max
    }

    /// Postings in lines, or spilled.
    #[inline]
    fn near(&self) -> usize {
        self.in_lines + self.spill.postings()
    }

    /// How many the key had before.
    #[inline]
    fn file(&mut self, key: u32, entry: u32, pages: &mut Pages) -> usize {
        let home = self.home(key);
        let line = self.pair_mut(home.line, pages).line_mut(home.line);
        let near = line.residents(home.key, home.entry_bits).count();
        if line.is_plain() && near < NEAR_MAX && line.put(home.posting(entry)) {
            self.in_lines += 1;
            self.lengths.longer(near);
            return near;
        }
        self.file_further(home, key, entry, pages)
    }

    /// The same where postings of the line are elsewhere, or this one is going to be.
    #[inline(never)]
    fn file_further(&mut self, home: Home, key: u32, entry: u32, pages: &mut Pages) -> usize {
        let pair = self.pair_mut(home.line, pages);
        let near = pair.count(home.line, home.key, home.entry_bits);
        let is_all = !pair.line(home.line).is_spilled() && !pair.line(home.line).is_crowded();
        if is_all && near < NEAR_MAX && pair.put(home.line, home.posting(entry)) {
            self.in_lines += 1;
            self.lengths.longer(near);
            return near;
        }
        let (near, far) = self.count(key, pages);
        self.lengths.longer(near + far);
        self.put(home, key, entry, near, pages);
        near + far
    }

    /// `near`: of the key.
    fn put(&mut self, home: Home, key: u32, entry: u32, near: usize, pages: &mut Pages) {
        let pair = self.pair_mut(home.line, pages);
        if near >= NEAR_MAX {
            pair.line_mut(home.line).mark_crowded();
            self.crowd.push(key, entry);
        } else if pair.put(home.line, home.posting(entry)) {
            self.in_lines += 1;
        } else {
            pair.line_mut(home.line).mark_spilled();
            self.spill.push(home.line, key, entry);
        }
    }

    /// Nothing if the entry is not filed under the key.
    pub fn remove(&mut self, key: u32, entry: u32, pages: &mut Pages) {
        let key = spread(key);
        let (near, far) = self.count(key, pages);
        if let Some((line, place)) = self.find(key, entry, pages) {
            self.pair_mut(line, pages).line_mut(line).clear(place);
            self.in_lines -= 1;
        } else if !self.spill.remove(self.home(key).line, key, entry)
            && !self.crowd.remove(key, entry)
        {
            return;
        }
        self.lengths.shorter(near + far);
        self.change_a_little(pages);
    }

    /// An entry gets another number.
    pub fn renumber(&mut self, key: u32, entry: u32, by: u32, pages: &mut Pages) {
        let key = spread(key);
        if let Some((line, place)) = self.find(key, entry, pages) {
            let packed = self.home(key).posting(by);
            self.pair_mut(line, pages).line_mut(line).set(place, packed);
        } else if !self.spill.replace(self.home(key).line, key, entry, by) {
            self.crowd.replace(key, entry, by);
        }
    }

    #[inline]
    pub fn read<'a>(&'a self, key: u32, pages: &Pages) -> Postings<'a> {
        let key = spread(key);
        let home = self.home(key);
        let pair = self.pair(home.line, pages);
        let line = pair.line(home.line);
        let far = if line.is_crowded() { self.crowd.get(key) } else { &[] };
        let mut postings = Postings { near: [0; NEAR_MAX], near_count: 0, far };
        for place in line.residents(home.key, home.entry_bits) {
            postings.push(home.entry(line.packed(place)));
        }
        if line.lends() {
            let other = pair.line(home.line ^ 1);
            for place in other.guests(home.key, home.entry_bits) {
                postings.push(home.entry(other.packed(place)));
            }
        }
        if line.is_spilled() {
            self.spill.of(home.line, key).for_each(|entry| postings.push(entry));
        }
        postings
    }

    /// Begins to fetch what the calls for this key will read.
    #[inline]
    pub fn prefetch(&self, key: u32, pages: &Pages) {
        let home = self.home(spread(key)).line;
        prefetch(self.pair(home, pages).line(home));
    }

    pub fn size(&self) -> TableSize {
        TableSize {
            keys: self.lengths.keys(),
            postings: (self.in_lines + self.spill.postings() + self.crowd.postings()) as u64,
            longest: self.lengths.longest() as u64,
            bytes: (self.pages.capacity() * size_of::<PageNumber>()
                + self.spill.bytes()
                + self.crowd.bytes()
                + self.lengths.bytes()) as u64,
        }
    }

    /// A page of this table is somewhere else.
    pub fn page_moved(&mut self, at: u32, page: PageNumber) {
        self.pages[at as usize] = page;
    }

    #[inline]
    fn home(&self, key: u32) -> Home {
        let line = self.shape.home(key);
        let grows = self.next.lines >= self.shape.lines;
        let is_new = (line >= self.boundary) == grows;
        let shape = if is_new { self.next } else { self.shape };
        let line = shape.home(key);
        Home { line, entry_bits: shape.entry_bits, key: shape.pack(key, 0) }
    }

    /// Whether entries of this number can be told in all lines.
    #[inline]
    fn holds(&self, entry: u32) -> bool {
        self.shape.holds(entry) && self.next.holds(entry)
    }

    /// How many postings of a key are in lines or spilled, and in the crowd.
    fn count(&self, key: u32, pages: &Pages) -> (usize, usize) {
        let home = self.home(key);
        let pair = self.pair(home.line, pages);
        let line = pair.line(home.line);
        let mut near = pair.count(home.line, home.key, home.entry_bits);
        if line.is_spilled() {
            near += self.spill.of(home.line, key).count();
        }
        (near, if line.is_crowded() { self.crowd.get(key).len() } else { 0 })
    }

    /// The line and place of a posting that is in lines.
    fn find(&self, key: u32, entry: u32, pages: &Pages) -> Option<(u32, usize)> {
        let home = self.home(key);
        let pair = self.pair(home.line, pages);
        let (line, other) = (pair.line(home.line), pair.line(home.line ^ 1));
        let is_it = |line: &Line, place: &usize| home.entry(line.packed(*place)) == entry;
        let mut residents = line.residents(home.key, home.entry_bits);
        if let Some(place) = residents.find(|place| is_it(line, place)) {
            return Some((home.line, place));
        }
        let mut guests = other.guests(home.key, home.entry_bits);
        Some((home.line ^ 1, guests.find(|place| is_it(other, place))?))
    }

    /// The pair that a line is in.
    #[inline]
    fn pair<'a>(&self, line: u32, pages: &'a Pages) -> &'a Pair {
        let pair = line as usize / 2;
        pages.pair(self.pages[pair / PAGE_PAIRS], pair % PAGE_PAIRS)
    }

    #[inline]
    fn pair_mut<'a>(&mut self, line: u32, pages: &'a mut Pages) -> &'a mut Pair {
        let pair = line as usize / 2;
        let page = self.page(pair / PAGE_PAIRS, pages);
        pages.pair_mut(page, pair % PAGE_PAIRS)
    }

    /// The pairs of a group of lines: they are on one page.
    fn pairs<'a>(&self, line: u32, lines: u32, pages: &'a Pages) -> &'a [Pair] {
        let pair = line as usize / 2;
        let page = self.pages[pair / PAGE_PAIRS];
        pages.pairs(page, pair % PAGE_PAIRS, lines as usize / 2)
    }

    fn pairs_mut<'a>(&mut self, line: u32, lines: u32, pages: &'a mut Pages) -> &'a mut [Pair] {
        let pair = line as usize / 2;
        let page = self.page(pair / PAGE_PAIRS, pages);
        pages.pairs_mut(page, pair % PAGE_PAIRS, lines as usize / 2)
    }

    fn page_of(&self, line: u32) -> PageNumber {
        self.pages[line as usize / 2 / PAGE_PAIRS]
    }

    #[inline]
    fn page(&mut self, at: usize, pages: &mut Pages) -> PageNumber {
        if self.pages[at] == NO_PAGE {
            self.pages[at] = pages.take(Owner { table: self.number, at: at as u32 });
        }
        self.pages[at]
    }
}

impl Home {
    #[inline]
    fn posting(&self, entry: u32) -> Packed {
        self.key | Packed::from(entry)
    }

    #[inline]
    fn entry(&self, posting: Packed) -> u32 {
        (posting & ((1 << self.entry_bits) - 1)) as u32
    }
}

/// Keys are hash values, or bytes of a sketch. Lines are in their order, so they are to be spread
/// evenly, and one to one: Fibonacci hashing (Knuth, TAOCP 3, 6.4).
#[inline]
fn spread(key: u32) -> u32 {
    key.wrapping_mul(0x9e37_79b1)
}

#[cfg(test)]
mod tests;
