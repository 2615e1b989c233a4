//! Tables that share their pages of memory.

use super::pages::Pages;
use super::{Postings, Table, TableSize};

/// Pages moved after one change of a table, at most.
const PAGES_MOVED_MAX: usize = 4;

#[derive(Debug)]
pub(in crate::index) struct Shelf {
    tables: Vec<Table>,
    pages: Pages,
}

impl Shelf {
    /// `numbers`: those of the tables in the whole index.
    pub fn new(numbers: impl IntoIterator<Item = u32>) -> Self {
        let tables = (0..).zip(numbers).map(|(at, number)| Table::new(at, number));
        Self { tables: tables.collect(), pages: Pages::default() }
    }

    /// How many tables there are.
    pub fn len(&self) -> usize {
        self.tables.len()
    }

    #[inline]
    pub fn insert(&mut self, table: usize, key: u32, entry: u32) {
        let table = &mut self.tables[table];
        table.insert(key, entry, &mut self.pages);
        if table.is_restless() {
            table.change_a_little(&mut self.pages);
            self.pull_in();
        }
    }

    pub fn remove(&mut self, table: usize, key: u32, entry: u32) {
        self.tables[table].remove(key, entry, &mut self.pages);
        self.pull_in();
    }

    pub fn renumber(&mut self, table: usize, key: u32, entry: u32, by: u32) {
        self.tables[table].renumber(key, entry, by, &mut self.pages);
    }

    pub fn file_all(&mut self, table: usize, filings: Vec<(u32, u32)>, sharing: impl FnMut(u32)) {
        self.tables[table].file_all(filings, &mut self.pages, sharing);
    }

    #[inline]
    pub fn read(&self, table: usize, key: u32) -> Postings<'_> {
        self.tables[table].read(key, &self.pages)
    }

    #[inline]
    pub fn prefetch(&self, table: usize, key: u32) {
        self.tables[table].prefetch(key, &self.pages);
    }

    pub fn sizes(&self) -> impl Iterator<Item = TableSize> {
        self.tables.iter().map(Table::size)
    }

    pub fn bytes(&self) -> u64 {
        self.pages.bytes() as u64 + self.sizes().map(|size| size.bytes).sum::<u64>()
    }

    fn pull_in(&mut self) {
        for _ in 0..PAGES_MOVED_MAX {
            let Some((owner, page)) = self.pages.pull_in() else { return };
            self.tables[owner.table as usize].page_moved(owner.at, page);
        }
    }
}
