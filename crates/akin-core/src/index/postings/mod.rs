//! Key → entries, for concurrent use: pages of postings in a sharded map.
//!
//! No call waits for a lock while it holds another, or reads more than one page at a time. The time
//! under a lock is bounded: rebuilding a segment, or reading a piece of a crowd.

mod lengths;
mod line;
mod page;
mod segment;

use super::shards::{
    DashMap, Multiplicative, Mutex, PoisonError, prefetch_lock, shards, stripe, stripes,
};
use crate::scheme::Key;
use lengths::LengthCounts;
use line::{LINE_POSTINGS, Line};
use page::PostingsPage;

/// Average memory of a posting, over the sizes between two growths.
pub(super) const POSTING_BYTES: f64 = size_of::<Line<()>>() as f64 / (LINE_POSTINGS as f64 * 0.78);

/// Postings of a crowd read per lock acquisition.
const CROWD_PIECE: usize = 1_024;

/// Postings inserted per lock acquisition.
const FILED_AT_ONCE: usize = 128;

/// Prefetch distance, in postings.
const AHEAD: usize = 12;

/// The postings of some tables. `X` is stored with each entry.
#[derive(Debug)]
pub(crate) struct Postings<X> {
    pages: DashMap<u32, PostingsPage<X>, Multiplicative>,
    /// Number of bits of a key that select its page in the table.
    page_bits: u32,
    /// Each thread adds to its own counts, so that threads do not write to the same memory.
    counts: Box<[Mutex<LengthCounts>]>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PostingsSize {
    pub keys: u64,
    pub postings: u64,
    pub longest: u64,
    pub bytes: u64,
}

/// A key's page, and its other bits, left-aligned.
#[derive(Clone, Copy)]
struct Address {
    page: u32,
    rest: u32,
}

/// Keys are hash values or bytes of a sketch, so they are spread by a bijection (Fibonacci hashing:
/// Knuth, TAOCP 3, 6.4).
#[inline]
fn spread(key: u32) -> u32 {
    key.wrapping_mul(0x9e37_79b1)
}

impl<X: Copy + Default> Postings<X> {
    /// A table has 2^`page_bits` pages, with `page_bits` at least 1.
    pub fn new(page_bits: u32) -> Self {
        let pages = DashMap::with_hasher_and_shard_amount(Multiplicative::default(), shards());
        let counts = (0..stripes()).map(|_| Mutex::default()).collect();
        Self { pages, page_bits, counts }
    }

    #[inline]
    fn address(&self, key: Key) -> Address {
        self.address_of(key.table, spread(key.value))
    }

    #[inline]
    fn address_of(&self, table: u32, spread: u32) -> Address {
        Address {
            page: table << self.page_bits | spread >> (u32::BITS - self.page_bits),
            rest: spread << self.page_bits,
        }
    }

    /// Prefetches the key's lock, before [`Postings::prefetch`].
    #[inline]
    pub fn prefetch_lock(&self, key: Key) {
        prefetch_lock(&self.pages, self.address(key).page);
    }

    /// Prefetches the memory that other calls read for the key. Prefetching all keys before reading
    /// the first is several times as fast.
    #[inline]
    pub fn prefetch(&self, key: Key) {
        let address = self.address(key);
        if let Some(page) = self.pages.get(&address.page) {
            page.prefetch(address.rest);
        }
    }

    /// Inserts an entry under keys. An entry that is inserted twice under a key is counted twice,
    /// so callers insert it once.
    pub fn insert(&self, entry: u32, keys: impl IntoIterator<Item = (Key, X)>) {
        self.insert_in_crowds(entry, keys, usize::MAX);
    }

    /// Like [`insert`](Self::insert). Returns the entries under keys that now have at least
    /// `crowd_min` postings: this entry, and all entries of a key that has just reached that
    /// number. So each entry of a long key is returned by some call, maybe repeatedly.
    pub fn insert_in_crowds(
        &self,
        entry: u32,
        keys: impl IntoIterator<Item = (Key, X)>,
        crowd_min: usize,
    ) -> Vec<u32> {
        let (mut counts, mut crowded) = (LengthCounts::default(), Vec::new());
        for (key, extra) in keys {
            let address = self.address(key);
            let new = || PostingsPage::new(address.page, u32::BITS - self.page_bits);
            let mut page = self.pages.entry(address.page).or_insert_with(new);
            let before = page.insert(address.rest, entry, extra);
            note_crowd(&page, address.rest, (entry, before), crowd_min, &mut crowded);
            counts.change(before, before + 1);
        }
        self.count(&counts);
        crowded
    }

    fn count(&self, changes: &LengthCounts) {
        let counts = &self.counts[stripe(self.counts.len())];
        counts.lock().unwrap_or_else(PoisonError::into_inner).add(changes);
    }

