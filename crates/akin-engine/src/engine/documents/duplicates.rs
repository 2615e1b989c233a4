//! The near-duplicates of a document that is added: stored documents, and earlier documents in
//! flight (rivals), which are scored like stored ones.

use async_trait::async_trait;
use parking_lot::Mutex;

use super::add::DocumentToAdd;
use crate::backend::{
    Check, EarlierWrite, Findings, PreparedDocument, Rival, RivalSearch, Rivals, Sketched, Verdict,
};
use crate::background::request;
use crate::document::DocumentId;
use crate::engine::lookup::{PageRange, ProbeQuery, SHINGLES_INLINE_MAX, put_in_order};
use crate::engine::{
    AddOptions, AddStatus, Added, Engine, EngineError, Match, Mode, Note, OnDuplicate, compute_if,
};
use akin_core::measure::Overlap;

/// Rivals scored even if enough matches were found already: the best rivals may be better than
/// these matches.
const SCORED_MIN: usize = 4;

/// The documents of a call, and the findings for each.
pub(super) struct Checks {
    pub engine: Engine,
    pub documents: Vec<DocumentToAdd>,
    /// The result of each document as if it were not stored; `None` if it was not checked.
    pub checked: Mutex<Vec<Option<Result<Added, EngineError>>>>,
}

#[async_trait]
impl Check for Checks {
    async fn check(&self, number: usize, found: Findings<'_>) -> Verdict {
        let (document, options) = &self.documents[number];
        let check = self.engine.check(document, options, found);
        let (verdict, checked) = match request::within(options.memory.clone(), check).await {
            Ok((Verdict::Again, _)) => return Verdict::Again,
            Ok((verdict, added)) => (verdict, Ok(added)),
            Err(error) => (Verdict::Withdraw, Err(error)),
        };
        self.checked.lock()[number] = Some(checked);
        verdict
    }
}

impl Engine {
    /// The search for rivals when the document arrives.
    ///
    /// # Errors
    /// `PointsWanted`, `NoPointsWanted`, `PointsOutOfRange`, `ThresholdTooLow`.
    pub(super) fn rival_search(
        &self,
        document: &PreparedDocument,
        options: &AddOptions,
    ) -> Result<Option<RivalSearch>, EngineError> {
        let threshold = self.minimum_score(options.threshold, options.points)?.threshold;
        if !options.needs_search() {
            return Ok(None);
        }
        self.refuse_unindexed(threshold, Mode::Verified)?;
        let (scheme, limits) = (&self.analyser.scheme, &self.settings.limits);
        let rivals_max = match options.on_duplicate {
            // A rival beyond the limit shows that there are more than are reported.
            OnDuplicate::Keep if !self.takes_records() => limits.duplicates_max + 1,
            OnDuplicate::Keep | OnDuplicate::Skip => limits.checked_max,
        };
        Ok(Some(RivalSearch {
            keys: scheme.probe_keys(&document.analysis.set, &document.keys, threshold),
            agreeing_min: scheme.plan(threshold).agreeing_min,
            threshold,
            rivals_max,
            candidates: self.search_limits_of_added(),
        }))
    }

    /// Looks for what the options of the document ask for, and decides. The result is that of a
    /// document that is not stored.
    async fn check(
        &self,
        document: &PreparedDocument,
        options: &AddOptions,
        mut found: Findings<'_>,
    ) -> Result<(Verdict, Added), EngineError> {
        let (mut verdict, mut added) = self.check_duplicates(document, options, &mut found).await?;
        let Some(check) = options.passages else { return Ok((verdict, added)) };
        let is_searched = match verdict {
            Verdict::Store => true,
            Verdict::Replace => self.replaces(document, &found).await?,
            Verdict::Withdraw | Verdict::Again => false,
        };
        if is_searched {
            // Boxed like all that is seldom done: the future of an addition is moved several times.
            let passages = Box::pin(self.passages_at_arrival(document, &found, check)).await?;
            if check.on_contained == OnDuplicate::Skip && !passages.matches.is_empty() {
                let ids: Vec<DocumentId> =
                    passages.matches.iter().map(|found| found.id.clone()).collect();
                let earlier = found.earlier_writes(&ids).unwrap_or_default();
                if !earlier.is_empty() && earlier.iter().all(Option::is_some) {
                    wait_for(earlier).await;
                    return Ok((Verdict::Again, added));
                }
                verdict = Verdict::Replace;
            }
            added.passages = Some(passages);
        }
        Ok((verdict, added))
    }

