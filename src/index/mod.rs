//! Key → postings, in memory, for many threads; the sketch of every set beside it.
//!
//! What is filed is a *set*, not a document: documents with equal sets share one **entry** that
//! lists their ordinals. A page copied a hundred thousand times is then one entry under its keys,
//! and filing the next copy costs no more than the first. Postings hold entry numbers, which are
//! given out again once an entry is gone.
//!
//! Everything is in maps of shards, each with its own lock: postings in pages (`postings`), sets in
//! parts (`sets`). Calls go over their keys twice: they begin to fetch all that they will read,
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
mod filing;
mod loading;
mod numbers;
mod postings;
mod prefix;
mod search;
mod sets;
mod shards;

use smallvec::SmallVec;

use crate::document::Ordinal;
use crate::scheme::Key;
use crate::sketch::Sketch;
use crate::text::ShingleSet;

pub use exact::{ExactSearch, Unanswered};
pub use filing::Index;
pub use loading::Loader;
pub use sets::SetCopy;

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

#[cfg(test)]
mod tests;
