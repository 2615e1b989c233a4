//! Filling an index with everything at once, which is many times as fast as one by one.

use std::sync::{Mutex, PoisonError};
use std::thread;

use super::Index;
use super::contents::{Contents, IDENTITY, SHELVES, fold};
use super::entries::Entries;
use super::table::{Column, Shelf, Workplace};
use crate::document::Ordinal;
use crate::simd::prefetch_all;

/// An index that is being filled, and that nobody looks into meanwhile. Sets are found only after
/// [`Loading::file`].
#[derive(Debug)]
pub struct Loading<'a> {
    contents: &'a mut Contents,
}

/// Sets that are going to be filed. Threads that gather some each need no lock for it.
#[derive(Debug)]
pub struct Gathered {
    entries: Entries,
}

impl Index {
    /// # Panics
    /// If anything is filed already.
    #[must_use]
    pub fn loading(&mut self) -> Loading<'_> {
        let contents = self.contents.get_mut().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(contents.entries.count(), 0, "only an empty index is loaded");
        Loading { contents }
    }
}

impl Gathered {
    /// Adds a set and documents that have it. It may come several times, also to what other threads
    /// gather, with other documents or the same.
    pub fn add(
        &mut self,
        fingerprint: u64,
        shingles: u32,
        sketch: &[u8],
        members: impl IntoIterator<Item = Ordinal>,
    ) {
        self.entries.add_with(fingerprint, shingles, sketch, members);
    }
}

impl Loading<'_> {
    /// Nothing yet, for a thread to gather sets in.
    #[must_use]
    pub fn gathering(&self) -> Gathered {
        Gathered { entries: Entries::new(self.contents.entries.sketch_bytes()) }
    }

    /// Files every set in every table, under the key that `value` gives for a sketch there, if any.
    /// Up to eight threads are of use.
    pub fn file(
        self,
        gathered: impl IntoIterator<Item = Gathered>,
        threads: usize,
        value: impl Fn(&[u8], u32) -> Option<u32> + Sync,
    ) {
        let gathered = gathered.into_iter().map(|gathered| gathered.entries).collect();
        let sketch_bytes = self.contents.entries.sketch_bytes();
        self.contents.entries = Entries::together(sketch_bytes, gathered);
        self.contents.identify();
        let Contents { entries, shelves, .. } = self.contents;
        let waiting = Mutex::new((0..SHELVES).zip(shelves));
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            let mut filer = Filer { entries, columns: Vec::new(), at: Workplace::default() };
            while let Some((number, shelf)) = next() {
                filer.file(shelf, |sketch, at| value(sketch, at * SHELVES + number));
            }
        };
        thread::scope(|scope| {
            (1..threads.min(SHELVES as usize)).for_each(|_| drop(scope.spawn(work)));
            work();
        });
    }
}

impl Contents {
    /// Makes one entry of those that are of the same set, and files all by their fingerprints.
    fn identify(&mut self) {
        let mut column = Column::default();
        column.expect(self.entries.number_max() as usize);
        column.extend(self.entries.fingerprints().map(|of| of.map(fold)));
        let mut sharing = Vec::new();
        let mut at = Workplace::default();
        self.identity.file_all(IDENTITY, &column, &mut at, |entry| sharing.push(entry));
        for entry in sharing {
            let Some(of) = self.entries.get(entry).map(|entry| entry.fingerprint) else { continue };
            if let Some((same, _)) = self.entry_of(of)
                && same != entry
            {
                self.entries.merge(entry, same);
                let entry_max = self.entries.number_max();
                self.identity.remove(IDENTITY, fold(of), entry, entry_max);
            }
        }
    }
}

/// Entries whose sketches are read together, so that they are in the near cache for all tables.
const TOGETHER: usize = 128;

/// What a thread files shelf after shelf with.
struct Filer<'a> {
    entries: &'a Entries,
    /// For each table of a shelf.
    columns: Vec<Column>,
    at: Workplace,
}

impl Filer<'_> {
    /// Sketches are gone through once for all tables of a shelf: that takes as long as filing.
    fn file(&mut self, shelf: &mut Shelf, value: impl Fn(&[u8], u32) -> Option<u32>) {
        self.columns.resize_with(shelf.len().max(self.columns.len()), Column::default);
        let columns = &mut self.columns[..shelf.len()];
        for column in &mut *columns {
            column.expect(self.entries.number_max() as usize);
        }
        let mut sketches = self.entries.sketches();
        let mut together = Vec::with_capacity(TOGETHER);
        loop {
            together.clear();
            together.extend(sketches.by_ref().take(TOGETHER));
            // As the processor would by itself only once it had come to each.
            together.iter().flatten().for_each(|sketch| prefetch_all(sketch));
            if together.is_empty() {
                break;
            }
            for (table, column) in (0..).zip(&mut *columns) {
                column.extend(together.iter().map(|sketch| value((*sketch)?, table)));
            }
        }
        for (table, column) in columns.iter().enumerate() {
            shelf.file_all(table, column, &mut self.at, |_| ());
        }
    }
}