    /// Whether the id of a document is stored, once its earlier versions are stored or withdrawn.
    async fn replaces(
        &self,
        document: &PreparedDocument,
        found: &Findings<'_>,
    ) -> Result<bool, EngineError> {
        found.wait_for_earlier_versions().await;
        let id = std::slice::from_ref(&document.document.id);
        Ok(self.backend.sketched(id).await?.pop().flatten().is_some())
    }

    /// Looks up the document's near-duplicates among the candidates and its rivals.
    async fn check_duplicates(
        &self,
        prepared: &PreparedDocument,
        options: &AddOptions,
        found: &mut Findings<'_>,
    ) -> Result<(Verdict, Added), EngineError> {
        let mut added = Added {
            id: prepared.document.id.clone(),
            status: AddStatus::Skipped,
            duplicates: Vec::new(),
            shingles: prepared.analysis.set.count(),
            notes: Note::of(prepared.analysis.whole_document),
            previous: None,
            cluster: None,
            more: false,
            truncated: false,
            passages: None,
        };
        if !options.needs_search() {
            return Ok((Verdict::Store, added));
        }
        let minimum = self.minimum_score(options.threshold, options.points)?;
        let query = ProbeQuery {
            analysis: &prepared.analysis,
            keys: Some(&prepared.keys),
            own_id: Some(&prepared.document.id),
            threshold: minimum.threshold,
            mode: if self.analyser.takes_signatures() { Mode::Estimated } else { Mode::Verified },
            limit: self.settings.limits.duplicates_max,
            conditions: None,
            record: self.record_query(&prepared.document.content, minimum)?,
            members_max: self.members_of_added(),
        };
        let skips = options.on_duplicate == OnDuplicate::Skip;
        let matches = self.find(&query, found.candidates.take()).await?;
        let mut scored = matches.scored;
        let was_cut = scored.len() > query.limit;
        if !skips && !scored.is_empty() {
            let reporters = found.reporters();
            scored.retain(|of| !reporters.contains(&of.id));
            // The lookup ended at the limit, and documents beyond it were not scored.
            added.truncated = was_cut && scored.len() <= query.limit;
        }
        let rivals = std::mem::take(&mut found.rivals);
        let (is_truncated, withdrawn) =
            self.score_rivals(&query, rivals, skips, &mut scored).await?;
        // All near-duplicates in flight were withdrawn: a new search may find more.
        if skips && scored.is_empty() && is_truncated && withdrawn > 0 {
            return Ok((Verdict::Again, added));
        }
        if skips && !scored.is_empty() && self.are_replaced(&scored, found).await? {
            return Ok((Verdict::Again, added));
        }
        put_in_order(&mut scored);
        (added.duplicates, added.more) = Self::page(scored, PageRange::first(query.limit))?;
        added.truncated |= is_truncated || matches.truncated;
        let is_near = skips && !added.duplicates.is_empty();
        Ok((if is_near { Verdict::Replace } else { Verdict::Store }, added))
    }

    /// Whether none of these documents stays as it was found: earlier writes replace or remove all
    /// of them. Waits for these writes.
    async fn are_replaced(
        &self,
        scored: &[Match],
        found: &Findings<'_>,
    ) -> Result<bool, EngineError> {
        let ids: Vec<DocumentId> = scored.iter().map(|of| of.id.clone()).collect();
        // First, as a write that has ended since shows in the stored versions.
        let Some(earlier) = found.earlier_writes(&ids) else { return Ok(false) };
        let stored = self.backend.sketched(&ids).await?;
        let stays = |((scored, earlier), now): ((&Match, &Option<_>), Option<Sketched>)| {
            let version = now.map(|now| now.candidate.members[0].ordinal);
            earlier.is_none() && version == scored.stored.map(|stored| stored.ordinal)
        };
        if scored.iter().zip(&earlier).zip(stored).any(stays) {
            return Ok(false);
        }
        wait_for(earlier).await;
        Ok(true)
    }

