//! Key → postings, in memory, for many threads; the sketch of every set beside it.
//!
//! What is filed is a *set*, not a document: documents with equal sets share one **entry** that
//! lists their ordinals. A page copied a hundred thousand times is then one entry under its keys,
//! and filing the next copy costs no more than the first. Postings hold entry numbers, which are
//! reused once an entry is gone.
//!
//! One lock covers it all: a set has dozens of keys, and taking a lock for each would cost more
//! than filing under it. It is held for some microseconds: whatever is read is asked for all at
//! once. Nothing here ever goes through everything at once.

mod contents;
mod entries;
mod exact;
mod loading;
mod postings;
mod prefix;
mod shortlist;
mod table;

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use smallvec::SmallVec;

use crate::document::Ordinal;
use crate::scheme::{IndexBytes, Key, Threshold};
use crate::sketch::{Estimator, Sketch};
use crate::text::ShingleSet;
use contents::Contents;
use prefix::PrefixIndex;
use shortlist::Shortlist;
use table::Shelf;

pub use entries::EntryCopy;
pub use exact::{ExactSearch, Unanswered};
pub use loading::{Gathered, Loading};

/// Members of a set that are given however many other sets have: one, and another in case that the
/// first is who is asking.
const MEMBERS_SURE: usize = 2;

/// A set and the keys it is filed under.
#[derive(Clone, Copy, Debug)]
pub struct Filing<'a> {
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
    /// Postings read at most; and members given of all sets together, but for two of each, which
    /// are sure.
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
    contents: RwLock<Contents>,
    prefix: Option<PrefixIndex>,
    estimator: Estimator,
}

impl Index {
    /// `tables`: how many tables the scheme's keys have.
    #[must_use]
    pub fn new(tables: u32, sketch_bytes: usize, estimator: Estimator) -> Self {
        Self { contents: RwLock::new(Contents::new(tables, sketch_bytes)), prefix: None, estimator }
    }

    /// The same index, empty as it is yet, with one for exact lookups from a threshold up beside
    /// the tables.
    #[must_use]
    pub fn with_prefix(self, exact_from: Option<Threshold>) -> Self {
        Self { prefix: exact_from.map(PrefixIndex::new), ..self }
    }

    /// Files a document's set. Filing an ordinal again changes nothing. An ordinal must not be
    /// removed before the call that files it has returned.
    pub fn insert(&self, ordinal: Ordinal, filing: &Filing<'_>) {
        self.insert_all(std::iter::once((ordinal, *filing)));
    }

