//! Exact lookups: no false negatives.

use crate::backend::{ExactCandidates, Scan};
use crate::engine::lookup::keyed::ATTEMPTS_MAX;
use crate::engine::lookup::scoring::{put_in_order, score_members};
use crate::engine::lookup::{FoundMatches, ProbeQuery};
use crate::engine::{Engine, EngineError, FoundBy};
use akin_core::index::ExactSearch;

impl Engine {
    /// Every stored document at or over the threshold, in order: by the prefix index, or by a full
    /// scan if the index does not cover so low a threshold.
    pub(crate) async fn find_exactly(
        &self,
        query: &ProbeQuery<'_>,
    ) -> Result<FoundMatches, EngineError> {
        let search = ExactSearch {
            set: query.set().clone(),
            sketch: query.sketch().clone(),
            threshold: query.threshold,
            members_max: query.members_max,
        };
        let from = self.settings.scheme.exact_from();
        if from.is_none_or(|from| query.threshold < from) {
            self.charge_documents().await?;
        }
        for attempt in 1.. {
            let candidates = match self.backend.exact_candidates(&search).await? {
                ExactCandidates::Indexed(candidates) => candidates,
                ExactCandidates::Scanned(scan) => return Ok(self.scanned(query, scan)),
            };
            let mut checked = self.verify(query, candidates.found).await?;
            if checked.none_gone || attempt == ATTEMPTS_MAX {
                put_in_order(&mut checked.scored);
                return Ok(FoundMatches {
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

    fn scanned(&self, query: &ProbeQuery<'_>, scan: Scan) -> FoundMatches {
        let mut scored = Vec::with_capacity(scan.found.len());
        for found in scan.found {
            let agreeing = found.candidate.agreeing;
            let similarity = self.analyser.verified(found.overlap, agreeing);
            score_members(query, &found.candidate, &similarity, &mut scored);
        }
        put_in_order(&mut scored);
        FoundMatches {
            scored,
            candidates: scan.seen,
            truncated: false,
            expected_recall: 1.0,
            by: FoundBy::Scan,
        }
    }
}
