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
    /// The probe's set.
    pub set: ShingleSet,
    /// The sketch of the probe's set.
    pub sketch: Sketch,
    /// The lowest resemblance that is searched for.
    pub threshold: Threshold,
    /// The maximum number of members that are returned of a set: the lowest ordinals.
    pub members_max: usize,
}

/// Why the prefix index cannot answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// The index has no prefix index, or only for higher thresholds.
    NotIndexed,
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

    /// Whether the index has a prefix index for exact lookups.
    #[must_use]
    pub fn has_prefix(&self) -> bool {
        self.prefix.is_some()
    }

    /// The number of slots in which two sketches agree.
    #[must_use]
    #[inline]
    pub fn agreeing(&self, a: &[u8], b: &[u8]) -> u32 {
        self.estimator.agreeing(a, b)
    }

    /// Adds a set that is in the index to the prefix index, but only if the document is its first
    /// member, so that a call for each member adds the set once. For loading only, without
    /// concurrent writes.
    pub fn insert_prefix(&self, ordinal: Ordinal, fingerprint: u64, set: &ShingleSet) {
        let Some(prefix) = &self.prefix else { return };
        let Some(entry) = self.entry_of(fingerprint) else { return };
        let first = self.sets.read_same(entry, fingerprint, |set| set.members().next());
        if first.flatten() == Some(ordinal) {
            prefix.insert(entry, set);
        }
    }

    /// A superset of the sets that reach the threshold of resemblance to the probe. `truncated`
    /// only means that some of them have more members than are returned.
    ///
    /// # Errors
    /// If there are more than `postings_max` postings, or the prefix index does not serve the
    /// threshold.
    pub fn exact_candidates(
        &self,
        search: &ExactSearch,
        postings_max: usize,
    ) -> Result<Candidates, Unanswered> {
        let prefix = self.prefix.as_ref().filter(|prefix| prefix.serves(search.threshold));
        let sharing = prefix
            .ok_or(Unanswered::NotIndexed)?
            .sharing(&search.set, search.threshold, postings_max)
            .ok_or(Unanswered::TooManyPostings)?;
        let mut sharing: Vec<(u32, u32)> = sharing.into_iter().collect();
        sharing.sort_unstable();
        let found = Vec::new();
        let mut candidates = Candidates::new(found);
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
