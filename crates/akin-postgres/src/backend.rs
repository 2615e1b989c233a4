//! A collection in PostgreSQL as the engine sees it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use akin_core::index::{ExactSearch, Search};
use akin_core::scheme::{Key, Scheme};
use akin_core::sketch::{Estimator, Method};
use akin_core::text::{ShingleSet, Shingler};
use akin_engine::backend::{
    Adding, Addition, Backend, BackendError, BackendStats, Candidate, Candidates, ChangeFeed,
    Check, Clock, ExactCandidates, Matches, Opening, PausedWrites, PreparedDocument, Records,
    Removed, SetCache, SketchScanning, Sketched, Stamp, Version,
};
use akin_engine::stored::{Detail, DocumentDetails, Order, Record, Times};
use akin_model::analysis::Analysis;
use akin_model::document::{Content, DocumentId};
use akin_model::settings::CollectionSettings;
use akin_model::stats::CollectionSize;
use async_trait::async_trait;
use futures_util::future::join_all;
use tokio::sync::watch;
use tokio_postgres::Row;

use crate::adding::Queued;
use crate::coalescing::answered;
use crate::found::NearSet;
use crate::lookup::document_id;
use crate::maintenance::FollowedCollection;
use crate::pool::parameters;
use crate::rows::{COLUMNS, content_of, metadata_of};
use crate::shared::SharedDatabase;

/// Bits of a key for its value, and for its table and value.
const VALUE_BITS: u32 = 32;
const KEY_BITS: u32 = 40;

/// Ordinals that [`SAMPLE_OF_ORDINALS`] draws for each document of a sample: enough where one of 16
/// is a document's.
const DRAWN_FOR_EACH: usize = 64;

/// Draws ordinals between the lowest and the highest, and keeps those of documents: each document
/// is as likely as any other. Without a join, as a plan of a join might read all documents.
const SAMPLE_OF_ORDINALS: &str = "SELECT id FROM (
        SELECT (SELECT d.id FROM akin.documents d WHERE d.collection = $1 AND d.ordinal = o.ordinal
            AND (d.expires_at IS NULL OR d.expires_at > $2)) AS id
        FROM (SELECT DISTINCT low + floor(random() * (high - low + 1))::int8 AS ordinal
            FROM (SELECT min(ordinal) AS low, max(ordinal) AS high FROM akin.documents
                WHERE collection = $1) bounds, generate_series(1, 64 * $3::int8)) o
    ) drawn WHERE id IS NOT NULL ORDER BY random() LIMIT $3";

/// For small collections, and for collections with few of the ordinals in their range.
const SAMPLE_OF_ALL: &str = "SELECT id FROM akin.documents WHERE collection = $1
    AND (expires_at IS NULL OR expires_at > $2) ORDER BY random() LIMIT $3";

/// Odd, of random bits: multiplies the number of a collection.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// A collection. Its number is part of the keys and the numbers of its sets.
#[derive(Clone)]
pub struct PostgresCollection {
    pub(crate) shared: Arc<SharedDatabase>,
    pub(crate) number: i32,
    /// In microseconds since the epoch.
    pub(crate) created_at: i64,
    pub(crate) scheme: Scheme,
    pub(crate) estimator: Estimator,
    /// Cuts stored contents into sets again, without a limit on the number of shingles.
    pub(crate) shingler: Shingler,
    pub(crate) keep_content: bool,
    /// Signatures have none.
    pub(crate) has_sets: bool,
    /// The default lifetime of documents.
    pub(crate) ttl_ms: Option<i64>,
    pub(crate) sets: SetCache,
    clock: Clock,
    pub(crate) followed: Arc<FollowedCollection>,
}

