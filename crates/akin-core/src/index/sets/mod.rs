//! The distinct sets of an index: fingerprint, sketch and members of each, by entry number.
//!
//! Parts of some hundred numbers are in a sharded map. A set keeps its number. All data of a set
//! are read under the lock of its part, so they belong together.

mod part;

use std::ops::Range;

use smallvec::SmallVec;

use super::numbers::Numbers;
use super::shards::{AtomicUsize, DashMap, Multiplicative, Ordering, prefetch_lock, shards};
use crate::document::Ordinal;
use part::{SetHead, SetsPart};

pub(super) use super::numbers::RANGE;
pub(super) use part::{Set, SetRemoval, SketchesOfRange};

/// Bytes per ordinal in a tree: six, and its share of nodes that are filled in ascending order.
const TREE_BYTES_EACH: usize = 14;

/// Bytes of a set except its sketch: its head, and its share of a part.
pub(super) const SET_BYTES: f64 =
    (size_of::<SetHead>() as f64) + size_of::<(u32, SetsPart)>() as f64 * 1.5 / RANGE as f64;

/// Members of a set that are copied under one lock: first with all sets of a part, then per call.
const MEMBERS_AT_FIRST: usize = 8;
const MEMBERS_COPIED: usize = 1_024;

/// A copy of a set at some moment, with some of its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetCopy {
    /// The fingerprint of the set.
    pub fingerprint: u64,
    /// The number of distinct shingles.
    pub shingles: u32,
    /// The bytes of the sketch.
    pub sketch: Box<[u8]>,
    /// Some or all of the documents with the set, ascending.
    pub members: SmallVec<[Ordinal; 2]>,
}

#[derive(Debug)]
pub(super) struct IndexedSets {
    parts: DashMap<u32, SetsPart, Multiplicative>,
    numbers: Numbers,
    sketch_bytes: usize,
    /// Memory of all parts.
    bytes: AtomicUsize,
}

impl IndexedSets {
    pub fn new(sketch_bytes: usize) -> Self {
        let parts = DashMap::with_hasher_and_shard_amount(Multiplicative::default(), shards());
        Self { parts, numbers: Numbers::default(), sketch_bytes, bytes: AtomicUsize::new(0) }
    }

    /// Adds a set and returns its number.
    pub fn add(&self, fingerprint: u64, shingles: u32, sketch: &[u8], ordinal: Ordinal) -> u32 {
        assert_eq!(sketch.len(), self.sketch_bytes, "all sketches of an index have one length");
        let number = self.numbers.take();
        let mut part = self.parts.entry(number / RANGE).or_default();
        self.change(&mut part, |part| {
            part.add(number % RANGE, fingerprint, shingles, sketch);
            part.add_member(number % RANGE, ordinal);
        });
        number
    }

    pub fn add_member(&self, number: u32, ordinal: Ordinal) {
        if let Some(mut part) = self.parts.get_mut(&(number / RANGE)) {
            self.change(&mut part, |part| part.add_member(number % RANGE, ordinal));
        }
    }

    /// The last member stays until the set is [released](Self::release).
    pub fn remove_member(&self, number: u32, ordinal: Ordinal) -> SetRemoval {
        match self.parts.get_mut(&(number / RANGE)) {
            Some(mut part) => {
                self.change(&mut part, |part| part.remove_member(number % RANGE, ordinal))
            }
            None => SetRemoval::Absent,
        }
    }

    /// Frees the set's number. Call it when no posting refers to the set any more.
    pub fn release(&self, number: u32) {
        let Some(mut part) = self.parts.get_mut(&(number / RANGE)) else { return };
        self.change(&mut part, |part| part.release(number % RANGE));
        let is_empty = part.is_empty();
        drop(part);
        if is_empty
            && let Some((_, part)) =
                self.parts.remove_if(&(number / RANGE), |_, part| part.is_empty())
        {
            self.bytes.fetch_sub(part.bytes(), Ordering::Relaxed);
        }
        self.numbers.give_back(number);
    }

    /// Changes a part, and updates the total memory.
    fn change<R>(&self, part: &mut SetsPart, change: impl FnOnce(&mut SetsPart) -> R) -> R {
        let before = part.bytes();
        let changed = change(part);
        let grown = part.bytes().wrapping_sub(before);
        if grown != 0 {
            self.bytes.fetch_add(grown, Ordering::Relaxed);
        }
        changed
    }

    /// Prefetches a set's lock, before [`IndexedSets::prefetch`].
    #[inline]
    pub fn prefetch_lock(&self, number: u32) {
        prefetch_lock(&self.parts, number / RANGE);
    }

    /// Prefetches a set's sketch and head.
    #[inline]
    pub fn prefetch(&self, number: u32) {
        if let Some(part) = self.parts.get(&(number / RANGE)) {
            part.prefetch(number % RANGE);
        }
    }

