//! Representatives by their keys, in a bounded block of memory.

use std::collections::HashMap;

use super::Sets;
use super::keys::{JoinKey, JoinKeys};
use super::reach::ReachTree;
use crate::scheme::SizeReach;

/// Representatives by their keys, as chained hash tables of a fixed size.
pub(super) struct RepresentativeBlock {
    tables: Vec<BlockTable>,
    /// The number of tables with keys of a scheme, which have few sets each; they come first.
    key_tables: usize,
    /// A set was refused. A later set with fewer keys might fit, but it may be near the refused
    /// set.
    closed: bool,
}

struct BlockTable {
    /// The place of the latest entry with this hash, counted from 1, or 0.
    latest: Vec<u32>,
    entries: Vec<BlockEntry>,
    entries_max: usize,
    shift: u32,
    /// The representatives of keys with many representatives, which are no longer in chains.
    lists: HashMap<u32, RepresentativeList>,
    /// The memory of the entries in lists, in units of entries in chains.
    listed: usize,
}

#[derive(Clone, Copy)]
struct BlockEntry {
    key: u32,
    most: u32,
    number: u32,
    /// The place of the previous entry with this hash, counted from 1, or 0.
    before: u32,
}

/// The representatives with the same element, ascending.
#[derive(Default)]
pub(super) struct RepresentativeList {
    numbers: Vec<u32>,
    tree: ReachTree,
}

/// A search in a list.
pub(super) struct ListSearch<'b> {
    list: &'b RepresentativeList,
    of: SizeReach,
    /// The place of the current representative.
    at: usize,
}

/// A representative near a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NearRepresentative {
    pub number: u32,
    /// They share elements, but so far no key of a scheme was found that they share.
    pub by_elements: bool,
}

/// Bytes for each entry: itself, and at most two slots of the hash table.
const ENTRY_BYTES: usize = size_of::<BlockEntry>() + 2 * size_of::<u32>();
const ENTRIES_MIN: usize = 4;

/// The maximum number of representatives of an element in a chain.
const CHAIN_MAX: usize = if cfg!(test) { 2 } else { 32 };

/// An entry in a list takes as much memory as this number of entries in chains.
const LISTED: usize = 3;

/// 2³² divided by the golden ratio.
const SPREAD: u32 = 0x9e37_79b9;

impl RepresentativeBlock {
    /// As large as `memory` allows, but for no more than the keys of all sets.
    pub fn new(join_keys: &JoinKeys<'_>, memory: usize, sets: &impl Sets) -> Self {
        let (tables, key_tables) = (join_keys.tables(), join_keys.key_tables());
        // If there are both keys and elements, elements have half of the memory.
        let kinds = usize::from(key_tables > 0) + usize::from(tables > key_tables);
        let table = |table| {
            let of_kind = if table < key_tables { key_tables as usize } else { 1 };
            let keys = join_keys.keys_of_a_table(table, sets);
            BlockTable::new((memory / kinds / of_kind / ENTRY_BYTES).min(keys).max(ENTRIES_MIN))
        };
        let (tables, key_tables) = ((0..tables).map(table).collect(), key_tables as usize);
        Self { tables, key_tables, closed: false }
    }

    /// Adds a representative, unless there is no room for it, or there was no room for an earlier
    /// representative. Returns whether it was added.
    pub fn takes(&mut self, number: u32, keys: &[JoinKey], sets: &impl Sets) -> bool {
        self.closed |= self.is_full_for(keys);
        if !self.closed {
            for JoinKey { table, key, most } in keys {
                let by_elements = *table as usize >= self.key_tables;
                self.tables[*table as usize].add(*key, *most, number, by_elements, sets);
            }
        }
        !self.closed
    }

    /// Whether there is no room for a set with these keys in all tables. The first set always fits.
    fn is_full_for(&self, keys: &[JoinKey]) -> bool {
        let has_some = self.tables.iter().any(|table| !table.entries.is_empty());
        let mut of_table = keys.chunk_by(|a, b| a.table == b.table);
        has_some
            && of_table.any(|keys| {
                let table = &self.tables[keys[0].table as usize];
                table.entries.len() + table.listed + keys.len() > table.entries_max
            })
    }

