//! The cost of lookups and comparisons, charged to the request before the work is done.

use crate::backend::Candidate;
use crate::background::request::{self, charge};
use crate::budget::cost;
use crate::document::Content;
use crate::engine::{Engine, EngineError};

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
    /// Charges a pass over all documents.
    pub(crate) async fn charge_documents(&self) -> Result<(), EngineError> {
        if request::current().is_none() {
            return Ok(());
        }
        let documents = self.backend.documents().await? as usize;
        Ok(charge(documents / cost::DOCUMENTS)?)
    }
}
