//! Exact lookups: by the prefix index beside the tables.

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
    /// The index without exact lookups.
    #[must_use]
    pub fn without_prefix(mut self) -> Self {
        self.prefix = None;
        self
    }

    /// Whether sets are filed for exact lookups.
    #[must_use]
    pub fn has_prefix(&self) -> bool {
        self.prefix.is_some()
    }

    /// In how many slots two sketches agree.
    #[must_use]
    pub fn agreeing(&self, a: &[u8], b: &[u8]) -> u32 {
        self.estimator.agreeing(a, b)
    }

    /// Files a set for exact lookups that was filed under its keys before; but only if the
    /// document is the first of those that have it, so that it is filed once if the call is made
    /// for all of them. For loading only, while nothing else is written.
    pub fn file_prefix(&self, ordinal: Ordinal, fingerprint: u64, set: &ShingleSet) {
        let Some(prefix) = &self.prefix else { return };
        let Some(entry) = self.entry_of(fingerprint) else { return };
        let first = self.sets.read_same(entry, fingerprint, |set| set.members().next());
        if first.flatten() == Some(ordinal) {
            prefix.insert(entry, set);
        }
    }

    /// The sets that may resemble the probe as much as the threshold: all that do are among them.
    /// `truncated` says only that some of them have more members than are given.
    ///
    /// # Errors
    /// If that would take more than `postings_max` postings, or sets are not filed for it.
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
            self.sets.read(entry, |set| {
                let sizes = (search.set.count(), set.shingles as usize);
                if !Overlap::can_reach(sizes.0, sizes.1, search.threshold.get()) {
                    return;
                }
                candidates.seen += 1;
                candidates.truncated |= set.members_count() > search.members_max;
                candidates.found.push(Candidate {
                    fingerprint: set.fingerprint,
                    shingles: set.shingles,
                    agreeing: self.estimator.agreeing(search.sketch.as_bytes(), set.sketch),
                    keys_shared: elements_shared,
                    members: set.members().take(search.members_max).collect(),
                });
            });
        }
        Ok(candidates)
    }
}
