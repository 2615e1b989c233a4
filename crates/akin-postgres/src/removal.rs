//! Removes documents by their versions, under the locks of their ids and their sets.

use akin_engine::backend::{BackendError, Matches, Removed};
use akin_engine::stored::DocumentDetails;
use akin_model::document::DocumentId;
use tokio_postgres::Row;

use crate::arguments::KeyedSets;
use crate::backend::PostgresCollection;
use crate::batch::lock_of_id;
use crate::pool::parameters;
use crate::rows::metadata_of;

/// Documents that are removed in a transaction.
const REMOVED_AT_ONCE: usize = 256;

/// Attempts before a removal is refused because others write the document again and again.
const ATTEMPTS_MAX: usize = 16;

/// The data of a document that its removal needs.
const COLUMNS: &str = "d.id, d.ordinal, d.entry, e.sketch";

impl PostgresCollection {
    pub(crate) async fn remove_by_id(&self, id: &DocumentId) -> Result<bool, BackendError> {
        for _ in 0..ATTEMPTS_MAX {
            let mut rows = self.by_ids(COLUMNS, &[id.as_str()]).await?;
            let Some(row) = rows.remove(&0) else { return Ok(false) };
            if self.remove_versions(&[row]).await? > 0 {
                return Ok(true);
            }
        }
        Err(BackendError::Changed)
    }

    pub(crate) async fn remove_due(&self, max: usize) -> Result<u64, BackendError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM akin.documents d JOIN akin.entries e ON e.entry = d.entry
             WHERE d.collection = $1 AND d.expires_at <= $2 ORDER BY d.expires_at LIMIT $3"
        );
        let (now_ms, max) = (self.now_ms(), max.min(REMOVED_AT_ONCE) as i64);
        let parameters = parameters![self.number, now_ms, max];
        let due = self.shared.reads.query(&sql, parameters).await?;
        self.remove_versions(&due).await
    }

    /// Reads all documents in one view, and removes the documents that match. `removed` counts
    /// them, also up to an error.
    pub(crate) async fn remove_matching(
        &self,
        matches: Matches,
        removed: &mut Removed,
    ) -> Result<(), BackendError> {
        let sql = "SELECT d.id, d.ordinal, d.stored_at, d.hash, d.metadata FROM akin.documents d
            WHERE d.collection = $1 AND (d.expires_at IS NULL OR d.expires_at > $2)";
        let mut matching = Vec::new();
        let found = &mut matching;
        let visit = move |row: Row| {
            let details = DocumentDetails {
                stored_at_ms: row.get(2),
                content_hash: row.get::<_, i64>(3).cast_unsigned(),
                metadata: metadata_of(row.get(0), row.get(4))?,
            };
            found.extend(matches(&details).then(|| row.get::<_, i64>(1)));
            Ok(true)
        };
        self.shared.scans.visit(sql, parameters![self.number, self.now_ms()], visit).await?;
        for ordinals in matching.chunks(REMOVED_AT_ONCE) {
            let versions = self.versions(ordinals).await?;
            removed.removed += self.remove_versions(&versions).await?;
            removed.matched += ordinals.len() as u64;
        }
        Ok(())
    }

    /// The versions with these ordinals that are still stored.
    async fn versions(&self, ordinals: &[i64]) -> Result<Vec<Row>, BackendError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM akin.documents d JOIN akin.entries e ON e.entry = d.entry
             WHERE d.collection = $1 AND d.ordinal = ANY ($2)"
        );
        self.shared.reads.query(&sql, parameters![self.number, ordinals]).await
    }

    /// Removes the documents of rows of [`COLUMNS`] that still have these versions, and returns
    /// their number.
    async fn remove_versions(&self, versions: &[Row]) -> Result<u64, BackendError> {
        if versions.is_empty() {
            return Ok(0);
        }
        let (mut locks, mut old) = (Vec::new(), KeyedSets::default());
        for version in versions {
            let entry = version.get(2);
            locks.extend([entry, lock_of_id(self.number, version.get(0))]);
            old.add(entry, &self.keys(version.get(3)));
        }
        locks.sort_unstable();
        locks.dedup();
        let ordinals: Vec<i64> = versions.iter().map(|of| of.get(1)).collect();
        let KeyedSets { entries, keys, key_entries } = old;
        let parameters = parameters![self.number, locks, ordinals, entries, keys, key_entries];
        let sql = "SELECT akin.remove($1, $2, $3, $4, $5, $6)";
        let connections = match self.followed.is_building() {
            true => &self.shared.reads,
            false => &self.shared.removals,
        };
        let row = connections.query_opt(sql, parameters).await?;
        Ok(row.map_or(0, |row| row.get::<_, i32>(0)) as u64)
    }
}
