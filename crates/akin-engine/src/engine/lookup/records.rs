//! Records: candidates share a field's key, matches are scored in points.

use std::sync::Arc;

use crate::backend::{Candidate, Member, PreparedDocument, Version};
use crate::document::Content;
use crate::engine::CONTENT_INLINE_BYTES_MAX;
use crate::engine::lookup::ProbeQuery;
use crate::engine::lookup::details::stored;
use crate::engine::lookup::scoring::ScoredCandidates;
use crate::engine::{Analyser, Engine, EngineError, Match, compute_if};
use akin_core::measure::Points;
use akin_core::scheme::{FieldKeys, Threshold};
use akin_core::text::NormalisedFields;
use akin_model::similarity::Similarity;

/// Candidates that are scored at once. With 32 fields of the usual limit's 4 KiB, their fields take
/// 32 MiB of memory.
const RECORDS_AT_ONCE_MAX: usize = 256;

/// The minimum score of a match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MinimumScore {
    /// For records, the minimum points as a share of the most that two records can have.
    pub threshold: Threshold,
    /// For records only.
    pub points: Option<u32>,
}

/// A probe record and the points that its matches must reach.
#[derive(Clone)]
pub(crate) struct RecordQuery {
    fields: Arc<NormalisedFields>,
    pub(super) points_min: u32,
}

impl Engine {
    /// The minimum score of a request, by default the collection's.
    ///
    /// # Errors
    /// `PointsWanted`, `NoPointsWanted`, `PointsOutOfRange`.
    pub(crate) fn minimum_score(
        &self,
        threshold: Option<Threshold>,
        points: Option<u32>,
    ) -> Result<MinimumScore, EngineError> {
        let scheme = &self.settings.scheme;
        if self.analyser.scheme.fields().is_none() {
            let threshold = threshold.unwrap_or(scheme.threshold);
            let minimum = MinimumScore { threshold, points: None };
            return if points.is_none() { Ok(minimum) } else { Err(EngineError::NoPointsWanted) };
        }
        if threshold.is_some() {
            return Err(EngineError::PointsWanted);
        }
        let (points, max) = (points.unwrap_or(scheme.points_min()), scheme.points_max());
        let share = Threshold::new(f64::from(points) / f64::from(max));
        let threshold = share.map_err(|_| EngineError::PointsOutOfRange { points, max })?;
        Ok(MinimumScore { threshold, points: Some(points) })
    }

    pub(crate) fn takes_records(&self) -> bool {
        self.analyser.scheme.fields().is_some()
    }

    /// Refuses operations that are defined by resemblance alone.
    ///
    /// # Errors
    /// `NotForRecords`.
    pub(crate) fn refuse_records(&self) -> Result<(), EngineError> {
        if self.takes_records() { Err(EngineError::NotForRecords) } else { Ok(()) }
    }

    /// Refuses operations that need sets.
    ///
    /// # Errors
    /// `NotForSignatures`.
    pub fn refuse_signatures(&self) -> Result<(), EngineError> {
        if self.analyser.takes_signatures() { Err(EngineError::NotForSignatures) } else { Ok(()) }
    }

    /// The record query of a content; `None` if the collection does not take records.
    ///
    /// # Errors
    /// The errors of [`Analyser::analyse`].
    pub(crate) fn record_query(
        &self,
        content: &Content,
        minimum: MinimumScore,
    ) -> Result<Option<RecordQuery>, EngineError> {
        let Some(points_min) = minimum.points else { return Ok(None) };
        let fields = Arc::new(self.analyser.shingler.fields(content)?);
        Ok(Some(RecordQuery { fields, points_min }))
    }

    /// Scores the candidates' documents and keeps the documents that reach the points. All
    /// documents of a candidate have the same set and so the same fields.
    pub(super) async fn score_records(
        &self,
        query: &ProbeQuery<'_>,
        record: &RecordQuery,
        candidates: &[Candidate],
    ) -> Result<ScoredCandidates, EngineError> {
        let mut checked = ScoredCandidates::default();
        for batch in candidates.chunks(RECORDS_AT_ONCE_MAX) {
            let members =
                |candidate: &Candidate| candidate.members.iter().map(Member::version).collect();
            let groups: Vec<Vec<Version>> = batch.iter().map(members).collect();
            let contents = self.backend.contents(&groups).await?;
            checked.none_gone &= contents.iter().all(Option::is_some);
            let points = self.points(record, contents).await?;
            for (candidate, points) in batch.iter().zip(points) {
                let Some(points) = points else { continue };
                checked.matching += 1;
                let similarity = Similarity::of_records(points);
                let members = candidate.members.iter();
                for member in members.filter(|member| Some(&member.id) != query.own_id) {
                    let (id, similarity) = (member.id.clone(), similarity.clone());
                    let version = Some(stored(member));
                    let found = Match::new(id, similarity, candidate.keys_shared, version);
                    checked.scored.push(found);
                }
            }
        }
        Ok(checked)
    }

    /// Scores a record in flight like a stored one; `None` if it does not reach the points.
    pub(crate) async fn score_rival_record(
        &self,
        query: &ProbeQuery<'_>,
        record: &RecordQuery,
        rival: &PreparedDocument,
    ) -> Result<Option<Match>, EngineError> {
        let content = rival.document.content.clone();
        let points = self.points(record, vec![Some(content)]).await?.pop().flatten();
        let Some(points) = points else { return Ok(None) };
        let (ours, its) = (query.sketch().as_bytes(), rival.analysis.sketch.as_bytes());
        let keys_shared = self.analyser.scheme.tables_shared(ours, its).count() as u32;
        let (id, similarity) = (rival.document.id.clone(), Similarity::of_records(points));
        Ok(Some(Match::new(id, similarity, keys_shared, None)))
    }

    async fn points(
        &self,
        record: &RecordQuery,
        contents: Vec<Option<Content>>,
    ) -> Result<Vec<Option<Points>>, EngineError> {
        let bytes: usize = contents.iter().flatten().map(Content::weight).sum();
        let (analyser, record) = (Arc::clone(&self.analyser), record.clone());
        let score = move || {
            let score = |content: Option<Content>| record.score(&analyser, &content?);
            contents.into_iter().map(score).collect()
        };
        compute_if(bytes > CONTENT_INLINE_BYTES_MAX, score).await
    }
}

impl RecordQuery {
    pub(crate) fn expected_recall(&self, analyser: &Analyser) -> f64 {
        let Self { fields, points_min } = self;
        let expected =
            |scheme: &FieldKeys| scheme.expected_recall(fields, *points_min, analyser.edit_penalty);
        analyser.scheme.fields().map_or(1.0, expected)
    }

    /// `None` if the content does not reach the points.
    fn score(&self, analyser: &Analyser, content: &Content) -> Option<Points> {
        let fields = analyser.shingler.fields(content).ok()?;
        let points = Points::of(&self.fields, &fields, analyser.edit_penalty);
        (points.total() >= self.points_min).then_some(points)
    }
}
