//! Tables that share their pages of memory.

use super::pages::Pages;
use super::{Aim, Column, Table, TableSize, Workplace};
use crate::simd::prefetch;

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

    /// To come before an entry of this number or a lower one is filed in a table.
    #[inline]
    pub fn make_ready(&mut self, table: usize, entry: u32) {
        let table = &mut self.tables[table];
        if !table.is_ready(entry) {
            table.make_ready(entry, &mut self.pages);
            self.pull_in();
        }
    }

    /// Where a key is at home in a table, until one of the shelf changes. The line is asked for: so
    /// many at once take a fraction of the time that they take one after the other.
    /// Always inline: it is short, and a call for each key would be a good part of it.
    #[inline(always)]
    pub fn aim(&self, table: usize, key: u32) -> Aim {
        let aim = self.tables[table].aim(key);
        prefetch(self.pages.line(aim.line));
        aim
    }

    /// The same for a key that is going to have an entry.
    #[inline(always)]
    pub fn aim_to_file(&mut self, table: usize, key: u32) -> Aim {
        let aim = self.tables[table].aim_to_file(key, &mut self.pages);
        prefetch(self.pages.line(aim.line));
        aim
    }

    #[inline]
    pub fn insert(&mut self, table: usize, key: u32, aim: Aim, entry: u32) {
        self.tables[table].insert(key, aim, entry, &mut self.pages);
    }

    /// `entry_max`: no number that is filed is higher.
    pub fn remove(&mut self, table: usize, key: u32, entry: u32, entry_max: u32) {
        self.tables[table].remove(key, entry, entry_max, &mut self.pages);
        self.pull_in();
    }

    pub fn renumber(&mut self, table: usize, key: u32, entry: u32, by: u32) {
        self.tables[table].renumber(key, entry, by, &mut self.pages);
    }

    /// Of a table that is empty yet. `sharing` is told the entries that come to a key which another
    /// has already.
    pub fn file_all(
        &mut self,
        table: usize,
        column: &Column,
        at: &mut Workplace,
        sharing: impl FnMut(u32),
    ) {
        self.tables[table].file_all(column, at, &mut self.pages, sharing);
    }

    /// Calls for some of the entries under a key, and gives the others.
    #[inline]
    pub fn read(&self, table: usize, key: u32, aim: Aim, near: impl FnMut(u32)) -> &[u32] {
        self.tables[table].read(key, aim, &self.pages, near)
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
