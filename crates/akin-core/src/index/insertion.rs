//! Inserts sets under their keys, and removes them.

use smallvec::SmallVec;

use super::pairs::SlotPairs;
use super::postings::{self, Postings};
use super::prefix::PrefixIndex;
use super::sets::{self, IndexedSets, SetCopy, SetRemoval};
use super::shards::{Mutex, MutexGuard, PoisonError};
use super::{IndexStats, NewSet};
use crate::document::Ordinal;
use crate::scheme::{IndexBytes, Key, Threshold};
use crate::simd::prefetch;
use crate::sketch::{Estimator, Sketch};
use crate::text::ShingleSet;

/// Bits of a key, or of a fingerprint, that select its page.
const PAGE_BITS: u32 = 4;
const FINGERPRINT_PAGE_BITS: u32 = 6;

/// A set that shares a key with this many sets is also indexed by its pairs of slots. Every lookup
/// reads more postings of a key than that, so a set is indexed by pairs before a lookup needs the
/// pairs.
const CROWD_MIN: usize = 32;

/// The number of locks that serialise insertions and removals of sets, by fingerprint.
const STRIPES: usize = 256;

/// The map from keys to sets.
#[derive(Debug)]
pub struct Index {
    pub(super) tables: u32,
    pub(super) sets: IndexedSets,
    pub(super) postings: Postings<()>,
    /// Fingerprints folded to 32 bits → equal sets.
    pub(super) fingerprints: Postings<()>,
    /// Held while a set is inserted or removed; selected by the fingerprint.
    stripes: Box<[Mutex<()>]>,
    pub(super) prefix: Option<PrefixIndex>,
    /// `None` for sketches without slots.
    pub(super) pairs: Option<SlotPairs>,
    pub(super) estimator: Estimator,
    #[cfg(test)]
    pub(super) read: super::shards::AtomicUsize,
}

impl Index {
    /// `tables`: the number of tables of the scheme.
    #[must_use]
    pub fn new(tables: u32, sketch_bytes: usize, estimator: Estimator) -> Self {
        Self {
            tables,
            sets: IndexedSets::new(sketch_bytes),
            postings: Postings::new(PAGE_BITS),
            fingerprints: Postings::new(FINGERPRINT_PAGE_BITS),
            stripes: (0..STRIPES).map(|_| Mutex::default()).collect(),
            prefix: None,
            pairs: estimator.slot_bytes().map(|bytes| SlotPairs::new(sketch_bytes, bytes)),
            estimator,
            #[cfg(test)]
            read: super::shards::AtomicUsize::new(0),
        }
    }

    /// Creates the empty index with an additional prefix index for exact lookups from a threshold
    /// up.
    #[must_use]
    pub fn with_prefix(self, exact_from: Option<Threshold>) -> Self {
        Self { prefix: exact_from.map(PrefixIndex::new), ..self }
    }

    /// Inserts a document with its set. Inserting an ordinal again changes nothing. An ordinal must
    /// not be removed before the call that inserts it has returned.
    pub fn insert(&self, ordinal: Ordinal, new: &NewSet<'_>) {
        self.prefetch(new.fingerprint, new.keys);
        self.insert_fetched(ordinal, new);
    }

