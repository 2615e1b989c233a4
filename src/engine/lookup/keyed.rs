//! Lookups by the keys of sketches: candidates are verified in descending order of the slots in
//! which their sketches agree with the query's, until the limit of matches is reached.

use std::cmp::Reverse;

use super::conditions::READ_AT_ONCE;
use super::{Checked, Found, Query};
use crate::backend::{Candidate, Candidates, LookupLimits};
use crate::engine::{Engine, EngineError, FoundBy, Mode};
use crate::index::Search;
use crate::scheme::{Key, ProbePlan, Scheme};

/// Candidates verified per round, before the number of matches is compared with the limit.
const CHECKED_AT_ONCE: usize = 40;

/// Attempts at a lookup, the first included. It is repeated when a candidate's documents are
/// removed before its set is read, as they may have been replaced by equally similar ones.
pub(crate) const ATTEMPTS_MAX: usize = 4;

impl Engine {
    /// Searches the candidates of all keyed queries in one batch; `None` for other queries. If the
    /// backend fails, all are `None`, and each query's own lookup reports the error.
    pub(crate) async fn candidates_of_all(
        &self,
        queries: &[Option<Query<'_>>],
    ) -> Vec<Option<Candidates>> {
        let by_keys = |query: &&Query<'_>| self.goes_by_keys(query);
        let keyed = |query| {
            let plan = self.plan(query);
            (query, plan, self.keys(query, plan))
        };
        let keyed: Vec<_> = queries.iter().flatten().filter(by_keys).map(keyed).collect();
        let search =
            |(query, plan, keys)| self.search(query, plan, keys, self.found_max_at_first(query));
        let searches: Vec<_> =
            keyed.iter().map(|(query, plan, keys)| search((query, *plan, keys))).collect();
        let found = self.backend.candidates(&searches).await;
        let mut found = found.unwrap_or_default().into_iter();
        let candidates =
            |query: &Option<Query<'_>>| query.as_ref().filter(by_keys).and_then(|_| found.next());
        queries.iter().map(candidates).collect()
    }

    pub(super) fn goes_by_keys(&self, query: &Query<'_>) -> bool {
        query.mode != Mode::Exact && !matches!(self.analyser.scheme, Scheme::Prefix(_))
    }

    fn plan(&self, query: &Query<'_>) -> ProbePlan {
        self.analyser.scheme.plan(query.threshold)
    }

    fn keys(&self, query: &Query<'_>, plan: ProbePlan) -> Vec<Key> {
        self.analyser.scheme.keys(query.sketch.as_bytes(), plan.bands).collect()
    }

    fn search<'a>(
        &self,
        query: &Query<'a>,
        plan: ProbePlan,
        keys: &'a [Key],
        found_max: usize,
    ) -> Search<'a> {
        Search {
            keys,
            sketch: query.sketch,
            fingerprint: query.fingerprint,
            agreeing_min: plan.agreeing_min,
            postings_max: self.settings.limits.candidates_max.max(found_max),
            found_max,
            members_max: query.members_max,
        }
    }

    /// Candidates of the first search: two more than the limit, as one may be the query's own
    /// document and another shows that there are more matches.
    fn found_max_at_first(&self, query: &Query<'_>) -> usize {
        let limits = &self.settings.limits;
        let many = match (query.conditions.is_some(), &query.record) {
            (true, _) => limits.filtered_max,
            // Sketches of records rank candidates but rule none out.
            (false, Some(_)) => limits.candidates_max,
            (false, None) => CHECKED_AT_ONCE.min(limits.checked_max),
        };
        many.max(query.limit + 2)
    }

    /// The limits of the first search for a document that is added; `None` if its candidates are
    /// not those under the keys by which rivals are found.
    pub(crate) fn lookup_limits_of_added(&self) -> Option<LookupLimits> {
        if self.takes_records() || matches!(self.analyser.scheme, Scheme::Prefix(_)) {
            return None;
        }
        let (limits, limit) = (&self.settings.limits, self.settings.limits.duplicates_max);
        let found_max = CHECKED_AT_ONCE.min(limits.checked_max).max(limit + 2);
        let postings_max = limits.candidates_max.max(found_max);
        Some(LookupLimits { postings_max, found_max, members_max: limit + 1 })
    }

    /// `looked_up`: the query's result of [`candidates_of_all`](Self::candidates_of_all), if any.
    pub(super) async fn find_by_keys(
        &self,
        query: &Query<'_>,
        mut looked_up: Option<Candidates>,
    ) -> Result<Found, EngineError> {
        let plan = self.plan(query);
        let keys = self.keys(query, plan);
        let expected_recall = match (&query.record, query.mode) {
            (Some(record), _) => self.analyser.recall_of_records(record),
            (None, Mode::Estimated) => plan.expected_recall_estimated,
            (None, _) => plan.expected_recall,
        };
        let mut found_max = self.found_max_at_first(query);
        let mut attempt = 1;
        loop {
            let candidates = match looked_up.take() {
                Some(candidates) => candidates,
                None => {
                    let search = self.search(query, plan, &keys, found_max);
                    let mut found = self.backend.candidates(std::slice::from_ref(&search)).await?;
                    found.pop().expect("a search has a result")
                }
            };
            let (seen, is_cut) = (candidates.seen, candidates.truncated);
            let checked = self.check_in_order(query, candidates).await?;
            // Many candidates just below the threshold: search again for more of them.
            let more_max = self.settings.limits.checked_max;
            if is_cut && found_max < more_max && checked.scored.len() <= query.limit {
                found_max = more_max;
            } else if checked.none_gone || attempt == ATTEMPTS_MAX {
                return Ok(Found {
                    truncated: is_cut || checked.is_cut || !checked.none_gone,
                    scored: checked.scored,
                    candidates: seen,
                    expected_recall,
                    by: FoundBy::Keys,
                });
            } else {
                attempt += 1;
            }
        }
    }

    /// Verifies candidates, those whose sketches agree best first, until there are more matches
    /// than the limit.
    async fn check_in_order(
        &self,
        query: &Query<'_>,
        Candidates { mut found, .. }: Candidates,
    ) -> Result<Checked, EngineError> {
        found
            .sort_unstable_by_key(|candidate| (Reverse(candidate.agreeing), candidate.fingerprint));
        let usual = if query.conditions.is_some() { READ_AT_ONCE } else { CHECKED_AT_ONCE };
        let at_once = usual.max(query.limit + 2);
        let mut to_check = self.settings.limits.checked_max.max(at_once);
        let mut to_filter = self.settings.limits.filtered_max;
        let mut is_filter_cut = false;
        let mut checked = Checked::default();
        let mut rest = found.into_iter();
        while checked.scored.len() <= query.limit && to_check > 0 && rest.len() > 0 {
            let mut now: Vec<Candidate> = rest.by_ref().take(at_once.min(to_check)).collect();
            if let Some(conditions) = query.conditions {
                is_filter_cut |= cut_members(&mut now, &mut to_filter);
                now = self.members_matching(conditions, now, query.memory).await?;
            }
            to_check = to_check.saturating_sub(now.len());
            let next = self.score(query, now).await?;
            checked.scored.extend(next.scored);
            checked.none_gone &= next.none_gone;
        }
        checked.is_cut = is_filter_cut
            || rest.next().is_some_and(|best| self.may_be_missed(query, &checked, &best));
        Ok(checked)
    }

    async fn score(
        &self,
        query: &Query<'_>,
        candidates: Vec<Candidate>,
    ) -> Result<Checked, EngineError> {
        match (&query.record, query.mode) {
            (Some(record), _) => self.score_records(query, record, &candidates).await,
            (None, Mode::Estimated) => Ok(self.estimate(query, &candidates)),
            (None, _) => self.verify(query, candidates).await,
        }
    }

    /// Whether an unchecked candidate, or one that agrees in fewer slots, may belong to the
    /// reported matches: the upper bound of its estimate reaches the lowest of them, or the
    /// threshold while there are fewer than the limit. Sketches of records cannot rule that out.
    fn may_be_missed(&self, query: &Query<'_>, checked: &Checked, unchecked: &Candidate) -> bool {
        if query.record.is_some() {
            return true;
        }
        let mut reported: Vec<f64> =
            checked.scored.iter().map(|scored| scored.found.resemblance).collect();
        reported.sort_unstable_by(|a, b| b.total_cmp(a));
        let full = query.limit.checked_sub(1).and_then(|last| reported.get(last));
        let lowest = full.copied().unwrap_or(query.threshold.get());
        self.analyser.estimator.estimate(unchecked.agreeing).interval.1 >= lowest
    }
}

/// Keeps at most `room` members of the candidates; returns whether any were cut.
fn cut_members(candidates: &mut Vec<Candidate>, room: &mut usize) -> bool {
    let mut is_cut = false;
    candidates.retain_mut(|candidate| {
        is_cut |= candidate.members.len() > *room;
        candidate.members.truncate(*room);
        *room -= candidate.members.len();
        !candidate.members.is_empty()
    });
    is_cut
}