    /// Finds the representatives with the same keys. Adds the representatives in chains to `near`,
    /// in no order, and adds a search for each list to `searches`.
    pub fn visit<'b>(
        &'b self,
        keys: &[JoinKey],
        (number, sets): (u32, &impl Sets),
        near: &mut Vec<NearRepresentative>,
        searches: &mut Vec<ListSearch<'b>>,
    ) {
        let size = sets.shingles(number);
        for key in keys {
            let by_elements = key.table as usize >= self.key_tables;
            let table = &self.tables[key.table as usize];
            let own = if by_elements { key.reach(size) } else { SizeReach::of_key(key.most) };
            if let Some(list) = table.list(key.key) {
                searches.extend(ListSearch::begin(list, own));
                continue;
            }
            for entry in table.chain(key.key) {
                let (number, most) = (entry.number, entry.most);
                let other = match by_elements {
                    true => SizeReach { size: sets.shingles(number) as u32, most },
                    false => SizeReach::of_key(most),
                };
                if own.admits(other) {
                    near.push(NearRepresentative { number, by_elements });
                }
            }
        }
    }
}

impl BlockTable {
    fn new(entries_max: usize) -> Self {
        let slots = entries_max.next_power_of_two();
        Self {
            latest: vec![0; slots],
            entries: Vec::with_capacity(entries_max),
            entries_max,
            shift: u32::BITS - slots.ilog2(),
            lists: HashMap::new(),
            listed: 0,
        }
    }

    #[inline]
    fn slot(&self, key: u32) -> usize {
        (key.wrapping_mul(SPREAD) >> self.shift) as usize
    }

    #[inline]
    fn list(&self, key: u32) -> Option<&RepresentativeList> {
        if self.lists.is_empty() { None } else { self.lists.get(&key) }
    }

    fn add(&mut self, key: u32, most: u32, number: u32, by_elements: bool, sets: &impl Sets) {
        let size = sets.shingles(number) as u32;
        if let Some(list) = self.lists.get_mut(&key) {
            list.push(number, SizeReach { size, most });
            self.listed += LISTED;
            return;
        }
        let slot = self.slot(key);
        let before = self.latest[slot];
        self.entries.push(BlockEntry { key, most, number, before });
        self.latest[slot] = self.entries.len() as u32;
        if by_elements && self.chain(key).nth(CHAIN_MAX).is_some() {
            let mut entries: Vec<BlockEntry> = self.chain(key).copied().collect();
            entries.reverse();
            let mut list = RepresentativeList::default();
            for BlockEntry { number, most, .. } in &entries {
                list.push(*number, SizeReach { size: sets.shingles(*number) as u32, most: *most });
            }
            self.listed += LISTED * entries.len();
            self.lists.insert(key, list);
        }
    }

    /// The entries of a key, latest first.
    #[inline]
    fn chain(&self, key: u32) -> impl Iterator<Item = &BlockEntry> {
        let mut at = self.latest[self.slot(key)];
        let entries = std::iter::from_fn(move || {
            let entry = &self.entries[(at as usize).checked_sub(1)?];
            at = entry.before;
            Some(entry)
        });
        entries.filter(move |entry| entry.key == key)
    }
}

impl RepresentativeList {
    fn push(&mut self, number: u32, reach: SizeReach) {
        self.numbers.push(number);
        self.tree.push(reach);
    }
}

impl<'b> ListSearch<'b> {
    /// A search at the first representative that `of` admits; `None` if `of` admits no
    /// representative.
    #[inline]
    fn begin(list: &'b RepresentativeList, of: SizeReach) -> Option<Self> {
        let at = list.tree.next(0, of)?;
        Some(Self { list, of, at })
    }

    #[inline]
    pub fn number(&self) -> u32 {
        self.list.numbers[self.at]
    }

    /// Goes on to the next representative. Returns whether there is a pair.
    #[inline]
    pub fn advance(&mut self) -> bool {
        match self.list.tree.next(self.at + 1, self.of) {
            Some(next) => {
                self.at = next;
                true
            }
            None => false,
        }
    }
}
