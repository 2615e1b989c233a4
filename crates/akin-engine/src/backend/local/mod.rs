//! The backend in this process: the index in memory, the store on disk. Every write passes
//! [`Local::write`]: it is committed and synced, then applied to the index, then acknowledged. So
//! the index never contains data that a crash could lose, and writes become visible in log order.

mod adding;
mod capabilities;
mod catalog;
mod cluster_keeping;
mod collections;
mod contents;
mod exact;
mod expiries;
mod failure;
pub(crate) mod files;
mod large_searches;
mod lookup;
mod memory_state;
mod passages;
mod passes;
mod recovery;
mod removal;
mod replacements;
mod snapshots;
mod threads;
mod view;
mod work_directory;
mod writing;

use std::path::Path;
use std::sync::{Arc, atomic::AtomicU64};

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use tokio::sync::{mpsc, watch};

use crate::backend::in_flight::InFlight;
use crate::backend::parallel::cores;
use crate::backend::{
    Adding, Addition, Backend, BackendError, BackendStats, Backups, Candidate, Candidates,
    ChangeFeed, Check, Clock, ClusterKeeping, Clusters, ExactCandidates, Matches, Opening,
    PassageSearch, PausedWrites, Records, Recovery, Removed, SketchScanning, Sketched,
    SnapshotWriting, Stamp, Version, WriteGate, seeded,
};
use crate::background::turns::Turns;
use crate::document::{Content, DocumentId, Ordinal};
use crate::storage::{StorageError, StorageSettings, Store};
use crate::stored::{Detail, DocumentDetails, Order, Record, Times};
use akin_core::index::{ExactSearch, Search};
use akin_core::scheme::Scheme;
use akin_core::text::ShingleSet;
use akin_model::settings::CollectionSettings;
use akin_model::stats::CollectionSize;
use catalog::Listing;
use memory_state::MemoryState;
use passages::ArrivingTexts;
use passes::Passes;
use threads::{blocking, long};

pub use collections::LocalCollections;
pub use files::LocalCollection;

/// Lists of more ids are long work.
const IDS_BLOCKING_MAX: usize = 1_024;

pub struct Local {
    memory: Arc<MemoryState>,
    in_flight: InFlight,
    store: Arc<Store>,
    /// Held while a snapshot is written.
    snapshotting: Arc<tokio::sync::Mutex<()>>,
    /// Limits concurrent lookups that scan all sets or very long postings.
    scans: Arc<Turns>,
    /// Limits concurrent searches for passages.
    passage_searches: Arc<Turns>,
    /// The texts in flight, in a collection with passages.
    arriving_texts: Option<Arc<ArrivingTexts>>,
    /// Over the sketches.
    passes: Arc<Passes>,
    next_ordinal: AtomicU64,
    /// The sequence of the newest usable snapshot; 0 if there is none.
    snapshot_sequence: AtomicU64,
    /// Every write passes it.
    gate: WriteGate,
    sketch_bytes: u32,
    recovery: Recovery,
    /// With the seed of the hashes.
    settings: CollectionSettings,
    storage: StorageSettings,
    /// Determines the times of storage and expiry.
    clock: Clock,
    identity: String,
}

impl Local {
    /// Opens or creates the collection in a directory and recovers its index. A collection created
    /// with other settings that decide what is stored is refused. Blocks, so it must not run on a
    /// runtime thread.
    ///
    /// # Errors
    /// The errors of [`Store::open`]; a store that ends before its snapshot; a snapshot with other
    /// settings.
    pub fn open(
        dir: &Path,
        settings: &CollectionSettings,
        storage: StorageSettings,
        opening: &Opening,
    ) -> Result<Self, BackendError> {
        let mut chosen = None;
        let store = Store::open(dir, &storage, |found| {
            let settings = seeded(settings, found)?;
            let scheme = Scheme::new(&settings.scheme, &settings.sketch);
            let (identity, shingler) = (settings.identity(&scheme), settings.unlimited_shingler());
            let of_store = (identity.clone(), shingler.clone());
            chosen = Some((settings, scheme, identity, shingler));
            Ok::<_, BackendError>(of_store)
        })?;
        let (settings, scheme, identity, shingler) = chosen.expect("an open store has chosen");
        let (sketch, progress) = (&settings.sketch, &opening.progress);
        let recovered = recovery::recover(&store, &identity, &scheme, sketch, progress)?;
        let index = recovery::with_prefix(recovered.index, settings.scheme.exact_from(), &store)?;
        let (sketch_bytes, estimator) = (scheme.sketch_bytes() as u32, scheme.estimator(sketch));
        let sets = opening.sets.of_next_collection();
        let mut memory = MemoryState::new(index, recovered.catalog, scheme, sets);
        if settings.clusters.threshold.is_some() {
            let bytes_max = settings.limits.clusters_bytes_max;
            let (notes_max, chunks) = (storage.changes_kept as usize, memory.catalog.chunks());
            memory.clusters = Some(Clusters::new(bytes_max, notes_max, chunks));
        }
        let passages = settings.passages.settings();
        if let Some(passages) = passages {
            memory.passages = Some(recovery::with_passages(passages, &shingler, &store)?);
        }
        Ok(Self {
            memory: Arc::new(memory),
            in_flight: InFlight::new(estimator),
            store: Arc::new(store),
            snapshotting: Arc::default(),
            scans: Turns::new(storage.scans_max as usize),
            passage_searches: Turns::new(cores()),
            arriving_texts: passages.map(ArrivingTexts::new),
            passes: Passes::new(),
            next_ordinal: AtomicU64::new(recovered.next_ordinal),
            snapshot_sequence: AtomicU64::new(recovered.recovery.snapshot_sequence.unwrap_or(0)),
            gate: WriteGate::default(),
            sketch_bytes,
            recovery: recovered.recovery,
            settings,
            storage,
            clock: opening.clock.clone(),
            identity,
        })
    }

    fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Reads the sets of documents from disk into the cache.
    async fn read_sets(
        &self,
        ordinals: Vec<Ordinal>,
    ) -> Result<Vec<Option<ShingleSet>>, BackendError> {
        let records = self.fetch(ordinals, Detail::Set).await?;
        let keep = |record: Record| {
            let set = record.set?;
            self.memory.sets.insert(record.fingerprint, set.clone());
            Some(set)
        };
        Ok(records.into_iter().map(|record| record.and_then(keep)).collect())
    }
}

#[async_trait]
impl Backend for Local {
    fn add(self: Arc<Self>, documents: Vec<Addition>, check: Arc<dyn Check>) -> Adding {
        let arrived = documents.into_iter().map(|document| self.arrive(document)).collect();
        Box::pin(async move { self.add_arrived(arrived, &*check).await })
    }

    async fn remove(&self, id: &DocumentId) -> Result<bool, BackendError> {
        let arrival = self.in_flight.enter_removal(id);
        arrival.wait_for_predecessor().await;
        let Some(Listing { id, ordinal, .. }) = self.memory.catalog.alive(id, self.now_ms()) else {
            return Ok(false);
        };
        self.remove_document(arrival, id, ordinal).await.map(|()| true)
    }

    async fn remove_expired(&self, max: usize) -> Result<u64, BackendError> {
        let (due, mut removed) = (self.memory.catalog.due(self.now_ms(), max), Removed::default());
        self.remove_all(due, &mut removed).await?;
        Ok(removed.removed)
    }

    async fn remove_where(
        &self,
        matches: Matches,
        removed: &mut Removed,
    ) -> Result<(), BackendError> {
        let selected = self.store.select(self.now_ms(), matches).await?;
        self.remove_all(selected, removed).await
    }

