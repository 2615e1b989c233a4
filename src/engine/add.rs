//! Adding: check for near-duplicates and store, in one step as far as anybody can see.

use jiff::Timestamp;

use crate::backend::{Announced, Filing, Rival, Stored};
use crate::document::Document;
use crate::engine::analysis::{CONTENT_INLINE_BYTES_MAX, content_bytes};
use crate::engine::lookup::{Scored, Sought};
use crate::engine::{
    AddOptions, AddStatus, Added, Admitted, Engine, EngineError, Match, Mode, OnDuplicate, Prepared,
};
use crate::scheme::Key;

impl Engine {
    /// Makes set and sketch. Pure computation: a few microseconds a kilobyte of text.
    ///
    /// # Errors
    /// `MetadataTooLarge`, `AlreadyExpired`, and those of
    /// [`Analyser::analyse`](crate::engine::Analyser::analyse).
    pub fn prepare(&self, document: Document) -> Result<Prepared, EngineError> {
        let max = self.settings.limits.metadata_bytes_max;
        let found = document.metadata.as_ref().map_or(0, |metadata| metadata.as_json().len());
        if found > max {
            return Err(EngineError::MetadataTooLarge { found, max });
        }
        if let Some(expires_at_ms) = document.expires_at_ms.filter(|at| *at <= self.clock.now_ms())
        {
            let expires_at = Timestamp::from_millisecond(expires_at_ms).unwrap_or_default();
            return Err(EngineError::AlreadyExpired { expires_at });
        }
        let analysis = self.analyser.analyse(&document.content)?;
        Ok(Prepared { document, analysis })
    }

    /// Fixes the document's place in the order of arrival: of two near-duplicates, and of two
    /// documents with one id, the one admitted first counts as first. Quick.
    ///
    /// # Errors
    /// `PointsWanted`, `NoPointsWanted`, `PointsOutOfRange`, `OutOfService`.
    pub async fn admit(
        &self,
        prepared: Prepared,
        options: AddOptions,
    ) -> Result<Admitted, EngineError> {
        let policy = prepared.analysis.policy();
        let filing = self.filing(prepared);
        let threshold = self.least(options.threshold, options.points)?.threshold;
        let mut probe: Vec<Key> = Vec::new();
        if options.looks() {
            probe = self.analyser.scheme.probe_keys(&filing.set, &filing.sketch, threshold);
        }
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
        // One that stands is stored again all the same: it may expire at another time now.
        let status = if skip && !self.backend.stands(&announced.filing.document).await? {
            AddStatus::Skipped
        } else {
            self.backend.store(announced).await?.into()
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
            fingerprint: analysis.fingerprint,
            keys: self.analyser.scheme.arrival_keys(&analysis.set, &analysis.sketch),
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
        let least = self.least(options.threshold, options.points)?;
        let sought = Sought {
            set: &filing.set,
            fingerprint: filing.fingerprint,
            sketch: &filing.sketch,
            own_id: Some(&filing.document.id),
            threshold: least.threshold,
            mode: Mode::Verified,
            limit,
            record: self.sought_record(&filing.document.content, least)?,
            // One more than is told, in case that the document itself is among them.
            members_max: limit + 1,
        };
        let found = self.find(&sought).await?;
        let mut scored = found.scored;
        let rivals = std::mem::take(&mut announced.rivals);
        let left = self.score_rivals(&sought, rivals, options.on_duplicate, &mut scored).await;
        let (duplicates, more) = self.best(scored, limit).await?;
        Ok((duplicates, more || left || found.truncated))
    }

    /// Adds those of the documents on their way that are over the threshold and will be there.
    /// Whoever may still be withdrawn is waited for; and whoever would give way to another waits
    /// until the other is stored. In a crowd there are always some more on their way: no more are
    /// looked at than are told, and than it takes to give way. Whether some were left out.
    async fn score_rivals(
        &self,
        sought: &Sought<'_>,
        rivals: Vec<Rival>,
        on_duplicate: OnDuplicate,
        near: &mut Vec<Scored>,
    ) -> bool {
        let enough = match on_duplicate {
            OnDuplicate::Keep => near.len() + sought.limit + 1,
            OnDuplicate::Skip => 1,
        };
        let mut rivals = rivals.into_iter();
        while near.len() < enough {
            let Some(rival) = rivals.next() else { return false };
            let Some(scored) = self.score_rival(sought, &rival) else { continue };
            let sure = !rival.tentative && on_duplicate == OnDuplicate::Keep;
            if sure || rival.was_stored().await {
                near.push(scored);
            }
        }
        rivals.len() > 0
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