impl PostgresCollection {
    /// `seeded`: its settings, with the seed of its hashes.
    pub(crate) fn new(
        shared: &Arc<SharedDatabase>,
        (number, created_at): (i32, i64),
        followed: &Arc<FollowedCollection>,
        seeded: &CollectionSettings,
        opening: &Opening,
    ) -> Self {
        let scheme = Scheme::new(&seeded.scheme, &seeded.sketch);
        Self {
            shared: Arc::clone(shared),
            number,
            created_at,
            estimator: scheme.estimator(&seeded.sketch),
            scheme,
            shingler: seeded.unlimited_shingler(),
            keep_content: seeded.store.text,
            has_sets: seeded.sketch.method != Method::Foreign,
            ttl_ms: seeded.store.ttl_ms(),
            sets: opening.sets.of_next_collection(),
            clock: opening.clock.clone(),
            followed: Arc::clone(followed),
        }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// The key of the table of postings.
    pub(crate) fn key(&self, key: Key) -> i64 {
        i64::from(self.number) << KEY_BITS
            | i64::from(key.table) << VALUE_BITS
            | i64::from(key.value)
    }

    /// All keys of a set.
    pub(crate) fn keys(&self, sketch: &[u8]) -> Vec<i64> {
        self.scheme.all_keys(sketch).map(|key| self.key(key)).collect()
    }

    /// All keys of a document.
    pub(crate) fn keys_of(&self, document: &PreparedDocument) -> Vec<i64> {
        document.keys.iter().map(|key| self.key(*key)).collect()
    }

    /// The number of a set, and back.
    pub(crate) fn entry(&self, fingerprint: u64) -> i64 {
        (fingerprint ^ (self.number as u64).wrapping_mul(MIX)).cast_signed()
    }

    pub(crate) fn fingerprint(&self, entry: i64) -> u64 {
        entry.cast_unsigned() ^ (self.number as u64).wrapping_mul(MIX)
    }

    pub(crate) fn sketch_of(&self, entry: i64) -> Option<Arc<NearSet>> {
        self.shared.sketches.get(&(self.created_at, entry))
    }

    pub(crate) fn keep_sketch(&self, set: Arc<NearSet>) {
        self.shared.sketches.insert((self.created_at, set.entry), set);
    }

    /// Keeps the set and the sketch of a document that was written: of a crowd, the next documents
    /// are compared with it.
    pub(crate) fn keep(&self, written: &Analysis) {
        let Analysis { set, sketch, fingerprint, .. } = written;
        if self.has_sets {
            self.sets.insert(*fingerprint, set.clone());
        }
        self.keep_sketch(Arc::new(NearSet {
            entry: self.entry(*fingerprint),
            shingles: set.count() as u32,
            sketch: sketch.as_bytes().into(),
        }));
    }

    async fn sample_by(
        &self,
        sql: &str,
        documents: usize,
    ) -> Result<Vec<DocumentId>, BackendError> {
        let (now_ms, most) = (self.now_ms(), i64::try_from(documents).unwrap_or(i64::MAX));
        let mut ids = Vec::new();
        let visit = |row: Row| document_id(row.get(0)).map(|id| ids.push(id)).map(|()| true);
        self.shared.scans.visit(sql, parameters![self.number, now_ms, most], visit).await?;
        Ok(ids)
    }

    /// Rows of documents with these ids, by their places in the list.
    pub(crate) async fn by_ids(
        &self,
        columns: &str,
        ids: &[&str],
    ) -> Result<HashMap<usize, Row>, BackendError> {
        let sql = format!(
            "SELECT {columns}, o.place FROM unnest($2::text[]) WITH ORDINALITY o(id, place)
             JOIN akin.documents d ON d.collection = $1 AND d.id = o.id
             JOIN akin.entries e ON e.entry = d.entry
             WHERE d.expires_at IS NULL OR d.expires_at > $3"
        );
        let now_ms = self.now_ms();
        let rows = self.shared.reads.query(&sql, parameters![self.number, ids, now_ms]).await?;
        let place = |row: &Row| row.get::<_, i64>(row.len() - 1) as usize - 1;
        Ok(rows.into_iter().map(|row| (place(&row), row)).collect())
    }
}

fn details(row: &Row) -> Result<DocumentDetails, BackendError> {
    Ok(DocumentDetails {
        stored_at_ms: row.get(1),
        content_hash: row.get::<_, i64>(2).cast_unsigned(),
        metadata: metadata_of(row.get(3), row.get(4))?,
    })
}

#[async_trait]
impl Backend for PostgresCollection {
    fn add(self: Arc<Self>, documents: Vec<Addition>, check: Arc<dyn Check>) -> Adding {
        let queued = documents.into_iter().enumerate().map(|(number, addition)| {
            let (collection, check) = (Arc::clone(&self), Arc::clone(&check));
            Queued { collection, addition, check, number }
        });
        let waiting = match self.followed.is_building() {
            true => &self.shared.copies,
            false => &self.shared.additions,
        };
        let answers = waiting.push_all(queued);
        Box::pin(async move { join_all(answers.into_iter().map(answered)).await })
    }

