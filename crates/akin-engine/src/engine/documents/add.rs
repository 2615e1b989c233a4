//! Adding a document: prepare it, register it, look up its near-duplicates, store it. For clients,
//! lookup and write are a single atomic step.

use futures_util::future::{join, join_all};
use jiff::Timestamp;

use crate::backend::{PreparedDocument, Registered, Rival, Stored};
use crate::document::{Document, Ordinal};
use crate::engine::analysis::{Analysis, CONTENT_INLINE_BYTES_MAX};
use crate::engine::documents::duplicates::CheckedDocument;
use crate::engine::documents::successor::Addition;
use crate::engine::{AddOptions, AddStatus, Added, Admitted, Engine, EngineError, compute_if};

/// Documents of a batch that are checked before the thread is yielded to other tasks: a few
/// milliseconds' work among near-duplicates.
const CHECKED_AT_ONCE: usize = 16;

/// The outcome of adding each document.
pub(super) type Outcomes = Vec<Result<Added, EngineError>>;

impl Engine {
    /// [`prepare`](Self::prepare)s the document (on another thread if its content is large),
    /// [`admit`](Self::admit)s and [`complete`](Self::complete)s it.
    ///
    /// # Errors
    /// The errors of the three methods.
    pub async fn add(&self, document: Document, options: AddOptions) -> Result<Added, EngineError> {
        let is_large = document.content.weight() > CONTENT_INLINE_BYTES_MAX;
        let engine = self.clone();
        let prepared = compute_if(is_large, move || engine.prepare(document)).await??;
        let admitted = self.admit(prepared, options).await?;
        self.complete(admitted).await
    }

    /// The first step: builds the set, the sketch and the keys. Pure computation: a few
    /// microseconds per KiB of text.
    ///
    /// # Errors
    /// `MetadataTooLarge`, `AlreadyExpired`, and the errors of
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

    /// [`prepare`](Self::prepare)s a document that is stored only if it replaces the document with
    /// this ordinal.
    pub(super) fn prepare_over(
        &self,
        document: Document,
        ordinal: Ordinal,
    ) -> Result<PreparedDocument, EngineError> {
        Ok(PreparedDocument { only_over: Some(ordinal), ..self.prepare(document)? })
    }

    pub(crate) fn prepared(&self, document: Document, analysis: Analysis) -> PreparedDocument {
        PreparedDocument {
            blocks: self.passage_blocks(&document.content),
            document,
            fingerprint: analysis.fingerprint,
            keys: self.analyser.scheme.arrival_keys(&analysis.set, &analysis.sketch),
            set: analysis.set,
            sketch: analysis.sketch,
            whole_document: analysis.whole_document,
            only_over: None,
        }
    }

    /// The second step: fixes the document's position in the order of arrival. Of two
    /// near-duplicates, and of two documents with the same id, the document that is admitted first
    /// is the earlier document. Fast.
    ///
    /// # Errors
    /// `PointsWanted`, `NoPointsWanted`, `PointsOutOfRange`, `OutOfService`; of a document that is
    /// searched for passages `UnsupportedByBackend`, `PassagesOff`, `WrongContent`.
    pub async fn admit(
        &self,
        prepared: PreparedDocument,
        options: AddOptions,
    ) -> Result<Admitted, EngineError> {
        let search = self.rival_search(&prepared, &options)?;
        if options.passages.is_some() {
            self.check_has_passages(&prepared.document.content)?;
        }
        let tentative = options.may_skip() || prepared.only_over.is_some();
        let registered = self.backend.register(prepared, tentative, search).await?;
        Ok(Admitted { registered, options })
    }

    /// The third and fourth step: looks up the near-duplicates, stores the document, and returns
    /// once the document is durable. Dropping the future before the write begins leaves nothing
    /// behind. Otherwise, the future must be polled to completion: later documents may be waiting
    /// for this document.
    ///
    /// # Errors
    /// `OverBudget` (the document is not stored), `OutOfService`, `Store`.
    pub async fn complete(&self, admitted: Admitted) -> Result<Added, EngineError> {
        let mut outcomes = self.complete_all(vec![admitted]).await;
        outcomes.pop().expect("there is an outcome for each document")
    }

    /// [`complete`](Self::complete)s documents that were admitted in this order. New documents that
    /// need not wait for other documents are stored together.
    ///
    /// # Errors
    /// For each document the errors of [`complete`](Self::complete).
    pub async fn complete_all(&self, admitted: Vec<Admitted>) -> Vec<Result<Added, EngineError>> {
        let additions: Vec<Addition> = admitted.iter().map(Addition::from).collect();
        if self.successor.get().is_some() {
            return self.add_to_successor(additions).await;
        }
        let numbered = admitted.into_iter().enumerate();
        let (alone, together): (Vec<_>, Vec<_>) =
            numbered.partition(|(_, admitted)| admitted.is_completed_alone());
        let alone =
            alone.into_iter().map(async |(at, admitted)| (at, self.complete_alone(admitted).await));
        let (mut completed, alone) = join(self.complete_together(together), join_all(alone)).await;
        completed.extend(alone);
        completed.sort_unstable_by_key(|(at, _)| *at);
        let outcomes = completed.into_iter().map(|(_, outcome)| outcome).collect();
        self.repeat_superseded(additions, outcomes).await
    }

    async fn complete_alone(&self, admitted: Admitted) -> Result<Added, EngineError> {
        let CheckedDocument { registered, only_replaces, mut added } =
            self.check(admitted, None).await?;
        if let Some(stored) = self.backend.store(registered, only_replaces).await? {
            added.status = stored.into();
            added.cluster = self.link_added(&added.id).await;
        }
        Ok(added)
    }

    /// Looks up all documents in a single batch of searches and stores them in a single write.
    async fn complete_together(
        &self,
        admitted: Vec<(usize, Admitted)>,
    ) -> Vec<(usize, Result<Added, EngineError>)> {
        let mut completed = Vec::with_capacity(admitted.len());
        let mut to_store = Vec::with_capacity(admitted.len());
        let queries = admitted.iter().map(|(_, admitted)| self.query_ahead(admitted));
        let looked_up = self.candidates_of_all(&queries.collect::<Vec<_>>()).await;
        for ((at, admitted), looked_up) in admitted.into_iter().zip(looked_up) {
            if completed.len() % CHECKED_AT_ONCE == CHECKED_AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
            let checked = self.check(admitted, looked_up).await;
            let added = checked.map(|CheckedDocument { registered, only_replaces, mut added }| {
                if !only_replaces {
                    added.status = AddStatus::Created;
                    to_store.push(registered);
                }
                added
            });
            completed.push((at, added));
        }
        let stored = self.backend.store_new(to_store).await.map_err(EngineError::from);
        for (_, outcome) in &mut completed {
            let Ok(added) = outcome else { continue };
            if added.status != AddStatus::Created {
                continue;
            }
            if let Err(error) = &stored {
                *outcome = Err(error.clone());
                continue;
            }
            if self.clusters_threshold().is_some() {
                tokio::task::yield_now().await;
            }
            added.cluster = self.link_added(&added.id).await;
        }
        completed
    }
}

impl Admitted {
    /// Whether the document may replace a document, or has to wait for the outcome of a rival.
    fn is_completed_alone(&self) -> bool {
        let Registered { document, rivals, is_new, .. } = &self.registered;
        let waits = rivals.found.iter().any(Rival::is_waited_for);
        !is_new || document.only_over.is_some() || waits || self.options.passages.is_some()
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
