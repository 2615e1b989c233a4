//! Work on all documents, page by page. Concurrent writes may or may not be seen: there is no
//! consistent view.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use smallvec::smallvec;

use super::Shared;
use super::command::{Command, number};
use super::documents::member_of;
use super::failure::unavailable;
use super::layout::{DOCUMENT_PARTS, Part};
use super::removal::id_of;
use super::versions::VersionRecord;
use crate::backend::{
    BackendError, Candidate, Matches, Records, Removed, Scan, Scanned, Times, Version, VersionPage,
};
use crate::document::DocumentId;
use crate::storage::{Detail, DocumentDetails, Record};
use akin_core::index::ExactSearch;
use akin_core::measure::Overlap;

/// Documents read at a time.
const DOCUMENTS_AT_ONCE: usize = 512;

/// Elements of sets in memory at once, unless one set alone has more.
const ELEMENTS_AT_ONCE: usize = 4 << 20;

impl Shared {
    /// The documents after `after`, with their live versions, and where the next page begins.
    async fn page(
        &self,
        after: Option<&DocumentId>,
    ) -> Result<(Vec<(DocumentId, VersionRecord)>, Option<DocumentId>), BackendError> {
        self.check_whole()?;
        let ids = self.list(after, DOCUMENTS_AT_ONCE).await?;
        let next = ids.last().filter(|_| ids.len() == DOCUMENTS_AT_ONCE).cloned();
        let live = self.live_of(ids.iter()).await?;
        let now_ms = self.now_ms();
        let found = ids.into_iter().zip(live).filter_map(|(id, stored)| Some((id, stored?)));
        Ok((found.filter(|(_, stored)| stored.is_alive(now_ms)).collect(), next))
    }

    /// The keys of a collection that was dropped or replaced are removed after a while, and a part
    /// of its documents must not look like all.
    fn check_whole(&self) -> Result<(), BackendError> {
        if self.is_closed() { Err(BackendError::Closed) } else { Ok(()) }
    }

