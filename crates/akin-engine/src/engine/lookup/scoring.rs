//! Scores candidates: exactly by their sets, by their sketches, or in points of records.

use std::cmp::Ordering;

use super::charging;
use super::details::stored;
use super::{ProbeQuery, SHINGLES_INLINE_MAX};
use crate::backend::{Candidate, SHINGLES_AT_ONCE_MAX};
use crate::background::request::charge;
use crate::engine::{Engine, EngineError, Match, Mode, compute_if};
use akin_core::measure::Overlap;
use akin_core::scheme::Threshold;
use akin_core::text::ShingleSet;
use akin_model::similarity::{MatchContainment, Similarity};

/// The result of verifying candidates.
pub(super) struct ScoredCandidates {
    pub scored: Vec<Match>,
    /// Every candidate's set could be read: none was removed in the meantime.
    pub none_gone: bool,
    /// The number of candidates that match.
    pub matching: usize,
}

impl Default for ScoredCandidates {
    fn default() -> Self {
        Self { scored: Vec::new(), none_gone: true, matching: 0 }
    }
}

impl Engine {
    /// The candidates' documents that reach the threshold or the points of the query.
    pub(super) async fn score(
        &self,
        query: &ProbeQuery<'_>,
        candidates: Vec<Candidate>,
    ) -> Result<ScoredCandidates, EngineError> {
        match (&query.record, query.mode) {
            (Some(record), _) => {
                charge(candidates.len())?;
                Box::pin(self.score_records(query, record, &candidates)).await
            }
            (None, Mode::Estimated) => Ok(self.estimate(query, &candidates)),
            (None, _) => self.verify(query, candidates).await,
        }
    }

    pub(super) async fn verify(
        &self,
        query: &ProbeQuery<'_>,
        mut candidates: Vec<Candidate>,
    ) -> Result<ScoredCandidates, EngineError> {
        let (shingles, threshold) = (query.set().count(), query.threshold.get());
        let mut checked = ScoredCandidates::default();
        candidates.retain(|candidate| {
            Overlap::can_reach(shingles, candidate.shingles as usize, threshold)
        });
        let mut rest = &candidates[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(fitting(rest));
            rest = later;
            charge(charging::of_verifying(shingles, now))?;
            let sets = self.backend.sets(now).await?;
            checked.none_gone &= sets.iter().all(Option::is_some);
            let overlaps = overlaps(query.set(), sets, query.threshold).await?;
            for (candidate, overlap) in now.iter().zip(overlaps) {
                let Some(overlap) = overlap else { continue };
                let similarity = self.analyser.verified(overlap, candidate.agreeing);
                checked.matching += 1;
                score_members(query, candidate, &similarity, &mut checked.scored);
            }
        }
        Ok(checked)
    }

    fn estimate(&self, query: &ProbeQuery<'_>, candidates: &[Candidate]) -> ScoredCandidates {
        let mut checked = ScoredCandidates::default();
        for candidate in candidates {
            let similarity = self.analyser.estimated_reaching(candidate.agreeing, query.threshold);
            if let Some(similarity) = similarity {
                checked.matching += 1;
                score_members(query, candidate, &similarity, &mut checked.scored);
            }
        }
        checked
    }
}

/// A scored match for each member of the candidate but the probe itself.
pub(super) fn score_members(
    query: &ProbeQuery<'_>,
    candidate: &Candidate,
    similarity: &Similarity<MatchContainment>,
    scored: &mut Vec<Match>,
) {
    let others = candidate.members.iter().filter(|member| Some(&member.id) != query.own_id);
    let keys_shared = candidate.keys_shared;
    scored.extend(others.map(|member| {
        Match::new(member.id.clone(), similarity.clone(), keys_shared, Some(stored(member)))
    }));
}

/// How many of the candidates, at least one, are checked at once.
fn fitting(candidates: &[Candidate]) -> usize {
    let mut shingles = 0;
    let fits = |candidate: &&Candidate| {
        shingles += candidate.shingles as usize;
        shingles <= SHINGLES_AT_ONCE_MAX
    };
    candidates.iter().take_while(fits).count().max(1)
}

/// The overlap of each set that reaches the threshold.
pub(crate) async fn overlaps(
    probe: &ShingleSet,
    sets: Vec<Option<ShingleSet>>,
    threshold: Threshold,
) -> Result<Vec<Option<Overlap>>, EngineError> {
    let shingles: usize = sets.iter().flatten().map(|set| set.count() + probe.count()).sum();
    let probe = probe.clone();
    let check = move || {
        let reaching = |set: Option<ShingleSet>| Overlap::reaching(&probe, &set?, threshold.get());
        sets.into_iter().map(reaching).collect()
    };
    compute_if(shingles > SHINGLES_INLINE_MAX, check).await
}

/// Sorts by falling points if documents are records, then by falling resemblance, then by id.
pub(crate) fn put_in_order(scored: &mut [Match]) {
    scored.sort_unstable_by(in_order);
}

/// Puts the first `count` matches of that order in their places, and all other matches behind.
pub(super) fn put_first_in_order(scored: &mut [Match], count: usize) {
    if count >= scored.len() {
        return put_in_order(scored);
    }
    scored.select_nth_unstable_by(count, in_order);
    put_in_order(&mut scored[..count]);
}

/// By points, by resemblance, then by id.
fn in_order(a: &Match, b: &Match) -> Ordering {
    let by_points = b.similarity.points().cmp(&a.similarity.points());
    let by_resemblance = || b.resemblance().total_cmp(&a.resemblance());
    by_points.then_with(by_resemblance).then_with(|| a.id.cmp(&b.id))
}
