//! Adding: check for near-duplicates and store, in one step as far as anybody can see.

use crate::backend::{Announced, Filing, Rival, Stored};
use crate::document::{Content, Document};
use crate::engine::lookup::{Scored, Sought};
use crate::engine::{
    AddOptions, AddStatus, Added, Admitted, Engine, EngineError, Match, Mode, OnDuplicate, Prepared,
};
use crate::scheme::{Key, Threshold};

/// Shingling more bytes than this (about a quarter of a millisecond's work) leaves the runtime's
/// thread.
pub(super) const CONTENT_INLINE_BYTES_MAX: usize = 65_536;

impl Engine {
    /// Makes set and sketch. Pure computation: a few microseconds a kilobyte of text.
    ///
    /// # Errors
    /// `EmptyDocument`, `TooManyShingles`, `MetadataTooLarge`.
    pub fn prepare(&self, document: Document) -> Result<Prepared, EngineError> {
        let max = self.settings.limits.metadata_bytes_max;
        let found = document.metadata.as_ref().map_or(0, |metadata| metadata.as_json().len());
        if found > max {
            return Err(EngineError::MetadataTooLarge { found, max });
        }
        let analysis = self.analyser.analyse(&document.content)?;
        Ok(Prepared { document, analysis })
    }

    /// Fixes the document's place in the order of arrival: of two near-duplicates, and of two
    /// documents with one id, the one admitted first counts as first. Quick.
    ///
    /// # Errors
    /// `OutOfService`.
    pub async fn admit(
        &self,
        prepared: Prepared,
        options: AddOptions,
    ) -> Result<Admitted, EngineError> {
        let policy = prepared.analysis.policy();
        let filing = self.filing(prepared);
        let scheme = &self.analyser.scheme;
        let tables = match options.looks() {
            true => scheme.plan(self.threshold_of(&options)).bands,
            false => 0,
        };
        let probe: Vec<Key> = scheme.keys(filing.sketch.as_bytes(), tables).collect();
        let tentative = options.on_duplicate == OnDuplicate::Skip;
        let announced = self.backend.announce(filing, tentative, &probe).await?;
        Ok(Admitted { announced, options, policy })
    }

    /// Looks for near-duplicates, stores, and returns once the document is durable. Dropping the
    /// future before the document went to the store leaves nothing behind. Must not be left
    /// unpolled: documents that arrived later may be waiting for this one.
    ///
    /// # Errors
    /// `OutOfService`, `Store`.
    pub async fn complete(&self, admitted: Admitted) -> Result<Added, EngineError> {
        let Admitted { mut announced, options, policy } = admitted;
        let (duplicates, truncated) = self.duplicates(&mut announced, &options).await?;
        let id = announced.filing.document.id.clone();
        let shingles = announced.filing.set.count();
        let skip = options.on_duplicate == OnDuplicate::Skip && !duplicates.is_empty();
        let status = if !skip {
            self.backend.store(announced).await?.into()
        } else if self.backend.stands(&announced.filing.document).await? {
            AddStatus::Unchanged
        } else {
            AddStatus::Skipped
        };
        Ok(Added { id, status, duplicates, shingles, policy, truncated })
    }

    /// `prepare` (off the runtime when the content is large), `admit` and `complete` in one.
    ///
    /// # Errors
    /// Those of the three.
    pub async fn add(&self, document: Document, options: AddOptions) -> Result<Added, EngineError> {
        let large = content_bytes(&document.content) > CONTENT_INLINE_BYTES_MAX;
        let engine = self.clone();
        let prepared = super::off_runtime_if(large, move || engine.prepare(document)).await??;
        let admitted = self.admit(prepared, options).await?;
        self.complete(admitted).await
    }

    fn filing(&self, prepared: Prepared) -> Filing {
        let Prepared { document, analysis } = prepared;
        Filing {
            document,
            fingerprint: analysis.set.fingerprint(),
            keys: self.analyser.scheme.all_keys(analysis.sketch.as_bytes()).collect(),
            set: analysis.set,
            sketch: analysis.sketch,
            whole_document: analysis.whole_document,
            sampled_to_one: analysis.sampled_to_one,
        }
    }

    /// The near-duplicates that were there before; whether there may be more than are told.
    async fn duplicates(
        &self,
        announced: &mut Announced,
        options: &AddOptions,
    ) -> Result<(Vec<Match>, bool), EngineError> {
        if !options.looks() {
            return Ok((Vec::new(), false));
        }
        let limit = self.settings.limits.duplicates_max;
        let filing = announced.filing.clone();
        let sought = Sought {
            set: &filing.set,
            sketch: &filing.sketch,
            own_id: Some(&filing.document.id),
            threshold: self.threshold_of(options),
            mode: Mode::Verified,
            // One more than is told, in case that the document itself is among them.
            members_max: limit + 1,
        };
        let found = self.find(&sought).await?;
        let mut scored = found.scored;
        let rivals = std::mem::take(&mut announced.rivals);
        scored.extend(self.score_rivals(&sought, rivals, options.on_duplicate).await);
        let (duplicates, more) = self.best(scored, limit).await?;
        Ok((duplicates, more || found.truncated))
    }

    /// Of the documents on their way, those over the threshold that will be there. Whoever may
    /// still be withdrawn is waited for; and whoever would give way to another waits until the
    /// other is stored.
    async fn score_rivals(
        &self,
        sought: &Sought<'_>,
        rivals: Vec<Rival>,
        on_duplicate: OnDuplicate,
    ) -> Vec<Scored> {
        let mut near = Vec::new();
        for rival in rivals {
            let Some(scored) = self.score_rival(sought, &rival) else { continue };
            let sure = !rival.tentative && on_duplicate == OnDuplicate::Keep;
            if sure || rival.was_stored().await {
                near.push(scored);
            }
        }
        near
    }

    fn threshold_of(&self, options: &AddOptions) -> Threshold {
        options.threshold.unwrap_or(self.settings.scheme.threshold)
    }
}

impl AddOptions {
    /// A document that gives way to near-duplicates has to look for them.
    fn looks(&self) -> bool {
        self.check || self.on_duplicate == OnDuplicate::Skip
    }
}

impl From<Stored> for AddStatus {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Created => Self::Created,
            Stored::Replaced => Self::Replaced,
            Stored::Unchanged => Self::Unchanged,
        }
    }
}

/// What a content weighs in work; in a multiset a count is work as well as a byte is.
pub(super) fn content_bytes(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.len(),
        Content::Tokens(tokens) => {
            tokens.iter().map(|token| token.text.len() + token.count as usize).sum()
        }
    }
}
