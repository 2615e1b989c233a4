//! Records: candidates share a field's key, matches are scored in points.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::backend::{Candidate, Member, PreparedDocument, Version};
use crate::document::{Content, DocumentId};
use crate::engine::analysis::{CONTENT_INLINE_BYTES_MAX, Similarity};
use crate::engine::compare::measures::{Distance, measure};
use crate::engine::lookup::{Checked, MetadataAt, Query, Scored};
use crate::engine::{
    Analyser, CompareOptions, ComparedField, Comparison, Engine, EngineError, ExactResemblance,
    Explanation, Match, PairContainment,
};
use crate::measure::Points;
use crate::scheme::{Fields, Threshold};
use crate::text::NormalisedFields;

/// Candidates whose fields are in memory at once to be scored: at 32 fields of the usual limit's
/// 4 KiB they take 32 MiB.
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
    points_min: u32,
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
    pub(crate) fn refuse_signatures(&self) -> Result<(), EngineError> {
        if self.analyser.takes_signatures() { Err(EngineError::NotForSignatures) } else { Ok(()) }
    }

    /// The record query of a content; `None` if the collection does not take records.
    ///
    /// # Errors
    /// Those of [`Analyser::analyse`].
    pub(crate) fn record_query(
        &self,
        content: &Content,
        minimum: MinimumScore,
    ) -> Result<Option<RecordQuery>, EngineError> {
        let Some(points_min) = minimum.points else { return Ok(None) };
        let fields = Arc::new(self.analyser.shingler.fields(content)?);
        Ok(Some(RecordQuery { fields, points_min }))
    }

    /// Scores the candidates' documents and keeps those that reach the points. All documents of a
    /// candidate have the same set and so the same fields.
    pub(crate) async fn score_records(
        &self,
        query: &Query<'_>,
        record: &RecordQuery,
        candidates: &[Candidate],
    ) -> Result<Checked, EngineError> {
        let mut checked = Checked::default();
        for batch in candidates.chunks(RECORDS_AT_ONCE_MAX) {
            let members =
                |candidate: &Candidate| candidate.members.iter().map(Member::version).collect();
            let groups: Vec<Vec<Version>> = batch.iter().map(members).collect();
            let contents = self.backend.contents(&groups).await?;
            checked.none_gone &= contents.iter().all(Option::is_some);
            let points = self.points(record, contents).await?;
            for (candidate, points) in batch.iter().zip(points) {
                let Some(points) = points else { continue };
                let members = candidate.members.iter();
                for member in members.filter(|member| Some(&member.id) != query.own_id) {
                    let found = match_of(&member.id, &points, candidate.keys_shared);
                    checked.scored.push(Scored {
                        found,
                        ordinal: Some(member.ordinal),
                        metadata: MetadataAt::of(member),
                    });
                }
            }
        }
        Ok(checked)
    }

    /// Scores a record in flight like a stored one; `None` if it does not reach the points.
    pub(crate) async fn score_rival_record(
        &self,
        query: &Query<'_>,
        record: &RecordQuery,
        rival: &PreparedDocument,
    ) -> Result<Option<Scored>, EngineError> {
        let content = rival.document.content.clone();
        let points = self.points(record, vec![Some(content)]).await?.pop().flatten();
        let Some(points) = points else { return Ok(None) };
        let (ours, its) = (query.sketch.as_bytes(), rival.sketch.as_bytes());
        let keys_shared = self.analyser.scheme.tables_shared(ours, its).count() as u32;
        let found = match_of(&rival.document.id, &points, keys_shared);
        let metadata = MetadataAt::Here(rival.document.metadata.clone());
        Ok(Some(Scored { found, ordinal: None, metadata }))
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
        crate::engine::off_runtime_if(bytes > CONTENT_INLINE_BYTES_MAX, score).await
    }
}

impl Analyser {
    pub(crate) fn recall_of_records(&self, record: &RecordQuery) -> f64 {
        let RecordQuery { fields, points_min } = record;
        let expected =
            |scheme: &Fields| scheme.expected_recall(fields, *points_min, self.edit_penalty);
        self.scheme.fields().map_or(1.0, expected)
    }
}

impl RecordQuery {
    /// `None` if the content does not reach the points.
    fn score(&self, analyser: &Analyser, content: &Content) -> Option<Points> {
        let fields = analyser.shingler.fields(content).ok()?;
        let points = Points::of(&self.fields, &fields, analyser.edit_penalty);
        (points.total() >= self.points_min).then_some(points)
    }
}

/// The match of a scored record. Records are compared by their fields, so nothing is estimated.
fn match_of(id: &DocumentId, points: &Points, keys_shared: u32) -> Match {
    let similarity = Similarity {
        resemblance: points.resemblance(),
        estimated: None,
        interval: None,
        exact: Some(points.overlap()),
    };
    Match {
        keys_shared,
        points: Some(points.total()),
        field_points: Some(points.by_field.clone()),
        ..Match::of(id.clone(), similarity)
    }
}

/// Compares two records field by field.
pub(crate) fn compare_records(
    analyser: &Analyser,
    records: &Fields,
    contents: (&Content, &Content),
    options: CompareOptions,
) -> Result<Comparison, EngineError> {
    let (a, b) = contents;
    analyser.check_fields(a)?;
    analyser.check_fields(b)?;
    let mut measures = measure(analyser, contents, options.measures)?;
    let (a, b) = (analyser.shingler.fields(a)?, analyser.shingler.fields(b)?);
    let points = Points::of(&a, &b, analyser.edit_penalty);
    let (sketch_a, sketch_b) = (records.sketch(&a), records.sketch(&b));
    let shared = analyser.scheme.tables_shared(sketch_a.as_bytes(), sketch_b.as_bytes());
    let tables_shared: Vec<u32> = shared.collect();
    let is_candidate = !tables_shared.is_empty();
    let is_enough = points.total() >= analyser.points_min;
    let overlap = points.overlap();
    measures.hamming = options.measures.hamming.then(|| Distance { distance: overlap.hamming() });
    Ok(Comparison {
        estimated: None,
        exact: Some(ExactResemblance::from(overlap)),
        containment: Some(PairContainment::from(overlap)),
        probability_candidate: Some(f64::from(u8::from(is_candidate))),
        probability_reported: f64::from(u8::from(is_candidate && is_enough)),
        measures: measures.if_any(),
        explanation: options.explain.then(|| Explanation {
            bands_shared: tables_shared,
            fields: compared_fields(&a, &b, &points),
            ..Explanation::default()
        }),
        points: Some(points.total()),
        field_points: Some(points.by_field),
    })
}

/// The fields of either record, ordered by name.
fn compared_fields(
    a: &NormalisedFields,
    b: &NormalisedFields,
    points: &Points,
) -> Vec<ComparedField> {
    let names: BTreeSet<&str> = a.iter().chain(b.iter()).map(|(name, _)| name).collect();
    let compared = |name: &str| ComparedField {
        name: name.to_owned(),
        a: a.get(name).map(str::to_owned),
        b: b.get(name).map(str::to_owned),
        points: points.by_field.get(name).copied(),
    };
    names.into_iter().map(compared).collect()
}
