//! A hash table of hashes, in buckets that grow one by one: at no time is there a second copy of
//! the table.

use crate::simd::prefetch;

/// The number of buckets.
const BUCKETS_LOG2: u32 = 12;

/// What a slot keeps of a hash, without the bits that choose the bucket.
pub(super) trait Slot: Copy {
    const EMPTY: Self;

    fn new(hash: u64) -> Self;
    fn is_empty(self) -> bool;
    fn has_hash_of(self, other: Self) -> bool;
    /// The first slot to look at, as a fraction of the slots of a bucket times 2³².
    fn fraction(self) -> u32;
}

/// Hashes, each in a slot `S` and with a value `V`, of which `()` takes no memory.
#[derive(Clone, Debug)]
pub(super) struct HashTable<S, V = ()> {
    buckets: Vec<GramBucket<S, V>>,
    hashes: usize,
    slots: usize,
}

#[derive(Clone, Debug)]
struct GramBucket<S, V> {
    /// At most seven of eight are taken; linear probing from the slot of the hash.
    slots: Vec<S>,
    /// Of each slot.
    values: Vec<V>,
    taken: usize,
}

#[inline]
fn bucket_of(hash: u64) -> usize {
    (hash >> (u64::BITS - BUCKETS_LOG2)) as usize
}

impl<S: Slot, V: Copy + Default> HashTable<S, V> {
    pub fn new() -> Self {
        let buckets = (0..1 << BUCKETS_LOG2).map(|_| GramBucket::with_slots(0)).collect();
        Self { buckets, hashes: 0, slots: 0 }
    }

    /// Prefetches the memory that other calls read for a hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        let bucket = &self.buckets[bucket_of(hash)];
        if let Some(slot) = bucket.slots.get(bucket.first(S::new(hash))) {
            prefetch(slot);
        }
    }

    /// Adds a hash with its value. A hash that is in the table keeps its value.
    #[inline]
    pub fn insert(&mut self, hash: u64, value: V) {
        let bucket = &mut self.buckets[bucket_of(hash)];
        let (slots, taken) = (bucket.slots.len(), bucket.taken);
        bucket.add(S::new(hash), value);
        self.slots += bucket.slots.len() - slots;
        self.hashes += bucket.taken - taken;
    }

    /// The value of a hash, if it is in the table.
    #[inline]
    pub fn get(&self, hash: u64) -> Option<V> {
        let bucket = &self.buckets[bucket_of(hash)];
        Some(bucket.values[bucket.taken_slot(S::new(hash))?])
    }

    /// Sets the value of a hash that is in the table.
    pub fn set(&mut self, hash: u64, value: V) {
        let bucket = &mut self.buckets[bucket_of(hash)];
        if let Some(place) = bucket.taken_slot(S::new(hash)) {
            bucket.values[place] = value;
        }
    }

    /// The number of hashes.
    pub fn len(&self) -> usize {
        self.hashes
    }

    pub fn bytes(&self) -> usize {
        self.slots * (size_of::<S>() + size_of::<V>())
            + self.buckets.len() * size_of::<GramBucket<S, V>>()
    }
}

impl<S: Slot, V: Copy + Default> GramBucket<S, V> {
    fn with_slots(count: usize) -> Self {
        Self { slots: vec![S::EMPTY; count], values: vec![V::default(); count], taken: 0 }
    }

    /// Lemire 2019.
    #[inline]
    fn first(&self, slot: S) -> usize {
        ((u64::from(slot.fraction()) * self.slots.len() as u64) >> 32) as usize
    }

    /// The place of a hash, or the empty slot for it. `None` in a bucket without slots.
    #[inline]
    fn place(&self, slot: S) -> Option<usize> {
        let mut place = self.first(slot);
        loop {
            let found = *self.slots.get(place)?;
            if found.is_empty() || found.has_hash_of(slot) {
                return Some(place);
            }
            place = if place + 1 == self.slots.len() { 0 } else { place + 1 };
        }
    }

    #[inline]
    fn taken_slot(&self, slot: S) -> Option<usize> {
        self.place(slot).filter(|place| !self.slots[*place].is_empty())
    }

    fn add(&mut self, slot: S, value: V) {
        if (self.taken + 1) * 8 > self.slots.len() * 7 {
            self.rebuild((self.slots.len() * 5 / 4).max(8));
        }
        let place = self.place(slot).expect("a bucket that grew has slots");
        if self.slots[place].is_empty() {
            (self.slots[place], self.values[place]) = (slot, value);
            self.taken += 1;
        }
    }

    /// Moves the hashes into this many slots: more than there are hashes.
    fn rebuild(&mut self, slots: usize) {
        let old = std::mem::replace(self, Self::with_slots(slots));
        for (slot, value) in old.slots.into_iter().zip(old.values) {
            if !slot.is_empty() {
                let place = self.place(slot).expect("a bucket with hashes has slots");
                (self.slots[place], self.values[place]) = (slot, value);
                self.taken += 1;
            }
        }
    }
}

