//! What a new version of a document changed of the stored version that it replaced.

use crate::backend::{PreparedDocument, hash_of_parts};
use crate::engine::lookup::SHINGLES_INLINE_MAX;
use crate::engine::{Engine, EngineError, Record, compute_if};
use akin_core::measure::Overlap;
use akin_model::answer::Previous;
use akin_model::time::Time;

impl Engine {
    /// Compares a document with the version that it replaced.
    ///
    /// # Errors
    /// `Closed`
    pub(super) async fn previous(
        &self,
        document: &PreparedDocument,
        replaced: Record,
    ) -> Result<Previous, EngineError> {
        let new = &document.document;
        let with_metadata_of_then = hash_of_parts(&new.content, replaced.metadata.as_ref());
        let mut previous = Previous {
            stored_at: Time(replaced.stored_at_ms),
            content_changed: with_metadata_of_then != replaced.content_hash,
            metadata_changed: new.metadata != replaced.metadata,
            resemblance: None,
            exact: None,
            containment: None,
        };
        // A signature has no set, and the points of records follow from their texts.
        let has_sets = !self.analyser.takes_signatures() && !self.takes_records();
        if let Some(old) = replaced.set.filter(|_| has_sets) {
            let set = document.analysis.set.clone();
            let is_long = old.count() + set.count() > SHINGLES_INLINE_MAX;
            let overlap = compute_if(is_long, move || Overlap::of(&set, &old)).await?;
            previous.resemblance = Some(overlap.resemblance());
            previous.exact = previous.resemblance;
            previous.containment = Some(overlap.into());
        }
        Ok(previous)
    }
}
