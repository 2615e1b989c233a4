//! Exact lookups with the prefix index.

use super::{Candidate, Candidates, Index};
use crate::document::Ordinal;
use crate::measure::Overlap;
use crate::scheme::Threshold;
use crate::sketch::Sketch;
use crate::text::ShingleSet;

/// An exact query.
#[derive(Clone, Debug)]
pub struct ExactSearch {
    pub set: ShingleSet,
    pub sketch: Sketch,
    pub threshold: Threshold,
    /// Maximum number of members returned per set: those with the lowest ordinals.
    pub members_max: usize,
}

/// Why the prefix index cannot answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// Sets are not filed for so low a threshold, or not at all.
    NotFiled,
    /// There are more postings than allowed.
    TooManyPostings,
}

impl Index {
    /// Drops the prefix index.
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

    /// The number of slots in which two sketches agree.
    #[must_use]
    pub fn agreeing(&self, a: &[u8], b: &[u8]) -> u32 {
        self.estimator.agreeing(a, b)
    }

    /// Files a set, already filed under its keys, for exact lookups; but only if the document is
    /// its first member, so that a call for each member files it once. For loading only, without
    /// concurrent writes.
    pub fn file_prefix(&self, ordinal: Ordinal, fingerprint: u64, set: &ShingleSet) {
        let Some(prefix) = &self.prefix else { return };
        let Some(entry) = self.entry_of(fingerprint) else { return };
        let first = self.sets.read_same(entry, fingerprint, |set| set.members().next());
        if first.flatten() == Some(ordinal) {
            prefix.insert(entry, set);
        }
    }

    /// A superset of the sets whose resemblance to the probe reaches the threshold. `truncated`
    /// only means that some of them have more members than are returned.
    ///
    /// # Errors
    /// If there are more than `postings_max` postings, or sets are not filed for the threshold.
    pub fn exact_candidates(
        &self,
        search: &ExactSearch,
        postings_max: usize,
    ) -> Result<Candidates, Unanswered> {
        let prefix = self.prefix.as_ref().filter(|prefix| prefix.serves(search.threshold));
        let sharing = prefix
            .ok_or(Unanswered::NotFiled)?
            .sharing(&search.set, search.threshold, postings_max)
            .ok_or(Unanswered::TooManyPostings)?;
        let mut sharing: Vec<(u32, u32)> = sharing.into_iter().collect();
        sharing.sort_unstable();
        let mut candidates = Candidates { found: Vec::new(), seen: 0, truncated: false };
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
