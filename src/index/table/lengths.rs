//! How many keys have how many postings.

use std::collections::BTreeMap;

/// Lengths below this are counted in an array.
const FEW: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Lengths {
    keys: u64,
    few: [u64; FEW],
    /// The others; only lengths that a key has.
    many: BTreeMap<usize, u64>,
}

impl Lengths {
    /// A key has another number of postings than before.
    #[inline]
    pub fn change(&mut self, before: usize, after: usize) {
        if before == 0 {
            self.keys += 1;
        } else {
            self.take_off(before);
        }
        if after == 0 {
            self.keys -= 1;
        } else {
            self.add(after);
        }
    }

    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// 0 if there are no keys.
    pub fn longest(&self) -> usize {
        let few = || self.few.iter().rposition(|&keys| keys > 0);
        self.many.last_key_value().map(|(&length, _)| length).or_else(few).unwrap_or(0)
    }

    #[inline]
    fn add(&mut self, length: usize) {
        match self.few.get_mut(length) {
            Some(keys) => *keys += 1,
            None => *self.many.entry(length).or_default() += 1,
        }
    }

    #[inline]
    fn take_off(&mut self, length: usize) {
        if let Some(keys) = self.few.get_mut(length) {
            *keys -= 1;
            return;
        }
        let keys = self.many.get_mut(&length).expect("the length was added");
        *keys -= 1;
        if *keys == 0 {
            self.many.remove(&length);
        }
    }
}