/// A whole hash; 0 counts as 1.
impl Slot for u64 {
    const EMPTY: Self = 0;

    #[inline]
    fn new(hash: u64) -> Self {
        hash.max(1)
    }

    #[inline]
    fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    #[inline]
    fn has_hash_of(self, other: Self) -> bool {
        self == other
    }

    #[inline]
    fn fraction(self) -> u32 {
        (self << BUCKETS_LOG2 >> 32) as u32
    }
}

/// 30 bits of a hash, a bit that is set, and a mark. With the 12 bits of the bucket, one of n
/// hashes in 2⁴² / n has the bits of another. Such a hash may be marked without need, and is never
/// missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Markable(u32);

const MARK: u32 = 1;
const TAKEN: u32 = 2;

impl Slot for Markable {
    const EMPTY: Self = Self(0);

    #[inline]
    fn new(hash: u64) -> Self {
        Self((hash << BUCKETS_LOG2 >> 32) as u32 & !MARK | TAKEN)
    }

    #[inline]
    fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    fn has_hash_of(self, other: Self) -> bool {
        (self.0 ^ other.0) & !MARK == 0
    }

    #[inline]
    fn fraction(self) -> u32 {
        self.0 & !MARK
    }
}

impl HashTable<Markable> {
    /// Marks a hash if it is in the table, or else adds it.
    #[inline]
    pub fn insert_or_mark(&mut self, hash: u64) {
        let bucket = &mut self.buckets[bucket_of(hash)];
        match bucket.taken_slot(Markable::new(hash)) {
            Some(place) if bucket.slots[place].0 & MARK != 0 => {}
            Some(place) => bucket.slots[place].0 |= MARK,
            None => self.insert(hash, ()),
        }
    }

    /// A table of the marked hashes, without their marks.
    pub fn into_marked<V: Copy + Default>(self) -> HashTable<Markable, V> {
        let mut table = HashTable { buckets: Vec::new(), hashes: 0, slots: 0 };
        table.buckets.reserve_exact(self.buckets.len());
        for bucket in self.buckets {
            let is_marked = |slot: &&Markable| slot.0 & MARK != 0;
            let count = bucket.slots.iter().filter(is_marked).count();
            let mut marked =
                GramBucket::with_slots(if count == 0 { 0 } else { (count * 5 / 4).max(8) });
            let slots = bucket.slots.iter().filter(is_marked);
            slots.for_each(|slot| marked.add(Markable(slot.0 & !MARK), V::default()));
            table.hashes += count;
            table.slots += marked.slots.len();
            table.buckets.push(marked);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u64) -> u64 {
        crate::text::finalise(number + 1)
    }

    #[test]
    fn a_table_has_what_was_inserted_with_its_first_value() {
        let mut table = HashTable::<u64, u32>::new();
        for number in 0..200_000 {
            table.insert(hash(number), number as u32);
            table.insert(hash(number / 2), 7);
        }
        assert_eq!(table.len(), 200_000);
        assert!((0..200_000).all(|number| table.get(hash(number)) == Some(number as u32)));
        assert!((200_000..400_000).all(|number| table.get(hash(number)).is_none()));
        assert_eq!(table.get(0), None);
        table.insert(0, 9);
        assert_eq!(table.get(0), Some(9));
    }

    #[test]
    fn a_value_of_no_size_takes_no_memory() {
        let mut table = HashTable::<u64>::new();
        let before = table.bytes();
        (0..200_000).for_each(|number| table.insert(hash(number), ()));
        let each = (table.bytes() - before) as f64 / 200_000.0;
        assert!(each < 12.5, "{each} bytes");
        let slots: usize = table.buckets.iter().map(|bucket| bucket.slots.capacity()).sum();
        assert_eq!(table.bytes() - before, slots * 8);
    }

    #[test]
    fn hashes_that_are_inserted_again_are_marked() {
        let mut table = HashTable::<Markable>::new();
        (0..100_000).for_each(|number| table.insert_or_mark(hash(number)));
        let before = table.bytes();
        (0..100_000).step_by(3).for_each(|number| table.insert_or_mark(hash(number)));
        (0..100_000).step_by(6).for_each(|number| table.insert_or_mark(hash(number)));
        assert_eq!((table.len(), table.bytes()), (100_000, before));
        let mut marked = table.into_marked::<u32>();
        assert_eq!(marked.len(), 33_334);
        let is_of_three = |number: u64| number < 100_000 && number.is_multiple_of(3);
        for number in 0..200_000 {
            assert_eq!(marked.get(hash(number)), is_of_three(number).then_some(0));
        }
        (0..200_000).for_each(|number| marked.set(hash(number), number as u32));
        for number in 0..200_000 {
            let value = is_of_three(number).then_some(number as u32);
            assert_eq!(marked.get(hash(number)), value);
        }
        let slots: usize = marked.buckets.iter().map(|bucket| bucket.slots.capacity()).sum();
        let empty = size_of::<GramBucket<Markable, u32>>() << BUCKETS_LOG2;
        assert_eq!(marked.bytes(), slots * 8 + empty);
    }
}
