//! One table: key → the entries filed under it.
//!
//! Most keys have one entry, so a key costs eight bytes in a flat map; the few that have more are
//! marked there and keep their list in a second map. Locks are always taken in that order, first
//! map then second, and the first is held while the second is used: a reader never sees a key
//! between the two.

use std::hash::{BuildHasherDefault, Hasher};
use std::mem::size_of;

use dashmap::{DashMap, Entry};

/// Marks a key whose entries are in the second map. No entry has this number.
const CROWDED: u32 = u32::MAX;

/// Keys are hash values already. They only need to be spread over 64 bits, since the map takes the
/// shard and the tag from the high ones: Fibonacci hashing (Knuth, TAOCP 3, 6.4).
#[derive(Clone, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("postings are keyed by u32 alone");
    }

    fn write_u32(&mut self, value: u32) {
        self.0 = u64::from(value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Spreading = BuildHasherDefault<Spread>;

#[derive(Debug)]
pub(super) struct Postings {
    first: DashMap<u32, u32, Spreading>,
    crowded: DashMap<u32, Vec<u32>, Spreading>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PostingsSize {
    pub keys: u64,
    pub postings: u64,
    pub longest: u64,
    pub bytes: u64,
}

impl Postings {
    pub fn new(keys_expected: usize) -> Self {
        Self {
            first: DashMap::with_capacity_and_hasher(keys_expected, Spreading::default()),
            crowded: DashMap::default(),
        }
    }

    /// Filing an entry twice under a key would count it twice: callers file each once.
    pub fn insert(&self, key: u32, entry: u32) {
        match self.first.entry(key) {
            Entry::Vacant(vacant) => {
                vacant.insert(entry);
            }
            Entry::Occupied(occupied) if *occupied.get() == CROWDED => {
                self.crowded.entry(key).or_default().push(entry);
            }
            Entry::Occupied(mut occupied) => {
                self.crowded.insert(key, vec![*occupied.get(), entry]);
                occupied.insert(CROWDED);
            }
        }
    }

    pub fn remove(&self, key: u32, entry: u32) {
        let Entry::Occupied(mut occupied) = self.first.entry(key) else { return };
        if *occupied.get() == entry {
            occupied.remove();
        } else if *occupied.get() == CROWDED
            && let Some(alone) = self.leave_crowd(key, entry)
        {
            occupied.insert(alone);
        }
    }

    /// What `read` makes of the entries under a key; `None` for a key without any.
    pub fn read<R>(&self, key: u32, read: impl FnOnce(&[u32]) -> R) -> Option<R> {
        let first = self.first.get(&key)?;
        if *first != CROWDED {
            return Some(read(std::slice::from_ref(&*first)));
        }
        self.crowded.get(&key).map(|entries| read(&entries))
    }

    pub fn size(&self) -> PostingsSize {
        let keys = self.first.len() as u64;
        let mut size = PostingsSize { keys, postings: keys, longest: keys.min(1), bytes: 0 };
        let mut lists_bytes = 0;
        for entries in &self.crowded {
            size.postings += entries.len() as u64 - 1;
            size.longest = size.longest.max(entries.len() as u64);
            lists_bytes += entries.capacity() * size_of::<u32>();
        }
        size.bytes = (table_bytes(self.first.capacity(), size_of::<(u32, u32)>())
            + table_bytes(self.crowded.capacity(), size_of::<(u32, Vec<u32>)>())
            + lists_bytes) as u64;
        size
    }

    /// The one entry that is left, if only one is.
    fn leave_crowd(&self, key: u32, entry: u32) -> Option<u32> {
        let mut entries = self.crowded.get_mut(&key)?;
        if let Some(position) = entries.iter().position(|&e| e == entry) {
            entries.swap_remove(position);
        }
        if entries.capacity() > 4 * entries.len() {
            entries.shrink_to_fit();
        }
        let [alone] = **entries else { return None };
        drop(entries);
        self.crowded.remove(&key);
        Some(alone)
    }
}

/// A hash table keeps one byte of tag beside each place, and fills seven places of eight.
fn table_bytes(capacity: usize, place_bytes: usize) -> usize {
    capacity * 8 / 7 * (place_bytes + 1)
}
