//! What an index holds, all of which is under one lock.

use super::Filing;
use super::entries::{Entries, Entry, Removal};
use super::table::{Aim, Shelf};

use crate::document::Ordinal;
use crate::scheme::Key;

/// Shelves that tables are spread over: so many can be filled in parallel.
pub(super) const SHELVES: u32 = 8;

/// Entries that get another number after one change, at most.
const RENUMBERED_MAX: usize = 8;

#[derive(Debug)]
pub(super) struct Contents {
    pub entries: Entries,
    /// Table t is number t / [`SHELVES`] on the shelf t % [`SHELVES`].
    pub shelves: Vec<Shelf>,
    /// Fingerprint (folded to 32 bits) → entry: where an equal set is found.
    pub identity: Shelf,
    /// Of the keys of a filing, each in its table: kept for the next.
    aims: Vec<Aim>,
}

/// The one table of the identity's shelf.
pub(super) const IDENTITY: usize = 0;

impl Contents {
    pub fn new(tables: u32, sketch_bytes: usize) -> Self {
        let shelf = |shelf: u32| Shelf::new((shelf..tables).step_by(SHELVES as usize));
        Self {
            entries: Entries::new(sketch_bytes),
            shelves: (0..SHELVES).map(shelf).collect(),
            identity: Shelf::new([tables]),
            aims: Vec::new(),
        }
    }

    /// Begins to fetch what [`Contents::remove`] will read.
    pub fn prefetch(&self, fingerprint: u64, keys: &[Key]) {
        self.identity.aim(IDENTITY, fold(fingerprint));
        for key in keys {
            self.aim(*key);
        }
    }

    /// Where a key is looked for. Its line is asked for: so many at once take a fraction of the
    /// time that they take one after the other.
    #[inline]
    pub fn aim(&self, key: Key) -> Aim {
        let (shelf, table) = place(key.table);
        self.shelves[shelf].aim(table, key.value)
    }

    /// The number of the new entry, if the set had none yet.
    pub fn insert(&mut self, ordinal: Ordinal, filing: &Filing<'_>) -> Option<u32> {
        let fold = fold(filing.fingerprint);
        self.make_ready(filing.keys);
        // All lines are asked for before any is looked at: that takes a fraction of the time.
        let identity = self.identity.aim_to_file(IDENTITY, fold);
        self.aims.clear();
        self.aims.extend(filing.keys.iter().map(|key| {
            let (shelf, table) = place(key.table);
            self.shelves[shelf].aim_to_file(table, key.value)
        }));
        if let Some((entry, _)) = self.entry_of(filing.fingerprint) {
            self.entries.add_member(entry, ordinal);
            return None;
        }
        let sketch = filing.sketch.as_bytes();
        let entry = self.entries.add(filing.fingerprint, filing.shingles, sketch, ordinal);
        self.identity.insert(IDENTITY, fold, identity, entry);
        for (key, aim) in filing.keys.iter().zip(&self.aims) {
            let (shelf, table) = place(key.table);
            self.shelves[shelf].insert(table, key.value, *aim, entry);
        }
        Some(entry)
    }

    /// Has the tables of these keys be ready for another entry.
    fn make_ready(&mut self, keys: &[Key]) {
        let entry_max = self.entries.number_max();
        self.identity.make_ready(IDENTITY, entry_max);
        for key in keys {
            let (shelf, table) = place(key.table);
            self.shelves[shelf].make_ready(table, entry_max);
        }
    }

    /// Whether it was there; and the number of its entry, if it was the last that had that. It is
    /// for the caller to release.
    pub fn remove(
        &mut self,
        ordinal: Ordinal,
        fingerprint: u64,
        keys: &[Key],
    ) -> (bool, Option<u32>) {
        let Some((entry, _)) = self.entry_of(fingerprint) else { return (false, None) };
        match self.entries.remove_member(entry, ordinal) {
            Removal::Absent => (false, None),
            Removal::OthersRemain => (true, None),
            Removal::WasLast => {
                let entry_max = self.entries.number_max();
                for key in keys {
                    let (shelf, table) = place(key.table);
                    self.shelves[shelf].remove(table, key.value, entry, entry_max);
                }
                self.identity.remove(IDENTITY, fold(fingerprint), entry, entry_max);
                (true, Some(entry))
            }
        }
    }

    /// If many numbers lie idle: gives some of the highest entries lower ones, so that memory comes
    /// free at the end. `keys`: what a sketch is filed under.
    pub fn pull_in(&mut self, keys: impl Fn(&[u8]) -> Vec<Key>) {
        for _ in 0..RENUMBERED_MAX {
            let Some((entry, by)) = self.entries.pull_in() else { return };
            let Some(moved) = self.entries.get(by) else { continue };
            let fold = fold(moved.fingerprint);
            let keys = keys(moved.sketch);
            self.identity.renumber(IDENTITY, fold, entry, by);
            for key in keys {
                let (shelf, table) = place(key.table);
                self.shelves[shelf].renumber(table, key.value, entry, by);
            }
        }
    }

    pub fn entry_of(&self, fingerprint: u64) -> Option<(u32, Entry<'_>)> {
        let mut of_set = None;
        let mut look = |number| {
            let entry = self.entries.get(number).filter(|entry| entry.fingerprint == fingerprint);
            of_set = of_set.or(entry.map(|entry| (number, entry)));
        };
        let key = fold(fingerprint);
        let aim = self.identity.aim(IDENTITY, key);
        let others = self.identity.read(IDENTITY, key, aim, &mut look);
        others.iter().copied().for_each(look);
        of_set
    }

    /// Calls for some of the entries under a key, and gives the others.
    #[inline]
    pub fn read(&self, key: Key, aim: Aim, near: impl FnMut(u32)) -> &[u32] {
        let (shelf, table) = place(key.table);
        self.shelves[shelf].read(table, key.value, aim, near)
    }
}

/// A table's shelf, and its number there.
#[inline]
fn place(table: u32) -> (usize, usize) {
    ((table % SHELVES) as usize, (table / SHELVES) as usize)
}

/// Fingerprints are uniform, so half of one is as good a key as any; the entry has the whole.
pub(super) fn fold(fingerprint: u64) -> u32 {
    (fingerprint >> 32) as u32
}
