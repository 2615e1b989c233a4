//! Lookups by the keys of sketches.
//!
//! All lookups of a probe produce the same list of matches; they differ only in how much of the
//! list they produce, so pages are slices of a single list. Of all steps, only the decision to end
//! depends on the limit of a query:
//!
//! 1. The index is searched for a few candidates. If these do not suffice, the index is searched
//!    for more, and at last for the most candidates that a lookup may have
//!    ([`Engine::founds_max`]).
//! 2. The new candidates of a search are checked in blocks, best agreement of sketches first
//!    (`checking.rs`). The matches of a block are sorted and appended to the list.
//! 3. The lookup ends after the first block that makes the list longer than the limit, or where
//!    `limits.checked_max` ends the list for queries of any limit.
//!
//! This requires that the index returns the same candidates for the same search while nothing is
//! written. The results of two searches may overlap, and candidates may come in any order.

use std::borrow::Cow;
use std::collections::HashSet;

use super::checking::Checking;
use super::{FoundMatches, ProbeQuery};
use crate::backend::{CHECKED_AT_ONCE, Candidates};
use crate::background::request::charge;
use crate::budget::cost;
use crate::engine::{Engine, EngineError, FoundBy, Mode};
use akin_core::index::{Search, SearchLimits};
use akin_core::scheme::{Key, ProbePlan, Scheme, Threshold};

/// Attempts at a lookup, including the first. A lookup is repeated if a candidate's documents are
/// removed before its set is read: equally similar documents may have replaced them.
pub(crate) const ATTEMPTS_MAX: usize = 4;

/// Postings that a wide search reads for each sketch that it compares, at most: the sketches of the
/// sets that share the most keys with the probe are compared.
const POSTINGS_OF_WIDE: usize = 8;

impl Engine {
    /// The limits of the first two searches for candidates of a document that is added, if the
    /// searches take the document's keys and the sketch alone.
    pub(crate) fn search_limits_of_added(&self) -> Option<[SearchLimits; 2]> {
        let by_keys = !self.takes_records() && !matches!(self.analyser.scheme, Scheme::Prefix(_));
        let limits = |found_max| self.search_limits(found_max, self.members_of_added(), 1);
        by_keys.then(|| [CHECKED_AT_ONCE, self.settings.limits.checked_max].map(limits))
    }

    /// Members of each set that a search for an added document returns: one beyond the reported
    /// near-duplicates, as the document itself may be among the members.
    pub(crate) fn members_of_added(&self) -> usize {
        self.settings.limits.duplicates_max + 1
    }

    fn search_limits(
        &self,
        found_max: usize,
        members_max: usize,
        postings_of_each: usize,
    ) -> SearchLimits {
        let compared_max = self.settings.limits.candidates_max.max(found_max);
        let postings_max = compared_max.saturating_mul(postings_of_each);
        SearchLimits { postings_max, compared_max, found_max, members_max }
    }

    pub(super) fn goes_by_keys(&self, mode: Mode) -> bool {
        mode != Mode::Exact && !matches!(self.analyser.scheme, Scheme::Prefix(_))
    }

    /// Refuses lookups by keys under which documents are not indexed.
    ///
    /// # Errors
    /// `ThresholdTooLow`.
    pub(crate) fn refuse_unindexed(
        &self,
        threshold: Threshold,
        mode: Mode,
    ) -> Result<(), EngineError> {
        let least = self.settings.scheme.threshold_min;
        match least.filter(|least| threshold < *least && self.goes_by_keys(mode)) {
            Some(least) => {
                Err(EngineError::ThresholdTooLow { threshold: threshold.get(), least: least.get() })
            }
            None => Ok(()),
        }
    }

