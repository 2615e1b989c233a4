//! Filling an index with everything at once, which is many times as fast as one by one.

use std::sync::{Mutex, PoisonError};
use std::thread;

use super::Index;
use super::contents::{Contents, IDENTITY, SHELVES, fold};
use super::entries::Entries;
use super::table::Shelf;
use crate::document::Ordinal;

/// An index that is being filled, and that nobody looks into meanwhile. Sets are found only after
/// [`Loading::file`].
#[derive(Debug)]
pub struct Loading<'a> {
    contents: &'a mut Contents,
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

impl Loading<'_> {
    /// Adds a set and documents that have it. It may come several times, with other documents or
    /// the same.
    pub fn add(
        &mut self,
        fingerprint: u64,
        shingles: u32,
        sketch: &[u8],
        members: impl IntoIterator<Item = Ordinal>,
    ) {
        let mut members = members.into_iter();
        let Some(first) = members.next() else { return };
        let entry = self.contents.entries.add(fingerprint, shingles, sketch, first);
        members.for_each(|ordinal| self.contents.entries.add_member(entry, ordinal));
    }

    /// Files every set in every table, under the key that `value` gives for a sketch there, if any.
    /// Up to eight threads are of use.
    pub fn file(self, threads: usize, value: impl Fn(&[u8], u32) -> Option<u32> + Sync) {
        self.contents.identify();
        let Contents { entries, shelves, .. } = self.contents;
        let waiting = Mutex::new((0..SHELVES).zip(shelves));
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            while let Some((number, shelf)) = next() {
                file_shelf(entries, shelf, |sketch, at| value(sketch, at * SHELVES + number));
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
        let filings = self.entries.fingerprints().map(|(entry, of)| (fold(of), entry)).collect();
        let mut sharing = Vec::new();
        self.identity.file_all(IDENTITY, filings, |entry| sharing.push(entry));
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

/// Sketches are gone through once for all tables of a shelf: that takes as long as filing.
fn file_shelf(entries: &Entries, shelf: &mut Shelf, value: impl Fn(&[u8], u32) -> Option<u32>) {
    let with_room = || Vec::with_capacity(entries.count() as usize);
    let mut filings: Vec<Vec<(u32, u32)>> = (0..shelf.len()).map(|_| with_room()).collect();
    for (entry, sketch) in entries.sketches() {
        for (table, filings) in (0..).zip(&mut filings) {
            filings.extend(value(sketch, table).map(|key| (key, entry)));
        }
    }
    for (table, filings) in filings.into_iter().enumerate() {
        shelf.file_all(table, filings, |_| ());
    }
}
