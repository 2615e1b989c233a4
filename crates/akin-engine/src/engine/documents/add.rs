//! Adding documents: they are prepared, arrive, are checked and stored. For clients, the check and
//! the write are a single atomic step.

use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::backend::{Adding, Addition, BackendError, PreparedDocument, Stored};
use crate::document::{Document, Metadata};
use crate::engine::documents::duplicates::Checks;
use crate::engine::{AddOptions, AddStatus, Added, Engine, EngineError, OnDuplicate, compute_if};
use crate::engine::{Analysis, CONTENT_INLINE_BYTES_MAX};

/// The outcome of adding each document.
pub(super) type Outcomes = Vec<Result<Added, EngineError>>;

/// A document, and how it is added.
pub(super) type DocumentToAdd = (Arc<PreparedDocument>, AddOptions);

impl Engine {
    /// [`prepare`](Self::prepare)s the document, on another thread if its content is large, and
    /// [admits](Self::admit) it.
    ///
    /// # Errors
    /// The errors of the two methods.
    pub async fn add(&self, document: Document, options: AddOptions) -> Result<Added, EngineError> {
        let is_large = document.content.weight() > CONTENT_INLINE_BYTES_MAX;
        let engine = self.clone();
        let prepared = compute_if(is_large, move || engine.prepare(document)).await??;
        self.add_prepared(prepared, options).await
    }

    pub(super) async fn add_prepared(
        &self,
        document: PreparedDocument,
        options: AddOptions,
    ) -> Result<Added, EngineError> {
        let mut outcomes = self.admit(vec![(document, options)]).await.await;
        outcomes.pop().expect("there is an outcome for each document")
    }

    /// The first step: builds the set, the sketch and the keys. Pure computation: a few
    /// microseconds per KiB of text.
    ///
    /// # Errors
    /// `MetadataTooLarge`, `AlreadyExpired`, and the errors of
    /// [`Analyser::analyse`](crate::engine::Analyser::analyse).
    pub fn prepare(&self, document: Document) -> Result<PreparedDocument, EngineError> {
        self.check_metadata(document.metadata.as_ref())?;
        if let Some(expires_at_ms) = document.expires_at_ms.filter(|at| *at <= self.clock.now_ms())
        {
            let expires_at = Timestamp::from_millisecond(expires_at_ms).unwrap_or_default();
            return Err(EngineError::AlreadyExpired { expires_at });
        }
        let analysis = self.analyser.analyse(&document.content)?;
        let mut prepared = self.prepared(document, analysis);
        if let (Some(blocks), Some(search)) = (&prepared.blocks, self.backend.passage_search()) {
            prepared.arriving = search.note_arriving(blocks);
        }
        Ok(prepared)
    }

    pub(super) fn check_metadata(&self, metadata: Option<&Metadata>) -> Result<(), EngineError> {
        let max = self.settings.limits.metadata_bytes_max;
        let found = metadata.map_or(0, |metadata| metadata.as_json().len());
        if found > max { Err(EngineError::MetadataTooLarge { found, max }) } else { Ok(()) }
    }

    pub(crate) fn prepared(&self, document: Document, analysis: Analysis) -> PreparedDocument {
        PreparedDocument {
            blocks: self.passage_blocks(&document.content).map(Arc::new),
            document,
            keys: self.analyser.scheme.arrival_keys(&analysis.set, &analysis.sketch),
            analysis,
            only_over: None,
            arriving: None,
        }
    }

