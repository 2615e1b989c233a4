//! Looking up and comparing.

use crate::backend::Known;
use crate::document::{Content, DocumentId};
use crate::engine::add::{CONTENT_INLINE_BYTES_MAX, content_bytes};
use crate::engine::compare::{compare_analyses, compare_contents};
use crate::engine::lookup::{Sought, put_in_order};
use crate::engine::{
    Analysis, Answer, Comparison, Conditions, Engine, EngineError, Lookup, Mode, Probe,
};

impl Engine {
    /// The near-duplicates of a content or of a stored document, which itself is left out.
    ///
    /// # Errors
    /// `DocumentNotFound`, `EmptyDocument`, `TooManyShingles`, `OutOfService`, `Store`.
    pub async fn similar(&self, probe: Probe, lookup: Lookup) -> Result<Answer, EngineError> {
        self.similar_where(probe, lookup, &Conditions::default()).await
    }

    /// The same, of the documents that meet the conditions: they are scored, then held against the
    /// conditions, then limited.
    ///
    /// # Errors
    /// Those of [`Engine::similar`].
    pub async fn similar_where(
        &self,
        probe: Probe,
        lookup: Lookup,
        conditions: &Conditions,
    ) -> Result<Answer, EngineError> {
        let analysis = self.analyse(&probe).await?;
        let threshold = lookup.threshold.unwrap_or(self.settings.scheme.threshold);
        let mut found = self
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
        if !conditions.is_empty() {
            put_in_order(&mut found.scored);
            let (met, cut) = self.meeting(found.scored, lookup.limit, conditions).await?;
            found.scored = met;
            found.truncated |= cut;
        }
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

    /// Estimated beside exact resemblance; `explain` adds where the texts are alike.
    ///
    /// # Errors
    /// Those of [`Engine::similar`], and `TextNotKept` for an explanation of a document without
    /// its text.
    pub async fn compare(
        &self,
        a: Probe,
        b: Probe,
        explain: bool,
    ) -> Result<Comparison, EngineError> {
        if explain {
            return self.compare_texts(self.content(a).await?, self.content(b).await?).await;
        }
        let (a, b) = (self.analyse(&a).await?, self.analyse(&b).await?);
        let analyser = self.analyser.clone();
        let large = a.set.count() + b.set.count() > CONTENT_INLINE_BYTES_MAX;
        super::off_runtime_if(large, move || compare_analyses(&analyser, &a, &b)).await
    }

    async fn compare_texts(&self, a: Content, b: Content) -> Result<Comparison, EngineError> {
        let analyser = self.analyser.clone();
        let large = content_bytes(&a) + content_bytes(&b) > CONTENT_INLINE_BYTES_MAX;
        super::off_runtime_if(large, move || compare_contents(&analyser, &a, &b, true)).await?
    }

    async fn analyse(&self, probe: &Probe) -> Result<Analysis, EngineError> {
        match probe {
            Probe::Stored(id) => {
                let known = self.backend.known(id).await?;
                let Known { set, sketch } = known.ok_or_else(|| EngineError::not_found(id))?;
                Ok(Analysis { set, sketch, whole_document: false, sampled_to_one: false })
            }
            Probe::Content(content) if content_bytes(content) > CONTENT_INLINE_BYTES_MAX => {
                let (analyser, content) = (self.analyser.clone(), content.clone());
                super::off_runtime_if(true, move || analyser.analyse(&content)).await?
            }
            Probe::Content(content) => self.analyser.analyse(content),
        }
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

impl Probe {
    fn id(&self) -> Option<&DocumentId> {
        match self {
            Self::Stored(id) => Some(id),
            Self::Content(_) => None,
        }
    }
}
