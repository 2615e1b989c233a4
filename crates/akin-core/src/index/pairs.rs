//! Pairs of neighbouring slots → the sets of crowds that have them.
//!
//! All sets made from a template share the keys in which every slot comes from the template. A key
//! of that kind lists the whole crowd and does not tell near-duplicates from the rest. Only the
//! slots from a set's own elements do. A pair of neighbouring slots is a short key: near-duplicates
//! share many pairs, and a pair that does not come from a template has few sets. The pairs of a
//! template are dropped as soon as they have [`SETS_MAX`] sets and stay marked as common, so that
//! they take neither memory nor time. A pair of a template's slot and an own slot of eight bits
//! lists 1/256 of the crowd, and a pair of two own slots lists hardly any set, however many crowds
//! there are.

use std::collections::HashMap;

use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_64;

use super::shards::{AtomicUsize, Multiplicative, Ordering, PoisonError, RwLock};
use crate::scheme::Threshold;

/// The maximum number of sets of a pair; a pair with more sets is common.
const SETS_MAX: usize = 512;

/// The maximum number of entries that a lookup reads: the entries of the rarest pairs.
const READ_MAX: usize = 4_096;

/// A lookup is complete if two sets at the threshold are expected to share this many own slots: the
/// probability to miss a set is at most e⁻⁷, a thousandth.
const OWN_SHARED_MIN: f64 = 7.0;

/// `None`: the pair is common.
type SetsOfPair = Option<SmallVec<[u32; 4]>>;

type PairTable = RwLock<HashMap<u32, SetsOfPair, Multiplicative>>;

#[derive(Debug)]
pub(super) struct SlotPairs {
    /// A table for each slot as the first of a pair; the last slot is paired with the first.
    tables: Box<[PairTable]>,
    slot_bytes: usize,
    bytes: AtomicUsize,
}

/// The sets that share pairs with a probe.
pub(super) struct SharingPairs {
    /// Entries, repeated for each pair shared.
    pub entries: Vec<u32>,
    /// The number of pairs that were not read, as they have too many sets.
    pub common: usize,
    slots: usize,
}

impl SlotPairs {
    pub fn new(sketch_bytes: usize, slot_bytes: usize) -> Self {
        let tables = (0..sketch_bytes / slot_bytes).map(|_| PairTable::default()).collect();
        Self { tables, slot_bytes, bytes: AtomicUsize::new(0) }
    }

    /// Inserts a set. A set that is inserted twice is counted twice.
    pub fn insert(&self, entry: u32, sketch: &[u8]) {
        for (table, pair) in self.tables.iter().zip(self.pairs(sketch)) {
            if is_common(table, pair) {
                continue;
            }
            let mut table = table.write().unwrap_or_else(PoisonError::into_inner);
            let before = table.capacity();
            let sets = table.entry(pair).or_insert_with(|| Some(SmallVec::new()));
            let grown = change(sets, |sets| match sets {
                Some(some) if some.len() < SETS_MAX => some.push(entry),
                sets => *sets = None,
            });
            let table_grown = (table.capacity() - before) * size_of::<(u32, SetsOfPair)>();
            self.bytes.fetch_add(grown.wrapping_add(table_grown), Ordering::Relaxed);
        }
    }

    pub fn remove(&self, entry: u32, sketch: &[u8]) {
        for (table, pair) in self.tables.iter().zip(self.pairs(sketch)) {
            if is_common(table, pair) {
                continue;
            }
            let mut table = table.write().unwrap_or_else(PoisonError::into_inner);
            let Some(sets) = table.get_mut(&pair) else { continue };
            let grown = change(sets, |sets| {
                let some = sets.as_mut();
                if let Some(some) = some
                    && let Some(at) = some.iter().position(|other| *other == entry)
                {
                    some.swap_remove(at);
                    if some.len() * 4 <= some.capacity() {
                        some.shrink_to_fit();
                    }
                }
            });
            if sets.as_ref().is_some_and(SmallVec::is_empty) {
                table.remove(&pair);
            }
            self.bytes.fetch_add(grown, Ordering::Relaxed);
        }
    }

