//! Key → postings, in memory, for many threads; the sketch of every set beside it.
//!
//! What is filed is a *set*, not a document: documents with equal sets share one **entry** that
//! lists their ordinals. A page copied a hundred thousand times is then one entry under its keys,
//! and filing the next copy costs no more than the first. Postings hold entry numbers, which are
//! given out again once an entry is gone.
//!
//! Everything is in maps of shards, each with a lock of its own: postings in [pages](postings), sets
//! in [parts](sets). Calls go over their keys twice: they begin to fetch all that they will read,
//! then they read it.
//!
//! What threads see of each other:
//!
//! - Who files or removes a set holds the lock for its fingerprint throughout, so that two equal
//!   sets meet. Under it one page or part is locked at a time. Lookups never take it.
//! - A lookup locks one page or part at a time, to read. While a set is filed it may be found under
//!   some of its keys, and once the call returns under all.
//! - All that a lookup gives of a set was read under one lock: fingerprint, sketch and members are
//!   of one set. If a set is removed meanwhile, and another gets its number, the lookup gives the
//!   other, whole, if its sketch agrees well enough.
//! - A lock is held for a bounded time: for a segment of some thousand postings that is made anew,
//!   for a piece of a long list, or for one set. Only the lock of a fingerprint is held for a whole
//!   call, in which other sets of its stripe wait to be filed.

mod exact;
mod loading;
mod numbers;
mod postings;
mod prefix;
mod search;
mod sets;
mod shards;

use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use crate::document::Ordinal;
use crate::scheme::{IndexBytes, Key, Threshold};
use crate::sketch::{Estimator, Sketch};
use crate::text::ShingleSet;
use postings::Postings;
use prefix::PrefixIndex;
use sets::{Removal, Sets};

pub use exact::{ExactSearch, Unanswered};
pub use loading::Loader;
pub use sets::SetCopy;

/// Bits of a key, or of a fingerprint, that name its page.
const PAGE_BITS: u32 = 3;
const FINGERPRINT_PAGE_BITS: u32 = 6;

/// Sets whose fingerprints have one of so many residues are filed and removed one after the other.
const STRIPES: usize = 256;

/// A set and the keys it is filed under.
#[derive(Clone, Copy, Debug)]
pub struct NewSet<'a> {
    pub fingerprint: u64,
    /// The number of distinct shingles.
    pub shingles: u32,
    pub sketch: &'a Sketch,
    pub keys: &'a [Key],
    /// The set itself, for exact lookups; without it, [`Index::file_prefix`] has to follow.
    pub set: Option<&'a ShingleSet>,
}

/// What to look for, and how far to go.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    pub keys: &'a [Key],
    pub sketch: &'a Sketch,
    /// Of the probe's set: an equal one is found whatever is cut off.
    pub fingerprint: u64,
    /// Sets whose sketches agree with the probe's in fewer slots are left out.
    pub agreeing_min: u32,
    /// Postings read at most; and members given of all sets, but for two of each, which are always
    /// given.
    pub postings_max: usize,
    /// Sets given at most: those whose sketches agree best.
    pub found_max: usize,
    /// Members given of one set at most: those with the lowest ordinals.
    pub members_max: usize,
}

/// A set that shares a key with the probe.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub fingerprint: u64,
    pub shingles: u32,
    /// Slots in which its sketch agrees with the probe's.
    pub agreeing: u32,
    /// Keys of the probe's that it is filed under.
    pub keys_shared: u32,
    /// The documents that have this set, ascending.
    pub members: SmallVec<[Ordinal; 2]>,
}

#[derive(Clone, Debug, Default)]
pub struct Candidates {
    pub found: Vec<Candidate>,
    /// Distinct sets that shared a key, before sketches were compared.
    pub seen: usize,
    /// A limit was hit: some postings, sets or members are left out.
    pub truncated: bool,
}

/// Sizes; cheap to ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexStats {
    pub entries: u64,
    pub keys: u64,
    pub postings: u64,
    pub postings_longest: u64,
    pub bytes: u64,
}

/// The map from keys to the sets filed under them.
#[derive(Debug)]
pub struct Index {
    tables: u32,
    sets: Sets,
    postings: Postings<()>,
    /// By fingerprints, folded to 32 bits: where an equal set is found.
    fingerprints: Postings<()>,
    /// Held while a set is filed or removed, by its fingerprint.
    stripes: Box<[Mutex<()>]>,
    prefix: Option<PrefixIndex>,
    estimator: Estimator,
}

impl Index {
    /// `tables`: how many tables the scheme's keys have.
    #[must_use]
    pub fn new(tables: u32, sketch_bytes: usize, estimator: Estimator) -> Self {
        Self {
            tables,
            sets: Sets::new(sketch_bytes),
            postings: Postings::new(PAGE_BITS),
            fingerprints: Postings::new(FINGERPRINT_PAGE_BITS),
            stripes: (0..STRIPES).map(|_| Mutex::default()).collect(),
            prefix: None,
            estimator,
        }
    }

