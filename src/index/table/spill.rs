//! Postings that neither line of a pair has room for: a few in a hundred.

use std::collections::HashMap;
use std::mem::size_of;

use smallvec::SmallVec;

use crate::index::postings::Spreading;

/// Keys and entries.
type List = SmallVec<[(u32, u32); 2]>;

#[derive(Debug, Default)]
pub(super) struct Spill {
    /// By the number of the pair.
    lists: HashMap<u32, List, Spreading>,
    postings: usize,
}

/// A place of the table, and its tag.
const LIST_BYTES: usize = size_of::<(u32, List)>() + 1;

impl Spill {
    pub fn push(&mut self, line: u32, key: u32, entry: u32) {
        self.lists.entry(line / 2).or_default().push((key, entry));
        self.postings += 1;
    }

    /// The entries of a key that is at home in this line.
    pub fn of(&self, line: u32, key: u32) -> impl Iterator<Item = u32> {
        let list = self.lists.get(&(line / 2));
        let of_key = list.into_iter().flatten().filter(move |posting| posting.0 == key);
        of_key.map(|(_, entry)| *entry)
    }

    /// All of a pair, which has none from now on.
    pub fn take(&mut self, line: u32) -> List {
        let list = self.lists.remove(&(line / 2)).unwrap_or_default();
        self.postings -= list.len();
        if self.lists.capacity() > 4 * self.lists.len().max(16) {
            self.lists.shrink_to(2 * self.lists.len());
        }
        list
    }

    /// Whether the entry was there.
    pub fn remove(&mut self, line: u32, key: u32, entry: u32) -> bool {
        let Some(list) = self.lists.get_mut(&(line / 2)) else { return false };
        let Some(at) = list.iter().position(|posting| *posting == (key, entry)) else {
            return false;
        };
        list.swap_remove(at);
        self.postings -= 1;
        if list.is_empty() {
            self.lists.remove(&(line / 2));
        }
        true
    }

    /// Whether the entry was there, in whose place another is now.
    pub fn replace(&mut self, line: u32, key: u32, entry: u32, by: u32) -> bool {
        let list = self.lists.get_mut(&(line / 2));
        let posting = list.and_then(|list| list.iter_mut().find(|other| **other == (key, entry)));
        posting.map(|posting| posting.1 = by).is_some()
    }

    pub fn postings(&self) -> usize {
        self.postings
    }

    pub fn bytes(&self) -> usize {
        self.lists.capacity() * 8 / 7 * LIST_BYTES
    }
}
