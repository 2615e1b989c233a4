//! Copies the documents of a collection into the collection that is to replace it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::try_join;
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::time::sleep;

use super::reindex::Reindex;
use crate::backend::{Addition, Backend, ChangesUpTo, Unchecked};
use crate::document::{Document, DocumentId};
use crate::engine::{Engine, EngineError, off_runtime};
use crate::stored::{Changes, Detail, Order, Position, Record, Times};
use akin_model::analysis::ContentError;

/// Documents held in memory at a time.
const DOCUMENTS_AT_ONCE: usize = 256;

/// Documents read or removed at the same time.
const READ_AT_ONCE: usize = 64;

/// Differences that may be left while writes are paused.
const DIFFERENCES_LEFT_MAX: usize = 256;

/// Changes that may not have settled when writes are paused: they are compared again during the
/// pause, which takes about a second.
const UNSETTLED_MAX: u32 = 50_000;

/// Rounds before writes are paused at the latest, however much is written meanwhile.
const ROUNDS_MAX: usize = 16;

/// Waits for changes to settle: ten minutes together.
const WAITS_SECONDS: [u64; 15] = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60, 60, 60];

/// Brings a new collection level with the collection that it is to replace.
pub(super) struct Transfer<'a> {
    from: &'a dyn Backend,
    /// Analyses the documents again.
    to: &'a Engine,
    reindex: &'a Reindex,
    /// All changes up to here are copied; `None` without a feed of changes.
    position: Option<Position>,
    /// Changes that the last round compared, and the next compares again.
    unsettled: u32,
}

impl<'a> Transfer<'a> {
    pub async fn begin(
        from: &'a dyn Backend,
        to: &'a Engine,
        reindex: &'a Reindex,
    ) -> Result<Self, EngineError> {
        let position = match from.change_feed() {
            Some(feed) => Some(feed.last_change(ChangesUpTo::Settled).await?),
            None => None,
        };
        reindex.total.store(from.documents().await?, Ordering::Relaxed);
        Ok(Self { from, to, reindex, position, unsettled: 0 })
    }

    /// Copies a view of all documents, in the order in which they were stored.
    pub async fn copy_all(&self) -> Result<(), EngineError> {
        let mut records = self.from.export(Detail::Content, Order::Stored).await;
        loop {
            let batch: Vec<Record> = records.by_ref().take(DOCUMENTS_AT_ONCE).try_collect().await?;
            if batch.is_empty() {
                return Ok(());
            }
            self.copy(batch).await?;
        }
    }

    /// Returns once few documents differ and most changes have settled, or after many rounds.
    ///
    /// # Errors
    /// `ReindexUnsettled`: too many changes have not settled, also after all waits.
    pub async fn rounds(&mut self) -> Result<(), EngineError> {
        let (mut more, mut waits) = (1..ROUNDS_MAX, WAITS_SECONDS.into_iter());
        loop {
            let differences = self.round().await?;
            if self.unsettled > UNSETTLED_MAX {
                self.wait(waits.next().ok_or(EngineError::ReindexUnsettled)?).await?;
            } else if differences <= DIFFERENCES_LEFT_MAX || more.next().is_none() {
                return Ok(());
            }
        }
    }

    async fn wait(&self, seconds: u64) -> Result<(), EngineError> {
        for _ in 0..seconds {
            sleep(Duration::from_secs(1)).await;
            self.reindex.check_cancelled()?;
        }
        Ok(())
    }

    /// Copies what has changed since the last round; returns the number of documents that differed,
    /// or the largest number if the changes since then are not kept, so that all were compared.
    /// Changes that have not settled are compared again in the next round, and seldom differ then.
    pub async fn round(&mut self) -> Result<usize, EngineError> {
        let (Some(feed), Some(mut position)) = (self.from.change_feed(), self.position) else {
            return self.compare_all().await;
        };
        let settled = feed.last_change(ChangesUpTo::Settled).await?;
        let (end, mut differences) = (feed.last_change(ChangesUpTo::Committed).await?, 0);
        self.unsettled = feed.unsettled(settled, end, UNSETTLED_MAX + 1).await?;
        while position.sequence < end.sequence {
            match feed.changes_after(position, DOCUMENTS_AT_ONCE, ChangesUpTo::Committed).await? {
                Changes::Some(changes, next) => {
                    let ids: BTreeSet<_> = changes.into_iter().map(|change| change.id).collect();
                    differences += self.compare(ids.into_iter().collect()).await?;
                    position = next;
                }
                Changes::Gone => {
                    self.compare_all().await?;
                    self.position = Some(settled);
                    return Ok(usize::MAX);
                }
            }
        }
        self.position = Some(settled);
        Ok(differences)
    }

