//! Redirects writes through a handle on a reindexed collection to its successor.

use std::sync::Arc;

use crate::backend::{BackendError, PreparedDocument};
use crate::budget::Reservation;
use crate::document::DocumentId;
use crate::engine::{
    AddOptions, Added, Admitted, Conditions, Engine, EngineError, Removed, off_runtime_if,
};

/// The data needed to add a document again.
type Addition = (Arc<PreparedDocument>, AddOptions, Option<Arc<Reservation>>);

impl Engine {
    /// Searches near-duplicates, stores the document, and returns once it is durable. Dropping the
    /// future before the write begins leaves nothing behind. It must be polled to completion: later
    /// documents may be waiting for this one.
    ///
    /// # Errors
    /// `OutOfService`, `Store`.
    pub async fn complete(&self, admitted: Admitted) -> Result<Added, EngineError> {
        let addition = addition(&admitted);
        if self.successor.get().is_none() {
            let added = self.complete_here(admitted).await;
            if !matches!(added, Err(EngineError::Superseded)) {
                return added;
            }
        }
        let mut added = self.add_to_successor(vec![addition]).await;
        added.pop().expect("there is an outcome for each document")
    }

    /// Completes documents that were admitted in this order, like [`complete`](Self::complete). New
    /// ones that need not wait for others are stored together.
    ///
    /// # Errors
    /// For each document those of [`complete`](Self::complete).
    pub async fn complete_all(&self, admitted: Vec<Admitted>) -> Vec<Result<Added, EngineError>> {
        let additions: Vec<Addition> = admitted.iter().map(addition).collect();
        if self.successor.get().is_some() {
            return self.add_to_successor(additions).await;
        }
        let mut outcomes = self.complete_all_here(admitted).await;
        let is_superseded = |of: &Result<_, _>| matches!(of, Err(EngineError::Superseded));
        let superseded: Vec<usize> =
            (0..outcomes.len()).filter(|&at| is_superseded(&outcomes[at])).collect();
        if !superseded.is_empty() {
            let again = superseded.iter().map(|&at| additions[at].clone()).collect();
            for (at, added) in superseded.into_iter().zip(self.add_to_successor(again).await) {
                outcomes[at] = added;
            }
        }
        outcomes
    }

    /// In their order, so that of several documents with one id the last is kept.
    async fn add_to_successor(&self, additions: Vec<Addition>) -> Vec<Result<Added, EngineError>> {
        let Some(next) = self.successor.get().map(|collection| collection.engine.clone()) else {
            return additions.iter().map(|_| Err(EngineError::Superseded)).collect();
        };
        let (engine, count) = (next.clone(), additions.len());
        let prepare = move |(prepared, options, memory): Addition| {
            let again = engine.prepare(prepared.document.clone());
            let over = |new| PreparedDocument { only_over: prepared.only_over, ..new };
            (again.map(over), options, memory)
        };
        let prepare_all = move || additions.into_iter().map(prepare).collect::<Vec<_>>();
        let prepared = match off_runtime_if(true, prepare_all).await {
            Ok(prepared) => prepared,
            Err(error) => return vec![Err(error); count],
        };
        let (mut admitted, mut outcomes) = (Vec::new(), Vec::new());
        for (prepared, options, memory) in prepared {
            match async { next.admit_within(prepared?, options, memory).await }.await {
                Ok(document) => {
                    admitted.push(document);
                    outcomes.push(None);
                }
                Err(error) => outcomes.push(Some(Err(error))),
            }
        }
        // The successor may have been superseded, too.
        let mut added = Box::pin(next.complete_all(admitted)).await.into_iter();
        let mut next = || added.next().expect("there is an outcome for each document");
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(&mut next)).collect()
    }

    /// Removes a document and returns once the removal is durable.
    ///
    /// # Errors
    /// `DocumentNotFound`, `OutOfService`.
    pub async fn remove(&self, id: &DocumentId) -> Result<(), EngineError> {
        if let Some(next) = self.successor.get() {
            return Box::pin(next.engine.remove(id)).await;
        }
        match self.backend.remove(id).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(EngineError::not_found(id)),
            Err(BackendError::Superseded) => Box::pin(self.remove(id)).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the documents that match the conditions now, in one consistent view. Documents
    /// stored later stay. Dropping the future stops it; documents already removed stay removed.
    ///
    /// # Errors
    /// `NoConditions` (delete the collection to remove everything), `OutOfService`, `Store`.
    pub async fn remove_where(&self, conditions: Conditions) -> Result<Removed, EngineError> {
        if let Some(next) = self.successor.get() {
            return Box::pin(next.engine.remove_where(conditions)).await;
        }
        match self.remove_where_here(conditions.clone()).await {
            Err(EngineError::Superseded) => Box::pin(self.remove_where(conditions)).await,
            removed => removed,
        }
    }
}

fn addition(admitted: &Admitted) -> Addition {
    let Admitted { registered, options, memory } = admitted;
    (Arc::clone(&registered.document), *options, memory.clone())
}
