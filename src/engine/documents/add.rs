//! Adding a document: the check for near-duplicates and the write are one atomic step for clients.

use std::sync::Arc;

use futures_util::future::{join, join_all};
use jiff::Timestamp;

use crate::backend::{Candidates, PreparedDocument, Registered, Rival, Stored};
use crate::budget::Reservation;
use crate::document::{Document, Ordinal};
use crate::engine::analysis::{Analysis, CONTENT_INLINE_BYTES_MAX};
use crate::engine::lookup::{Page, Query};
use crate::engine::{
    AddOptions, AddStatus, Added, Admitted, Engine, EngineError, Match, Mode, OnDuplicate, Policy,
};

/// A document whose near-duplicates are known.
struct Checked {
    registered: Registered,
    /// It has a near-duplicate and is not to be stored, unless it already is.
    is_skipped: bool,
    /// The result if it is not stored.
    added: Added,
}

/// The near-duplicates that arrived before a document.
#[derive(Default)]
struct Duplicates {
    /// The best matches.
    matches: Vec<Match>,
    /// There are more matches than are reported.
    more: bool,
    /// A limit was reached, so some matches may be missing.
    truncated: bool,
}

impl Engine {
    /// Builds the set, the sketch and the keys. Pure computation: a few microseconds per KiB of
    /// text.
    ///
    /// # Errors
    /// `MetadataTooLarge`, `AlreadyExpired`, and those of
    /// [`Analyser::analyse`](crate::engine::Analyser::analyse).
    pub fn prepare(&self, document: Document) -> Result<PreparedDocument, EngineError> {
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
        Ok(self.prepared(document, analysis))
    }

    /// [`prepare`](Self::prepare)s a document that is stored only over the one with this ordinal.
    pub(super) fn prepare_over(
        &self,
        document: Document,
        ordinal: Ordinal,
    ) -> Result<PreparedDocument, EngineError> {
        Ok(PreparedDocument { only_over: Some(ordinal), ..self.prepare(document)? })
    }

    pub(crate) fn prepared(&self, document: Document, analysis: Analysis) -> PreparedDocument {
        PreparedDocument {
            document,
            fingerprint: analysis.fingerprint,
            keys: self.analyser.scheme.arrival_keys(&analysis.set, &analysis.sketch),
            set: analysis.set,
            sketch: analysis.sketch,
            whole_document: analysis.whole_document,
            sampled_to_one: analysis.sampled_to_one,
            only_over: None,
        }
    }

    /// Fixes the document's position in the order of arrival: of two near-duplicates, and of two
    /// documents with one id, the one admitted first is the earlier. Fast.
    ///
    /// # Errors
    /// `PointsWanted`, `NoPointsWanted`, `PointsOutOfRange`, `OutOfService`.
    pub async fn admit(
        &self,
        prepared: PreparedDocument,
        options: AddOptions,
    ) -> Result<Admitted, EngineError> {
        self.admit_within(prepared, options, None).await
    }

    /// [`Self::admit`] with a reservation in which its near-duplicates are counted: without memory
    /// for them the document is refused with `MemoryExhausted`, and not stored.
    ///
    /// # Errors
    /// Those of [`Self::admit`].
    pub async fn admit_within(
        &self,
        prepared: PreparedDocument,
        options: AddOptions,
        memory: Option<Arc<Reservation>>,
    ) -> Result<Admitted, EngineError> {
        let search = self.rival_search(&prepared, &options)?;
        let tentative = options.on_duplicate == OnDuplicate::Skip || prepared.only_over.is_some();
        let registered = self.backend.register(prepared, tentative, search).await?;
        Ok(Admitted { registered, options, memory })
    }

    pub(super) async fn complete_here(&self, admitted: Admitted) -> Result<Added, EngineError> {
        let Checked { registered, is_skipped, mut added } = self.check(admitted, None).await?;
        // A document that is already stored is stored again, as its expiry may have changed.
        if !is_skipped || self.backend.is_stored(&registered.document.document).await? {
            added.status = self.backend.store(registered).await?.into();
            added.cluster = self.link_added(&added.id).await;
        }
        Ok(added)
    }

