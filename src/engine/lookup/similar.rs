//! The operations `similar` and `compare`.

use crate::backend::Sketched;
use crate::budget::Reservation;
use crate::document::{Content, DocumentId};
use crate::engine::analysis::CONTENT_INLINE_BYTES_MAX;
use crate::engine::compare::{Side, compare_sides};
use crate::engine::lookup::records::{MinimumScore, RecordQuery};
use crate::engine::lookup::{Page, Query, put_in_order, reserve};
use crate::engine::{
    Analysis, Answer, CompareOptions, Comparison, Conditions, Engine, EngineError, FoundBy, Lookup,
    Mode, Probe,
};
use crate::scheme::Scheme;
use crate::storage::Record;

/// Texts whose lengths have a higher product are compared character by character off the runtime's
/// thread: it takes about a millisecond.
const PRODUCT_INLINE_MAX: u64 = 10_000_000;

/// Memory of a comparison for each byte of content, or shingle: the content, the set of eight bytes
/// a shingle, and the words that bags count.
const COMPARED_BYTES: usize = 16;

/// With an explanation: the passages, too, each of two offsets in every text.
const EXPLAINED_BYTES: usize = 32;

impl Engine {
    /// The near-duplicates of a content, or of a stored document, which is itself left out.
    ///
    /// # Errors
    /// `DocumentNotFound`, `UnsupportedMode`, `PointsWanted`, `NoPointsWanted`,
    /// `PointsOutOfRange`, `OutOfService`, `Store`, and those of
    /// [`Analyser::analyse`](crate::engine::Analyser::analyse).
    pub async fn similar(&self, probe: Probe, lookup: Lookup) -> Result<Answer, EngineError> {
        self.similar_where(probe, lookup, &Conditions::default()).await
    }

    /// [`Engine::similar`] restricted to documents that match the conditions. The limit applies to
    /// matching documents.
    ///
    /// # Errors
    /// Those of [`Engine::similar`].
    pub async fn similar_where(
        &self,
        probe: Probe,
        lookup: Lookup,
        conditions: &Conditions,
    ) -> Result<Answer, EngineError> {
        self.similar_within(probe, lookup, conditions, None).await
    }

    /// [`Engine::similar_where`], with the memory that it takes counted in `memory`.
    ///
    /// # Errors
    /// `MemoryExhausted`, and those of [`Engine::similar`].
    pub async fn similar_within(
        &self,
        probe: Probe,
        lookup: Lookup,
        conditions: &Conditions,
        memory: Option<&Reservation>,
    ) -> Result<Answer, EngineError> {
        let mode = self.mode_of(lookup.mode)?;
        let minimum = self.minimum_score(lookup.threshold, lookup.points)?;
        let (analysis, record) = self.analyse_query(&probe, minimum).await?;
        let page = Page::from(lookup);
        let query = Query {
            set: &analysis.set,
            fingerprint: analysis.fingerprint,
            sketch: &analysis.sketch,
            own_id: probe.id(),
            threshold: minimum.threshold,
            mode,
            record,
            limit: page.end(),
            conditions: (!conditions.is_empty()).then_some(conditions),
            memory,
            members_max: self.settings.limits.candidates_max,
        };
        let mut found = self.find(&query).await?;
        // Keyed lookups filter their candidates before verifying them.
        if !conditions.is_empty() && found.by != FoundBy::Keys {
            put_in_order(&mut found.scored);
            let (met, is_cut) =
                self.filter_matches(found.scored, page.end() + 1, conditions, memory).await?;
            found.scored = met;
            found.truncated |= is_cut;
        }
        let (matches, more) = self.best(found.scored, page, memory).await?;
        Ok(Answer {
            matches,
            more,
            candidates: found.candidates,
            truncated: found.truncated,
            expected_recall: found.expected_recall,
            threshold: minimum.threshold,
            points: minimum.points,
            mode,
            found_by: found.by,
        })
    }

    /// The mode of a request, by default the scheme's. Prefix schemes have no keys of sketches to
    /// estimate by, records are compared only by their fields, and signatures have no sets.
    pub(crate) fn mode_of(&self, mode: Option<Mode>) -> Result<Mode, EngineError> {
        let refused = |served| Err(EngineError::UnsupportedMode { served });
        match (&self.analyser.scheme, mode) {
            _ if self.analyser.takes_signatures() => match mode {
                None | Some(Mode::Estimated) => Ok(Mode::Estimated),
                Some(Mode::Verified | Mode::Exact) => refused("estimated"),
            },
            (Scheme::Prefix(_), None) => Ok(Mode::Exact),
            (Scheme::Prefix(_), Some(Mode::Estimated)) => refused("exact or verified"),
            (Scheme::Fields(_), Some(Mode::Exact | Mode::Estimated)) => refused("verified"),
            (_, mode) => Ok(mode.unwrap_or_default()),
        }
    }

