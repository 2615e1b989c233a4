//! A histogram of the number of postings per key.

use std::collections::BTreeMap;

/// Lengths below this are counted in an array.
const SHORT: usize = 9;

#[derive(Debug, Default)]
pub(super) struct Lengths {
    /// Number of keys with each number of postings, keys without postings excluded.
    short: [u64; SHORT],
    long: BTreeMap<usize, u64>,
}

impl Lengths {
    /// Records that a key changed from `before` to `after` postings.
    #[inline]
    pub fn change(&mut self, before: usize, after: usize) {
        if before > 0 {
            let keys = self.keys_of(before);
            // Where bits of keys were dropped, two keys may be counted as one.
            *keys = keys.saturating_sub(1);
            if *keys == 0 && before >= SHORT {
                self.long.remove(&before);
            }
        }
        if after > 0 {
            *self.keys_of(after) += 1;
        }
    }

    fn keys_of(&mut self, length: usize) -> &mut u64 {
        match self.short.get_mut(length) {
            Some(keys) => keys,
            None => self.long.entry(length).or_default(),
        }
    }

    pub fn keys(&self) -> u64 {
        self.short.iter().chain(self.long.values()).sum()
    }

    /// 0 if there are no keys.
    pub fn longest(&self) -> usize {
        let long = self.long.last_key_value().map(|(length, _)| *length);
        long.or_else(|| self.short.iter().rposition(|keys| *keys > 0)).unwrap_or(0)
    }
}
