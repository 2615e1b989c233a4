//! Key → entries, for many threads at once: pages of postings in a map of shards.
//!
//! No call holds a lock while it waits for another, or reads more than one page. What one takes
//! under its lock is bounded: a segment made anew, or a piece of a crowd.

mod lengths;
mod line;
mod page;
mod segment;

use super::shards::{DashMap, Multiplicative, shards};
use crate::scheme::Key;
use line::{LINE_POSTINGS, Line};
use page::Page;

pub(super) use page::PostingsSize;

/// Memory of a posting, on average over the sizes between two growths.
pub(super) const POSTING_BYTES: f64 = size_of::<Line<()>>() as f64 / (LINE_POSTINGS as f64 * 0.78);

/// Postings of a crowd that are read under one lock.
const CROWD_PIECE: usize = 1_024;

/// Postings that are filed under one lock.
const FILED_AT_ONCE: usize = 128;

/// Lines are fetched for so many postings ahead.
const AHEAD: usize = 12;

/// The keys of some tables. `X` comes with each entry.
#[derive(Debug)]
pub(super) struct Postings<X> {
    pages: DashMap<u32, Page<X>, Multiplicative>,
    /// Bits of a key that name its page in the table.
    page_bits: u32,
}

/// A key's page, and its other bits from the top.
#[derive(Clone, Copy)]
struct Address {
    page: u32,
    rest: u32,
}

/// Keys are hash values, or bytes of a sketch: they are to be spread evenly, and one to one
/// (Fibonacci hashing: Knuth, TAOCP 3, 6.4).
#[inline]
fn spread(key: u32) -> u32 {
    key.wrapping_mul(0x9e37_79b1)
}

impl<X: Copy + Default> Postings<X> {
    /// A table has 2^`page_bits` pages, from 1 bit on.
    pub fn new(page_bits: u32) -> Self {
        let pages = DashMap::with_hasher_and_shard_amount(Multiplicative::default(), shards());
        Self { pages, page_bits }
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

    /// Begins to fetch what the other calls read of the key. To do so for all keys before the first
    /// is read takes a fraction of the time.
    #[inline]
    pub fn prefetch(&self, key: Key) {
        let address = self.address(key);
        if let Some(page) = self.pages.get(&address.page) {
            page.prefetch(address.rest);
        }
    }

    /// Filing an entry twice under a key would count it twice: callers file each once.
    pub fn insert(&self, key: Key, entry: u32, extra: X) {
        let address = self.address(key);
        let new = || Page::new(address.page, u32::BITS - self.page_bits);
        let mut page = self.pages.entry(address.page).or_insert_with(new);
        page.insert(address.rest, entry, extra);
    }

    /// [`insert`](Self::insert) for keys of one table, each as [`order`](Self::order) has it,
    /// ascending, with its entry. So what is near in memory is filed together.
    pub fn insert_ordered(&self, table: u32, postings: &[(u32, u32)]) {
        let mut left = postings;
        while let [(first, _), ..] = left {
            let number = self.address_of(table, *first).page;
            let new = || Page::new(number, u32::BITS - self.page_bits);
            let mut page = self.pages.entry(number).or_insert_with(new);
            let is_same = |(order, _): &&(u32, u32)| self.address_of(table, *order).page == number;
            let same = left.iter().take(FILED_AT_ONCE).take_while(is_same).count();
            for (at, (order, entry)) in left[..same].iter().enumerate() {
                if let Some((next, _)) = left[..same].get(at + AHEAD) {
                    page.prefetch(self.address_of(table, *next).rest);
                }
                page.insert(self.address_of(table, *order).rest, *entry, X::default());
            }
            left = &left[same..];
        }
    }

    /// The order in which the keys of a table are in memory.
    #[inline]
    pub fn order(value: u32) -> u32 {
        spread(value)
    }

    /// Whether the entry was there.
    pub fn remove(&self, key: Key, entry: u32) -> bool {
        let address = self.address(key);
        let Some(mut page) = self.pages.get_mut(&address.page) else { return false };
        let was_there = page.remove(address.rest, entry);
        let is_empty = page.is_empty();
        drop(page);
        if is_empty {
            self.pages.remove_if(&address.page, |_, page| page.is_empty());
        }
        was_there
    }

    /// Calls `each` for all entries of a key, or for some of them if there are more than `max`.
    /// Returns how many there are.
    #[inline]
    pub fn read(&self, key: Key, max: usize, mut each: impl FnMut(u32, X)) -> usize {
        let address = self.address(key);
        let Some(page) = self.pages.get(&address.page) else { return 0 };
        let length = page.read_near(address.rest, &mut each);
        drop(page);
        let all = length.near + length.crowd;
        if length.crowd > 0 && all <= max {
            self.read_crowd(address, length.crowd, each);
        }
        all
    }

    /// Calls for the first `max` entries of a key.
    pub fn read_first(&self, key: Key, max: usize, mut each: impl FnMut(u32, X)) {
        let mut left = max;
        let address = self.address(key);
        let Some(page) = self.pages.get(&address.page) else { return };
        page.read_near(address.rest, |entry, extra| {
            if left > 0 {
                left -= 1;
                each(entry, extra);
            }
        });
        drop(page);
        self.read_crowd(address, left, each);
    }

    /// Piece by piece: what comes or goes meanwhile is read or not.
    fn read_crowd(&self, address: Address, max: usize, mut each: impl FnMut(u32, X)) {
        let (mut left, mut from) = (max, Some(0));
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
    }

    /// Of all pages together. Goes through them: some hundreds.
    pub fn size(&self) -> PostingsSize {
        let mut sum = PostingsSize::default();
        for size in self.pages.iter().map(|page| page.size()) {
            sum.keys += size.keys;
            sum.postings += size.postings;
            sum.longest = sum.longest.max(size.longest);
            sum.bytes += size.bytes;
        }
        sum
    }
}
