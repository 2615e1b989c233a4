//! Lookups in the [state in memory](super::memory_state): from keys to documents with their ids.
//!
//! A document that is replaced concurrently is found in its old or new version. Lookups hold no
//! lock for that: they also check the documents that [replaced other documents during the
//! lookup](super::replacements).

use super::memory_state::MemoryState;
use crate::backend::{Candidate, Candidates, Member};
use crate::document::Ordinal;
use akin_core::index::{self, ExactSearch, Members, Search, Unanswered};
use akin_core::measure::Overlap;
use akin_core::scheme::Key;

/// The maximum number of attempts while there are more replacements than
/// [`Replacements`](super::replacements::Replacements) records, and of checks of the replacements
/// during an attempt.
const ATTEMPTS: usize = 4;

impl MemoryState {
    /// Returns only documents that have not expired at `now_ms`.
    pub fn candidates(&self, search: &Search<'_>, now_ms: i64) -> Candidates {
        let mut found = self.candidates_of_all(std::slice::from_ref(search), now_ms);
        found.pop().expect("a search has a result")
    }

    /// Runs [`candidates`](Self::candidates) for a few searches; the results are in the same
    /// order.
    pub fn candidates_of_all(&self, searches: &[Search<'_>], now_ms: i64) -> Vec<Candidates> {
        let look_up = || {
            let found = self.index.candidates_of_all(searches);
            Ok(found.iter().map(|found| self.resolved(found, now_ms)).collect())
        };
        let add = |found: &mut [Candidates], new: &Candidate, sketch: &[u8]| {
            for (candidates, search) in found.iter_mut().zip(searches) {
                let agreeing = self.index.agreeing(search.sketch.as_bytes(), sketch);
                let shared = |key: &&Key| self.scheme.value(sketch, key.table) == Some(key.value);
                let keys_shared = search.keys.iter().filter(shared).count() as u32;
                if agreeing >= search.agreeing_min && keys_shared > 0 {
                    let new = Candidate { agreeing, keys_shared, ..new.clone() };
                    add_replacement(candidates, new, search.limits.members_max);
                }
            }
        };
        let found: Result<_, Unanswered> = self.with_replacements(look_up, add, now_ms);
        found.expect("the tables serve every threshold")
    }

    /// Like [`index::Index::exact_candidates`].
    pub fn exact_candidates(
        &self,
        search: &ExactSearch,
        postings_max: usize,
        now_ms: i64,
    ) -> Result<Candidates, Unanswered> {
        let look_up = || {
            let found = self.index.exact_candidates(search, postings_max)?;
            Ok(vec![self.resolved(&found, now_ms)])
        };
        let add = |found: &mut [Candidates], new: &Candidate, sketch: &[u8]| {
            let sizes = (search.set.count(), new.shingles as usize);
            if Overlap::can_reach(sizes.0, sizes.1, search.threshold.get()) {
                let agreeing = self.index.agreeing(search.sketch.as_bytes(), sketch);
                let new = Candidate { agreeing, ..new.clone() };
                add_replacement(&mut found[0], new, search.members_max);
            }
        };
        let mut found = self.with_replacements(look_up, add, now_ms)?;
        Ok(found.swap_remove(0))
    }

    /// Runs `look_up` and merges the documents that replaced other documents during the lookup:
    /// `add` gets each of them as a candidate, with its sketch.
    fn with_replacements(
        &self,
        look_up: impl Fn() -> Result<Vec<Candidates>, Unanswered>,
        add: impl Fn(&mut [Candidates], &Candidate, &[u8]),
        now_ms: i64,
    ) -> Result<Vec<Candidates>, Unanswered> {
        let mut since = self.replacements.count();
        let mut found = look_up()?;
        for _ in 0..ATTEMPTS {
            let Some(replacements) = self.replacements.since(since) else {
                since = self.replacements.count();
                found = look_up()?;
                continue;
            };
            if replacements.is_empty() {
                break;
            }
            since += replacements.len() as u64;
            for ordinal in replacements {
                if let Some(new) = self.sketched_ordinal(ordinal, now_ms) {
                    add(&mut found, &new.candidate, new.sketch.as_bytes());
                }
            }
        }
        Ok(found)
    }

    /// Candidates with the ids of their members, without removed and expired members.
    ///
    /// A new version is in the index before it is listed, and then takes the place of the old
    /// version in the list. So a reader may miss the new version first and the old version
    /// afterwards; but then the new version is listed, and a second look finds it.
    pub(super) fn resolved(&self, candidates: &index::Candidates, now_ms: i64) -> Candidates {
        let index::Candidates { found, .. } = candidates;
        let mut missed = Vec::new();
        let first = |(at, candidate): (usize, &index::Candidate)| {
            let found = |ordinal: &Ordinal| {
                let member = self.member(*ordinal, now_ms);
                missed.extend(member.is_none().then_some((at, *ordinal)));
                member
            };
            candidate.members.iter().filter_map(found).collect()
        };
        let mut members: Vec<Members<Member>> = found.iter().enumerate().map(first).collect();
        for (at, ordinal) in missed {
            let Some(member) = self.member(ordinal, now_ms) else { continue };
            if !members.iter().flatten().any(|found| found.id == member.id) {
                members[at].push(member);
            }
        }
        let with_members = |(candidate, members): (&index::Candidate, Members<Member>)| {
            let &index::Candidate { fingerprint, shingles, agreeing, keys_shared, .. } = candidate;
            let all = Candidate { fingerprint, shingles, agreeing, keys_shared, members };
            (!all.members.is_empty()).then_some(all)
        };
        let found = found.iter().zip(members).filter_map(with_members).collect();
        let &index::Candidates { seen, truncated, are_compared, left_out, in_crowd, .. } =
            candidates;
        Candidates { found, seen, truncated, are_compared, left_out, in_crowd }
    }
}

/// Adds a candidate with a single member, in place of the document that it replaced.
pub(super) fn add_replacement(candidates: &mut Candidates, new: Candidate, members_max: usize) {
    let [member] = &new.members[..] else { return };
    let is_replaced = |found: &Member| found.id == member.id && found.ordinal != member.ordinal;
    for found in &mut candidates.found {
        found.members.retain(|found| !is_replaced(found));
    }
    candidates.found.retain(|found| !found.members.is_empty());
    let same = |found: &&mut Candidate| found.fingerprint == new.fingerprint;
    let Some(same) = candidates.found.iter_mut().find(same) else {
        candidates.found.push(new);
        return;
    };
    if same.members.iter().any(|found| found.ordinal == member.ordinal) {
        return;
    }
    if same.members.len() < members_max {
        same.members.push(member.clone());
    } else {
        candidates.truncated = true;
        candidates.left_out = candidates.left_out.max(new.agreeing);
    }
}
