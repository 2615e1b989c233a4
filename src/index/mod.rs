//! Key → postings, in memory, sharded and concurrent; the sketch of every set beside it.
//!
//! What is filed is a *set*, not a document: documents with equal sets share one **entry** that
//! lists their ordinals. A page copied a hundred thousand times is then one entry under its keys,
//! and filing the next copy costs no more than the first. Postings hold entry numbers; those are
//! reused once an entry is gone, so whoever reads an entry found through postings reads number,
//! sketch and members under one lock and judges by what it finds there.
//!
//! Nothing here blocks for long: every lock covers one shard of one table for one operation.

mod entries;
mod exact;
mod postings;
mod prefix;
mod shortlist;

use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use crate::document::Ordinal;
use crate::scheme::{IndexBytes, Key, Threshold};
use crate::sketch::{Estimator, Sketch};
use crate::text::ShingleSet;
use entries::{Entries, Removal};
use postings::Postings;
use prefix::PrefixIndex;
use shortlist::Shortlist;

pub use entries::EntryCopy;
pub use exact::{ExactSearch, Unanswered};

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
    tables: Box<[Postings<u32>]>,
    /// Fingerprint (folded to 32 bits) → entry: where an equal set is found.
    identity: Postings<u32>,
    prefix: Option<PrefixIndex>,
    entries: Entries,
    estimator: Estimator,
    /// Two threads must not make two entries of one set: filing and removing take the stripe of its
    /// fingerprint.
    stripes: [Mutex<()>; 64],
}

impl Index {
    /// `tables`: how many tables the scheme's keys have. `sets_expected`: memory is set aside for
    /// so many.
    #[must_use]
    pub fn new(
        tables: u32,
        sketch_bytes: usize,
        estimator: Estimator,
        sets_expected: usize,
    ) -> Self {
        Self {
            tables: (0..tables).map(|_| Postings::new(sets_expected)).collect(),
            identity: Postings::new(sets_expected),
            prefix: None,
            entries: Entries::new(sketch_bytes),
            estimator,
            stripes: std::array::from_fn(|_| Mutex::new(())),
        }
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
        if let Some(entry) =
            self.add_entry(ordinal, filing.fingerprint, filing.shingles, filing.sketch.as_bytes())
        {
            for key in filing.keys {
                self.tables[key.table as usize].insert(key.value, entry);
            }
            if let (Some(prefix), Some(set)) = (&self.prefix, filing.set) {
                prefix.insert(entry, set);
            }
        }
    }

    /// Like [`Index::insert`] of a set whose keys will be filed by [`Index::file_table`].
    pub fn insert_unfiled(&self, ordinal: Ordinal, fingerprint: u64, shingles: u32, sketch: &[u8]) {
        self.add_entry(ordinal, fingerprint, shingles, sketch);
    }

    /// Files every entry in one table under the key that `value` gives for its sketch, if any.
    /// Tables are independent: call it for several in parallel. For loading only, while nobody else
    /// writes.
    pub fn file_table(&self, table: u32, value: impl Fn(&[u8]) -> Option<u32>) {
        let postings = &self.tables[table as usize];
        self.entries.for_each(|entry, sketch| {
            if let Some(value) = value(sketch) {
                postings.insert(value, entry);
            }
        });
    }

    /// Takes a document out; with the last document of a set goes the set. `false` if it wasn't
    /// there. [`Index::compact`] is to follow, now and then.
    pub fn remove(&self, ordinal: Ordinal, fingerprint: u64, keys: &[Key]) -> bool {
        let _stripe = self.stripe(fingerprint);
        let Some(entry) = self.entry_of(fingerprint) else { return false };
        match self.entries.remove_member(entry, ordinal) {
            Removal::Absent => false,
            Removal::OthersRemain => true,
            Removal::WasLast => {
                for key in keys {
                    self.tables[key.table as usize].remove(key.value, entry);
                }
                self.identity.remove(fold(fingerprint), entry);
                match &self.prefix {
                    None => self.entries.release(entry),
                    Some(prefix) => prefix.park(entry),
                }
                true
            }
        }
    }