    async fn candidates(&self, searches: &[Search<'_>]) -> Result<Vec<Candidates>, BackendError> {
        match searches {
            [search] => Ok(vec![self.search_at(search, self.now_ms()).await?]),
            searches => Ok(self.search_all(searches).await),
        }
    }

    async fn exact_candidates(
        &self,
        search: &ExactSearch,
    ) -> Result<ExactCandidates, BackendError> {
        match self.search_exactly_at(search, self.now_ms()).await? {
            Some(candidates) => Ok(ExactCandidates::Indexed(candidates)),
            None => self.scan(search).await.map(ExactCandidates::Scanned),
        }
    }

    async fn sets(
        &self,
        candidates: &[Candidate],
    ) -> Result<Vec<Option<ShingleSet>>, BackendError> {
        let cached = |candidate: &Candidate| self.memory.sets.get(candidate.fingerprint);
        let mut sets: Vec<_> = candidates.iter().map(cached).collect();
        let missing: Vec<usize> = (0..sets.len()).filter(|&i| sets[i].is_none()).collect();
        if missing.is_empty() {
            return Ok(sets);
        }
        let first = |&i: &usize| candidates[i].members[0].ordinal;
        let read = self.read_sets(missing.iter().map(first).collect()).await?;
        for (i, set) in missing.into_iter().zip(read) {
            sets[i] = match set {
                // The first member was removed since; every member has the same set.
                None => self.any_set(&candidates[i]).await?,
                set => set,
            };
        }
        Ok(sets)
    }

    async fn contents(
        &self,
        groups: &[Vec<Version>],
    ) -> Result<Vec<Option<Content>>, BackendError> {
        self.read_contents(groups).await
    }

    async fn details(
        &self,
        versions: &[Version],
    ) -> Result<Vec<Option<DocumentDetails>>, BackendError> {
        let ordinals: Vec<Ordinal> = versions.iter().map(|version| version.ordinal).collect();
        let details = self.store.details(ordinals.clone()).await?;
        self.check_missing(&ordinals, &details).await.map(|()| details)
    }

    async fn stamps(&self, ids: &[DocumentId]) -> Result<Vec<Option<Stamp>>, BackendError> {
        let now_ms = self.now_ms();
        let listed: Vec<_> = ids.iter().map(|id| self.memory.catalog.alive(id, now_ms)).collect();
        let ordinals: Vec<_> = listed.iter().flatten().map(|listing| listing.ordinal).collect();
        let details = self.store.details(ordinals.clone()).await?;
        self.check_missing(&ordinals, &details).await?;
        let mut details = details.into_iter();
        let stamp = |listing: Option<Listing>| {
            let (expires_at_ms, details) = (listing?.expires_at_ms(), details.next()??);
            let DocumentDetails { stored_at_ms, content_hash, .. } = details;
            Some(Stamp { content_hash, times: Times { stored_at_ms, expires_at_ms } })
        };
        Ok(listed.into_iter().map(stamp).collect())
    }

    async fn sketched(&self, ids: &[DocumentId]) -> Result<Vec<Option<Sketched>>, BackendError> {
        let now_ms = self.now_ms();
        Ok(ids.iter().map(|id| self.memory.sketched(id, now_ms)).collect())
    }

    async fn record(
        &self,
        id: &DocumentId,
        detail: Detail,
    ) -> Result<Option<Record>, BackendError> {
        while let Some(ordinal) = self.alive(id) {
            if let Some(record) = self.fetch(vec![ordinal], detail).await?.pop().flatten() {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    async fn list(
        &self,
        after: Option<DocumentId>,
        limit: usize,
    ) -> Result<Vec<DocumentId>, BackendError> {
        let (memory, now_ms) = (Arc::clone(&self.memory), self.now_ms());
        let ids = move || Ok(memory.catalog.ids_after(after.as_ref(), limit, now_ms));
        match limit > IDS_BLOCKING_MAX {
            true => Ok(long(ids).await?),
            false => Ok(blocking(ids).await?),
        }
    }

    async fn sample(&self, documents: usize) -> Result<Vec<DocumentId>, BackendError> {
        let (memory, now_ms) = (Arc::clone(&self.memory), self.now_ms());
        Ok(long(move || Ok(memory.catalog.sample(documents, now_ms))).await?)
    }

    async fn export(&self, detail: Detail, order: Order) -> Records {
        let records = self.store.export(detail, order, self.now_ms()).await;
        let next = |mut records: mpsc::Receiver<Result<Record, StorageError>>| async move {
            records.recv().await.map(|record| (record.map_err(BackendError::from), records))
        };
        stream::unfold(records, next).fuse().boxed()
    }

    async fn pause_writes(&self) -> Result<Box<dyn PausedWrites>, BackendError> {
        let paused = self.gate.pause().await;
        // Writes of cancelled callers may still be queued.
        self.store.sync().await?;
        Ok(paused)
    }

    async fn documents(&self) -> Result<u64, BackendError> {
        let due = self.memory.catalog.expired(self.now_ms());
        Ok(self.memory.catalog.documents().saturating_sub(due))
    }

    async fn stats(&self) -> Result<BackendStats, BackendError> {
        let (database_bytes, wal_bytes) = self.store.sizes().await?;
        let index = self.memory.index.stats();
        let ids_bytes = self.memory.catalog.bytes();
        let passages = self.memory.passages.as_ref().map(|passages| passages.index.stats());
        let passages_bytes = passages.map_or(0, |stats| stats.bytes);
        let size = CollectionSize {
            documents: self.documents().await?,
            distinct_sets: Some(index.entries),
            keys: Some(index.keys),
            postings: Some(index.postings),
            postings_longest: Some(index.postings_longest),
            index_bytes: Some(index.bytes + ids_bytes + passages_bytes),
            database_bytes: Some(database_bytes),
        };
        Ok(BackendStats {
            size,
            passages,
            ids_bytes: Some(ids_bytes),
            wal_bytes: Some(wal_bytes),
            log_rows: Some(self.operations_since_snapshot()),
            sequence: Some(self.store.applied_sequence()),
            recovery: Some(self.recovery.clone()),
            last_snapshot: self.snapshots().await?.into_iter().max_by_key(|info| info.sequence),
        })
    }

    fn poisoned(&self) -> watch::Receiver<Option<String>> {
        self.store.poisoned()
    }

    async fn close(&self) -> Result<(), BackendError> {
        let store = Arc::clone(&self.store);
        Ok(blocking(move || store.close()).await?)
    }

    fn passage_search(&self) -> Option<&dyn PassageSearch> {
        Some(self)
    }

    fn sketch_scan(&self) -> Option<&dyn SketchScanning> {
        Some(self)
    }

    fn change_feed(&self) -> Option<&dyn ChangeFeed> {
        Some(self)
    }

    fn snapshot_writing(&self) -> Option<&dyn SnapshotWriting> {
        Some(self)
    }

    fn backups(&self) -> Option<&dyn Backups> {
        Some(self)
    }

    fn kept_clusters(&self) -> Option<&dyn ClusterKeeping> {
        self.memory.clusters.is_some().then_some(self as &dyn ClusterKeeping)
    }
}

impl Local {
    fn alive(&self, id: &DocumentId) -> Option<Ordinal> {
        self.memory.catalog.alive(id, self.now_ms()).map(|listing| listing.ordinal)
    }
}

#[cfg(test)]
mod tests;