    /// How many candidates each search for a query may find, ascending. Does not depend on the
    /// limit of the query.
    fn founds_max(&self, query: &ProbeQuery<'_>) -> Vec<usize> {
        let limits = &self.settings.limits;
        let mut founds_max = match query.conditions {
            Some(_) => vec![limits.filtered_max],
            None => vec![CHECKED_AT_ONCE, limits.checked_max, limits.candidates_max],
        };
        founds_max.dedup_by(|next, before| next <= before);
        founds_max
    }

    /// Searches and checks, and repeats both if candidates are removed at the same time.
    /// `looked_up`: the result of the first search, if it is known.
    pub(super) async fn find_by_keys(
        &self,
        query: &ProbeQuery<'_>,
        mut looked_up: Option<Candidates>,
    ) -> Result<FoundMatches, EngineError> {
        let scheme = &self.analyser.scheme;
        let plan = scheme.plan(query.threshold);
        let keys: Cow<'_, [Key]> = match query.keys {
            Some(all) => Cow::Borrowed(plan.keys_of(all)),
            None => scheme.keys(query.sketch().as_bytes(), plan.bands).collect(),
        };
        for attempt in 1.. {
            let looked_up = looked_up.take();
            let (checking, seen) = self.search_and_check(query, &plan, &keys, looked_up).await?;
            if checking.none_gone || attempt == ATTEMPTS_MAX {
                return Ok(FoundMatches {
                    truncated: checking.is_truncated || !checking.none_gone,
                    scored: checking.scored,
                    candidates: seen,
                    expected_recall: match (&query.record, query.mode) {
                        (Some(record), _) => record.expected_recall(&self.analyser),
                        (None, Mode::Estimated) => plan.expected_recall_estimated,
                        (None, _) => plan.expected_recall,
                    },
                    by: FoundBy::Keys,
                });
            }
        }
        unreachable!("the last attempt returns");
    }

    /// Searches for ever more candidates and checks them, until the list of matches is longer than
    /// the limit or ends; also returns the number of distinct sets that share a key.
    async fn search_and_check(
        &self,
        query: &ProbeQuery<'_>,
        plan: &ProbePlan,
        keys: &[Key],
        mut looked_up: Option<Candidates>,
    ) -> Result<(Checking, usize), EngineError> {
        let (mut checking, mut seen) = (Checking::new(&self.settings.limits, query), 0);
        let mut known = HashSet::new();
        for found_max in self.founds_max(query) {
            checking.is_truncated = false;
            let candidates = match looked_up.take() {
                Some(candidates) => candidates,
                None => {
                    let is_wide = query.record.is_some() || checking.is_deceived();
                    let postings_of_each = if is_wide { POSTINGS_OF_WIDE } else { 1 };
                    let limits = self.search_limits(found_max, query.members_max, postings_of_each);
                    let (sketch, fingerprint) = (query.sketch(), query.analysis.fingerprint);
                    let (threshold, least) = (query.threshold, plan.agreeing_min);
                    let search = Search::new(keys, sketch, fingerprint, threshold, least, limits);
                    let mut found = self.backend.candidates(std::slice::from_ref(&search)).await?;
                    found.pop().expect("a search has a result")
                }
            };
            let Candidates { mut found, truncated, are_compared, left_out, in_crowd, .. } =
                candidates;
            seen = candidates.seen;
            charge(1 + seen / cost::SKETCHES)?;
            found.retain(|candidate| known.insert(candidate.fingerprint));
            self.check_blocks(query, found, left_out, &mut checking).await?;
            checking.is_truncated |= match query.record {
                Some(_) => !are_compared || self.may_be_missed(query, &checking.scored, left_out),
                None => truncated,
            };
            let finds_more = match query.record {
                Some(_) => left_out > 0,
                // In a crowd, another search finds hardly any nearer set, unless sets were made to
                // come first.
                None => {
                    let is_in_vain = checking.is_in_vain() && !checking.is_deceived();
                    truncated && !(in_crowd && is_in_vain)
                }
            };
            if !finds_more || checking.is_over(query) {
                break;
            }
        }
        checking.append_rest();
        Ok((checking, seen))
    }
}
