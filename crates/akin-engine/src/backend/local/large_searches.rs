//! Searches that may find very many sets, as for a filter that few documents match.

use std::sync::Arc;

use super::Local;
use crate::backend::{BackendError, Candidates};
use akin_core::index::{Search, SearchLimits};

/// Searches that find more sets than this (about 0.5 ms of work) run on a blocking thread.
const FOUND_INLINE_MAX: usize = 2_048;

/// Searches that read more postings than this run on a blocking thread, too.
const POSTINGS_INLINE_MAX: usize = 16_384;

/// Searches between two pauses: in a crowd they take some milliseconds. So few that hardly a
/// document is replaced meanwhile.
const LOOKUPS_AT_ONCE: usize = 32;

impl Local {
    /// Several searches, in pieces; between the pieces other searches have the thread.
    pub(super) async fn search_all(&self, searches: &[Search<'_>]) -> Vec<Candidates> {
        let mut found = Vec::with_capacity(searches.len());
        for piece in searches.chunks(LOOKUPS_AT_ONCE) {
            found.extend(self.memory.candidates_of_all(piece, self.now_ms()));
            tokio::task::yield_now().await;
        }
        found
    }

    /// The documents that have not expired at a time.
    pub(super) async fn search_at(
        &self,
        search: &Search<'_>,
        now_ms: i64,
    ) -> Result<Candidates, BackendError> {
        // Most searches find few sets with any limits.
        let limits = SearchLimits {
            found_max: search.limits.found_max.min(FOUND_INLINE_MAX),
            postings_max: search.limits.postings_max.min(POSTINGS_INLINE_MAX),
            ..search.limits
        };
        let found = self.memory.candidates(&Search { limits, ..*search }, now_ms);
        let is_small = limits == search.limits;
        let is_same = found.are_compared && limits.found_max == search.limits.found_max;
        if !found.truncated || is_small || is_same {
            return Ok(found);
        }
        let (memory, keys, sketch) =
            (Arc::clone(&self.memory), search.keys.to_vec(), search.sketch.clone());
        let Search { fingerprint, agreeing_min, threshold, start, limits, .. } = *search;
        let large = super::blocking(move || {
            let search = Search::new(&keys, &sketch, fingerprint, threshold, agreeing_min, limits)
                .starting_at(start);
            Ok(memory.candidates(&search, now_ms))
        });
        Ok(large.await?)
    }
}
