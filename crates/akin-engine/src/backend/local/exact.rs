//! Exact lookups: by the prefix index, or by a scan of every set.

use std::ops::ControlFlow;
use std::sync::Arc;

use smallvec::smallvec;

use super::Local;
use crate::backend::{BackendError, Candidate, Candidates, Member, Scan, Scanned};
use crate::storage::{SetRow, StorageError, Visited};
use akin_core::index::{ExactSearch, Unanswered};
use akin_core::measure::Overlap;

/// Lookups that read more postings than this (about 1 ms of work) run on a blocking thread, with
/// limited concurrency.
const POSTINGS_INLINE_MAX: usize = 16_384;

impl Local {
    /// The documents that have not expired at a time, by the prefix index; `None` if the index does
    /// not cover the threshold.
    pub(super) async fn search_exactly_at(
        &self,
        search: &ExactSearch,
        now_ms: i64,
    ) -> Result<Option<Candidates>, BackendError> {
        match self.memory.exact_candidates(search, POSTINGS_INLINE_MAX, now_ms) {
            Ok(candidates) => return Ok(Some(candidates)),
            Err(Unanswered::NotIndexed) => return Ok(None),
            Err(Unanswered::TooManyPostings) => {}
        }
        let permit = self.scans.take().await;
        let (memory, search) = (Arc::clone(&self.memory), search.clone());
        let read_all = super::blocking(move || {
            let _permit = permit;
            Ok(memory.exact_candidates(&search, usize::MAX, now_ms).ok())
        });
        Ok(read_all.await?)
    }

    /// Scans all documents of a consistent view. Dropping the future stops it.
    pub(super) async fn scan(&self, search: &ExactSearch) -> Result<Scan, BackendError> {
        let permit = self.scans.take().await;
        let (memory, search) = (Arc::clone(&self.memory), search.clone());
        let visit = move |scan: &mut Scan, row: &SetRow<'_>| -> Visited {
            let _held = &permit;
            scan.seen += 1;
            if let Some(overlap) = overlap(&search, row)? {
                let agreeing = memory.index.agreeing(search.sketch.as_bytes(), row.document.sketch);
                scan.found.push(Scanned { candidate: candidate(row, agreeing), overlap });
            }
            Ok(ControlFlow::Continue(()))
        };
        Ok(self.store.visit_sets(self.now_ms(), Scan::default(), visit).await?)
    }
}

/// The overlap, if it reaches the threshold. Reads the set only if its size allows that.
fn overlap(search: &ExactSearch, row: &SetRow<'_>) -> Result<Option<Overlap>, StorageError> {
    let (size, threshold) = (row.document.shingles as usize, search.threshold.get());
    if !Overlap::can_reach(search.set.count(), size, threshold) {
        return Ok(None);
    }
    Ok(Overlap::reaching(&search.set, &row.set()?, threshold))
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
