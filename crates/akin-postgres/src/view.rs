//! A view of all documents of a collection: a transaction that reads a single snapshot.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::pin::pin;

use akin_core::text::ShingleSet;
use akin_engine::backend::{BackendError, SketchOf, SketchView};
use akin_engine::stored::Detail;
use akin_model::document::Ordinal;
use tokio::runtime::Handle;
use tokio_postgres::Row;

use crate::backend::PostgresCollection;
use crate::lookup::{document_id, ordinal};
use crate::pool::{Taken, in_time, parameters};
use crate::rows::{COLUMNS, CONTENT, damaged};

/// Sets that are read at once.
const WINDOW_MAX: i64 = 64;

/// No further set of a window is kept once its sets have so many shingles: 2 MiB.
const WINDOW_SHINGLES: i32 = 256 << 10;

/// Nor once the contents of its documents have so many bytes, which few shingles do not bound.
const WINDOW_BYTES: usize = 2 << 20;

pub(crate) struct PostgresView {
    collection: PostgresCollection,
    /// Its connection ends with the view.
    taken: Taken,
    documents: u64,
    now_ms: i64,
    runtime: Handle,
    /// Sets that were read before they are wanted, and how many of them were wanted.
    ahead: HashMap<Ordinal, ShingleSet>,
    used: i64,
}

impl PostgresView {
    pub async fn open(collection: &PostgresCollection) -> Result<Self, BackendError> {
        let (collection, now_ms) = (collection.clone(), collection.now_ms());
        let scans = &collection.shared.scans;
        let taken = scans.take().await?;
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        in_time(scans.deadline, taken.client().batch_execute(begin)).await?;
        let sql = "SELECT count(*) FROM akin.documents
            WHERE collection = $1 AND (expires_at IS NULL OR expires_at > $2)";
        let parameters = parameters![collection.number, now_ms];
        let count = scans.long(taken.client().query_typed_one(sql, parameters)).await?;
        let (documents, runtime) = (count.get::<_, i64>(0) as u64, Handle::current());
        Ok(Self { collection, taken, documents, now_ms, runtime, ahead: HashMap::new(), used: 0 })
    }

    /// Reads the set of a document and the sets of the documents behind it in the order of ids, in
    /// which discoveries read all sets: twice as many as were used of the last window.
    fn read(&mut self, wanted: Ordinal) -> Result<ShingleSet, BackendError> {
        let window = (2 * (self.used + 1)).min(WINDOW_MAX);
        (self.used, self.ahead) = (0, HashMap::new());
        let rows = self.rows(wanted, window)?;
        let mut records = rows.iter().map(|row| self.collection.record(row, Detail::Set));
        let set = records.next().transpose()?.and_then(|of| of.set);
        let set = set.ok_or_else(|| damaged(&format!("{wanted:?}"), "it has no set"))?;
        // Whoever wants an unreadable set reads it again.
        self.ahead = records.flatten().filter_map(|of| Some((of.ordinal, of.set?))).collect();
        Ok(set)
    }

    /// As many rows as the window has, but no further row once the rows have many shingles or many
    /// bytes.
    fn rows(&self, from: Ordinal, window: i64) -> Result<Vec<Row>, BackendError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM akin.documents d JOIN akin.entries e ON e.entry = d.entry
             WHERE d.collection = $1 AND d.id >= (SELECT id FROM akin.documents
                 WHERE collection = $1 AND ordinal = $2) ORDER BY d.id LIMIT $3"
        );
        let from = from.get().cast_signed();
        let parameters = parameters![self.collection.number, from, window];
        self.runtime.block_on(async {
            let scans = &self.collection.shared.scans;
            let mut rows = pin!(scans.stream(self.taken.client(), &sql, parameters).await?);
            let (mut read, mut shingles, mut bytes) = (Vec::new(), 0, 0);
            while let Some(row) = scans.next(rows.as_mut()).await? {
                // The rest is read past, as the transaction goes on.
                if shingles < WINDOW_SHINGLES && bytes < WINDOW_BYTES {
                    shingles += row.get::<_, i32>(3);
                    bytes += row.get::<_, Option<&[u8]>>(CONTENT).map_or(0, <[u8]>::len);
                    read.push(row);
                }
            }
            Ok(read)
        })
    }
}

impl SketchView for PostgresView {
    fn documents(&self) -> u64 {
        self.documents
    }

    fn sketches(
        &self,
        visit: &mut dyn FnMut(SketchOf<'_>) -> ControlFlow<()>,
    ) -> Result<(), BackendError> {
        let sql = "SELECT d.ordinal, d.id, d.entry, e.shingles, e.sketch
            FROM akin.documents d JOIN akin.entries e ON e.entry = d.entry
            WHERE d.collection = $1 AND (d.expires_at IS NULL OR d.expires_at > $2)";
        let parameters = parameters![self.collection.number, self.now_ms];
        self.runtime.block_on(async {
            let scans = &self.collection.shared.scans;
            let mut rows = pin!(scans.stream(self.taken.client(), sql, parameters).await?);
            let mut goes_on = true;
            // The rest is read past, as the transaction goes on.
            while let Some(row) = scans.next(rows.as_mut()).await? {
                if !goes_on {
                    continue;
                }
                let document = SketchOf {
                    ordinal: ordinal(row.get(0)),
                    id: document_id(row.get(1))?,
                    shingles: row.get::<_, i32>(3) as u32,
                    fingerprint: self.collection.fingerprint(row.get(2)),
                    sketch: row.get(4),
                };
                goes_on = visit(document).is_continue();
            }
            Ok(())
        })
    }

    fn set(&mut self, ordinal: Ordinal) -> Result<ShingleSet, BackendError> {
        let Some(set) = self.ahead.remove(&ordinal) else { return self.read(ordinal) };
        self.used += 1;
        Ok(set)
    }
}