    async fn compare_all(&self) -> Result<usize, EngineError> {
        let mut differences = 0;
        for side in [self.from, &*self.to.backend] {
            let mut ids = side.list(None, DOCUMENTS_AT_ONCE).await?;
            while let Some(last) = ids.last().cloned() {
                differences += self.compare(ids).await?;
                ids = side.list(Some(last), DOCUMENTS_AT_ONCE).await?;
            }
        }
        Ok(differences)
    }

    /// Copies or removes those of the documents that differ, and returns their number.
    async fn compare(&self, ids: Vec<DocumentId>) -> Result<usize, EngineError> {
        self.reindex.check_cancelled()?;
        let to = &self.to.backend;
        let (there, here) = try_join(self.from.stamps(&ids), to.stamps(&ids)).await?;
        let stamps = there.into_iter().zip(here);
        let differing = ids.into_iter().zip(stamps).filter(|(_, (there, here))| there != here);
        let (kept, removed): (Vec<_>, Vec<_>) =
            differing.partition(|(_, (there, _))| there.is_some());
        let differences = kept.len() + removed.len();
        let removals = removed.iter().map(|(id, _)| to.remove(id)).collect::<Vec<_>>();
        stream::iter(removals).buffer_unordered(READ_AT_ONCE).try_collect::<Vec<_>>().await?;
        let reads = kept.iter().map(|(id, _)| self.from.record(id, Detail::Content));
        let reads = stream::iter(reads.collect::<Vec<_>>()).buffered(READ_AT_ONCE);
        // A document that is removed meanwhile is left to the next round.
        let records = reads.try_filter_map(async |record| Ok(record)).try_collect().await?;
        self.copy(records).await?;
        Ok(differences)
    }

    async fn copy(&self, records: Vec<Record>) -> Result<(), EngineError> {
        self.reindex.check_cancelled()?;
        let count = records.len() as u64;
        self.to.copy_in(records).await?;
        self.reindex.done.fetch_add(count, Ordering::Relaxed);
        Ok(())
    }
}

impl Engine {
    /// Stores documents of another collection, with their times.
    pub(super) async fn copy_in(&self, records: Vec<Record>) -> Result<(), EngineError> {
        let engine = self.clone();
        let copies = move || records.into_iter().map(|record| engine.copy_of(record)).collect();
        let copies: Result<Vec<Addition>, EngineError> = off_runtime(copies).await?;
        for stored in Arc::clone(&self.backend).add(copies?, Arc::new(Unchecked)).await {
            stored?;
        }
        Ok(())
    }

    /// Analyses a document of another collection with the settings of this collection.
    fn copy_of(&self, record: Record) -> Result<Addition, EngineError> {
        // Named one by one, so that a new field is either taken over or left out on purpose.
        let Record {
            ordinal: _,
            id,
            stored_at_ms,
            expires_at_ms,
            content,
            metadata,
            set: _,
            shingles: _,
            fingerprint: _,
            content_hash: _,
            sketch: _,
            whole_document: _,
        } = record;
        let unfit =
            |error: ContentError| EngineError::Unfit { id: id.clone(), reason: error.to_string() };
        let content = content.ok_or_else(|| EngineError::TextNotKept { id: id.clone() })?;
        let analysis = self.analyser.analyse(&content).map_err(unfit)?;
        let document = Document { id, content, metadata, expires_at_ms };
        let times = Some(Times { stored_at_ms, expires_at_ms });
        let copy = Addition::new(self.prepared(document, analysis), None, false, false);
        Ok(Addition { times, ..copy })
    }
}
