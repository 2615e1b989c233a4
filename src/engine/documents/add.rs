//! Adding: check for near-duplicates and store, in one step as far as anybody can see.

use futures_util::future::{join, join_all};
use jiff::Timestamp;

use crate::backend::{Announced, Candidates, Filing, Rival, Stored};
use crate::document::Document;
use crate::engine::analysis::{CONTENT_INLINE_BYTES_MAX, content_bytes, policy};
use crate::engine::lookup::{Scored, Sought};
use crate::engine::{
    AddOptions, AddStatus, Added, Admitted, Engine, EngineError, Match, Mode, OnDuplicate, Prepared,
};
use crate::scheme::Key;

/// A document whose near-duplicates are known.
struct Checked {
    announced: Announced,
    /// It is not to be stored, unless it is already.
    gives_way: bool,
    /// What is told of it if it is not stored.
    added: Added,
}

/// The near-duplicates that were there before a document.
#[derive(Default)]
struct Duplicates {
    /// The best of them.
    matches: Vec<Match>,
    /// There are others.
    more: bool,
    /// Work was cut short: some may be missing.
    truncated: bool,
}

impl Engine {
    /// Makes set, sketch and keys. Pure computation: a few microseconds a kilobyte of text.
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
        let filing = Filing {
            document,
            fingerprint: analysis.fingerprint,
            keys: self.analyser.scheme.arrival_keys(&analysis.set, &analysis.sketch),
            set: analysis.set,
            sketch: analysis.sketch,
            whole_document: analysis.whole_document,
            sampled_to_one: analysis.sampled_to_one,
        };
        Ok(Prepared { filing })
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
        let Prepared { filing } = prepared;
        let threshold = self.least(options.threshold, options.points)?.threshold;
        let mut probe: Vec<Key> = Vec::new();
        if options.looks() {
            probe = self.analyser.scheme.probe_keys(&filing.set, &filing.sketch, threshold);
        }
        let tentative = options.on_duplicate == OnDuplicate::Skip;
        let announced = self.backend.announce(filing, tentative, &probe).await?;
        Ok(Admitted { announced, options })
    }

    /// Looks for near-duplicates, stores, and returns once the document is durable. Dropping the
    /// future before the document went to the store leaves nothing behind. Must not be left
    /// unpolled: documents that arrived later may be waiting for this one.
    ///
    /// # Errors
    /// `OutOfService`, `Store`.
    pub async fn complete(&self, admitted: Admitted) -> Result<Added, EngineError> {
        let Checked { announced, gives_way, mut added } = self.check(admitted, None).await?;
        // One that stands is stored again all the same: it may expire at another time now.
        if !gives_way || self.backend.stands(&announced.filing.document).await? {
            added.status = self.backend.store(announced).await?.into();
        }
        Ok(added)
    }

    /// [`complete`](Self::complete) for documents that were admitted in this order. Those that are
    /// new and need not wait for others go to the store together.
    ///
    /// # Errors
    /// Of each the same.
    pub async fn complete_all(&self, admitted: Vec<Admitted>) -> Vec<Result<Added, EngineError>> {
        let numbered = admitted.into_iter().enumerate();
        let (alone, together): (Vec<_>, Vec<_>) =
            numbered.partition(|(_, admitted)| admitted.goes_alone());
        let alone =
            alone.into_iter().map(async |(at, admitted)| (at, self.complete(admitted).await));
        let (mut completed, alone) = join(self.complete_together(together), join_all(alone)).await;
        completed.extend(alone);
        completed.sort_unstable_by_key(|(at, _)| *at);
        completed.into_iter().map(|(_, outcome)| outcome).collect()
    }

    async fn complete_together(
        &self,
        admitted: Vec<(usize, Admitted)>,
    ) -> Vec<(usize, Result<Added, EngineError>)> {
        let mut completed = Vec::with_capacity(admitted.len());
        let mut to_store = Vec::with_capacity(admitted.len());
        let looked = self.look_ahead(&admitted).await;
        for ((at, admitted), looked) in admitted.into_iter().zip(looked) {
            let checked = self.check(admitted, looked).await;
            let added = checked.map(|Checked { announced, gives_way, mut added }| {
                if !gives_way {
                    added.status = AddStatus::Created;
                    to_store.push(announced);
                }
                added
            });
            completed.push((at, added));
        }
        if let Err(error) = self.backend.store_new(to_store).await {
            let error = EngineError::from(error);
            for (_, outcome) in &mut completed {
                if outcome.as_ref().is_ok_and(|added| added.status == AddStatus::Created) {
                    *outcome = Err(error.clone());
                }
            }
        }
        completed
    }

    async fn look_ahead(&self, admitted: &[(usize, Admitted)]) -> Vec<Option<Candidates>> {
        let mut sought = Vec::with_capacity(admitted.len());
        for (_, Admitted { announced, options }) in admitted {
            // What a record is scored by takes a while to make, and is made once.
            let looks = options.looks() && !self.takes_records();
            sought.push(looks.then(|| self.sought(&announced.filing, options).ok()).flatten());
        }
        self.look_for_all(&sought).await
    }

    /// Looks for near-duplicates, of which candidates may be `looked` up already.
    async fn check(
        &self,
        admitted: Admitted,
        looked: Option<Candidates>,
    ) -> Result<Checked, EngineError> {
        let Admitted { mut announced, options } = admitted;
        let Duplicates { matches, more, truncated } =
            self.duplicates(&mut announced, &options, looked).await?;
        // What samples say is an estimate: no document is left out by that.
        let is_sure = matches.iter().any(|found| found.exact.is_some());
        let gives_way = options.on_duplicate == OnDuplicate::Skip && is_sure;
        let filing = &announced.filing;
        let added = Added {
            id: filing.document.id.clone(),
            status: AddStatus::Skipped,
            duplicates: matches,
            shingles: filing.set.count(),
            policy: policy(filing.whole_document, filing.sampled_to_one),
            more,
            truncated,
        };
        Ok(Checked { announced, gives_way, added })
    }

    /// `prepare` (off the runtime when the content is large), `admit` and `complete` in one.
    ///
    /// # Errors
    /// Those of the three.
    pub async fn add(&self, document: Document, options: AddOptions) -> Result<Added, EngineError> {
        let large = content_bytes(&document.content) > CONTENT_INLINE_BYTES_MAX;
        let engine = self.clone();
        let prepared =
            crate::engine::off_runtime_if(large, move || engine.prepare(document)).await??;
        let admitted = self.admit(prepared, options).await?;
        self.complete(admitted).await
    }

    /// Looks in the index, and at documents in flight.
    async fn duplicates(
        &self,
        announced: &mut Announced,
        options: &AddOptions,
        looked: Option<Candidates>,
    ) -> Result<Duplicates, EngineError> {
        if !options.looks() {
            return Ok(Duplicates::default());
        }
        let filing = announced.filing.clone();
        let sought = self.sought(&filing, options)?;
        let found = self.find_from(&sought, looked).await?;
        let mut scored = found.scored;
        let rivals = std::mem::take(&mut announced.rivals);
        let left = self.score_rivals(&sought, rivals, options.on_duplicate, &mut scored).await;
        let (matches, more) = self.best(scored, sought.limit).await?;
        Ok(Duplicates { matches, more, truncated: left || found.truncated })
    }

    fn sought<'a>(
        &self,
        filing: &'a Filing,
        options: &AddOptions,
    ) -> Result<Sought<'a>, EngineError> {
        let limit = self.settings.limits.duplicates_max;
        let least = self.least(options.threshold, options.points)?;
        Ok(Sought {
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
        })
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

impl Admitted {
    /// It may replace a document, or wait for what becomes of another.
    fn goes_alone(&self) -> bool {
        let rivals = &self.announced.rivals;
        let may_wait = match self.options.on_duplicate {
            OnDuplicate::Keep => rivals.iter().any(|rival| rival.tentative),
            OnDuplicate::Skip => !rivals.is_empty(),
        };
        may_wait || !self.announced.is_new
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