    /// Compares two contents: estimated and exact resemblance, and the measures and explanation
    /// that the options select.
    ///
    /// # Errors
    /// Those of [`Engine::similar`]; `TextNotKept` if the options require the content of a document
    /// that is stored without it; `TextRequired`, `TextsTooLong`.
    pub async fn compare(
        &self,
        a: Probe,
        b: Probe,
        options: CompareOptions,
    ) -> Result<Comparison, EngineError> {
        self.compare_within(a, b, options, None).await
    }

    /// [`Self::compare`] with a reservation in which its memory is counted.
    ///
    /// # Errors
    /// Those of [`Self::compare`], `MemoryExhausted`.
    pub async fn compare_within(
        &self,
        a: Probe,
        b: Probe,
        options: CompareOptions,
        memory: Option<&Reservation>,
    ) -> Result<Comparison, EngineError> {
        let (a, b) = (self.side(a, options).await?, self.side(b, options).await?);
        let bytes_per_byte = if options.explain { EXPLAINED_BYTES } else { COMPARED_BYTES };
        reserve(memory, (a.work() + b.work()).saturating_mul(bytes_per_byte))?;
        let analyser = self.analyser.clone();
        let long = a.work() + b.work() > CONTENT_INLINE_BYTES_MAX
            || characters_product(&a, &b, options) > PRODUCT_INLINE_MAX;
        crate::engine::off_runtime_if(long, move || compare_sides(&analyser, &a, &b, options))
            .await?
    }

    async fn side(&self, probe: Probe, options: CompareOptions) -> Result<Side, EngineError> {
        match probe {
            Probe::Content(_) => {
                let analysis = self.analyse(&probe).await?;
                Ok(Side { content: probe.into_content(), analysis })
            }
            Probe::Stored(id) => {
                let record = self.backend.record(&id).await?;
                let Record { content, set, fingerprint, sketch, .. } =
                    record.ok_or_else(|| EngineError::not_found(&id))?;
                if content.is_none() && (options.explain || options.measures.of_contents()) {
                    return Err(EngineError::TextNotKept { id });
                }
                let set = set.expect("a whole record has its set");
                Ok(Side { content, analysis: Analysis::stored(set, fingerprint, sketch) })
            }
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

    async fn analyse(&self, probe: &Probe) -> Result<Analysis, EngineError> {
        match probe {
            Probe::Stored(id) => self.stored(id).await?.ok_or_else(|| EngineError::not_found(id)),
            Probe::Content(content) if content.weight() > CONTENT_INLINE_BYTES_MAX => {
                let (analyser, content) = (self.analyser.clone(), content.clone());
                crate::engine::off_runtime_if(true, move || analyser.analyse(&content)).await?
            }
            Probe::Content(content) => self.analyser.analyse(content),
        }
    }

    /// A record's fields are needed to score others by, also those of a stored one. They are few
    /// and short.
    async fn analyse_query(
        &self,
        probe: &Probe,
        minimum: MinimumScore,
    ) -> Result<(Analysis, Option<RecordQuery>), EngineError> {
        if !self.takes_records() {
            return Ok((self.analyse(probe).await?, None));
        }
        let content = self.content(probe.clone()).await?;
        let analysis = self.analyser.analyse(&content)?;
        Ok((analysis, self.record_query(&content, minimum)?))
    }

    async fn content(&self, probe: Probe) -> Result<Content, EngineError> {
        match probe {
            Probe::Content(content) => Ok(content),
            Probe::Stored(id) => {
                let record = self.backend.record(&id).await?;
                let record = record.ok_or_else(|| EngineError::not_found(&id))?;
                record.content.ok_or(EngineError::TextNotKept { id })
            }
        }
    }
}

impl Side {
    /// An estimate of the work to compare it: bytes of content or shingles, whichever is more.
    fn work(&self) -> usize {
        self.content.as_ref().map_or(0, Content::weight).max(self.analysis.set.count())
    }
}

fn characters_product(a: &Side, b: &Side, options: CompareOptions) -> u64 {
    let contents = a.content.as_ref().zip(b.content.as_ref());
    contents.map_or(0, |(a, b)| options.measures.product(a, b))
}

impl Probe {
    fn id(&self) -> Option<&DocumentId> {
        match self {
            Self::Stored(id) => Some(id),
            Self::Content(_) => None,
        }
    }

    fn into_content(self) -> Option<Content> {
        match self {
            Self::Stored(_) => None,
            Self::Content(content) => Some(content),
        }
    }
}