    /// The empty index with one for exact lookups from a threshold up beside its tables.
    #[must_use]
    pub fn with_prefix(self, exact_from: Option<Threshold>) -> Self {
        Self { prefix: exact_from.map(PrefixIndex::new), ..self }
    }

    /// Files a document's set. Filing an ordinal again changes nothing. An ordinal must not be
    /// removed before the call that files it has returned.
    pub fn insert(&self, ordinal: Ordinal, new: &NewSet<'_>) {
        self.prefetch(new.fingerprint, new.keys);
        self.insert_fetched(ordinal, new);
    }

    /// [`insert`](Self::insert) for many: memory that the next needs is fetched while one is filed.
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
        let _alone = self.alone_with(new.fingerprint);
        if let Some(entry) = self.entry_of(new.fingerprint) {
            self.sets.add_member(entry, ordinal);
            return;
        }
        let NewSet { fingerprint, shingles, sketch, .. } = *new;
        let entry = self.sets.add(fingerprint, shingles, sketch.as_bytes(), ordinal);
        for key in new.keys {
            self.postings.insert(*key, entry, ());
        }
        if let (Some(prefix), Some(set)) = (&self.prefix, new.set) {
            prefix.insert(entry, set);
        }
        self.fingerprints.insert(fold(fingerprint), entry, ());
    }

    /// Takes a document out; with the last document of a set goes the set. `false` if it wasn't
    /// there. `set`: needed where there are exact lookups; without it they go on reading its
    /// postings.
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
            Removal::Absent => return false,
            Removal::OthersRemain => return true,
            Removal::IsLast => {}
        }
        for key in keys {
            self.postings.remove(*key, entry);
        }
        if let Some(prefix) = &self.prefix {
            prefix.remove(entry, set);
        }
        self.fingerprints.remove(fold(fingerprint), entry);
        self.sets.release(entry);
        true
    }

    /// Begins to fetch what filing, or removing, reads.
    fn prefetch(&self, fingerprint: u64, keys: &[Key]) {
        self.fingerprints.prefetch(fold(fingerprint));
        for key in keys {
            self.postings.prefetch(*key);
        }
    }

    fn alone_with(&self, fingerprint: u64) -> MutexGuard<'_, ()> {
        let stripe = &self.stripes[fingerprint as usize % STRIPES];
        stripe.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The entry of the set with this fingerprint.
    fn entry_of(&self, fingerprint: u64) -> Option<u32> {
        let mut found = SmallVec::<[u32; 2]>::new();
        self.fingerprints.read(fold(fingerprint), usize::MAX, |entry, ()| found.push(entry));
        found.into_iter().find(|entry| self.sets.read_same(*entry, fingerprint, |_| ()).is_some())
    }

    /// The sketch of a set that is filed.
    #[must_use]
    pub fn sketch_of(&self, fingerprint: u64) -> Option<Sketch> {
        self.size_and_sketch_of(fingerprint).map(|(_, sketch)| sketch)
    }

    /// The number of shingles of a set that is filed, and its sketch.
    #[must_use]
    pub fn size_and_sketch_of(&self, fingerprint: u64) -> Option<(u32, Sketch)> {
        self.sets.read_same(self.entry_of(fingerprint)?, fingerprint, |set| {
            (set.shingles, Sketch::from_bytes(set.sketch.into()))
        })
    }

    /// Visits a copy of every set that is filed throughout, until a visit fails. A set with many
    /// members comes several times, with some of them each. No lock is held during a visit.
    ///
    /// # Errors
    /// What a visit failed with.
    pub fn visit_sets<E>(&self, visit: impl FnMut(SetCopy) -> Result<(), E>) -> Result<(), E> {
        self.sets.visit(visit)
    }

    /// What a document takes in memory if no other has its set and hardly another shares a key:
    /// the layout's bytes, with what lies idle on average as the containers grow.
    #[must_use]
    pub fn usual_bytes() -> IndexBytes {
        let entry = sets::SET_BYTES + postings::POSTING_BYTES;
        IndexBytes { key: postings::POSTING_BYTES, entry }
    }

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
        if let Some(size) = self.prefix.as_ref().map(PrefixIndex::size) {
            stats.keys += size.keys;
            stats.postings += size.postings;
            stats.postings_longest = stats.postings_longest.max(size.longest);
            stats.bytes += size.bytes;
        }
        stats
    }
}

/// Fingerprints are uniform, so half of one is as good a key as any; the set has the whole.
fn fold(fingerprint: u64) -> Key {
    Key { table: 0, value: (fingerprint >> 32) as u32 }
}

#[cfg(test)]
mod tests;
