//! A set of hashes: little more than 8 bytes for each.

use crate::simd::prefetch;

/// The number of buckets, which grow one by one.
const BUCKETS_LOG2: u32 = 12;

/// A slot without a hash.
const EMPTY: u64 = 0;

/// The hashes of spans.
#[derive(Clone, Debug)]
pub(super) struct SpanHashes {
    buckets: Vec<Bucket>,
}

#[derive(Clone, Debug, Default)]
struct Bucket {
    /// At most seven of eight are taken; linear probing from the slot of the hash.
    slots: Vec<u64>,
    taken: usize,
}

/// 0 says that a slot is empty, so it counts as 1.
fn value_of(hash: u64) -> u64 {
    hash.max(1)
}

impl SpanHashes {
    pub fn new() -> Self {
        Self { buckets: vec![Bucket::default(); 1 << BUCKETS_LOG2] }
    }

    fn bucket(&self, hash: u64) -> &Bucket {
        &self.buckets[(hash >> (u64::BITS - BUCKETS_LOG2)) as usize]
    }

    /// Prefetches the memory that other calls read for a hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        let bucket = self.bucket(hash);
        if let Some(slot) = bucket.slots.get(bucket.first_slot(hash)) {
            prefetch(slot);
        }
    }

    #[inline]
    pub fn contains(&self, hash: u64) -> bool {
        let bucket = self.bucket(hash);
        bucket.slot(value_of(hash)).is_some_and(|slot| bucket.slots[slot] != EMPTY)
    }

    pub fn insert(&mut self, hash: u64) {
        let bucket = &mut self.buckets[(hash >> (u64::BITS - BUCKETS_LOG2)) as usize];
        if (bucket.taken + 1) * 8 > bucket.slots.len() * 7 {
            bucket.grow();
        }
        bucket.add(value_of(hash));
    }

    pub fn bytes(&self) -> usize {
        let slots: usize = self.buckets.iter().map(|bucket| bucket.slots.capacity()).sum();
        slots * size_of::<u64>() + self.buckets.len() * size_of::<Bucket>()
    }
}

impl Bucket {
    /// The bits behind the bits of the bucket, as a fraction of the slots (Lemire 2019).
    #[inline]
    fn first_slot(&self, value: u64) -> usize {
        let fraction = value << BUCKETS_LOG2 >> 32;
        ((fraction * self.slots.len() as u64) >> 32) as usize
    }

    /// The slot of a value, or the empty slot for it. `None` in a bucket without slots.
    #[inline]
    fn slot(&self, value: u64) -> Option<usize> {
        let mut slot = self.first_slot(value);
        loop {
            let found = *self.slots.get(slot)?;
            if found == value || found == EMPTY {
                return Some(slot);
            }
            slot = if slot + 1 == self.slots.len() { 0 } else { slot + 1 };
        }
    }

    fn add(&mut self, value: u64) {
        let slot = self.slot(value).expect("a bucket that grew has slots");
        self.taken += usize::from(self.slots[slot] == EMPTY);
        self.slots[slot] = value;
    }

    fn grow(&mut self) {
        let slots = vec![EMPTY; (self.slots.len() * 5 / 4).max(8)];
        let old = std::mem::replace(self, Self { slots, taken: 0 });
        for value in old.slots.into_iter().filter(|value| *value != EMPTY) {
            self.add(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_what_was_inserted() {
        let mut set = SpanHashes::new();
        let hash = |number: u64| crate::text::finalise(number + 1);
        for number in 0..200_000 {
            set.insert(hash(number));
            set.insert(hash(number / 2));
        }
        assert!((0..200_000).all(|number| set.contains(hash(number))));
        assert!((200_000..400_000).all(|number| !set.contains(hash(number))));
        let each = (set.bytes() - (size_of::<Bucket>() << BUCKETS_LOG2)) as f64 / 200_000.0;
        assert!(each < 12.5, "{each} bytes");
        assert!(!set.contains(0));
        set.insert(0);
        assert!(set.contains(0));
    }
}