    /// Inserts entries under keys of a table, given as [`order`](Self::order) and sorted ascending,
    /// so that neighbours in memory are inserted together. Returns entries as
    /// [`insert_in_crowds`](Self::insert_in_crowds) does.
    pub fn insert_ordered(
        &self,
        table: u32,
        postings: &[(u32, u32)],
        crowd_min: usize,
    ) -> Vec<u32> {
        let (mut left, mut counts, mut crowded) = (postings, LengthCounts::default(), Vec::new());
        while let [(first, _), ..] = left {
            let number = self.address_of(table, *first).page;
            let new = || PostingsPage::new(number, u32::BITS - self.page_bits);
            let mut page = self.pages.entry(number).or_insert_with(new);
            let is_same = |(order, _): &&(u32, u32)| self.address_of(table, *order).page == number;
            let same = left.iter().take(FILED_AT_ONCE).take_while(is_same).count();
            for (at, (order, entry)) in left[..same].iter().enumerate() {
                if let Some((next, _)) = left[..same].get(at + AHEAD) {
                    page.prefetch(self.address_of(table, *next).rest);
                }
                let rest = self.address_of(table, *order).rest;
                let before = page.insert(rest, *entry, X::default());
                note_crowd(&page, rest, (*entry, before), crowd_min, &mut crowded);
                counts.change(before, before + 1);
            }
            left = &left[same..];
        }
        self.count(&counts);
        crowded
    }

    /// The position of a table's key in memory order.
    #[inline]
    pub fn order(value: u32) -> u32 {
        spread(value)
    }

    /// Removes an entry from keys. Returns from how many.
    pub fn remove(&self, entry: u32, keys: impl IntoIterator<Item = Key>) -> usize {
        let (mut removed, mut counts) = (0, LengthCounts::default());
        for address in keys.into_iter().map(|key| self.address(key)) {
            let Some(mut page) = self.pages.get_mut(&address.page) else { continue };
            let Some(before) = page.remove(address.rest, entry) else { continue };
            let is_empty = page.is_empty();
            drop(page);
            if is_empty {
                self.pages.remove_if(&address.page, |_, page| page.is_empty());
            }
            counts.change(before, before - 1);
            removed += 1;
        }
        self.count(&counts);
        removed
    }

    /// Calls `each` for all entries of a key, or only for some if there are more than `max`.
    /// Returns their number.
    #[inline]
    pub fn read(&self, key: Key, max: usize, mut each: impl FnMut(u32, X)) -> usize {
        let address = self.address(key);
        let Some(page) = self.pages.get(&address.page) else { return 0 };
        let length = page.read_near(address.rest, &mut each);
        drop(page);
        let all = length.near + length.crowd;
        if length.crowd > 0 && all <= max {
            self.read_crowd(address, 0, length.crowd, each);
        }
        all
    }

    /// Calls `each` for at most `max` entries of a key: first the entries from `from` on, and then
    /// the earlier entries.
    pub fn read_some(&self, key: Key, from: u32, max: usize, mut each: impl FnMut(u32, X)) {
        let mut left = max;
        let address = self.address(key);
        if from > 0 {
            let read = self.read_crowd(address, from, left, &mut each);
            left -= read;
        }
        let Some(page) = self.pages.get(&address.page) else { return };
        page.read_near(address.rest, |entry, extra| {
            if left > 0 {
                left -= 1;
                each(entry, extra);
            }
        });
        drop(page);
        self.read_crowd(address, 0, left, |entry, extra| {
            if from == 0 || entry < from {
                each(entry, extra);
            }
        });
    }

    /// Reads piece by piece, with entries from `from` on; concurrent changes may or may not be
    /// seen. Returns how many were read.
    fn read_crowd(
        &self,
        address: Address,
        from: u32,
        max: usize,
        mut each: impl FnMut(u32, X),
    ) -> usize {
        let (mut left, mut from) = (max, Some(from));
        while let Some(first) = from.filter(|_| left > 0)
            && let Some(page) = self.pages.get(&address.page)
        {
            from = None;
            let piece = left.min(CROWD_PIECE);
            page.read_crowd(address.rest, first, piece, |entry, extra| {
                left -= 1;
                from = entry.checked_add(1);
                each(entry, extra);
            });
        }
        max - left
    }

    /// The total size. Visits all pages: some hundreds.
    pub fn size(&self) -> PostingsSize {
        let mut counts = LengthCounts::default();
        for some in &self.counts {
            counts.add(&some.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let mut size = PostingsSize {
            keys: counts.keys(),
            postings: counts.postings(),
            longest: counts.longest(),
            bytes: 0,
        };
        self.pages.iter().for_each(|page| {
            size.keys += page.long.keys();
            size.longest = size.longest.max(page.long.longest());
            size.bytes += page.bytes() as u64;
        });
        size
    }
}

/// Notes an entry that was inserted under a key with `before` postings if the key has a crowd, or
/// all entries of the key if it has just got a crowd.
#[inline]
fn note_crowd<X: Copy + Default>(
    page: &PostingsPage<X>,
    rest: u32,
    (entry, before): (u32, usize),
    crowd_min: usize,
    crowded: &mut Vec<u32>,
) {
    if before >= crowd_min {
        if crowded.last() != Some(&entry) {
            crowded.push(entry);
        }
    } else if before + 1 == crowd_min {
        page.read_near(rest, |entry, _| crowded.push(entry));
        page.read_crowd(rest, 0, usize::MAX, |entry, _| crowded.push(entry));
    }
}
