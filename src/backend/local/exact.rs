//! Exact lookups: by the prefix index, or by a scan of every set.

use std::ops::ControlFlow;
use std::sync::Arc;

use smallvec::smallvec;
use tokio::sync::OwnedSemaphorePermit;

use super::Local;
use crate::backend::{BackendError, Candidate, Candidates, Member, Scan, Scanned};
use crate::index::{ExactSearch, Unanswered};
use crate::measure::Overlap;
use crate::scheme::Threshold;
use crate::sketch::Sketch;
use crate::storage::{SetRow, StorageError, Visited};
use crate::text::ShingleSet;

/// Lookups that read more postings than this (about 1 ms of work) run on a blocking thread, with
/// limited concurrency.
const POSTINGS_INLINE_MAX: usize = 16_384;

/// An owned [`ExactSearch`] that can be sent to another thread.
struct OwnedSearch {
    set: ShingleSet,
    sketch: Sketch,
    threshold: Threshold,
    members_max: usize,
}

impl Local {
    pub(super) async fn search_exactly(
        &self,
        search: &ExactSearch<'_>,
    ) -> Result<Option<Candidates>, BackendError> {
        match self.live.exact_candidates(search, POSTINGS_INLINE_MAX, self.now_ms()) {
            Ok(candidates) => return Ok(Some(candidates)),
            Err(Unanswered::NotFiled) => return Ok(None),
            Err(Unanswered::TooManyPostings) => {}
        }
        let (permit, now_ms) = (self.scan_permit().await, self.now_ms());
        let (live, owned) = (Arc::clone(&self.live), OwnedSearch::from(search));
        let read_all = super::blocking(move || {
            let _permit = permit;
            Ok(live.exact_candidates(&owned.search(), usize::MAX, now_ms).ok())
        });
        Ok(read_all.await?)
    }

    pub(super) async fn look_at_all(&self, search: &ExactSearch<'_>) -> Result<Scan, BackendError> {
        let permit = self.scan_permit().await;
        let (live, owned) = (Arc::clone(&self.live), OwnedSearch::from(search));
        let visit = move |scan: &mut Scan, row: &SetRow<'_>| -> Visited {
            let _held = &permit;
            scan.seen += 1;
            if let Some(overlap) = owned.overlap(row)? {
                let agreeing = live.index.agreeing(owned.sketch.as_bytes(), row.document.sketch);
                scan.found.push(Scanned { candidate: candidate(row, agreeing), overlap });
            }
            Ok(ControlFlow::Continue(()))
        };
        Ok(self.store.visit_sets(self.now_ms(), Scan::default(), visit).await?)
    }

    async fn scan_permit(&self) -> OwnedSemaphorePermit {
        let permit = Arc::clone(&self.scans).acquire_owned();
        permit.await.expect("the semaphore is never closed")
    }
}

impl OwnedSearch {
    fn search(&self) -> ExactSearch<'_> {
        ExactSearch {
            set: &self.set,
            sketch: &self.sketch,
            threshold: self.threshold,
            members_max: self.members_max,
        }
    }

    /// Reads the set only if its size admits the threshold.
    fn overlap(&self, row: &SetRow<'_>) -> Result<Option<Overlap>, StorageError> {
        let (size, threshold) = (row.document.shingles as usize, self.threshold.get());
        if !Overlap::can_reach(self.set.count(), size, threshold) {
            return Ok(None);
        }
        Ok(Overlap::reaching(&self.set, &row.set()?, threshold))
    }
}

impl From<&ExactSearch<'_>> for OwnedSearch {
    fn from(search: &ExactSearch<'_>) -> Self {
        Self {
            set: search.set.clone(),
            sketch: search.sketch.clone(),
            threshold: search.threshold,
            members_max: search.members_max,
        }
    }
}

fn candidate(row: &SetRow<'_>, agreeing: u32) -> Candidate {
    let document = &row.document;
    let member = Member {
        ordinal: document.ordinal,
        id: document.document_id(),
        has_metadata: document.has_metadata(),
    };
    Candidate {
        fingerprint: document.fingerprint,
        shingles: document.shingles,
        agreeing,
        keys_shared: 0,
        members: smallvec![member],
    }
}
