//! Looking up and comparing.

use crate::backend::Known;
use crate::document::{Content, DocumentId};
use crate::engine::add::{CONTENT_INLINE_BYTES_MAX, content_bytes};
use crate::engine::compare::{Side, compare_sides};
use crate::engine::lookup::Sought;
use crate::engine::{
    Analysis, Answer, CompareOptions, Comparison, Engine, EngineError, Lookup, Mode, Probe,
};
use crate::storage::Record;

/// Comparing texts character by character of which the lengths have a higher product (about a
/// millisecond's work) leaves the runtime's thread.
const PRODUCT_INLINE_MAX: u64 = 10_000_000;

impl Engine {
    /// The near-duplicates of a content or of a stored document, which itself is left out.
    ///
    /// # Errors
    /// `DocumentNotFound`, `EmptyDocument`, `TooManyShingles`, `OutOfService`, `Store`.
    pub async fn similar(&self, probe: Probe, lookup: Lookup) -> Result<Answer, EngineError> {
        let analysis = self.analyse(&probe).await?;
        let threshold = lookup.threshold.unwrap_or(self.settings.scheme.threshold);
        let found = self
            .find(&Sought {
                set: &analysis.set,
                sketch: &analysis.sketch,
                own_id: probe.id(),
                threshold,
                mode: lookup.mode,
                members_max: self.settings.limits.candidates_max,
            })
            .await?;
        let expected_recall = match lookup.mode {
            Mode::Verified => found.plan.expected_recall,
            Mode::Estimated => found.plan.expected_recall_estimated,
        };
        let (matches, _more) = self.best(found.scored, lookup.limit).await?;
        Ok(Answer {
            matches,
            candidates: found.candidates,
            truncated: found.truncated,
            expected_recall,
            threshold,
            mode: lookup.mode,
        })
    }

    /// Estimated beside exact resemblance, and what the options ask for.
    ///
    /// # Errors
    /// Those of [`Engine::similar`]; `TextNotKept` if the options take the content of a document
    /// that is stored without it; `TextRequired`, `TextsTooLong`.
    pub async fn compare(
        &self,
        a: Probe,
        b: Probe,
        options: CompareOptions,
    ) -> Result<Comparison, EngineError> {
        let (a, b) = (self.side(a, options).await?, self.side(b, options).await?);
        let analyser = self.analyser.clone();
        let long = a.work() + b.work() > CONTENT_INLINE_BYTES_MAX
            || characters_product(&a, &b, options) > PRODUCT_INLINE_MAX;
        super::off_runtime_if(long, move || compare_sides(&analyser, &a, &b, options)).await?
    }

    async fn side(&self, probe: Probe, options: CompareOptions) -> Result<Side, EngineError> {
        match probe {
            Probe::Content(_) => {
                let analysis = self.analyse(&probe).await?;
                Ok(Side { content: probe.into_content(), analysis })
            }
            Probe::Stored(id) => {
                let record = self.backend.record(&id).await?;
                let Record { content, set, sketch, .. } =
                    record.ok_or_else(|| EngineError::not_found(&id))?;
                if content.is_none() && (options.explain || options.measures.of_contents()) {
                    return Err(EngineError::TextNotKept { id });
                }
                Ok(Side { content, analysis: Analysis::stored(set, sketch) })
            }
        }
    }

    async fn analyse(&self, probe: &Probe) -> Result<Analysis, EngineError> {
        match probe {
            Probe::Stored(id) => {
                let known = self.backend.known(id).await?;
                let Known { set, sketch } = known.ok_or_else(|| EngineError::not_found(id))?;
                Ok(Analysis::stored(set, sketch))
            }
            Probe::Content(content) if content_bytes(content) > CONTENT_INLINE_BYTES_MAX => {
                let (analyser, content) = (self.analyser.clone(), content.clone());
                super::off_runtime_if(true, move || analyser.analyse(&content)).await?
            }
            Probe::Content(content) => self.analyser.analyse(content),
        }
    }
}

impl Side {
    /// What it weighs in work.
    fn work(&self) -> usize {
        self.content.as_ref().map_or(0, content_bytes).max(self.analysis.set.count())
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