    /// The sets that share the rarest pairs with a sketch, at most [`READ_MAX`].
    pub fn sharing(&self, sketch: &[u8]) -> SharingPairs {
        let length = |(at, (table, pair)): (usize, (&PairTable, u32))| {
            let table = table.read().unwrap_or_else(PoisonError::into_inner);
            match table.get(&pair) {
                None => (0, at, pair),
                Some(None) => (usize::MAX, at, pair),
                Some(Some(sets)) => (sets.len(), at, pair),
            }
        };
        let pairs = self.tables.iter().zip(self.pairs(sketch)).enumerate();
        let mut lengths: Vec<(usize, usize, u32)> = pairs.map(length).collect();
        lengths.sort_unstable();
        let mut entries = Vec::new();
        let mut read = 0;
        for (length, at, pair) in &lengths {
            if entries.len().saturating_add(*length) > READ_MAX {
                break;
            }
            read += 1;
            let table = self.tables[*at].read().unwrap_or_else(PoisonError::into_inner);
            if let Some(Some(sets)) = table.get(pair) {
                entries.extend_from_slice(sets);
            }
        }
        SharingPairs { entries, common: lengths.len() - read, slots: lengths.len() }
    }

    /// The number of pairs, including common pairs.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        let pairs = |table: &PairTable| table.read().unwrap_or_else(PoisonError::into_inner).len();
        self.tables.iter().map(pairs).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed) as u64
    }

    /// The pairs of a sketch, in the order of the tables.
    fn pairs(&self, sketch: &[u8]) -> impl Iterator<Item = u32> {
        let mut slots = sketch.chunks_exact(self.slot_bytes);
        let mut next = sketch.chunks_exact(self.slot_bytes).cycle().skip(1);
        std::iter::from_fn(move || Some(value(slots.next()?, next.next()?)))
    }
}

impl SharingPairs {
    /// The expected number of pairs, without common pairs, that a set at the threshold shares;
    /// `None` if too many sets at the threshold may share only common pairs.
    ///
    /// With a share t of the probe's slots made by the template, t² of its pairs are common. Two
    /// sets of equal size at the threshold J share i = 2J / (1 + J) of their elements and have 2 −
    /// i together, so (i − t) / (2 − i) of all slots agree and are own slots, and t / (2 − i) come
    /// from the template.
    pub fn pairs_expected(&self, threshold: Threshold) -> Option<f64> {
        let slots = self.slots as f64;
        let template = (self.common as f64 / slots).sqrt();
        let similarity = threshold.get();
        let shared = 2.0 * similarity / (1.0 + similarity);
        let own = slots * (shared - template) / (2.0 - shared);
        let by_template = template / (2.0 - shared);
        (own >= OWN_SHARED_MIN).then_some(slots * (similarity.powi(2) - by_template.powi(2)))
    }
}

fn is_common(table: &PairTable, pair: u32) -> bool {
    matches!(table.read().unwrap_or_else(PoisonError::into_inner).get(&pair), Some(None))
}

/// Changes the sets of a pair, and returns by how many bytes (wrapping) they have grown.
fn change(sets: &mut SetsOfPair, change: impl FnOnce(&mut SetsOfPair)) -> usize {
    let bytes = |sets: &SetsOfPair| {
        let spilled = sets.as_ref().filter(|sets| sets.spilled());
        spilled.map_or(0, |sets| sets.capacity() * size_of::<u32>())
    };
    let before = bytes(sets);
    change(sets);
    bytes(sets).wrapping_sub(before)
}

/// The value of a pair: the slots themselves if they fit, otherwise a hash. The highest bits of a
/// product depend on all bits of the slots (Knuth, TAOCP 3, 6.4), and the map uses the lowest.
pub(super) fn value(first: &[u8], second: &[u8]) -> u32 {
    let slots = match (first, second) {
        (&[a], &[b]) => u32::from_le_bytes([a, b, 0, 0]),
        (&[a, b], &[c, d]) => u32::from_le_bytes([a, b, c, d]),
        _ => xxh3_64(&[first, second].concat()) as u32,
    };
    slots.wrapping_mul(0x9e37_79b1).rotate_left(16)
}