    pub(super) async fn complete_all_here(
        &self,
        admitted: Vec<Admitted>,
    ) -> Vec<Result<Added, EngineError>> {
        let numbered = admitted.into_iter().enumerate();
        let (alone, together): (Vec<_>, Vec<_>) =
            numbered.partition(|(_, admitted)| admitted.is_completed_alone());
        let alone =
            alone.into_iter().map(async |(at, admitted)| (at, self.complete_here(admitted).await));
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
            let added = checked.map(|Checked { registered, is_skipped, mut added }| {
                if !is_skipped {
                    added.status = AddStatus::Created;
                    to_store.push(registered);
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
            return completed;
        }
        for (_, outcome) in &mut completed {
            if let Ok(added) = outcome
                && added.status == AddStatus::Created
            {
                added.cluster = self.link_added(&added.id).await;
            }
        }
        completed
    }

    async fn look_ahead(&self, admitted: &[(usize, Admitted)]) -> Vec<Option<Candidates>> {
        let mut queries = Vec::with_capacity(admitted.len());
        for (_, Admitted { registered, options, .. }) in admitted {
            // The scoring data of a record is expensive, and is built only once.
            let searches = options.needs_search() && !self.takes_records();
            queries.push(
                searches.then(|| self.query(&registered.document, options, None).ok()).flatten(),
            );
        }
        self.candidates_of_all(&queries).await
    }

    /// Checks for near-duplicates; candidates may already be `looked` up.
    async fn check(
        &self,
        admitted: Admitted,
        looked: Option<Candidates>,
    ) -> Result<Checked, EngineError> {
        let Admitted { mut registered, options, memory } = admitted;
        let Duplicates { matches, more, truncated } =
            self.duplicates(&mut registered, &options, looked, memory.as_deref()).await?;
        let is_skipped =
            options.on_duplicate == OnDuplicate::Skip && matches.iter().any(|it| self.decides(it));
        let prepared = &registered.document;
        let added = Added {
            id: prepared.document.id.clone(),
            status: AddStatus::Skipped,
            duplicates: matches,
            shingles: prepared.set.count(),
            policy: Policy::of(prepared.whole_document, prepared.sampled_to_one),
            cluster: None,
            more,
            truncated,
        };
        Ok(Checked { registered, is_skipped, added })
    }

    /// Runs `prepare` (on a blocking thread when the content is large), `admit` and `complete`.
    ///
    /// # Errors
    /// Those of the three methods.
    pub async fn add(&self, document: Document, options: AddOptions) -> Result<Added, EngineError> {
        self.add_within(document, options, None).await
    }

    /// [`Self::add`] with a reservation, as [`Self::admit_within`] has it.
    ///
    /// # Errors
    /// Those of the three methods, `MemoryExhausted`.
    pub async fn add_within(
        &self,
        document: Document,
        options: AddOptions,
        memory: Option<Arc<Reservation>>,
    ) -> Result<Added, EngineError> {
        let large = document.content.weight() > CONTENT_INLINE_BYTES_MAX;
        let engine = self.clone();
        let prepared =
            crate::engine::off_runtime_if(large, move || engine.prepare(document)).await??;
        let admitted = self.admit_within(prepared, options, memory).await?;
        self.complete(admitted).await
    }

    /// Searches the index and the documents in flight.
    async fn duplicates(
        &self,
        registered: &mut Registered,
        options: &AddOptions,
        mut looked: Option<Candidates>,
        memory: Option<&Reservation>,
    ) -> Result<Duplicates, EngineError> {
        if !options.needs_search() {
            return Ok(Duplicates::default());
        }
        let document = Arc::clone(&registered.document);
        let query = self.query(&document, options, memory)?;
        let skips = options.on_duplicate == OnDuplicate::Skip;
        loop {
            let announced = self.backend.announce(registered).await?;
            let found = self.find_from(&query, announced.or_else(|| looked.take())).await?;
            let mut scored = found.scored;
            let rivals = std::mem::take(&mut registered.rivals);
            let scoring =
                self.score_rivals(&query, rivals, options.on_duplicate, &mut scored).await?;
            // All near-duplicates seen in flight were withdrawn, so another search may find others.
            let is_certain = scored.iter().any(|scored| self.decides(&scored.found));
            if skips && !is_certain && scoring.truncated && scoring.withdrawn > 0 {
                registered.find_rivals_again();
                continue;
            }
            let (matches, more) = self.best(scored, Page::first(query.limit), query.memory).await?;
            return Ok(Duplicates {
                matches,
                more,
                truncated: scoring.truncated || found.truncated,
            });
        }
    }

    fn query<'a>(
        &self,
        prepared: &'a PreparedDocument,
        options: &AddOptions,
        memory: Option<&'a Reservation>,
    ) -> Result<Query<'a>, EngineError> {
        let limit = self.settings.limits.duplicates_max;
        let minimum = self.minimum_score(options.threshold, options.points)?;
        Ok(Query {
            set: &prepared.set,
            fingerprint: prepared.fingerprint,
            sketch: &prepared.sketch,
            own_id: Some(&prepared.document.id),
            threshold: minimum.threshold,
            mode: if self.analyser.takes_signatures() { Mode::Estimated } else { Mode::Verified },
            limit,
            conditions: None,
            record: self.record_query(&prepared.document.content, minimum)?,
            memory,
            // One more than is reported, as the document itself may be among them.
            members_max: limit + 1,
        })
    }
}

impl Admitted {
    /// Whether it may replace a document, or has to wait for the outcome of another.
    fn is_completed_alone(&self) -> bool {
        let Registered { rivals, is_new, .. } = &self.registered;
        !is_new || rivals.found.iter().any(Rival::is_waited_for)
    }
}

impl AddOptions {
    /// Whether near-duplicates must be searched.
    pub(super) fn needs_search(&self) -> bool {
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
