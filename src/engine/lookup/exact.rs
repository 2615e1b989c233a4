//! Exact lookups: no false negatives.

use crate::backend::{ExactCandidates, Scan};
use crate::engine::lookup::keyed::ATTEMPTS_MAX;
use crate::engine::lookup::{Found, Query, score_members};
use crate::engine::{Engine, EngineError, FoundBy};
use crate::index::ExactSearch;

impl Engine {
    /// Every stored document at or over the threshold, unordered: by the prefix index, or by a full
    /// scan if the index does not cover so low a threshold.
    pub(crate) async fn find_exactly(&self, query: &Query<'_>) -> Result<Found, EngineError> {
        let search = ExactSearch {
            set: query.set.clone(),
            sketch: query.sketch.clone(),
            threshold: query.threshold,
            members_max: query.members_max,
        };
        for attempt in 1.. {
            let candidates = match self.backend.exact_candidates(&search).await? {
                ExactCandidates::Indexed(candidates) => candidates,
                ExactCandidates::Scanned(scan) => return Ok(self.scanned(query, scan)),
            };
            let checked = self.verify(query, candidates.found).await?;
            if checked.none_gone || attempt == ATTEMPTS_MAX {
                return Ok(Found {
                    scored: checked.scored,
                    candidates: candidates.seen,
                    truncated: candidates.truncated || !checked.none_gone,
                    expected_recall: 1.0,
                    by: FoundBy::Prefix,
                });
            }
        }
        unreachable!("the last attempt returns");
    }

    fn scanned(&self, query: &Query<'_>, scan: Scan) -> Found {
        let are_whole = !self.analyser.shingler.sampling().is_on();
        let mut scored = Vec::with_capacity(scan.found.len());
        for found in scan.found {
            let agreeing = found.candidate.agreeing;
            let similarity = self.analyser.verified(found.overlap, agreeing, are_whole);
            score_members(query, &found.candidate, similarity, &mut scored);
        }
        Found {
            scored,
            candidates: scan.seen,
            truncated: false,
            expected_recall: 1.0,
            by: FoundBy::Scan,
        }
    }
}