    pub(super) async fn scan(self: &Arc<Self>, search: &ExactSearch) -> Result<Scan, BackendError> {
        let _permit = self.scans.take().await;
        let (mut scan, mut after) = (Scan::default(), None);
        loop {
            let (page, next) = self.page(after.as_ref()).await?;
            scan.seen += page.len();
            let can_reach = |(_, stored): &(DocumentId, VersionRecord)| {
                let (a, b) = (search.set.count(), stored.shingles as usize);
                Overlap::can_reach(a, b, search.threshold.get())
            };
            let page: Vec<_> = page.into_iter().filter(can_reach).collect();
            let mut rest = &page[..];
            while !rest.is_empty() {
                let mut elements = 0;
                let fits = |(_, stored): &&(DocumentId, VersionRecord)| {
                    elements += stored.shingles as usize;
                    elements <= ELEMENTS_AT_ONCE
                };
                let (now, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
                rest = later;
                let mut now = now.to_vec();
                // A document that is replaced while it is read is read again.
                for _ in 0..super::ATTEMPTS {
                    let (found, gone) = self.reaching(search, &now).await?;
                    scan.found.extend(found);
                    now = self.standing_of(gone).await?;
                    if now.is_empty() {
                        break;
                    }
                }
                if !now.is_empty() {
                    return Err(unavailable("documents are replaced faster than they are read"));
                }
            }
            match next {
                Some(next) => after = Some(next),
                None => return Ok(scan),
            }
        }
    }

    /// The versions of documents that stand now.
    async fn standing_of(
        &self,
        ids: Vec<DocumentId>,
    ) -> Result<Vec<(DocumentId, VersionRecord)>, BackendError> {
        let (live, now_ms) = (self.live_of(ids.iter()).await?, self.now_ms());
        let found = ids.into_iter().zip(live).filter_map(|(id, stored)| Some((id, stored?)));
        Ok(found.filter(|(_, stored)| stored.is_alive(now_ms)).collect())
    }

    /// The documents that reach the threshold, and the documents without a set, which were removed
    /// or replaced.
    async fn reaching(
        &self,
        search: &ExactSearch,
        documents: &[(DocumentId, VersionRecord)],
    ) -> Result<(Vec<Scanned>, Vec<DocumentId>), BackendError> {
        let fingerprints: Vec<u64> =
            documents.iter().map(|(_, stored)| stored.fingerprint).collect();
        let sets = self.read_sets(&fingerprints).await?;
        let gone = documents.iter().zip(&sets).filter(|(_, set)| set.is_none());
        let mut gone: Vec<DocumentId> = gone.map(|((id, _), _)| id.clone()).collect();
        let (probe, threshold) = (search.set.clone(), search.threshold.get());
        let compare = move || -> Vec<Option<Overlap>> {
            let overlap = |set: Option<_>| Overlap::reaching(&probe, &set?, threshold);
            sets.into_iter().map(overlap).collect()
        };
        let overlaps = tokio::task::spawn_blocking(compare).await;
        let overlaps = overlaps.map_err(|_| unavailable("the server is stopping"))?;
        let reaching = documents.iter().zip(overlaps);
        let reaching: Vec<_> = reaching.filter_map(|(of, overlap)| Some((of, overlap?))).collect();
        let entries = reaching.iter().map(|((_, stored), _)| stored.fingerprint);
        let entries = self.entries(entries).await?;
        let mut found = Vec::with_capacity(reaching.len());
        for (((id, stored), overlap), entry) in reaching.into_iter().zip(entries) {
            let Some(entry) = entry else {
                gone.push(id.clone());
                continue;
            };
            let agreeing =
                self.estimator.agreeing(search.sketch.as_bytes(), entry.sketch.as_bytes());
            let candidate = Candidate {
                fingerprint: stored.fingerprint,
                shingles: stored.shingles,
                agreeing,
                keys_shared: 0,
                members: smallvec![member_of(id, stored)],
            };
            found.push(Scanned { candidate, overlap });
        }
        Ok((found, gone))
    }

    pub(super) async fn versions(
        &self,
        after: Option<&DocumentId>,
    ) -> Result<VersionPage, BackendError> {
        let (page, next) = self.page(after).await?;
        let version = |(id, stored): (DocumentId, VersionRecord)| {
            let VersionRecord { content_hash, stored_at_ms, expires_at_ms, .. } = stored;
            (id, (content_hash, Times { stored_at_ms, expires_at_ms }))
        };
        Ok((page.into_iter().map(version).collect(), next))
    }

    pub(super) async fn remove_where(&self, matches: Matches) -> Result<Removed, BackendError> {
        let (mut sum, mut after) = (Removed::default(), None);
        loop {
            let (page, next) = self.page(after.as_ref()).await?;
            let mut versions = Vec::new();
            for (id, stored) in page {
                let ordinal = stored.ordinal;
                let details = DocumentDetails {
                    stored_at_ms: stored.stored_at_ms,
                    content_hash: stored.content_hash,
                    metadata: stored.metadata,
                };
                if matches(&details) {
                    versions.push(Version { id, ordinal });
                }
            }
            sum.matched += versions.len() as u64;
            sum.removed += self.remove_versions(versions).await?;
            match next {
                Some(next) => after = Some(next),
                None => return Ok(sum),
            }
        }
    }

    /// At most `documents` ids, drawn at random from every part.
    pub(super) async fn sample(&self, documents: usize) -> Result<Vec<DocumentId>, BackendError> {
        let of_part = (4 * documents).div_ceil(DOCUMENT_PARTS as usize) + 4;
        let draw = |part| Command::new("ZRANDMEMBER", self.layout.ids(part), [number(of_part)]);
        let drawn = self.connection.call(Part::all_of_documents().map(draw).collect()).await?;
        let ids = drawn.into_iter().flat_map(super::client::Reply::strings);
        let mut ids: Vec<(u64, DocumentId)> =
            ids.filter_map(|id: Bytes| Some((getrandom::u64().ok()?, id_of(&id)?))).collect();
        ids.sort_unstable_by_key(|(random, _)| *random);
        let now_ms = self.now_ms();
        let live = self.live_of(ids.iter().map(|(_, id)| id)).await?;
        let is_alive =
            |stored: &Option<VersionRecord>| stored.as_ref().is_some_and(|it| it.is_alive(now_ms));
        let alive = ids.into_iter().zip(live).filter(|(_, stored)| is_alive(stored));
        Ok(alive.map(|((_, id), _)| id).take(documents).collect())
    }

    /// All documents in the byte order of their ids.
    pub(super) fn export(self: &Arc<Self>, detail: Detail) -> Records {
        let export =
            Export { shared: Arc::clone(self), detail, next: Next::First, read: VecDeque::new() };
        stream::unfold(export, Export::next).fuse().boxed()
    }
}

struct Export {
    shared: Arc<Shared>,
    detail: Detail,
    next: Next,
    /// Documents of which a part is lost are errors among the others.
    read: VecDeque<Result<Record, BackendError>>,
}

enum Next {
    First,
    After(DocumentId),
    Ended,
}

/// Records in memory at once: contents may be long.
const RECORDS_AT_ONCE: usize = 128;

impl Export {
    async fn next(mut self) -> Option<(Result<Record, BackendError>, Self)> {
        while self.read.is_empty() {
            let after = match &self.next {
                Next::First => None,
                Next::After(id) => Some(id.clone()),
                Next::Ended => return None,
            };
            if let Err(error) = self.read_page(after).await {
                self.next = Next::Ended;
                return Some((Err(error), self));
            }
        }
        let read = self.read.pop_front()?;
        Some((read, self))
    }

    async fn read_page(&mut self, after: Option<DocumentId>) -> Result<(), BackendError> {
        self.shared.check_whole()?;
        let ids = self.shared.list(after.as_ref(), RECORDS_AT_ONCE).await?;
        self.next = match ids.last() {
            Some(last) if ids.len() == RECORDS_AT_ONCE => Next::After(last.clone()),
            _ => Next::Ended,
        };
        let records = self.shared.records(&ids, self.detail).await?;
        for (id, record) in ids.iter().zip(records) {
            // A document that was replaced while it was read is read again.
            let read = match record {
                Some(record) => Ok(Some(record)),
                None => self.shared.record(id).await,
            };
            match read {
                Err(error) if !matches!(error, BackendError::DocumentDamaged { .. }) => {
                    return Err(error);
                }
                read => self.read.extend(read.transpose()),
            }
        }
        Ok(())
    }
}