    /// Applies `read` to a set, if the number is in use.
    #[inline]
    pub fn read<R>(&self, number: u32, read: impl FnOnce(&Set<'_>) -> R) -> Option<R> {
        let part = self.parts.get(&(number / RANGE))?;
        part.get(number % RANGE).map(|set| read(&set))
    }

    /// Like [`IndexedSets::read`], if the number still belongs to the set with this fingerprint.
    pub fn read_same<R>(
        &self,
        number: u32,
        fingerprint: u64,
        read: impl FnOnce(&Set<'_>) -> R,
    ) -> Option<R> {
        let same = |set: &Set<'_>| (set.fingerprint == fingerprint).then(|| read(set));
        self.read(number, same).flatten()
    }

    /// Applies `read` to the sketches of a range of numbers within one part, if there are any.
    pub fn read_range(&self, numbers: Range<u32>, read: impl FnOnce(&SketchesOfRange<'_>)) {
        let Some(part) = self.parts.get(&(numbers.start / RANGE)) else { return };
        let first = numbers.start / RANGE * RANGE;
        read(&part.sketches_of(first, numbers.start - first..numbers.end - first));
    }

    /// Whether a number was assigned at this number or above it.
    pub fn has_numbers_from(&self, number: u32) -> bool {
        number / RANGE < self.numbers.ranges()
    }

    pub fn sketch_bytes(&self) -> usize {
        self.sketch_bytes
    }

    /// Marks a set as indexed by its pairs of slots. Returns its sketch, unless the number belongs
    /// to another set now, or the set is marked already.
    pub fn mark_crowded(&self, number: u32, fingerprint: u64) -> Option<Box<[u8]>> {
        let mut part = self.parts.get_mut(&(number / RANGE))?;
        let within = number % RANGE;
        let set = part.get(within).filter(|set| set.fingerprint == fingerprint)?;
        let sketch = set.sketch.into();
        if part.is_crowded(within) {
            return None;
        }
        part.mark_crowded(within);
        Some(sketch)
    }

    /// The sketch of a set that is indexed by its pairs of slots.
    pub fn crowded_sketch(&self, number: u32) -> Option<Box<[u8]>> {
        let part = self.parts.get(&(number / RANGE))?;
        let set = part.get(number % RANGE).filter(|_| part.is_crowded(number % RANGE))?;
        Some(set.sketch.into())
    }

    /// Visits a copy of every set that exists throughout, until a visit fails. A set with many
    /// members is visited several times, with some of the members each.
    pub fn visit<E>(&self, mut visit: impl FnMut(SetCopy) -> Result<(), E>) -> Result<(), E> {
        let mut part = 0;
        while part < self.numbers.ranges() {
            let numbers = part * RANGE..(part + 1) * RANGE;
            let copies: Vec<_> = self.parts.get(&part).map_or_else(Vec::new, |part| {
                let copy = |number| {
                    let set = part.get(number % RANGE)?;
                    Some((number, copy(&set, Ordinal::MIN, MEMBERS_AT_FIRST)))
                };
                numbers.filter_map(copy).collect()
            });
            for (number, copy) in copies {
                self.visit_members(number, copy, &mut visit)?;
            }
            part += 1;
        }
        Ok(())
    }

    fn visit_members<E>(
        &self,
        number: u32,
        first: SetCopy,
        visit: &mut impl FnMut(SetCopy) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut next, mut most) = (Some(first), MEMBERS_AT_FIRST);
        while let Some(now) = next {
            let last = now.members.last().filter(|_| now.members.len() == most);
            let from = last.and_then(|last| last.next());
            most = MEMBERS_COPIED;
            let more = |from| self.read_same(number, now.fingerprint, |set| copy(set, from, most));
            next = from.and_then(more).filter(|next| !next.members.is_empty());
            visit(now)?;
        }
        Ok(())
    }

    /// The number at a part, of 2³², of all numbers.
    pub fn number_at(&self, part: u32) -> u32 {
        let numbers = u64::from(self.numbers.ranges()) * u64::from(RANGE);
        ((numbers * u64::from(part)) >> u32::BITS) as u32
    }

    pub fn count(&self) -> u64 {
        self.numbers.taken()
    }

    pub fn bytes(&self) -> u64 {
        let map = self.parts.capacity() * size_of::<(u32, SetsPart)>();
        (self.bytes.load(Ordering::Relaxed) + map + self.numbers.bytes()) as u64
    }
}

fn copy(set: &Set<'_>, from: Ordinal, members_max: usize) -> SetCopy {
    SetCopy {
        fingerprint: set.fingerprint,
        shingles: set.shingles,
        sketch: set.sketch.into(),
        members: set.members_from(from).take(members_max).collect(),
    }
}
