//! What a document must be to be meant, besides near: conditions on its metadata and its time.

use std::sync::Arc;

use crate::document::Ordinal;
use crate::engine::lookup::Scored;
use crate::engine::{Engine, EngineError, Filter};
use crate::storage::DocumentDetails;

/// Matches whose details are in memory at once: 8 MiB of the longest metadata by default.
const CHECKED_AT_ONCE: usize = 128;

/// Evaluating a filter on more bytes of metadata than this leaves the runtime's thread.
const METADATA_INLINE_BYTES_MAX: usize = 65_536;

/// All must hold. Times are milliseconds since the epoch and not among those meant.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    pub filter: Option<Arc<Filter>>,
    pub stored_after_ms: Option<i64>,
    pub stored_before_ms: Option<i64>,
}

impl Conditions {
    /// Every document is meant.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { filter, stored_after_ms, stored_before_ms } = self;
        filter.is_none() && stored_after_ms.is_none() && stored_before_ms.is_none()
    }

    pub(in crate::engine) fn hold(&self, of: &DocumentDetails) -> bool {
        self.stored_after_ms.is_none_or(|after| of.stored_at_ms > after)
            && self.stored_before_ms.is_none_or(|before| of.stored_at_ms < before)
            && self.filter.as_ref().is_none_or(|filter| filter.matches(of.metadata.as_ref()))
    }
}

impl Engine {
    /// The first `limit` that meet the conditions, in their order; whether there may be more that
    /// were not looked at, as `limits.candidates_max` were.
    pub(in crate::engine) async fn meeting(
        &self,
        scored: Vec<Scored>,
        limit: usize,
        conditions: &Conditions,
    ) -> Result<(Vec<Scored>, bool), EngineError> {
        let looked_at = self.settings.limits.candidates_max;
        let cut = scored.len() > looked_at;
        let mut rest = scored.into_iter().take(looked_at);
        let mut met = Vec::new();
        while met.len() < limit {
            let next: Vec<Scored> = rest.by_ref().take(CHECKED_AT_ONCE).collect();
            if next.is_empty() {
                return Ok((met, cut));
            }
            met.extend(self.those_meeting(next, conditions).await?);
        }
        met.truncate(limit);
        Ok((met, false))
    }

    /// One that is gone meanwhile meets no condition.
    async fn those_meeting(
        &self,
        scored: Vec<Scored>,
        conditions: &Conditions,
    ) -> Result<Vec<Scored>, EngineError> {
        let (ordinals, scored): (Vec<Ordinal>, Vec<Scored>) =
            scored.into_iter().filter_map(|scored| Some((scored.ordinal?, scored))).unzip();
        let details = self.backend.details(ordinals).await?;
        let bytes: usize = details.iter().flatten().map(metadata_bytes).sum();
        let conditions = conditions.clone();
        let meeting = move || {
            let told = scored.into_iter().zip(details);
            let met = told.filter_map(|(scored, of)| Some((scored, of?)));
            let met = met.filter(|(_, of)| conditions.hold(of));
            met.map(|(scored, of)| scored.with_metadata(of.metadata)).collect()
        };
        crate::engine::off_runtime_if(bytes > METADATA_INLINE_BYTES_MAX, meeting).await
    }
}

fn metadata_bytes(of: &DocumentDetails) -> usize {
    of.metadata.as_ref().map_or(0, |metadata| metadata.as_json().len())
}
