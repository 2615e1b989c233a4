//! Searches that may find very many sets, as for a filter that few documents match.

use std::sync::Arc;

use super::Local;
use crate::backend::{BackendError, Candidates};
use crate::index::Search;

/// Searches that find more sets than this (about 0.5 ms of work) run on a blocking thread.
const FOUND_INLINE_MAX: usize = 2_048;

/// Searches that read more postings than this run on a blocking thread, too.
const POSTINGS_INLINE_MAX: usize = 16_384;

impl Local {
    pub(super) async fn search(&self, search: &Search<'_>) -> Result<Candidates, BackendError> {
        self.search_at(search, self.now_ms()).await
    }

    /// [`Self::search`] for the documents that have not expired at a time.
    pub(super) async fn search_at(
        &self,
        search: &Search<'_>,
        now_ms: i64,
    ) -> Result<Candidates, BackendError> {
        if search.found_max <= FOUND_INLINE_MAX {
            return Ok(self.live.candidates(search, now_ms));
        }
        // Most searches find few sets whatever their limits.
        let postings_max = search.postings_max.min(POSTINGS_INLINE_MAX);
        let narrow = Search { found_max: FOUND_INLINE_MAX, postings_max, ..*search };
        let found = self.live.candidates(&narrow, now_ms);
        if !found.truncated {
            return Ok(found);
        }
        let (live, keys, sketch) =
            (Arc::clone(&self.live), search.keys.to_vec(), search.sketch.clone());
        let Search { fingerprint, agreeing_min, postings_max, found_max, members_max, .. } =
            *search;
        let wide = super::blocking(move || {
            let (keys, sketch) = (&keys[..], &sketch);
            let search = Search {
                keys,
                sketch,
                fingerprint,
                agreeing_min,
                postings_max,
                found_max,
                members_max,
            };
            Ok(live.candidates(&search, now_ms))
        });
        Ok(wide.await?)
    }
}