    /// Inserts several sets like [`insert`](Self::insert), and prefetches the memory of the next
    /// set.
    pub fn insert_all<'a>(&self, sets: impl Iterator<Item = (Ordinal, NewSet<'a>)>) {
        let mut fetched: Option<(Ordinal, NewSet<'_>)> = None;
        for next in sets {
            self.prefetch(next.1.fingerprint, next.1.keys);
            if let Some((ordinal, new)) = fetched.replace(next) {
                self.insert_fetched(ordinal, &new);
            }
        }
        if let Some((ordinal, new)) = fetched {
            self.insert_fetched(ordinal, &new);
        }
    }

    fn insert_fetched(&self, ordinal: Ordinal, new: &NewSet<'_>) {
        let alone = self.alone_with(new.fingerprint);
        if let Some(entry) = self.entry_of(new.fingerprint) {
            self.sets.add_member(entry, ordinal);
            return;
        }
        let NewSet { fingerprint, shingles, sketch, .. } = *new;
        let entry = self.sets.add(fingerprint, shingles, sketch.as_bytes(), ordinal);
        let keys = new.keys.iter().map(|key| (*key, ()));
        let crowded = self.postings.insert_in_crowds(entry, keys, self.crowd_min());
        if let (Some(prefix), Some(set)) = (&self.prefix, new.set) {
            prefix.insert(entry, set);
        }
        self.fingerprints.insert(entry, [(fold(fingerprint), ())]);
        drop(alone);
        self.index_pairs(crowded);
    }

    /// The number of postings from which the sets of a key are also indexed by their pairs of
    /// slots.
    pub(super) fn crowd_min(&self) -> usize {
        self.pairs.as_ref().map_or(usize::MAX, |_| CROWD_MIN)
    }

    /// Indexes sets by their pairs of slots, each set once. Holds only the lock of the set at hand,
    /// so that no other thread removes it during that time.
    pub(super) fn index_pairs(&self, mut entries: Vec<u32>) {
        let Some(pairs) = &self.pairs else { return };
        entries.sort_unstable();
        entries.dedup();
        for entry in entries {
            let Some(fingerprint) = self.sets.read(entry, |set| set.fingerprint) else { continue };
            let _alone = self.alone_with(fingerprint);
            if let Some(sketch) = self.sets.mark_crowded(entry, fingerprint) {
                pairs.insert(entry, &sketch);
            }
        }
    }

    /// Removes a document, and the set with its last document. Returns `false` if the index does
    /// not have the document. `set`: needed for the prefix index, which otherwise keeps the
    /// postings of the set.
    pub fn remove(
        &self,
        ordinal: Ordinal,
        fingerprint: u64,
        keys: &[Key],
        set: Option<&ShingleSet>,
    ) -> bool {
        self.prefetch(fingerprint, keys);
        let _alone = self.alone_with(fingerprint);
        let Some(entry) = self.entry_of(fingerprint) else { return false };
        match self.sets.remove_member(entry, ordinal) {
            SetRemoval::Absent => return false,
            SetRemoval::OthersRemain => return true,
            SetRemoval::IsLast => {}
        }
        self.postings.remove(entry, keys.iter().copied());
        if let Some(prefix) = &self.prefix {
            prefix.remove(entry, set);
        }
        if let (Some(pairs), Some(sketch)) = (&self.pairs, self.sets.crowded_sketch(entry)) {
            pairs.remove(entry, &sketch);
        }
        self.fingerprints.remove(entry, [fold(fingerprint)]);
        self.sets.release(entry);
        true
    }

    /// Prefetches the memory that an insertion or a removal reads.
    fn prefetch(&self, fingerprint: u64, keys: &[Key]) {
        prefetch(&self.stripes[fingerprint as usize % STRIPES]);
        self.fingerprints.prefetch_lock(fold(fingerprint));
        self.prefetch_keys(keys);
        self.fingerprints.prefetch(fold(fingerprint));
    }

    /// Prefetches the memory that lookups read for the keys.
    pub(super) fn prefetch_keys(&self, keys: &[Key]) {
        for key in keys {
            self.postings.prefetch_lock(*key);
        }
        for key in keys {
            self.postings.prefetch(*key);
        }
    }

    pub(super) fn alone_with(&self, fingerprint: u64) -> MutexGuard<'_, ()> {
        let stripe = &self.stripes[fingerprint as usize % STRIPES];
        stripe.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The entry of the set with this fingerprint.
    pub(super) fn entry_of(&self, fingerprint: u64) -> Option<u32> {
        let mut found = SmallVec::<[u32; 2]>::new();
        self.fingerprints.read(fold(fingerprint), usize::MAX, |entry, ()| found.push(entry));
        found.into_iter().find(|entry| self.sets.read_same(*entry, fingerprint, |_| ()).is_some())
    }

    /// The number of shingles and the sketch of the set with this fingerprint.
    #[must_use]
    pub fn size_and_sketch_of(&self, fingerprint: u64) -> Option<(u32, Sketch)> {
        self.sets.read_same(self.entry_of(fingerprint)?, fingerprint, |set| {
            (set.shingles, Sketch::from_bytes(set.sketch.into()))
        })
    }

    /// A document with the set: the first from an ordinal on, or of all.
    #[must_use]
    pub fn member_from(&self, fingerprint: u64, from: Ordinal) -> Option<Ordinal> {
        let member = self.sets.read_same(self.entry_of(fingerprint)?, fingerprint, |set| {
            set.members_from(from).next().or_else(|| set.members().next())
        });
        member.flatten()
    }

    /// Visits a copy of every set that is in the index throughout, until a visit fails. A set with
    /// many members is visited several times, with some of the members each. No lock is held during
    /// a visit.
    ///
    /// # Errors
    /// The error of the visit that failed.
    pub fn visit_sets<E>(&self, visit: impl FnMut(SetCopy) -> Result<(), E>) -> Result<(), E> {
        self.sets.visit(visit)
    }

    /// The estimated memory of a document that shares its set and keys with hardly any document:
    /// the bytes of the layout, with the average slack of growing containers.
    #[must_use]
    pub fn usual_bytes() -> IndexBytes {
        let entry = sets::SET_BYTES + postings::POSTING_BYTES;
        IndexBytes { key: postings::POSTING_BYTES, entry }
    }

    /// The sizes of the index.
    #[must_use]
    pub fn stats(&self) -> IndexStats {
        let postings = self.postings.size();
        let mut stats = IndexStats {
            entries: self.sets.count(),
            keys: postings.keys,
            postings: postings.postings,
            postings_longest: postings.longest,
            bytes: self.sets.bytes() + self.fingerprints.size().bytes + postings.bytes,
        };
        stats.bytes += self.pairs.as_ref().map_or(0, SlotPairs::bytes);
        if let Some(size) = self.prefix.as_ref().map(PrefixIndex::size) {
            stats.keys += size.keys;
            stats.postings += size.postings;
            stats.postings_longest = stats.postings_longest.max(size.longest);
            stats.bytes += size.bytes;
        }
        stats
    }
}

/// Fingerprints are uniform, so half a fingerprint is a good key; the set stores all of it.
pub(super) fn fold(fingerprint: u64) -> Key {
    Key { table: 0, value: (fingerprint >> 32) as u32 }
}
