//! Scores earlier documents in flight like stored ones.

use crate::backend::{PreparedDocument, Rival, RivalSearch, Rivals};
use crate::engine::analysis::Similarity;
use crate::engine::lookup::{MetadataAt, Query, SHINGLES_INLINE_MAX, Scored};
use crate::engine::{AddOptions, Engine, EngineError, Match, Mode, OnDuplicate, off_runtime_if};
use crate::measure::Overlap;

/// Rivals scored even if enough matches were found already: the best rivals may be better than
/// those.
const SCORED_MIN: usize = 4;

/// The outcome of scoring rivals.
pub(super) struct Scoring {
    /// Some rivals were not scored, or not found.
    pub truncated: bool,
    /// Near-duplicates that were withdrawn in the end.
    pub withdrawn: usize,
}

impl Engine {
    /// # Errors
    /// `PointsWanted`, `NoPointsWanted`, `PointsOutOfRange`.
    pub(super) fn rival_search(
        &self,
        document: &PreparedDocument,
        options: &AddOptions,
    ) -> Result<Option<RivalSearch>, EngineError> {
        let threshold = self.minimum_score(options.threshold, options.points)?.threshold;
        if !options.needs_search() {
            return Ok(None);
        }
        let (scheme, limits) = (&self.analyser.scheme, &self.settings.limits);
        let rivals_max = match options.on_duplicate {
            // One more shows that there are more than are reported.
            OnDuplicate::Keep => limits.duplicates_max + 1,
            OnDuplicate::Skip => limits.checked_max,
        };
        let keys = scheme.probe_keys(&document.set, &document.sketch, threshold);
        Ok(Some(RivalSearch {
            keys,
            agreeing_min: scheme.plan(threshold).agreeing_min,
            rivals_max,
            lookup: self.lookup_limits_of_added(),
        }))
    }

    /// Adds the rivals that reach the threshold and are stored in the end, as many as may be
    /// reported or are needed to skip the document. Waits for those that may be withdrawn.
    pub(super) async fn score_rivals(
        &self,
        query: &Query<'_>,
        rivals: Rivals,
        on_duplicate: OnDuplicate,
        near: &mut Vec<Scored>,
    ) -> Result<Scoring, EngineError> {
        let mut enough = (near.len() + SCORED_MIN).max(query.limit + 1);
        let shingles = |rival: &Rival| rival.document.set.count() + query.set.count();
        let long = rivals.found.iter().map(shingles).sum::<usize>() > SHINGLES_INLINE_MAX;
        let mut withdrawn = 0;
        let mut rest = rivals.found.into_iter();
        let is_done = |near: &[Scored], enough| match on_duplicate {
            OnDuplicate::Keep => near.len() >= enough,
            OnDuplicate::Skip => near.iter().any(|scored| self.decides(&scored.found)),
        };
        while !is_done(near, enough) {
            let Some(rival) = rest.next() else { break };
            let Some(scored) = self.score_rival(query, &rival.document, long).await? else {
                continue;
            };
            if !rival.was_stored().await {
                withdrawn += 1;
                continue;
            }
            // It may be in the index by now, and must be reported once.
            enough += usize::from(near.iter().any(|other| other.id() == scored.id()));
            near.push(scored);
        }
        Ok(Scoring { truncated: rivals.truncated || rest.len() > 0, withdrawn })
    }

    /// `None` below the threshold. `long`: the work is too long for a runtime thread.
    async fn score_rival(
        &self,
        query: &Query<'_>,
        rival: &PreparedDocument,
        long: bool,
    ) -> Result<Option<Scored>, EngineError> {
        let document = &rival.document;
        if document.expires_at_ms.is_some_and(|at| at <= self.clock.now_ms()) {
            return Ok(None);
        }
        if let Some(record) = &query.record {
            return self.score_rival_record(query, record, rival).await;
        }
        let (ours, its) = (query.sketch.as_bytes(), rival.sketch.as_bytes());
        let Some(similarity) = self.similarity(query, rival, long).await? else { return Ok(None) };
        let found = Match {
            keys_shared: self.analyser.scheme.tables_shared(ours, its).count() as u32,
            ..Match::of(document.id.clone(), similarity)
        };
        let metadata = MetadataAt::Here(document.metadata.clone());
        Ok(Some(Scored { found, ordinal: None, metadata }))
    }

    /// `None` below the threshold.
    async fn similarity(
        &self,
        query: &Query<'_>,
        rival: &PreparedDocument,
        long: bool,
    ) -> Result<Option<Similarity>, EngineError> {
        let (ours, its) = (query.sketch.as_bytes(), rival.sketch.as_bytes());
        let agreeing = self.analyser.estimator.agreeing(ours, its);
        if query.mode == Mode::Estimated {
            let sizes = (query.set.count() as u32, rival.set.count() as u32);
            let estimated = self.analyser.estimated(agreeing, sizes);
            return Ok(Some(estimated).filter(|it| it.resemblance >= query.threshold.get()));
        }
        let Some(overlap) = overlap(query, rival, long).await? else { return Ok(None) };
        let sampling = self.analyser.shingler.sampling();
        let whole = sampling.is_whole(query.set) && sampling.is_whole(&rival.set);
        Ok(Some(self.analyser.verified(overlap, agreeing, whole)))
    }

    /// Whether a document is skipped because of this match. Matches from samples are estimates, and
    /// no document is skipped because of an estimate, unless there is nothing else.
    pub(super) fn decides(&self, found: &Match) -> bool {
        found.exact.is_some() || self.analyser.takes_signatures()
    }
}

async fn overlap(
    query: &Query<'_>,
    rival: &PreparedDocument,
    long: bool,
) -> Result<Option<Overlap>, EngineError> {
    if rival.fingerprint == query.fingerprint && rival.set == *query.set {
        let shingles = query.set.count();
        return Ok(Some(Overlap { shared: shingles, a: shingles, b: shingles }));
    }
    let (ours, its, threshold) = (query.set.clone(), rival.set.clone(), query.threshold.get());
    off_runtime_if(long, move || Overlap::reaching(&ours, &its, threshold)).await
}
