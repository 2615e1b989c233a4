//! A concurrent in-memory index: key → postings, with the sketch of every set.
//!
//! The index has an **entry** for each distinct set, not for each document: documents with equal
//! sets share an entry, which lists their ordinals. A page that is copied a hundred thousand times
//! is a single entry under its keys, and the next copy costs no more than the first. A posting is
//! the number of an entry. Numbers of removed entries are reused.
//!
//! The sets of documents made from the same template form a **crowd**: they share keys with each
//! other, near-duplicates or not. A set that shares a key with 32 or more sets is also indexed by
//! its pairs of neighbouring slots (`pairs`). A lookup reads a bounded number of postings of a long
//! key, and finds the near-duplicates in the crowd by the pairs of slots that do not come from the
//! template.
//!
//! All data are in sharded maps: postings in pages (`postings`), sets in parts (`sets`). Calls
//! iterate over their keys twice: first to prefetch, then to read.
//!
//! Concurrency:
//!
//! - Inserting and removing a set hold the lock for its fingerprint, so that equal sets share an
//!   entry. Under that lock, a page or part is locked at a time. Lookups never take the lock of a
//!   fingerprint.
//! - A lookup takes the read lock of a single page or part at a time. While a set is being
//!   inserted, lookups may find it under some of its keys; after the call returns, under all of
//!   them.
//! - A set's fingerprint, sketch and members are read under one lock, so they belong together. If a
//!   set is removed during a lookup and its number is given to another set, the lookup returns the
//!   other set if its sketch agrees well enough.
//! - A lock is held for a bounded time: to rebuild a segment of some thousand postings, to read a
//!   piece of a long list, or for one set. Only the lock of a fingerprint is held for a whole call;
//!   insertions of other sets of its stripe wait that long.

mod exact;
mod insertion;
mod loading;
mod numbers;
mod pairs;
mod postings;
mod prefix;
mod scan;
mod search;
mod sets;
mod shards;

use smallvec::SmallVec;

use crate::document::Ordinal;
use crate::scheme::{Key, Threshold};
use crate::sketch::Sketch;
use crate::text::ShingleSet;

pub use exact::{ExactSearch, Unanswered};
pub use insertion::Index;
pub use loading::Loader;
pub(crate) use numbers::Numbers;
pub(crate) use postings::Postings;
pub use scan::{BestSets, ComparedSet, ScanLimits, SketchScan};
pub use sets::SetCopy;
pub(crate) use shards::{Multiplicative, shards};

/// A set and the keys under which it is indexed.
#[derive(Clone, Copy, Debug)]
pub struct NewSet<'a> {
    /// [`ShingleSet::fingerprint`] of the set.
    pub fingerprint: u64,
    /// The number of distinct shingles.
    pub shingles: u32,
    /// The sketch of the set.
    pub sketch: &'a Sketch,
    /// The keys of the sketch in all tables.
    pub keys: &'a [Key],
    /// The set itself, for exact lookups; without it, [`Index::insert_prefix`] must follow.
    pub set: Option<&'a ShingleSet>,
}

/// A query of an [`Index`], with its limits.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The keys to look up.
    pub keys: &'a [Key],
    /// The sketch of the probe's set.
    pub sketch: &'a Sketch,
    /// The fingerprint of the probe's set: an equal set is found despite all limits.
    pub fingerprint: u64,
    /// The least number of slots in which sketches must agree with the probe's; of records the
    /// least upper bound of their points ([`Estimator::agreeing`](crate::Estimator::agreeing)).
    pub agreeing_min: u32,
    /// The lowest resemblance that the caller wants: whether a lookup in a crowd is complete
    /// depends on it.
    pub threshold: Threshold,
    /// Where the postings of a long key are read from: this fraction, in units of 2⁻³², of all
    /// entry numbers. 0 begins with the lowest number. Lookups with different starts find different
    /// members of a crowd.
    pub start: u32,
    /// The limits of the search.
    pub limits: SearchLimits,
}

impl<'a> Search<'a> {
    /// A search from the lowest entry numbers on.
    pub fn new(
        keys: &'a [Key],
        sketch: &'a Sketch,
        fingerprint: u64,
        threshold: Threshold,
        agreeing_min: u32,
        limits: SearchLimits,
    ) -> Self {
        Self { keys, sketch, fingerprint, agreeing_min, threshold, start: 0, limits }
    }

    /// The same search from another part of the entry numbers on.
    #[must_use]
    pub fn starting_at(self, start: u32) -> Self {
        Self { start, ..self }
    }
}

/// How much a [`Search`] may read and return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchLimits {
    /// The maximum number of postings that are read, and of members that are returned in total; but
    /// two members of each set are always returned.
    pub postings_max: usize,
    /// The maximum number of sets whose sketches are compared with the probe's: the sets that share
    /// the most keys.
    pub compared_max: usize,
    /// The maximum number of sets that are returned: the sets with the sketches that agree best
    /// with the probe's. In a crowd, as many sets are added that share the most pairs of slots.
    pub found_max: usize,
    /// The maximum number of members that are returned of a set: the lowest ordinals.
    pub members_max: usize,
}

impl SearchLimits {
    /// Everything is read and returned.
    pub const NONE: Self = Self {
        postings_max: usize::MAX,
        compared_max: usize::MAX,
        found_max: usize::MAX,
        members_max: usize::MAX,
    };
}

/// A set that shares a key with the probe. `M` is the type of its members: by default the ordinals
/// of its documents.
#[derive(Clone, Debug)]
pub struct Candidate<M = Ordinal> {
    /// The fingerprint of the set.
    pub fingerprint: u64,
    /// The number of distinct shingles.
    pub shingles: u32,
    /// Number of slots in which its sketch agrees with the probe's; of records an upper bound of
    /// their points.
    pub agreeing: u32,
    /// Number of the probe's keys under which it was found; 0 for a set that was found in a crowd
    /// by pairs of slots.
    pub keys_shared: u32,
    /// The documents with this set, ascending.
    pub members: Members<M>,
}

/// The documents with a set: usually a single document, or a few.
pub type Members<M> = SmallVec<[M; 2]>;

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Candidates<M = Ordinal> {
    /// The sets that were found, in no order.
    pub found: Vec<Candidate<M>>,
    /// Number of distinct sets that share a key, before sketches are compared.
    pub seen: usize,
    /// A limit was reached: some postings, sets or members are left out.
    pub truncated: bool,
    /// The sketch of every set that shares a key was compared with the probe's.
    pub are_compared: bool,
    /// The highest number of agreeing slots of a set that was compared and left out, in whole or
    /// with some of its members; 0 if there is none.
    pub left_out: u32,
    /// A key had so many postings that only some were read, and sets were found by pairs of slots
    /// instead: a search for more sets would find hardly any nearer set.
    pub in_crowd: bool,
}

impl<M> Candidates<M> {
    /// These sets alone; none of them was counted yet.
    pub(crate) fn new(found: Vec<Candidate<M>>) -> Self {
        let (truncated, are_compared, in_crowd) = (false, true, false);
        Self { found, seen: 0, truncated, are_compared, left_out: 0, in_crowd }
    }
}

/// Sizes of the index; cheap to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexStats {
    /// The number of distinct sets.
    pub entries: u64,
    /// The number of keys with postings.
    pub keys: u64,
    /// The number of postings.
    pub postings: u64,
    /// The number of postings of the longest key.
    pub postings_longest: u64,
    /// The bytes of memory.
    pub bytes: u64,
}

#[cfg(test)]
mod tests;