    /// The second step: the documents arrive in this order before the call returns. Of two
    /// near-duplicates, and of two documents with the same id, the document that arrives first is
    /// the earlier document. The future looks up the near-duplicates, stores the documents, and
    /// ends once they are durable. Dropping it before the write begins leaves nothing behind;
    /// otherwise, it must be polled to completion: later documents may be waiting for these.
    ///
    /// # Errors
    /// For each document `PointsWanted`, `NoPointsWanted`, `PointsOutOfRange`, `ThresholdTooLow`,
    /// `OverBudget` (it is not stored), `OutOfService`, `Store`; of a document that is searched for
    /// passages `Unsupported`, `PassagesOff`, `WrongContent`.
    pub fn add_all(
        &self,
        documents: Vec<(PreparedDocument, AddOptions)>,
    ) -> impl Future<Output = Vec<Result<Added, EngineError>>> + Send + use<> {
        let engine = self.clone();
        let arrived = match self.successor.get() {
            Some(_) => Err(documents),
            None => Ok(self.arrive(documents)),
        };
        async move {
            match arrived {
                Ok((refused, checks, adding)) => engine.complete(refused, &checks, adding).await,
                Err(documents) => {
                    let again = documents.into_iter();
                    let again = again.map(|(document, options)| (Arc::new(document), options));
                    Box::pin(engine.add_to_successor(again.collect())).await
                }
            }
        }
    }

    /// Why each document has not arrived, by its place in the call; and the checks and the adding
    /// of the others.
    fn arrive(
        &self,
        documents: Vec<(PreparedDocument, AddOptions)>,
    ) -> (Vec<Option<EngineError>>, Arc<Checks>, Adding) {
        let (mut refused, mut additions, mut accepted) = (Vec::new(), Vec::new(), Vec::new());
        for (document, options) in documents {
            let addition = self.addition(document, &options);
            refused.push(addition.as_ref().err().cloned());
            if let Ok(addition) = addition {
                accepted.push((Arc::clone(&addition.document), options));
                additions.push(addition);
            }
        }
        let checked = Mutex::new(accepted.iter().map(|_| None).collect());
        let checks = Arc::new(Checks { engine: self.clone(), documents: accepted, checked });
        let check = Arc::clone(&checks);
        let adding = Arc::clone(&self.backend).add(additions, check);
        (refused, checks, adding)
    }

    async fn complete(
        &self,
        refused: Vec<Option<EngineError>>,
        checks: &Checks,
        adding: Adding,
    ) -> Outcomes {
        let stored = adding.await;
        let mut outcomes = Vec::with_capacity(refused.len());
        let checked = std::mem::take(&mut *checks.checked.lock());
        let documents = checks.documents.iter().map(|(document, _)| document);
        for ((document, checked), stored) in documents.zip(checked).zip(stored) {
            outcomes.push(self.outcome(document, checked, stored).await);
        }
        let outcomes = self.repeat_superseded(&checks.documents, outcomes).await;
        let mut outcomes = outcomes.into_iter();
        let mut next = || outcomes.next().expect("there is an outcome for each document");
        refused.into_iter().map(|refused| refused.map_or_else(&mut next, Err)).collect()
    }

    fn addition(
        &self,
        document: PreparedDocument,
        options: &AddOptions,
    ) -> Result<Addition, EngineError> {
        let search = self.rival_search(&document, options)?;
        if options.passages.is_some() {
            self.check_has_passages(&document.document.content)?;
        }
        let on_contained = options.passages.map(|check| check.on_contained);
        let tentative = options.on_duplicate == OnDuplicate::Skip
            || on_contained == Some(OnDuplicate::Skip)
            || document.only_over.is_some();
        Ok(Addition::new(document, search, tentative, options.passages.is_some()))
    }

    /// The outcome of a document that was checked, and stored or not.
    async fn outcome(
        &self,
        document: &PreparedDocument,
        checked: Option<Result<Added, EngineError>>,
        stored: Result<Option<Stored>, BackendError>,
    ) -> Result<Added, EngineError> {
        let stored = stored?;
        let mut added = checked.ok_or(BackendError::Closed)??;
        let Some(stored) = stored else { return Ok(added) };
        added.status = match stored {
            Stored::Created => AddStatus::Created,
            Stored::Unchanged => AddStatus::Unchanged,
            Stored::Replaced(replaced) => {
                if let Some(replaced) = replaced {
                    added.previous = Some(Box::pin(self.previous(document, *replaced)).await?);
                }
                AddStatus::Replaced
            }
        };
        if self.clusters_threshold().is_some() {
            tokio::task::yield_now().await;
            added.cluster = Box::pin(self.link_added(&added.id)).await;
        }
        Ok(added)
    }
}
