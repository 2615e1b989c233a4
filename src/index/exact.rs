//! Exact lookups: by the prefix index beside the tables.

use super::contents::Contents;
use super::{Candidate, Candidates, Index};
use crate::document::Ordinal;
use crate::measure::Overlap;
use crate::scheme::{Key, Threshold};
use crate::sketch::Sketch;
use crate::text::ShingleSet;

/// What to look for without missing anything.
#[derive(Clone, Copy, Debug)]
pub struct ExactSearch<'a> {
    pub set: &'a ShingleSet,
    pub sketch: &'a Sketch,
    pub threshold: Threshold,
    /// Members given of one set at most: those with the lowest ordinals.
    pub members_max: usize,
}

/// Why the prefix index does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// Sets are not filed for so low a threshold, or not at all.
    NotFiled,
    /// There are more postings than were to be read.
    TooManyPostings,
}

impl Index {
    /// The same index without exact lookups.
    #[must_use]
    pub fn without_prefix(self) -> Self {
        Self { prefix: None, ..self }
    }

    /// In how many slots two sketches agree.
    #[must_use]
    pub fn agreeing(&self, a: &[u8], b: &[u8]) -> u32 {
        self.estimator.agreeing(a, b)
    }

    /// Files a set for exact lookups that was filed under its keys before; but only if the
    /// document is the first of those that have it, so that it is filed once if the call is made
    /// for all of them. For loading only, while nobody else writes.
    pub fn file_prefix(&self, ordinal: Ordinal, fingerprint: u64, set: &ShingleSet) {
        let Some(prefix) = &self.prefix else { return };
        let first = |contents: &Contents| {
            let (entry, found) = contents.entry_of(fingerprint)?;
            (found.members().next() == Some(ordinal)).then_some(entry)
        };
        let entry = first(&self.read());
        if let Some(entry) = entry {
            prefix.insert(entry, set);
        }
    }

    /// The sets that may resemble the probe as much as the threshold: all that do are among them.
    /// `truncated` says only that some of them have more members than are given.
    ///
    /// # Errors
    /// If that would take more than `postings_max` postings, or cannot be told.
    pub fn exact_candidates(
        &self,
        search: &ExactSearch<'_>,
        postings_max: usize,
    ) -> Result<Candidates, Unanswered> {
        let prefix = self.prefix.as_ref().filter(|prefix| prefix.serves(search.threshold));
        let sharing = prefix
            .ok_or(Unanswered::NotFiled)?
            .sharing(search.set, search.threshold, postings_max)
            .ok_or(Unanswered::TooManyPostings)?;
        let mut sharing: Vec<(u32, u32)> = sharing.into_iter().collect();
        sharing.sort_unstable();
        let contents = self.read();
        let mut candidates = Candidates::default();
        for (entry, elements_shared) in sharing {
            let Some(entry) = contents.entries.get(entry) else { continue };
            let sizes = (search.set.count(), entry.shingles as usize);
            if !Overlap::can_reach(sizes.0, sizes.1, search.threshold.get()) {
                continue;
            }
            candidates.seen += 1;
            candidates.truncated |= entry.members_count() > search.members_max;
            candidates.found.push(Candidate {
                fingerprint: entry.fingerprint,
                shingles: entry.shingles,
                agreeing: self.estimator.agreeing(search.sketch.as_bytes(), entry.sketch),
                keys_shared: elements_shared,
                members: entry.members().take(search.members_max).collect(),
            });
        }
        Ok(candidates)
    }

    /// Gives memory back after many sets were taken out; each call does a part of that. `keys`:
    /// what a set is filed under by its sketch.
    ///
    /// Where there is an index of prefixes, it is rid of sets that were taken out, if there are
    /// more of them than of those that are left. That goes through all its postings, a part at a
    /// time, and lookups go on: to be called without a lock that they need.
    pub fn compact(&self, keys: impl Fn(&[u8]) -> Vec<Key>) {
        let Some(prefix) = &self.prefix else {
            let is_due = self.read().entries.has_much_idle();
            if is_due {
                self.write().pull_in(keys);
            }
            return;
        };
        let living = self.read().entries.count();
        let unparked = prefix.unpark(living);
        let mut contents = self.write();
        for entry in unparked {
            contents.entries.release(entry);
        }
    }
}
