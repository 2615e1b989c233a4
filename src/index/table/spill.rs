//! Postings that no line of a group has room for: one in a hundred, or none.

use std::mem::size_of;

use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spilled {
    group: u32,
    key: u32,
    entry: u32,
}

/// Whole groups are asked for, so what is of a group has one hash.
#[derive(Debug, Default)]
pub(super) struct Spill {
    postings: HashTable<Spilled>,
}

impl Spill {
    pub fn push(&mut self, group: u32, key: u32, entry: u32) {
        self.postings
            .insert_unique(hash(group), Spilled { group, key, entry }, |of| hash(of.group));
    }

    /// The entries of a key that is at home in this group.
    pub fn of(&self, group: u32, key: u32) -> impl Iterator<Item = u32> {
        let of_key = self.postings.iter_hash(hash(group)).filter(move |of| of.key == key);
        of_key.map(|of| of.entry)
    }

    /// Gives the keys and entries of a group, which has none from now on.
    pub fn take(&mut self, group: u32, mut taken: impl FnMut((u32, u32))) {
        while let Ok(found) = self.postings.find_entry(hash(group), |of| of.group == group) {
            let (of, _) = found.remove();
            taken((of.key, of.entry));
        }
        if self.postings.capacity() > 4 * self.postings.len().max(16) {
            self.postings.shrink_to(2 * self.postings.len(), |of| hash(of.group));
        }
    }

    /// Whether the entry was there.
    pub fn remove(&mut self, group: u32, key: u32, entry: u32) -> bool {
        let it = Spilled { group, key, entry };
        let found = self.postings.find_entry(hash(it.group), |of| *of == it);
        found.map(OccupiedEntry::remove).is_ok()
    }

    /// Whether the entry was there, in whose place another is now.
    pub fn replace(&mut self, group: u32, key: u32, entry: u32, by: u32) -> bool {
        let it = Spilled { group, key, entry };
        let found = self.postings.find_mut(hash(it.group), |of| *of == it);
        found.map(|of| of.entry = by).is_some()
    }

    pub fn postings(&self) -> usize {
        self.postings.len()
    }

    /// With a byte of tag for each place, and seven places of eight filled at most.
    pub fn bytes(&self) -> usize {
        self.postings.capacity() * 8 / 7 * (size_of::<Spilled>() + 1)
    }
}

/// Fibonacci hashing (Knuth, TAOCP 3, 6.4).
fn hash(group: u32) -> u64 {
    u64::from(group).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
