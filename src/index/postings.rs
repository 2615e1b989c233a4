//! The prefix index's table: key → the entries filed under it, each with its place.
//!
//! Most keys have one entry, so a key costs eight bytes in a flat map; the few that have more are
//! marked there and keep their list in a second map. Locks are always taken in that order, first
//! map then second, and the first is held while the second is used: a reader never sees a key
//! between the two.

use std::collections::BTreeMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::mem::size_of;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dashmap::{DashMap, Entry};

/// What is filed under a key: an entry's number, and maybe more.
pub(super) trait Posting: Copy + PartialEq {
    /// Marks a key whose postings are in the second map. No entry has its number.
    const CROWDED: Self;
}

/// Keys are hash values already. They only need to be spread over 64 bits, since the map takes the
/// shard and the tag from the high ones: Fibonacci hashing (Knuth, TAOCP 3, 6.4).
#[derive(Clone, Default)]
pub(super) struct Spread(u64);

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

pub(super) type Spreading = BuildHasherDefault<Spread>;

#[derive(Debug)]
pub(super) struct Postings<P> {
    first: DashMap<u32, P, Spreading>,
    crowded: DashMap<u32, Vec<P>, Spreading>,
    totals: Mutex<Totals>,
}

/// What the lists of the second map add up to. It is kept as they change, under their locks: to go
/// through them all takes a tenth of a second at a million documents.
#[derive(Debug, Default)]
struct Totals {
    entries: usize,
    places: usize,
    /// How many lists there are of each length.
    lengths: BTreeMap<usize, usize>,
}

impl Totals {
    fn add<P>(&mut self, list: &Vec<P>) {
        self.entries += list.len();
        self.places += list.capacity();
        *self.lengths.entry(list.len()).or_default() += 1;
    }

    fn take_off<P>(&mut self, list: &Vec<P>) {
        self.entries -= list.len();
        self.places -= list.capacity();
        let lists = self.lengths.get_mut(&list.len()).expect("the list was added");
        *lists -= 1;
        if *lists == 0 {
            self.lengths.remove(&list.len());
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PostingsSize {
    pub keys: u64,
    pub postings: u64,
    pub longest: u64,
    pub bytes: u64,
}

impl<P: Posting> Postings<P> {
    /// Of maps in so many parts each: whoever goes through all keys locks one part at a time.
    pub fn in_parts(parts: usize) -> Self {
        let map = || Spreading::default();
        Self {
            first: DashMap::with_hasher_and_shard_amount(map(), parts),
            crowded: DashMap::with_hasher_and_shard_amount(map(), parts),
            totals: Mutex::default(),
        }
    }

    /// Filing an entry twice under a key would count it twice: callers file each once.
    pub fn insert(&self, key: u32, entry: P) {
        match self.first.entry(key) {
            Entry::Vacant(vacant) => {
                vacant.insert(entry);
            }
            Entry::Occupied(occupied) if *occupied.get() == P::CROWDED => {
                let mut list = self.crowded.entry(key).or_default();
                let mut totals = self.totals();
                totals.take_off(&list);
                list.push(entry);
                totals.add(&list);
            }
            Entry::Occupied(mut occupied) => {
                let list = vec![*occupied.get(), entry];
                self.totals().add(&list);
                self.crowded.insert(key, list);
                occupied.insert(P::CROWDED);
            }
        }
    }

    /// What `read` makes of the entries under a key; `None` for a key without any.
    pub fn read<R>(&self, key: u32, read: impl FnOnce(&[P]) -> R) -> Option<R> {
        let first = self.first.get(&key)?;
        if *first != P::CROWDED {
            return Some(read(std::slice::from_ref(&*first)));
        }
        self.crowded.get(&key).map(|entries| read(&entries))
    }

    pub fn size(&self) -> PostingsSize {
        let totals = self.totals();
        let (entries, lists_bytes) = (totals.entries, totals.places * size_of::<P>());
        let lists: usize = totals.lengths.values().sum();
        let longest = totals.lengths.last_key_value().map(|(&length, _)| length);
        // Whoever changes a list holds a lock of the maps already when taking this one.
        drop(totals);
        let keys = self.first.len();
        let bytes = table_bytes(self.first.capacity(), size_of::<(u32, P)>())
            + table_bytes(self.crowded.capacity(), size_of::<(u32, Vec<P>)>())
            + lists_bytes;
        PostingsSize {
            keys: keys as u64,
            postings: (keys.saturating_sub(lists) + entries) as u64,
            longest: longest.unwrap_or(keys.min(1)) as u64,
            bytes: bytes as u64,
        }
    }

    /// Drops every posting that is not to be kept, one part of the keys after the other.
    pub fn retain(&self, keep: impl Fn(&P) -> bool) {
        self.first.retain(|key, first| match *first == P::CROWDED {
            true => self.retain_crowd(*key, first, &keep),
            false => keep(first),
        });
    }

    /// Whether any posting is left; one that is left alone takes the place of the mark.
    fn retain_crowd(&self, key: u32, first: &mut P, keep: impl Fn(&P) -> bool) -> bool {
        let Some(mut list) = self.crowded.get_mut(&key) else { return false };
        let mut totals = self.totals();
        totals.take_off(&list);
        list.retain(keep);
        if let [_, _, ..] = **list {
            list.shrink_to_fit();
            totals.add(&list);
            return true;
        }
        let alone = list.first().copied();
        drop(totals);
        drop(list);
        self.crowded.remove(&key);
        alone.is_some_and(|alone| {
            *first = alone;
            true
        })
    }

    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A hash table keeps one byte of tag beside each place, and fills seven places of eight.
fn table_bytes(capacity: usize, place_bytes: usize) -> usize {
    capacity * 8 / 7 * (place_bytes + 1)
}
