//! One table: key → the entries filed under it.
//!
//! Postings are in [lines](mod@line) of a cache line each. A line that is full borrows from the
//! others of its [group]; what there is no room for is put into the [spill], and of a key with many
//! postings most are in the [crowd]. When lines fill up the table [grows](growth), a group of lines
//! with each posting that is filed, so that nothing ever waits for all of it.

mod aim;
mod crowd;
mod filing;
mod group;
mod growth;
mod lengths;
mod line;
mod moving;
mod pages;
mod pair;
mod shape;
mod shelf;
mod spill;

use crowd::Crowd;
use group::Sought;
use lengths::Lengths;
use pages::{NO_PAGE, Owner, PAGE_PAIRS, PageNumber, Pages};
use pair::Pair;
use shape::{Shape, entry_of};
use spill::Spill;

pub(super) use aim::Aim;
pub(super) use filing::{Column, Workplace};
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
    changes: bool,
    /// While it grows, groups from here on are made anew already; while it shrinks, those before.
    boundary: u32,
    /// No number of an entry that is filed is higher.
    entry_max: u32,
    /// An entry of a number up to this one may be filed without growth: all lines can tell it,
    /// before a change and after it.
    sure_max: u32,
    /// Postings in lines. With more than `calm_max` the table is to change: none while it does.
    in_lines: usize,
    calm_max: usize,
    spill: Spill,
    crowd: Crowd,
    lengths: Lengths,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TableSize {
    pub keys: u64,
    pub postings: u64,
    pub longest: u64,
    /// Without its pages.
    pub bytes: u64,
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
            changes: false,
            boundary: 0,
            entry_max: 0,
            sure_max: shape.easy_max(),
            in_lines: 0,
            calm_max: growth::full(shape),
            spill: Spill::default(),
            crowd: Crowd::default(),
            lengths: Lengths::default(),
        }
    }

    /// Whether an entry of this number, or a lower one, may be filed.
    #[inline]
    pub fn is_ready(&self, entry: u32) -> bool {
        entry <= self.sure_max && self.near() <= self.calm_max
    }

    /// To come before that if it may not yet: the table grows as far as it takes, and a little if
    /// it is to.
    pub fn make_ready(&mut self, entry: u32, pages: &mut Pages) {
        while !self.holds(entry) {
            self.grow(pages);
        }
        self.entry_max = self.entry_max.max(entry);
        self.change_a_little(pages);
    }

    /// Where a key is at home, until the table changes.
    #[inline]
    pub fn aim(&self, key: u32) -> Aim {
        let sought = self.sought(spread(key));
        Aim::of(&sought, self.page_of(sought.first_pair()))
    }

    /// The same for a key that is going to have an entry.
    #[inline]
    pub fn aim_to_file(&mut self, key: u32, pages: &mut Pages) -> Aim {
        self.aim_at(spread(key), pages)
    }

    #[inline]
    fn aim_at(&mut self, key: u32, pages: &mut Pages) -> Aim {
        let sought = self.sought(key);
        Aim::of(&sought, self.page(sought.first_pair(), pages))
    }

    /// Filing an entry twice under a key would count it twice: callers file each once. `aim`: what
    /// [`Table::aim_to_file`] gave for the key, since when the table has not changed.
    #[inline]
    pub fn insert(&mut self, key: u32, aim: Aim, entry: u32, pages: &mut Pages) {
        self.file(spread(key), aim, entry, pages);
    }

    /// Postings in lines, or spilled.
    #[inline]
    fn near(&self) -> usize {
        self.in_lines + self.spill.postings()
    }

    /// How many the key had before.
    #[inline]
    fn file(&mut self, key: u32, aim: Aim, entry: u32, pages: &mut Pages) -> usize {
        self.entry_max = self.entry_max.max(entry);
        let (pair, at) = pages.pair_mut(aim.line);
        match pair.file(at, aim.key(), aim.entry_bits(), entry) {
            Some(near) => {
                self.in_lines += 1;
                self.lengths.longer(near);
                near
            }
            None => self.file_further(key, entry, pages),
        }
    }

    /// The same where postings at home in the line are outside its pair, or this one will be.
    #[inline(never)]
    fn file_further(&mut self, key: u32, entry: u32, pages: &mut Pages) -> usize {
        let sought = self.sought(key);
        let (near, far) = self.count(&sought, key, pages);
        self.lengths.longer(near + far);
        let group = self.group_mut(&sought, pages);
        if near >= NEAR_MAX {
            sought.line_mut(group).mark_crowded();
            self.crowd.push(key, entry);
        } else if sought.put(group, entry) {
            self.in_lines += 1;
        } else {
            self.spill.push(sought.home.group, key, entry);
        }
        near + far
    }

    /// Nothing if the entry is not filed under the key. `entry_max`: no number that is filed is
    /// higher.
    pub fn remove(&mut self, key: u32, entry: u32, entry_max: u32, pages: &mut Pages) {
        let key = spread(key);
        let sought = self.sought(key);
        let (near, far) = self.count(&sought, key, pages);
        let group = self.group_mut(&sought, pages);
        if let Some((pair, line, place)) = sought.find(group, entry) {
            group[pair].0[line].clear(place);
            self.in_lines -= 1;
        } else if !self.spill.remove(sought.home.group, key, entry)
            && !self.crowd.remove(key, entry)
        {
            return;
        }
        self.lengths.shorter(near + far);
        self.entry_max = entry_max;
        self.change_a_little(pages);
    }

    /// An entry gets another number.
    pub fn renumber(&mut self, key: u32, entry: u32, by: u32, pages: &mut Pages) {
        let key = spread(key);
        let sought = self.sought(key);
        let group = self.group_mut(&sought, pages);
        if let Some((pair, line, place)) = sought.find(group, entry) {
            group[pair].0[line].set(place, sought.posting(by));
        } else if !self.spill.replace(sought.home.group, key, entry, by) {
            self.crowd.replace(key, entry, by);
        }
    }

    /// Calls for some of the entries under a key, and gives the others. `aim`: what [`Table::aim`]
    /// gave for the key.
    #[inline]
    pub fn read<'a>(
        &'a self,
        key: u32,
        aim: Aim,
        pages: &Pages,
        mut near: impl FnMut(u32),
    ) -> &'a [u32] {
        let line = pages.line(aim.line);
        for place in line.of_key(aim.key(), aim.entry_bits()) {
            near(entry_of(line.word(place), aim.entry_bits()));
        }
        if line.marks().is_plain() {
            return &[];
        }
        self.read_further(spread(key), pages, near)
    }

    /// What is not in the line where the key is at home.
    #[inline(never)]
    fn read_further(&self, key: u32, pages: &Pages, mut near: impl FnMut(u32)) -> &[u32] {
        let sought = self.sought(key);
        let group = self.group(&sought, pages);
        sought.each_other(group, |pair, line| {
            let line = &group[pair].0[line];
            for place in sought.places(line) {
                near(sought.shape.entry(line.word(place)));
            }
        });
        let marks = sought.line(group).marks();
        if marks.is_spilled() {
            self.spill.of(sought.home.group, key).for_each(near);
        }
        if marks.is_crowded() { self.crowd.get(key) } else { &[] }
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
    fn sought(&self, key: u32) -> Sought {
        Sought::new(if self.is_as_before(key) { self.shape } else { self.next }, key)
    }

    /// Whether the table changes and has not come to this key.
    #[inline]
    fn is_as_before(&self, key: u32) -> bool {
        if !self.changes {
            return false;
        }
        let group = (u64::from(key) * u64::from(self.groups_to_change())) >> 32;
        (group < u64::from(self.boundary)) == self.grows()
    }

    /// Whether entries of this number can be told in all lines.
    #[inline]
    fn holds(&self, entry: u32) -> bool {
        entry <= self.shape.entry_max().min(self.next.entry_max())
    }

    /// How many postings of a key are in lines or spilled, and in the crowd.
    fn count(&self, sought: &Sought, key: u32, pages: &Pages) -> (usize, usize) {
        let group = self.group(sought, pages);
        let marks = sought.line(group).marks();
        let mut near = sought.count(group);
        if marks.is_spilled() {
            near += self.spill.of(sought.home.group, key).count();
        }
        (near, if marks.is_crowded() { self.crowd.get(key).len() } else { 0 })
    }

    /// The pairs of a key's group.
    #[inline]
    fn group<'a>(&self, sought: &Sought, pages: &'a Pages) -> &'a [Pair] {
        self.pairs(sought.first_pair(), sought.shape.pairs, pages)
    }

    #[inline]
    fn group_mut<'a>(&mut self, sought: &Sought, pages: &'a mut Pages) -> &'a mut [Pair] {
        self.pairs_mut(sought.first_pair(), sought.shape.pairs, pages)
    }

    /// Pairs of one group or of two that were one: they are on one page.
    #[inline]
    fn pairs<'a>(&self, first: u32, count: u32, pages: &'a Pages) -> &'a [Pair] {
        pages.pairs(self.page_of(first), first as usize % PAGE_PAIRS, count as usize)
    }

    #[inline]
    fn pairs_mut<'a>(&mut self, first: u32, count: u32, pages: &'a mut Pages) -> &'a mut [Pair] {
        let page = self.page(first, pages);
        pages.pairs_mut(page, first as usize % PAGE_PAIRS, count as usize)
    }

    /// The page of a pair, which there is from now on.
    #[inline]
    fn page(&mut self, pair: u32, pages: &mut Pages) -> PageNumber {
        let at = pair as usize / PAGE_PAIRS;
        if self.pages[at] == NO_PAGE {
            self.pages[at] = pages.take(Owner { table: self.number, at: at as u32 });
        }
        self.pages[at]
    }

    #[inline]
    fn page_of(&self, pair: u32) -> PageNumber {
        self.pages[pair as usize / PAGE_PAIRS]
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