    async fn remove(&self, id: &DocumentId) -> Result<bool, BackendError> {
        self.remove_by_id(id).await
    }

    async fn remove_expired(&self, max: usize) -> Result<u64, BackendError> {
        self.remove_due(max).await
    }

    async fn remove_where(
        &self,
        matches: Matches,
        removed: &mut Removed,
    ) -> Result<(), BackendError> {
        self.remove_matching(matches, removed).await
    }

    async fn candidates(&self, searches: &[Search<'_>]) -> Result<Vec<Candidates>, BackendError> {
        let found = join_all(searches.iter().map(|search| self.search(search))).await;
        found.into_iter().collect()
    }

    async fn exact_candidates(
        &self,
        search: &ExactSearch,
    ) -> Result<ExactCandidates, BackendError> {
        self.scan_sets(search).await.map(ExactCandidates::Scanned)
    }

    async fn sets(
        &self,
        candidates: &[Candidate],
    ) -> Result<Vec<Option<ShingleSet>>, BackendError> {
        self.sets_of(candidates).await
    }

    async fn contents(
        &self,
        groups: &[Vec<Version>],
    ) -> Result<Vec<Option<Content>>, BackendError> {
        let numbered = groups.iter().enumerate();
        let all: Vec<(i64, &Version)> =
            numbered.flat_map(|(n, group)| group.iter().map(move |of| (n as i64, of))).collect();
        let numbers: Vec<i64> = all.iter().map(|(n, _)| *n).collect();
        let ids: Vec<&str> = all.iter().map(|(_, of)| of.id.as_str()).collect();
        let ordinals: Vec<i64> = all.iter().map(|(_, of)| of.ordinal.get().cast_signed()).collect();
        let sql = "SELECT DISTINCT ON (o.n) o.n, d.id, d.form, d.content
            FROM unnest($2::int8[], $3::text[], $4::int8[]) WITH ORDINALITY o(n, id, ordinal, place)
            JOIN akin.documents d ON d.collection = $1 AND d.id = o.id AND d.ordinal = o.ordinal
            ORDER BY o.n, o.place";
        let parameters = parameters![self.number, numbers, ids, ordinals];
        let mut contents = vec![None; groups.len()];
        for row in self.shared.reads.query(sql, parameters).await? {
            contents[row.get::<_, i64>(0) as usize] =
                content_of(row.get(1), row.get(2), row.get(3))?;
        }
        Ok(contents)
    }

    async fn details(
        &self,
        versions: &[Version],
    ) -> Result<Vec<Option<DocumentDetails>>, BackendError> {
        let ids: Vec<&str> = versions.iter().map(|of| of.id.as_str()).collect();
        let columns = "d.ordinal, d.stored_at, d.hash, d.id, d.metadata";
        let rows = self.by_ids(columns, &ids).await?;
        let of = |(n, version): (usize, &Version)| {
            let is_same = |row: &&Row| row.get::<_, i64>(0) == version.ordinal.get().cast_signed();
            rows.get(&n).filter(is_same).map(details).transpose()
        };
        versions.iter().enumerate().map(of).collect()
    }

    async fn sketched(&self, ids: &[DocumentId]) -> Result<Vec<Option<Sketched>>, BackendError> {
        self.sketched_by_ids(ids).await
    }

    async fn stamps(&self, ids: &[DocumentId]) -> Result<Vec<Option<Stamp>>, BackendError> {
        let ids: Vec<&str> = ids.iter().map(DocumentId::as_str).collect();
        let rows = self.by_ids("d.hash, d.stored_at, d.expires_at", &ids).await?;
        let of = |n: usize| {
            rows.get(&n).map(|row| Stamp {
                content_hash: row.get::<_, i64>(0).cast_unsigned(),
                times: Times { stored_at_ms: row.get(1), expires_at_ms: row.get(2) },
            })
        };
        Ok((0..ids.len()).map(of).collect())
    }

    async fn record(
        &self,
        id: &DocumentId,
        detail: Detail,
    ) -> Result<Option<Record>, BackendError> {
        let row = self.by_ids(COLUMNS, &[id.as_str()]).await?.remove(&0);
        row.map(|row| self.record(&row, detail)).transpose()
    }

    async fn list(
        &self,
        after: Option<DocumentId>,
        limit: usize,
    ) -> Result<Vec<DocumentId>, BackendError> {
        let sql = "SELECT id FROM akin.documents WHERE collection = $1 AND id > $2
            AND (expires_at IS NULL OR expires_at > $3) ORDER BY id LIMIT $4";
        let after = after.as_ref().map_or("", DocumentId::as_str);
        let (now_ms, limit) = (self.now_ms(), i64::try_from(limit).unwrap_or(i64::MAX));
        let parameters = parameters![self.number, after, now_ms, limit];
        let rows = self.shared.reads.query(sql, parameters).await?;
        rows.iter().map(|row| document_id(row.get(0))).collect()
    }

    async fn sample(&self, documents: usize) -> Result<Vec<DocumentId>, BackendError> {
        let drawn = documents.saturating_mul(DRAWN_FOR_EACH);
        if self.followed.documents.load(Ordering::Relaxed).max(0) as usize > drawn {
            let sample = self.sample_by(SAMPLE_OF_ORDINALS, documents).await?;
            if sample.len() == documents {
                return Ok(sample);
            }
        }
        self.sample_by(SAMPLE_OF_ALL, documents).await
    }

    async fn export(&self, detail: Detail, order: Order) -> Records {
        self.records(detail, order)
    }

    async fn pause_writes(&self) -> Result<Box<dyn PausedWrites>, BackendError> {
        self.pause().await
    }

    async fn stats(&self) -> Result<BackendStats, BackendError> {
        let sql = "SELECT (SELECT coalesce(sum(documents), 0)::int8 FROM akin.counts
                WHERE collection = $1)
            - (SELECT count(*) FROM akin.documents WHERE collection = $1 AND expires_at <= $2)";
        let now_ms = self.now_ms();
        let parameters = parameters![self.number, now_ms];
        let row = self.shared.reads.query_opt(sql, parameters).await?;
        let documents = row.map_or(0, |row| row.get::<_, i64>(0));
        self.followed.documents.store(documents, Ordering::Relaxed);
        let documents = documents.max(0) as u64;
        let size = CollectionSize { documents, ..CollectionSize::default() };
        Ok(BackendStats { size, ..BackendStats::default() })
    }

    /// A database that fails refuses requests until it is back: the process goes on.
    fn poisoned(&self) -> watch::Receiver<Option<String>> {
        self.shared.healthy.subscribe()
    }

    fn outage(&self) -> Option<String> {
        self.shared.outage.lock().clone()
    }

    async fn close(&self) -> Result<(), BackendError> {
        Ok(())
    }

    fn sketch_scan(&self) -> Option<&dyn SketchScanning> {
        Some(self)
    }

    fn change_feed(&self) -> Option<&dyn ChangeFeed> {
        Some(self)
    }
}
