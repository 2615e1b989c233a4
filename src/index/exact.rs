//! Exact lookups: by the prefix index beside the tables.

use super::prefix::PrefixIndex;
use super::{Candidate, Candidates, Index};
use crate::document::Ordinal;
use crate::measure::Overlap;
use crate::scheme::Threshold;
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
        let Some(entry) = self.entry_of(fingerprint) else { return };
        let first = self.entries.read(entry, |head, _| head.members.iter().next()).flatten();
        if first == Some(ordinal) {
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
        let mut candidates = Candidates::default();
        for (entry, elements_shared) in sharing {
            let Some((mut found, clipped)) = self.judge_exactly(entry, search) else { continue };
            found.keys_shared = elements_shared;
            candidates.seen += 1;
            candidates.truncated |= clipped;
            candidates.found.push(found);
        }
        Ok(candidates)
    }

    /// The entry as a candidate, if it lives and its size does not rule it out; and whether members
    /// were left out.
    fn judge_exactly(&self, entry: u32, search: &ExactSearch<'_>) -> Option<(Candidate, bool)> {
        self.entries.read(entry, |head, sketch| {
            let sizes = (search.set.count(), head.shingles as usize);
            if !Overlap::can_reach(sizes.0, sizes.1, search.threshold.get()) {
                return None;
            }
            let candidate = Candidate {
                fingerprint: head.fingerprint,
                shingles: head.shingles,
                agreeing: self.estimator.agreeing(search.sketch.as_bytes(), sketch),
                keys_shared: 0,
                members: head.members.iter().take(search.members_max).collect(),
            };
            Some((candidate, head.members.len() > search.members_max))
        })?
    }

    /// Entries that documents have.
    pub(super) fn living(&self) -> u64 {
        let parked = self.prefix.as_ref().map_or(0, PrefixIndex::parked_count);
        self.entries.count().saturating_sub(parked as u64)
    }

    /// Rids the prefix index of sets that were taken out, if there are more of them than of those
    /// that are left, and gives their numbers back. Goes through all postings then, a part at a
    /// time, and lookups go on: to be called without a lock that they need.
    pub fn compact(&self) {
        let Some(prefix) = &self.prefix else { return };
        for entry in prefix.unpark(self.living()) {
            self.entries.release(entry);
        }
    }
}
