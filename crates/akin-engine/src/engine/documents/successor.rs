//! Repeats writes in the new collection after a reindex replaced the old collection.

use super::add::{DocumentToAdd, Outcomes};
use crate::backend::{BackendError, PreparedDocument};
use crate::engine::{Engine, EngineError, compute_if};

impl Engine {
    /// Adds the documents to the successor that were refused because of it.
    pub(super) async fn repeat_superseded(
        &self,
        documents: &[DocumentToAdd],
        outcomes: Outcomes,
    ) -> Outcomes {
        let is_superseded = |outcome: &Result<_, _>| {
            matches!(outcome, Err(EngineError::Backend(BackendError::Superseded)))
        };
        let again = documents.iter().zip(&outcomes);
        let again = again.filter(|(_, outcome)| is_superseded(outcome));
        let again: Vec<DocumentToAdd> = again.map(|(document, _)| document.clone()).collect();
        if again.is_empty() {
            return outcomes;
        }
        let mut again = self.add_to_successor(again).await.into_iter();
        let mut repeated = |outcome| match is_superseded(&outcome) {
            true => again.next().expect("there is an outcome for each document"),
            false => outcome,
        };
        outcomes.into_iter().map(&mut repeated).collect()
    }

    /// Adds in the given order, so the last document is kept if several have the same id.
    pub(super) async fn add_to_successor(&self, documents: Vec<DocumentToAdd>) -> Outcomes {
        let next = match self.successor().await {
            Ok(next) => next,
            Err(error) => return documents.iter().map(|_| Err(error.clone())).collect(),
        };
        let (engine, count) = (next.clone(), documents.len());
        let prepare = move |(prepared, options): DocumentToAdd| {
            let again = engine.prepare(prepared.document.clone());
            let over = |new| PreparedDocument { only_over: prepared.only_over, ..new };
            (again.map(over), options)
        };
        let prepare_all = move || documents.into_iter().map(prepare).collect::<Vec<_>>();
        let prepared = match compute_if(true, prepare_all).await {
            Ok(prepared) => prepared,
            Err(error) => return vec![Err(error); count],
        };
        let (mut again, mut outcomes) = (Vec::new(), Vec::new());
        for (prepared, options) in prepared {
            match prepared {
                Ok(document) => {
                    again.push((document, options));
                    outcomes.push(None);
                }
                Err(error) => outcomes.push(Some(Err(error))),
            }
        }
        // The successor may have been superseded, too.
        let mut added = Box::pin(next.add_all(again)).await.into_iter();
        let mut next = || added.next().expect("there is an outcome for each document");
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(&mut next)).collect()
    }
}
