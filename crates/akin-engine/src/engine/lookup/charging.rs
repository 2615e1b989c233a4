//! The cost of lookups and comparisons, charged to the request before the work is done.

use crate::backend::Candidate;
use crate::budget::{Reservation, cost};
use crate::document::Content;
use crate::engine::lookup::Query;
use crate::engine::{Engine, EngineError};

/// Charges work, if it is counted.
pub(crate) fn charge(memory: Option<&Reservation>, units: usize) -> Result<(), EngineError> {
    Ok(memory.map_or(Ok(()), |memory| memory.charge(units))?)
}

/// Reserves memory, if it is counted.
pub(crate) fn reserve(memory: Option<&Reservation>, bytes: usize) -> Result<(), EngineError> {
    Ok(memory.map_or(Ok(()), |memory| memory.grow(bytes))?)
}

/// The cost of cutting and sketching a content. In multisets each count of a token is an element,
/// so counts are charged before the set is built.
pub(crate) fn of_content(content: &Content) -> usize {
    match content {
        Content::Text(text) => 1 + text.len() / cost::TEXT_BYTES,
        content => 1 + content.weight() / cost::SHINGLES_CUT,
    }
}

/// The cost of reading the candidates' sets and comparing them with a set of `shingles` shingles.
pub(crate) fn of_verifying(shingles: usize, candidates: &[Candidate]) -> usize {
    let each = |candidate: &Candidate| 1 + of_comparing(shingles, candidate.shingles as usize);
    candidates.iter().map(each).sum()
}

/// The cost of comparing two sets of `a` and `b` shingles.
pub(crate) fn of_comparing(a: usize, b: usize) -> usize {
    (a + b) / cost::SHINGLES_COMPARED
}

impl Engine {
    /// Charges a scan of all documents where the prefix index does not serve the threshold.
    pub(super) async fn charge_scan(&self, query: &Query<'_>) -> Result<(), EngineError> {
        let from = self.settings.scheme.exact_from();
        if from.is_some_and(|from| query.threshold.get() >= from.get()) {
            return Ok(());
        }
        self.charge_documents(query.memory).await
    }

    /// Charges a pass over all documents.
    pub(crate) async fn charge_documents(
        &self,
        memory: Option<&Reservation>,
    ) -> Result<(), EngineError> {
        if memory.is_none() {
            return Ok(());
        }
        let documents = self.backend.documents().await? as usize;
        charge(memory, documents / cost::DOCUMENTS)
    }
}