    /// [`insert`](Self::insert) for many under one lock: lookups wait for all of them together, and
    /// not for each.
    pub fn insert_all<'a>(&self, filings: impl Iterator<Item = (Ordinal, Filing<'a>)> + Clone) {
        let mut contents = self.write();
        let insert = |(ordinal, filing)| contents.insert(ordinal, &filing);
        let entries: Vec<_> = filings.clone().map(insert).collect();
        drop(contents);
        let Some(prefix) = &self.prefix else { return };
        for (entry, (_, filing)) in entries.into_iter().zip(filings) {
            if let (Some(entry), Some(set)) = (entry, filing.set) {
                prefix.insert(entry, set);
            }
        }
    }

    /// Takes a document out; with the last document of a set goes the set. `false` if it wasn't
    /// there. [`Index::compact`] is to follow, now and then.
    pub fn remove(&self, ordinal: Ordinal, fingerprint: u64, keys: &[Key]) -> bool {
        self.read().prefetch(fingerprint, keys);
        let mut contents = self.write();
        let (was_there, entry) = contents.remove(ordinal, fingerprint, keys);
        match (entry, &self.prefix) {
            (None, _) => {}
            (Some(entry), None) => contents.entries.release(entry),
            (Some(entry), Some(prefix)) => prefix.park(entry),
        }
        was_there
    }

    /// The sets that share a key with the probe and whose sketches agree well enough with its
    /// sketch.
    ///
    /// Rare keys are read first, so that what a limit cuts off are the commonplaces.
    #[must_use]
    pub fn candidates(&self, search: &Search<'_>) -> Candidates {
        self.candidates_in(&self.read(), search)
    }

    /// The same of many under one lock.
    #[must_use]
    pub fn candidates_of_all(&self, searches: &[Search<'_>]) -> Vec<Candidates> {
        let contents = self.read();
        let next = searches.iter().skip(1).map(Some).chain([None]);
        let look = |(search, next): (&Search<'_>, Option<&Search<'_>>)| {
            // What the next one reads is fetched while this one is at work.
            for key in next.into_iter().flat_map(|next| next.keys) {
                contents.aim(*key);
            }
            self.candidates_in(&contents, search)
        };
        searches.iter().zip(next).map(look).collect()
    }

    fn candidates_in(&self, contents: &Contents, search: &Search<'_>) -> Candidates {
        let Shortlist { entries, seen, truncated, .. } =
            Shortlist::of(contents, self.estimator, search);
        let found = Vec::with_capacity(entries.len());
        let mut candidates = Candidates { found, seen, truncated };
        let mut members_left = search.postings_max;
        for listed in entries {
            let Some(entry) = contents.entries.get(listed.entry) else { continue };
            let members_max = search.members_max.min(members_left.max(MEMBERS_SURE));
            let members = entry.first_members(members_max);
            members_left = members_left.saturating_sub(members.len());
            candidates.truncated |= entry.members_count() > members_max;
            candidates.found.push(Candidate {
                fingerprint: entry.fingerprint,
                shingles: entry.shingles,
                agreeing: listed.agreeing,
                keys_shared: listed.keys_shared,
                members,
            });
        }
        candidates
    }

    /// The sketch of a set that is filed.
    #[must_use]
    pub fn sketch_of(&self, fingerprint: u64) -> Option<Sketch> {
        self.size_and_sketch_of(fingerprint).map(|(_, sketch)| sketch)
    }

    /// The number of shingles of a set that is filed, and its sketch.
    #[must_use]
    pub fn size_and_sketch_of(&self, fingerprint: u64) -> Option<(u32, Sketch)> {
        let contents = self.read();
        let (_, entry) = contents.entry_of(fingerprint)?;
        Some((entry.shingles, Sketch::from_bytes(entry.sketch.into())))
    }

    /// How many parts [`Index::copy_part`] has by now.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.read().entries.parts()
    }

    /// A copy of one part of the entries, made under one short lock. All parts together, from the
    /// last to the first, hold every entry that was there throughout; one may be there twice.
    #[must_use]
    pub fn copy_part(&self, part: usize) -> Vec<EntryCopy> {
        self.read().entries.copy_part(part)
    }

    /// What a document takes in memory if no other has its set and hardly another shares a key:
    /// the layout's bytes, with what lies idle on average as the containers grow.
    #[must_use]
    pub fn usual_bytes() -> IndexBytes {
        IndexBytes { key: table::POSTING_BYTES, entry: entries::HEAD_BYTES + table::POSTING_BYTES }
    }

    #[must_use]
    pub fn stats(&self) -> IndexStats {
        let contents = self.read();
        let tables = contents.shelves.iter().flat_map(Shelf::sizes);
        let shelves = contents.shelves.iter().chain([&contents.identity]);
        let mut stats = IndexStats {
            entries: contents.entries.count(),
            bytes: contents.entries.bytes() + shelves.map(Shelf::bytes).sum::<u64>(),
            ..IndexStats::default()
        };
        for size in tables {
            stats.keys += size.keys;
            stats.postings += size.postings;
            stats.postings_longest = stats.postings_longest.max(size.longest);
        }
        if let Some(size) = self.prefix.as_ref().map(PrefixIndex::size) {
            stats.keys += size.keys;
            stats.postings += size.postings;
            stats.postings_longest = stats.postings_longest.max(size.longest);
            stats.bytes += size.bytes;
        }
        stats
    }

    fn read(&self) -> RwLockReadGuard<'_, Contents> {
        self.contents.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Contents> {
        self.contents.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