    /// The sets that share a key with the probe and whose sketches agree well enough with its
    /// sketch.
    ///
    /// Rare keys are read first, so that what a limit cuts off are the commonplaces.
    #[must_use]
    pub fn candidates(&self, search: &Search<'_>) -> Candidates {
        let Shortlist { entries, seen, truncated, .. } = self.shortlist(search);
        let mut candidates = Candidates { seen, truncated, ..Candidates::default() };
        let mut members_left = search.postings_max;
        for (entry, keys_shared) in entries {
            let members_max = search.members_max.min(members_left.max(MEMBERS_SURE));
            if let Some((mut found, clipped)) = self.judge(entry, search, members_max) {
                members_left = members_left.saturating_sub(found.members.len());
                found.keys_shared = keys_shared;
                candidates.truncated |= clipped;
                candidates.found.push(found);
            }
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
        let entry = self.entry_of(fingerprint)?;
        self.entries.read(entry, |head, sketch| {
            let same = head.fingerprint == fingerprint;
            same.then(|| (head.shingles, Sketch::from_bytes(sketch.into())))
        })?
    }

    /// How many parts [`Index::copy_part`] has.
    #[must_use]
    pub fn parts(&self) -> usize {
        Entries::SHARDS
    }

    /// A copy of one part of the entries, made under one short lock; all parts together hold every
    /// entry that was there throughout.
    #[must_use]
    pub fn copy_part(&self, part: usize) -> Vec<EntryCopy> {
        self.entries.copy_shard(part)
    }

    /// What a document takes in memory if no other has its set and hardly another shares a key:
    /// the layout's bytes, with what lies idle on average as the containers grow.
    #[must_use]
    pub fn usual_bytes() -> IndexBytes {
        IndexBytes { key: postings::KEY_BYTES, entry: entries::HEAD_BYTES + postings::KEY_BYTES }
    }

    #[must_use]
    pub fn stats(&self) -> IndexStats {
        let mut stats = IndexStats {
            entries: self.living(),
            bytes: self.entries.bytes() + self.identity.size().bytes,
            ..IndexStats::default()
        };
        let prefix = self.prefix.as_ref().map(PrefixIndex::size);
        for size in self.tables.iter().map(Postings::size).chain(prefix) {
            stats.keys += size.keys;
            stats.postings += size.postings;
            stats.postings_longest = stats.postings_longest.max(size.longest);
            stats.bytes += size.bytes;
        }
        stats
    }

    /// The number of the new entry, if the set had none yet.
    fn add_entry(
        &self,
        ordinal: Ordinal,
        fingerprint: u64,
        shingles: u32,
        sketch: &[u8],
    ) -> Option<u32> {
        let _stripe = self.stripe(fingerprint);
        if let Some(entry) = self.entry_of(fingerprint) {
            self.entries.add_member(entry, ordinal);
            return None;
        }
        let entry = self.entries.add(fingerprint, shingles, sketch, ordinal);
        self.identity.insert(fold(fingerprint), entry);
        Some(entry)
    }

    fn entry_of(&self, fingerprint: u64) -> Option<u32> {
        let has = |&entry: &u32| {
            self.entries.read(entry, |head, _| head.fingerprint == fingerprint) == Some(true)
        };
        self.identity.read(fold(fingerprint), |entries| entries.iter().copied().find(has))?
    }

    /// The entry as a candidate, if its sketch agrees well enough; and whether members were left
    /// out.
    fn judge(
        &self,
        entry: u32,
        search: &Search<'_>,
        members_max: usize,
    ) -> Option<(Candidate, bool)> {
        self.entries.read(entry, |head, sketch| {
            let agreeing = self.estimator.agreeing(search.sketch.as_bytes(), sketch);
            if agreeing < search.agreeing_min {
                return None;
            }
            let members = &head.members;
            let candidate = Candidate {
                fingerprint: head.fingerprint,
                shingles: head.shingles,
                agreeing,
                keys_shared: 0,
                members: members.iter().take(members_max).collect(),
            };
            Some((candidate, members.len() > members_max))
        })?
    }

    fn stripe(&self, fingerprint: u64) -> MutexGuard<'_, ()> {
        let stripe = &self.stripes[fingerprint as usize % self.stripes.len()];
        // A panic under a stripe leaves nothing half-done that the guarded unit value could show.
        stripe.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fingerprints are uniform, so half of one is as good a key as any; the entry has the whole.
fn fold(fingerprint: u64) -> u32 {
    (fingerprint >> 32) as u32
}

#[cfg(test)]
mod tests;
