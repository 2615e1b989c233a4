//! The number of postings per key: a histogram, in parts.

use std::collections::BTreeMap;

/// Keys with fewer postings are counted in [`LengthCounts`], longer keys in [`Long`].
const SHORT: usize = 9;

/// Changes by calls of some threads; their sums are the totals.
#[derive(Debug, Default)]
#[repr(align(128))] // Two cache lines, which processors often fetch together.
pub(super) struct LengthCounts {
    /// Number of keys with each number of postings, keys without postings excluded.
    keys: [i64; SHORT],
    postings: i64,
}

/// Keys with many postings.
#[derive(Debug, Default)]
pub(super) struct Long(BTreeMap<usize, u64>);

impl LengthCounts {
    /// Records that a key changed from `before` to `after` postings.
    #[inline]
    pub fn change(&mut self, before: usize, after: usize) {
        for (length, change) in [(before, -1), (after, 1)] {
            if let 1..SHORT = length {
                self.keys[length] += change;
            }
        }
        self.postings += after as i64 - before as i64;
    }

    pub fn add(&mut self, other: &Self) {
        self.keys.iter_mut().zip(other.keys).for_each(|(keys, other)| *keys += other);
        self.postings += other.postings;
    }

    /// Where bits of keys were dropped, two keys may have been counted together.
    pub fn keys(&self) -> u64 {
        self.keys.iter().sum::<i64>().max(0) as u64
    }

    pub fn postings(&self) -> u64 {
        self.postings.max(0) as u64
    }

    /// 0 if there are no keys.
    pub fn longest(&self) -> u64 {
        self.keys.iter().rposition(|keys| *keys > 0).unwrap_or(0) as u64
    }
}

impl Long {
    /// Records that a key changed from `before` to `after` postings.
    #[inline]
    pub fn change(&mut self, before: usize, after: usize) {
        if before >= SHORT
            && let Some(keys) = self.0.get_mut(&before)
        {
            *keys -= 1;
            if *keys == 0 {
                self.0.remove(&before);
            }
        }
        if after >= SHORT {
            *self.0.entry(after).or_default() += 1;
        }
    }

    pub fn keys(&self) -> u64 {
        self.0.values().sum()
    }

    /// 0 if there are no keys.
    pub fn longest(&self) -> u64 {
        self.0.last_key_value().map_or(0, |(length, _)| *length as u64)
    }
}
