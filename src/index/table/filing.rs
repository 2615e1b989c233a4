//! Filing everything at once: postings are brought in the order of pages first, so that each page
//! is made in the near cache and written once.

use std::ops::Range;

use super::growth::pages_for;
use super::line::Pair;
use super::pages::{Owner, PAGE_PAIRS, Pages};
use super::shape::Shape;
use super::{NEAR_MAX, Table, spread};
use crate::simd::{Level, Loop, prefer_huge_pages, prefetch};

/// Postings are parted into so many parts at most: as many streams as the near cache takes.
const PARTS_MAX: usize = 512;

/// Postings in a line of the processor's cache.
const LINE_POSTINGS: usize = 64 / size_of::<Filed>();

/// A key, spread, and an entry that is filed under it.
type Filed = (u32, u32);

/// The key of each entry in a table, by its number. Its memory is used again for the next.
#[derive(Debug, Default)]
pub(in crate::index) struct Column {
    /// Spread; of those that have none, any.
    keys: Vec<u32>,
    /// The entries that have none, ascending.
    lacking: Vec<u32>,
}

/// What is needed besides to file it, whatever the table.
#[derive(Debug, Default)]
pub(in crate::index) struct Workplace {
    parted: Vec<Filed>,
    /// The pages of a part.
    pairs: Vec<Pair>,
    /// Of a part what does not go into the line where it is at home.
    late: Vec<Filed>,
}

impl Column {
    /// Forgets what was in it, and makes room.
    pub fn expect(&mut self, count: usize) {
        self.lacking.clear();
        self.keys.clear();
        if self.keys.capacity() < count {
            self.keys = with_room(count);
        }
    }

    #[inline]
    pub fn extend(&mut self, keys: impl Iterator<Item = Option<u32>>) {
        let entries = self.keys.len() as u32..;
        self.keys.extend(keys.zip(entries).map(|(key, entry)| {
            if key.is_none() {
                self.lacking.push(entry);
            }
            key.map_or(0, spread)
        }));
    }

    fn count(&self) -> usize {
        self.keys.len() - self.lacking.len()
    }

    /// Each key with its entry.
    #[inline(always)]
    fn each(&self, mut look: impl FnMut(u32, u32)) {
        let mut start = 0;
        for end in self.lacking.iter().copied().chain([self.keys.len() as u32]) {
            let keys = &self.keys[start as usize..end as usize];
            keys.iter().zip(start..).for_each(|(key, entry)| look(*key, entry));
            start = end + 1;
        }
    }
}

impl Table {
    /// Files entries, each under a key, in a table that is empty yet. `sharing` is told the entries
    /// that come to a key which another has already.
    pub fn file_all(
        &mut self,
        column: &Column,
        at: &mut Workplace,
        pages: &mut Pages,
        mut sharing: impl FnMut(u32),
    ) {
        assert_eq!(self.lengths.keys(), 0, "only an empty table is filed at once");
        self.expect(column.count(), column.keys.len().saturating_sub(1) as u32);
        let parts = Parts::of(self.shape);
        let ends = at.part(column, parts);
        let mut start = 0;
        for (part, end) in ends.into_iter().enumerate() {
            let first = part << parts.page_bits;
            self.fill(at, start..end, first, parts.pages_each(), &mut sharing);
            self.put_pages(first, &at.pairs, pages);
            for (key, entry) in at.late.drain(..) {
                let aim = self.aim_at(key, pages);
                if self.file(key, aim, entry, pages) > 0 {
                    sharing(entry);
                }
            }
            start = end;
        }
    }

    /// Makes the pages of a part.
    fn fill(
        &mut self,
        at: &mut Workplace,
        filings: Range<usize>,
        first_page: usize,
        pages: usize,
        sharing: &mut impl FnMut(u32),
    ) {
        at.pairs.clear();
        at.pairs.resize(pages * PAGE_PAIRS, Pair::EMPTY);
        let arrived = Level::best().run(Filling {
            shape: self.shape,
            first_line: (first_page * PAGE_PAIRS * 2) as u32,
            pairs: &mut at.pairs,
            filings: &at.parted[filings],
            late: &mut at.late,
            sharing,
        });
        self.in_lines += arrived.iter().sum::<u32>() as usize;
        self.lengths.longer_all(&arrived);
    }

