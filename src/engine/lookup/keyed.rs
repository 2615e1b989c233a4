//! Finding by the keys of sketches: candidates are checked in the order in which their sketches
//! agree with the query's, until there are as many matches as are wanted.

use std::cmp::Reverse;

use super::conditions::READ_AT_ONCE;
use super::{Checked, Found, Query};
use crate::backend::{Candidate, Candidates};
use crate::engine::{Engine, EngineError, FoundBy, Mode};
use crate::index::Search;
use crate::scheme::{Key, ProbePlan, Scheme};

/// Candidates checked before it is looked whether they are enough.
const CHECKED_AT_ONCE: usize = 40;

/// A candidate whose documents are gone once its set is read may have been replaced by one as near,
/// so the lookup begins anew, this many times in all.
pub(in crate::engine) const LOOKS_MAX: usize = 4;

impl Engine {
    /// The candidates of each query that goes by keys, looked up all at once; `None` for others,
    /// and if the backend fails, which the lookup of each reports.
    pub(in crate::engine) async fn candidates_of_all(
        &self,
        queries: &[Option<Query<'_>>],
    ) -> Vec<Option<Candidates>> {
        let by_keys = |query: &&Query<'_>| self.goes_by_keys(query);
        let keyed = |query| {
            let plan = self.plan(query);
            (query, plan, self.keys(query, plan))
        };
        let keyed: Vec<_> = queries.iter().flatten().filter(by_keys).map(keyed).collect();
        let search = |(query, plan, keys)| self.search(query, plan, keys, self.few(query));
        let searches: Vec<_> =
            keyed.iter().map(|(query, plan, keys)| search((query, *plan, keys))).collect();
        let found = self.backend.candidates_of_all(&searches).await;
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

    /// Candidates of a first search: one may be the query's own document, and one more tells
    /// whether there are more matches than are wanted.
    fn few(&self, query: &Query<'_>) -> usize {
        let limits = &self.settings.limits;
        let many = match (query.conditions.is_some(), &query.record) {
            (true, _) => limits.filtered_max,
            // Sketches of records rank candidates but rule none out.
            (false, Some(_)) => limits.candidates_max,
            (false, None) => CHECKED_AT_ONCE.min(limits.checked_max),
        };
        many.max(query.limit + 2)
    }

    /// `looked_up`: what [`candidates_of_all`](Self::candidates_of_all) has found.
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
        let mut found_max = self.few(query);
        let mut looks = 1;
        loop {
            let candidates = match looked_up.take() {
                Some(candidates) => candidates,
                None => {
                    let search = self.search(query, plan, &keys, found_max);
                    self.backend.candidates(&search).await?
                }
            };
            let (seen, is_cut) = (candidates.seen, candidates.truncated);
            let checked = self.check_in_order(query, candidates).await?;
            // In a crowd that comes near the threshold but does not reach it, more are checked.
            let more_max = self.settings.limits.checked_max;
            if is_cut && found_max < more_max && checked.scored.len() <= query.limit {
                found_max = more_max;
            } else if checked.none_gone || looks == LOOKS_MAX {
                return Ok(Found {
                    truncated: is_cut || checked.is_cut || !checked.none_gone,
                    scored: checked.scored,
                    candidates: seen,
                    expected_recall,
                    by: FoundBy::Keys,
                });
            } else {
                looks += 1;
            }
        }
    }

    /// Checks the best-agreeing candidates first, and ends with more matches than are wanted.
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
                now = self.members_meeting(conditions, now).await?;
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

    /// Whether a candidate that was left unchecked, or one that agrees less, may belong to the
    /// reported matches: the interval of its estimate reaches the least of them, or the threshold
    /// if there is room. Of records sketches say too little.
    fn may_be_missed(&self, query: &Query<'_>, checked: &Checked, unchecked: &Candidate) -> bool {
        if query.record.is_some() {
            return true;
        }
        let mut reported: Vec<f64> =
            checked.scored.iter().map(|scored| scored.found.resemblance).collect();
        reported.sort_unstable_by(|a, b| b.total_cmp(a));
        let full = query.limit.checked_sub(1).and_then(|last| reported.get(last));
        let least = full.copied().unwrap_or(query.threshold.get());
        self.analyser.estimator.estimate(unchecked.agreeing).interval.1 >= least
    }
}

/// Leaves no more members than there is room for; whether there were more.
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
