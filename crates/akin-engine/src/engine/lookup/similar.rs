//! The operation `similar`: the near-duplicates of a probe.

use crate::backend::Sketched;
use crate::background::request::charge;
use crate::document::{Content, DocumentId};
use crate::engine::CONTENT_INLINE_BYTES_MAX;
use crate::engine::lookup::charging;
use crate::engine::lookup::records::{MinimumScore, RecordQuery};
use crate::engine::lookup::{PageRange, ProbeQuery};
use crate::engine::{
    Analysis, Answer, Engine, EngineError, FoundBy, Lookup, Mode, Probe, Reach, compute_if,
};
use crate::stored::Detail;
use akin_core::scheme::Scheme;
use akin_core::text::ShingleSet;

impl Engine {
    /// The near-duplicates of a content or of a stored document, or the `k` documents that are most
    /// similar to it, however unlike; without the stored document itself. Matches
    /// have no details: [`Engine::read_details`] reads them.
    ///
    /// # Errors
    /// `DocumentNotFound`, `UnsupportedMode`, `Unsupported`, `PassagesOff`,
    /// `PointsWanted`, `NoPointsWanted`, `PointsOutOfRange`, `ThresholdTooLow`, `OverBudget`,
    /// `OutOfService`, `Store`, and the errors of
    /// [`Analyser::analyse`](crate::engine::Analyser::analyse).
    pub async fn similar(&self, probe: Probe, lookup: Lookup) -> Result<Answer, EngineError> {
        if let Some(of) = lookup.contained {
            return Box::pin(self.similar_by_containment(probe, &lookup, of)).await;
        }
        let lookup = match (lookup.k, &self.analyser.nearest) {
            (Some(k), Some(plan)) => {
                return Box::pin(self.most_similar(probe, &lookup, k.get(), plan)).await;
            }
            // Records that agree in no field are not comparable by sketches.
            (Some(k), None) => Lookup { points: Some(1), limit: k.get(), ..lookup },
            (None, _) => lookup,
        };
        let mode = self.mode_of(lookup.mode)?;
        let (page, conditions) = (PageRange::from(&lookup), &lookup.conditions);
        let minimum = self.minimum_score(lookup.threshold, lookup.points)?;
        self.refuse_unindexed(minimum.threshold, mode)?;
        let (analysis, record) = self.analyse_query(&probe, minimum).await?;
        let query = ProbeQuery {
            own_id: probe.id(),
            threshold: minimum.threshold,
            record,
            limit: page.end(),
            conditions: (!conditions.is_empty()).then_some(conditions),
            ..ProbeQuery::of(&analysis, mode, self.members_max(conditions))
        };
        let mut found = self.find(&query, None).await?;
        // Keyed lookups filter their candidates before verifying them.
        if found.by != FoundBy::Keys {
            self.keep_meeting(&mut found, page, conditions).await?;
        }
        let (MinimumScore { threshold, points }, expected_recall) =
            (minimum, found.expected_recall);
        let reach = match points {
            Some(points) => Reach::Points { points, expected_recall },
            None => Reach::Threshold { threshold, expected_recall },
        };
        Self::answer(found, page, (mode, reach))
    }

    /// The set of a probe, by which [`Engine::read_details`] finds the parts that matches share.
    /// Whether there can be such parts is known before the search, so it does not depend on the
    /// matches, and breaks off no answer.
    ///
    /// # Errors
    /// `NoTextsToHighlight`, and the errors of [`Engine::similar`].
    pub async fn set_of(&self, probe: &Probe) -> Result<ShingleSet, EngineError> {
        if !self.settings.store.text {
            return Err(EngineError::NoTextsToHighlight);
        }
        let analysis = match probe {
            Probe::Stored(id) => {
                self.stored(id).await?.ok_or_else(|| EngineError::not_found(id))?
            }
            Probe::Content(content) => {
                charge(charging::of_content(content))?;
                self.analyse_content(content).await?
            }
        };
        Ok(analysis.set)
    }

    /// The mode of a request, by default the scheme's. Prefix schemes have no keys of sketches to
    /// estimate by, records are compared only by their fields, and signatures have no sets.
    pub(crate) fn mode_of(&self, mode: Option<Mode>) -> Result<Mode, EngineError> {
        let refused = |served| Err(EngineError::UnsupportedMode { served });
        match (&self.analyser.scheme, mode) {
            _ if self.analyser.takes_signatures() => match mode {
                None | Some(Mode::Estimated) => Ok(Mode::Estimated),
                Some(Mode::Verified | Mode::Exact) => {
                    refused("estimated in a collection of signatures")
                }
            },
            (Scheme::Prefix(_), None) => Ok(Mode::Exact),
            (Scheme::Prefix(_), Some(Mode::Estimated)) => {
                refused("exact or verified in a collection of the kind prefix")
            }
            (Scheme::Fields(_), Some(Mode::Exact | Mode::Estimated)) => {
                refused("verified in a collection of records")
            }
            (_, mode) => Ok(mode.unwrap_or_default()),
        }
    }

    /// The analysis of a stored document; `None` if the id does not exist.
    pub(crate) async fn stored(&self, id: &DocumentId) -> Result<Option<Analysis>, EngineError> {
        let mut found = self.backend.sketched(std::slice::from_ref(id)).await?;
        let Some(Sketched { candidate, sketch }) = found.pop().flatten() else { return Ok(None) };
        let mut sets = self.backend.sets(std::slice::from_ref(&candidate)).await?;
        let analysis = |set| Analysis::stored(set, candidate.fingerprint, sketch);
        Ok(sets.pop().flatten().map(analysis))
    }

    /// Analyses a large content off the runtime's thread.
    pub(crate) async fn analyse_content(&self, content: &Content) -> Result<Analysis, EngineError> {
        if content.weight() <= CONTENT_INLINE_BYTES_MAX {
            return Ok(self.analyser.analyse(content)?);
        }
        let (analyser, content) = (self.analyser.clone(), content.clone());
        Ok(compute_if(true, move || analyser.analyse(&content)).await??)
    }

    /// The probe's analysis and, of a record, its fields, which the scores of other records need.
    pub(super) async fn analyse_query(
        &self,
        probe: &Probe,
        minimum: MinimumScore,
    ) -> Result<(Analysis, Option<RecordQuery>), EngineError> {
        let analysis = match probe {
            Probe::Stored(id) if self.takes_records() => {
                let record = self.backend.record(id, Detail::All).await?;
                let record = record.ok_or_else(|| EngineError::not_found(id))?;
                let not_kept = || EngineError::TextNotKept { id: id.clone() };
                let content = record.content.ok_or_else(not_kept)?;
                let analysis = self.analyser.analyse(&content)?;
                return Ok((analysis, self.record_query(&content, minimum)?));
            }
            Probe::Stored(id) => {
                self.stored(id).await?.ok_or_else(|| EngineError::not_found(id))?
            }
            Probe::Content(content) => {
                charge(charging::of_content(content))?;
                let analysis = self.analyse_content(content).await?;
                return Ok((analysis, self.record_query(content, minimum)?));
            }
        };
        Ok((analysis, None))
    }
}

impl Probe {
    pub(super) fn id(&self) -> Option<&DocumentId> {
        match self {
            Self::Stored(id) => Some(id),
            Self::Content(_) => None,
        }
    }
}
