//! Filing everything at once: postings are brought in the order of pages first, so that each page
//! is made in the near cache and written once.

use std::ops::Range;

use super::growth::pages_for;
use super::pages::{Owner, PAGE_PAIRS, Pages};
use super::pair::Pair;
use super::shape::Shape;
use super::{NEAR_MAX, Table, spread};
use crate::simd::{Level, Loop, prefer_huge_pages, prefetch};

/// Postings are parted into so many parts at most: as many streams as the near cache takes.
const PARTS_MAX: usize = 512;

/// Postings in a line of the processor's cache.
const LINE_POSTINGS: usize = 64 / size_of::<Filed>();

/// What is reckoned side by side, by vector instructions, before any of it is put somewhere.
const SIDE_BY_SIDE: usize = 64;

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
        for key in keys {
            if key.is_none() {
                self.lacking.push(self.keys.len() as u32);
            }
            self.keys.push(key.map_or(0, spread));
        }
    }

    fn count(&self) -> usize {
        self.keys.len() - self.lacking.len()
    }

    /// The keys of entries that follow each other, some at a time, and the first one's number.
    #[inline(always)]
    fn each_run(&self, mut look: impl FnMut(&[u32], u32)) {
        let mut start = 0;
        for end in self.lacking.iter().copied().chain([self.keys.len() as u32]) {
            let runs = self.keys[start as usize..end as usize].chunks(SIDE_BY_SIDE);
            runs.zip((start..).step_by(SIDE_BY_SIDE)).for_each(|(keys, first)| look(keys, first));
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
        for (number, pairs) in (first..).zip(pairs.as_chunks().0) {
            if pairs.iter().any(|pair| !pair.marks().is_empty()) {
                let owner = Owner { table: self.number, at: number as u32 };
                self.pages[number] = pages.add_filled(owner, pairs);
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

    #[inline(always)]
    fn of_key(self, key: u32) -> u32 {
        let first_pair = self.shape.group(key) * self.shape.pairs;
        (first_pair / PAGE_PAIRS as u32) >> self.page_bits
    }

    /// Of some keys.
    #[inline(always)]
    fn of_keys(self, keys: &[u32]) -> [u32; SIDE_BY_SIDE] {
        let mut parts = [0; SIDE_BY_SIDE];
        parts.iter_mut().zip(keys).for_each(|(part, key)| *part = self.of_key(*key));
        parts
    }
}

impl Workplace {
    /// A counting sort. Gives where each part ends.
    fn part(&mut self, column: &Column, parts: Parts) -> Vec<usize> {
        let mut places = vec![0; parts.count()];
        Level::best().run(Counting { column, parts, counts: &mut places });
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
        Level::best().run(Parting { column, parts, places: &mut places, parted });
        places
    }
}

/// Counts what comes into each part.
struct Counting<'a> {
    column: &'a Column,
    parts: Parts,
    counts: &'a mut [usize],
}

impl Loop for Counting<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.column.each_run(|keys, _| {
            let parts = self.parts.of_keys(keys);
            parts[..keys.len()].iter().for_each(|part| self.counts[*part as usize] += 1);
        });
    }
}

/// Brings all of a column into its parts.
struct Parting<'a> {
    column: &'a Column,
    parts: Parts,
    /// Of each part: where its next goes.
    places: &'a mut [usize],
    parted: &'a mut [Filed],
}

impl Loop for Parting<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.column.each_run(|keys, first| {
            let parts = self.parts.of_keys(keys);
            for ((part, key), entry) in parts.iter().zip(keys).zip(first..) {
                let place = &mut self.places[*part as usize];
                // Of this stream; the processor would wait for it, as it does not see so many.
                if let Some(next) = self.parted.get(*place + LINE_POSTINGS) {
                    prefetch(next);
                }
                self.parted[*place] = (*key, entry);
                *place += 1;
            }
        });
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
        let (mut lines, mut postings) = ([0; SIDE_BY_SIDE], [0; SIDE_BY_SIDE]);
        for filings in self.filings.chunks(SIDE_BY_SIDE) {
            for ((line, posting), (key, entry)) in lines.iter_mut().zip(&mut postings).zip(filings)
            {
                *line = self.shape.line(*key) - self.first_line;
                *posting = self.shape.pack(*key, *entry);
            }
            for ((line, posting), (key, entry)) in lines.iter().zip(&postings).zip(filings) {
                let at = *line as usize;
                let line = &mut self.pairs[at / 2].0[at % 2];
                let before = line.of_key(*posting, self.shape.entry_bits).count();
                if before >= NEAR_MAX || !line.put(*posting) {
                    self.late.push((*key, *entry));
                    continue;
                }
                arrived[before] += 1;
                if before > 0 {
                    (self.sharing)(*entry);
                }
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
