//! A concurrent in-memory index: key → postings, with the sketch of every set.
//!
//! The index files *sets*, not documents: documents with equal sets share one **entry** that lists
//! their ordinals. A page copied a hundred thousand times is one entry under its keys, and filing
//! the next copy costs no more than the first. Postings hold entry numbers, which are reused when
//! an entry is removed.
//!
//! All data are in sharded maps: postings in pages (`postings`), sets in parts (`sets`). Calls
//! iterate over their keys twice: first to prefetch, then to read.
//!
//! Concurrency:
//!
//! - Filing and removing a set hold the lock for its fingerprint, so that equal sets share an
//!   entry. Within it, one page or part is locked at a time. Lookups never take it.
//! - A lookup takes the read lock of one page or part at a time. While a set is being filed it may
//!   be found under some of its keys, and after the call returns under all.
//! - A set's fingerprint, sketch and members are read under one lock, so they belong together. If a
//!   set is removed meanwhile, and another gets its number, the lookup returns the other one, if
//!   its sketch agrees well enough.
//! - Locks are held for a bounded time: to rebuild a segment of some thousand postings, to read a
//!   piece of a long list, or for one set. Only a fingerprint's lock is held for a whole call, in
//!   which other sets of its stripe wait to be filed.

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

/// A set and the keys under which it is filed.
#[derive(Clone, Copy, Debug)]
pub struct NewSet<'a> {
    pub fingerprint: u64,
    /// The number of distinct shingles.
    pub shingles: u32,
    pub sketch: &'a Sketch,
    pub keys: &'a [Key],
    /// The set itself, for exact lookups; without it, [`Index::file_prefix`] must follow.
    pub set: Option<&'a ShingleSet>,
}

/// A query, with its limits.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    pub keys: &'a [Key],
    pub sketch: &'a Sketch,
    /// The fingerprint of the probe's set: an equal set is found despite all limits.
    pub fingerprint: u64,
    /// The least number of slots in which sketches must agree with the probe's.
    pub agreeing_min: u32,
    /// Maximum number of postings read; and of members returned in total, except that two of each
    /// set are always returned.
    pub postings_max: usize,
    /// Maximum number of sets returned: those whose sketches agree best.
    pub found_max: usize,
    /// Maximum number of members returned per set: those with the lowest ordinals.
    pub members_max: usize,
}

/// A set that shares a key with the probe. `M` is what is known of its documents.
#[derive(Clone, Debug)]
pub struct Candidate<M = Ordinal> {
    pub fingerprint: u64,
    pub shingles: u32,
    /// Number of slots in which its sketch agrees with the probe's.
    pub agreeing: u32,
    /// Number of the probe's keys under which it is filed.
    pub keys_shared: u32,
    /// The documents with this set, ascending.
    pub members: Members<M>,
}

pub type Members<M> = SmallVec<[M; 2]>;

#[derive(Clone, Debug)]
pub struct Candidates<M = Ordinal> {
    pub found: Vec<Candidate<M>>,
    /// Number of distinct sets that share a key, before sketches are compared.
    pub seen: usize,
    /// A limit was reached: some postings, sets or members are left out.
    pub truncated: bool,
}

/// Sizes of the index; cheap to compute.
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