    /// Adds the rivals that reach the threshold and are stored in the end, as many as may be
    /// reported, or are needed to skip the document if it is skipped for a near-duplicate
    /// (`skips`). Waits for rivals that may be withdrawn. Returns whether some rivals were not
    /// scored, or not found, and how many near-duplicates were withdrawn in the end.
    async fn score_rivals(
        &self,
        query: &ProbeQuery<'_>,
        rivals: Rivals,
        skips: bool,
        near: &mut Vec<Match>,
    ) -> Result<(bool, usize), EngineError> {
        let mut enough = match &query.record {
            _ if skips => 1,
            // The order of the upper bounds says little of the order of the points.
            Some(_) => usize::MAX,
            None => (near.len() + SCORED_MIN).max(query.limit + 1),
        };
        let shingles = |rival: &Rival| rival.document.analysis.set.count() + query.set().count();
        let is_long = rivals.found.iter().map(shingles).sum::<usize>() > SHINGLES_INLINE_MAX;
        let mut withdrawn = 0;
        let mut rest = rivals.found.into_iter();
        while near.len() < enough {
            let Some(rival) = rest.next() else { break };
            let Some(scored) = self.score_rival(query, &rival.document, is_long).await? else {
                continue;
            };
            if !rival.was_stored().await {
                withdrawn += 1;
                continue;
            }
            // It may be in the index by now, and must be reported once.
            let is_known = near.iter().any(|other| other.id == scored.id);
            enough = enough.saturating_add(usize::from(is_known));
            near.push(scored);
        }
        Ok((rivals.truncated || rest.len() > 0, withdrawn))
    }

    /// `None` below the threshold. `is_long`: the work is too long for a runtime thread.
    async fn score_rival(
        &self,
        query: &ProbeQuery<'_>,
        rival: &PreparedDocument,
        is_long: bool,
    ) -> Result<Option<Match>, EngineError> {
        let document = &rival.document;
        if document.expires_at_ms.is_some_and(|at| at <= self.clock.now_ms()) {
            return Ok(None);
        }
        if let Some(record) = &query.record {
            return self.score_rival_record(query, record, rival).await;
        }
        let (ours, its) = (query.analysis.sketch.as_bytes(), rival.analysis.sketch.as_bytes());
        let agreeing = self.analyser.estimator.agreeing(ours, its);
        let similarity = match query.mode {
            Mode::Estimated => self.analyser.estimated_reaching(agreeing, query.threshold),
            Mode::Verified | Mode::Exact => {
                let overlap = overlap(query, rival, is_long).await?;
                overlap.map(|overlap| self.analyser.verified(overlap, agreeing))
            }
        };
        Ok(similarity.map(|similarity| {
            let keys_shared = self.analyser.scheme.tables_shared(ours, its).count() as u32;
            Match::new(document.id.clone(), similarity, keys_shared, None)
        }))
    }
}

async fn wait_for(writes: Vec<Option<EarlierWrite>>) {
    for write in writes.into_iter().flatten() {
        write.ended().await;
    }
}

/// `None` below the threshold.
async fn overlap(
    query: &ProbeQuery<'_>,
    rival: &PreparedDocument,
    is_long: bool,
) -> Result<Option<Overlap>, EngineError> {
    let (ours, its) = (query.analysis, &rival.analysis);
    if its.fingerprint == ours.fingerprint && its.set == ours.set {
        let shingles = ours.set.count();
        return Ok(Some(Overlap { shared: shingles, a: shingles, b: shingles }));
    }
    let (ours, its, threshold) = (ours.set.clone(), its.set.clone(), query.threshold.get());
    compute_if(is_long, move || Overlap::reaching(&ours, &its, threshold)).await
}

impl AddOptions {
    /// Whether near-duplicates must be searched.
    fn needs_search(&self) -> bool {
        self.check || self.on_duplicate == OnDuplicate::Skip
    }
}
