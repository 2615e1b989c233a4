//! Most of the postings of keys that many entries have: more than there is room for in lines.

use std::collections::BTreeMap;
use std::mem::size_of;

use smallvec::SmallVec;

type List = SmallVec<[u32; 4]>;

/// Of one key in a tree: key, list, and its share of nodes that are two thirds filled.
const TREE_BYTES_EACH: usize = (size_of::<u32>() + size_of::<List>()) * 3 / 2;

#[derive(Debug, Default)]
pub(super) struct Crowd {
    lists: BTreeMap<u32, List>,
    postings: usize,
    /// Places for entries in lists that are too long to be inline.
    spilled: usize,
}

impl Crowd {
    pub fn get(&self, key: u32) -> &[u32] {
        self.lists.get(&key).map_or(&[], |list| list)
    }

    pub fn push(&mut self, key: u32, entry: u32) {
        let list = self.lists.entry(key).or_default();
        self.spilled -= spilled(list);
        list.push(entry);
        self.spilled += spilled(list);
        self.postings += 1;
    }

    /// Whether the entry was there.
    pub fn remove(&mut self, key: u32, entry: u32) -> bool {
        let Some(list) = self.lists.get_mut(&key) else { return false };
        let Some(position) = list.iter().position(|&other| other == entry) else { return false };
        self.spilled -= spilled(list);
        list.swap_remove(position);
        if list.capacity() > 4 * list.len() {
            list.shrink_to_fit();
        }
        self.spilled += spilled(list);
        self.postings -= 1;
        if list.is_empty() {
            self.lists.remove(&key);
        }
        true
    }

    /// Whether the entry was there, in whose place another is now.
    pub fn replace(&mut self, key: u32, entry: u32, by: u32) -> bool {
        let list = self.lists.get_mut(&key);
        let place = list.and_then(|list| list.iter_mut().find(|other| **other == entry));
        place.map(|place| *place = by).is_some()
    }

    /// The keys from `start` to before `end`.
    pub fn keys(&self, start: u64, end: u64) -> Vec<u32> {
        self.lists.range(start as u32..=(end - 1) as u32).map(|(key, _)| *key).collect()
    }

    pub fn postings(&self) -> usize {
        self.postings
    }

    pub fn bytes(&self) -> usize {
        self.lists.len() * TREE_BYTES_EACH + self.spilled * size_of::<u32>()
    }
}

fn spilled(list: &List) -> usize {
    if list.spilled() { list.capacity() } else { 0 }
}