    /// Those that have something on them.
    fn put_pages(&mut self, first: usize, pairs: &[Pair], pages: &mut Pages) {
        for (number, pairs) in (first..).zip(pairs.chunks_exact(PAGE_PAIRS)) {
            if pairs.iter().any(|pair| !pair.marks().is_empty()) {
                let page = pages.take(Owner { table: self.number, at: number as u32 });
                pages.pairs_mut(page, 0, PAGE_PAIRS).copy_from_slice(pairs);
                self.pages[number] = page;
            }
        }
    }
}

/// Parts of a table that are filled one after the other: some pages each.
#[derive(Clone, Copy)]
struct Parts {
    shape: Shape,
    /// A part has two to this power.
    page_bits: u32,
}

impl Parts {
    fn of(shape: Shape) -> Self {
        let pages = pages_for(shape).div_ceil(PARTS_MAX);
        Self { shape, page_bits: pages.next_power_of_two().ilog2() }
    }

    fn pages_each(self) -> usize {
        1 << self.page_bits
    }

    fn count(self) -> usize {
        pages_for(self.shape).div_ceil(self.pages_each())
    }

    #[inline]
    fn of_key(self, key: u32) -> usize {
        let first_pair = self.shape.home(key).group * self.shape.pairs;
        (first_pair as usize / PAGE_PAIRS) >> self.page_bits
    }
}

impl Workplace {
    /// A counting sort. Gives where each part ends.
    fn part(&mut self, column: &Column, parts: Parts) -> Vec<usize> {
        let mut places = vec![0; parts.count()];
        column.each(|key, _| places[parts.of_key(key)] += 1);
        let mut end = 0;
        for place in &mut places {
            end += *place;
            *place = end - *place;
        }
        if self.parted.len() < end {
            self.parted = with_room(end);
            self.parted.resize(end, (0, 0));
        }
        let parted = &mut self.parted[..end];
        column.each(|key, entry| {
            let place = &mut places[parts.of_key(key)];
            // Of this stream; the processor would wait for it, as it does not see so many of them.
            if let Some(next) = parted.get(*place + LINE_POSTINGS) {
                prefetch(next);
            }
            parted[*place] = (key, entry);
            *place += 1;
        });
        places
    }
}

/// Puts what is of a part into the lines where it is at home, and only there.
struct Filling<'a, S> {
    shape: Shape,
    first_line: u32,
    pairs: &'a mut [Pair],
    filings: &'a [Filed],
    late: &'a mut Vec<Filed>,
    sharing: &'a mut S,
}

impl<S: FnMut(u32)> Loop for Filling<'_, S> {
    /// How many postings came to a key that had none, one, two and so on.
    type Output = [u32; NEAR_MAX];

    #[inline(always)]
    fn run(self) -> Self::Output {
        let mut arrived = [0; NEAR_MAX];
        for (key, entry) in self.filings {
            let at = (self.shape.line(*key) - self.first_line) as usize;
            let line = &mut self.pairs[at / 2].0[at % 2];
            let posting = self.shape.pack(*key, *entry);
            let before = line.of_key(posting, self.shape.entry_bits).count();
            if before >= NEAR_MAX || !line.put(posting) {
                self.late.push((*key, *entry));
                continue;
            }
            arrived[before] += 1;
            if before > 0 {
                (self.sharing)(*entry);
            }
        }
        arrived
    }
}

/// It is gone through in leaps: by large pages the processor finds all of it.
fn with_room<T>(count: usize) -> Vec<T> {
    let mut room = Vec::with_capacity(count);
    prefer_huge_pages(room.spare_capacity_mut());
    room
}
