//! A set of hashes with a mark for each: 4 bytes for each slot.

use crate::simd::prefetch;

/// The number of buckets, which grow one by one.
const BUCKETS_LOG2: u32 = 12;

/// A slot without a hash.
const EMPTY: u32 = 0;

/// The bit of a slot that says that the hash is marked.
const MARK: u32 = 1;

/// The bit that is set in every slot with a hash.
const TAKEN: u32 = 2;

/// The set: each hash is 12 bits for its bucket and 30 bits in a slot. Of n hashes, one in 2⁴² / n
/// has the bits of another. Such a hash may be marked without need, and is never missing.
#[derive(Clone, Debug)]
pub(super) struct MarkedHashes {
    buckets: Vec<Bucket>,
}

#[derive(Clone, Debug, Default)]
struct Bucket {
    /// At most seven of eight are taken; linear probing from the slot of the value.
    slots: Vec<u32>,
    taken: usize,
}

fn bucket_of(hash: u64) -> usize {
    (hash >> (u64::BITS - BUCKETS_LOG2)) as usize
}

fn value_of(hash: u64) -> u32 {
    (hash << BUCKETS_LOG2 >> 32) as u32 & !MARK | TAKEN
}

impl MarkedHashes {
    pub fn new() -> Self {
        Self { buckets: vec![Bucket::default(); 1 << BUCKETS_LOG2] }
    }

    /// Prefetches the memory that other calls read for a hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        let bucket = &self.buckets[bucket_of(hash)];
        if let Some(slot) = bucket.slots.get(bucket.first_slot(value_of(hash))) {
            prefetch(slot);
        }
    }

    pub fn insert(&mut self, hash: u64) {
        let bucket = &mut self.buckets[bucket_of(hash)];
        bucket.grow();
        let slot = bucket.slot(value_of(hash)).expect("a bucket that grew has slots");
        if bucket.slots[slot] == EMPTY {
            bucket.slots[slot] = value_of(hash);
            bucket.taken += 1;
        }
    }

    /// Marks a hash if it is in the set.
    pub fn mark(&mut self, hash: u64) {
        let bucket = &mut self.buckets[bucket_of(hash)];
        if let Some(slot) = bucket.slot(value_of(hash))
            && bucket.slots[slot] & MARK == 0
            && bucket.slots[slot] != EMPTY
        {
            bucket.slots[slot] |= MARK;
        }
    }

    pub fn is_marked(&self, hash: u64) -> bool {
        let bucket = &self.buckets[bucket_of(hash)];
        bucket.slot(value_of(hash)).is_some_and(|slot| bucket.slots[slot] & MARK != 0)
    }

    /// Drops the hashes that are not marked.
    pub fn keep_marked(&mut self) {
        for bucket in &mut self.buckets {
            let slots = std::mem::take(&mut bucket.slots);
            let marked = slots.into_iter().filter(|value| value & MARK != 0);
            let marked: Vec<u32> = marked.collect();
            *bucket = Bucket::of(&marked, (marked.len() * 5).div_ceil(4));
        }
    }

    pub fn bytes(&self) -> usize {
        let slots: usize = self.buckets.iter().map(|bucket| bucket.slots.capacity()).sum();
        slots * size_of::<u32>() + self.buckets.len() * size_of::<Bucket>()
    }
}

impl Bucket {
    /// Values without duplicates, in at least `slots` slots: more than there are values.
    fn of(values: &[u32], slots: usize) -> Self {
        if slots == 0 {
            return Self::default();
        }
        let slots = vec![EMPTY; slots.max(8)];
        let mut bucket = Self { slots, taken: values.len() };
        for value in values {
            let slot = bucket.slot(*value).expect("a bucket with values has slots");
            bucket.slots[slot] = *value;
        }
        bucket
    }

    /// Makes room for another value.
    fn grow(&mut self) {
        if (self.taken + 1) * 8 > self.slots.len() * 7 {
            let old = std::mem::take(&mut self.slots);
            let values: Vec<u32> = old.iter().copied().filter(|value| *value != EMPTY).collect();
            *self = Self::of(&values, (old.len() * 5 / 4).max(8));
        }
    }

    /// A value as a fraction of the slots (Lemire 2019).
    #[inline]
    fn first_slot(&self, value: u32) -> usize {
        ((u64::from(value) * self.slots.len() as u64) >> 32) as usize
    }

    /// The slot of a value, or the empty slot for it. `None` in a bucket without slots.
    #[inline]
    fn slot(&self, value: u32) -> Option<usize> {
        let mut slot = self.first_slot(value & !MARK);
        loop {
            let found = *self.slots.get(slot)?;
            if found == EMPTY || (found ^ value) & !MARK == 0 {
                return Some(slot);
            }
            slot = if slot + 1 == self.slots.len() { 0 } else { slot + 1 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_belong_to_hashes_of_the_set() {
        let mut set = MarkedHashes::new();
        let hash = |number: u64| crate::text::finalise(number + 1);
        (0..100_000).for_each(|number| set.insert(hash(number)));
        (0..100_000).filter(|number| number % 3 == 0).for_each(|number| set.mark(hash(number)));
        (100_000..200_000).for_each(|number| set.mark(hash(number)));
        let check = |set: &MarkedHashes| {
            for number in 0..200_000 {
                let is_marked = number < 100_000 && number % 3 == 0;
                assert_eq!(set.is_marked(hash(number)), is_marked, "{number}");
            }
        };
        check(&set);
        let before = set.bytes();
        set.keep_marked();
        check(&set);
        assert!(set.bytes() * 3 < before * 2);
    }
}
