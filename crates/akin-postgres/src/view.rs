//! A view of all documents of a collection: a transaction that reads one snapshot.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::pin::pin;

use akin_core::text::ShingleSet;
use akin_engine::backend::{BackendError, SketchOf, SketchView};
use akin_engine::stored::Detail;
use akin_model::document::Ordinal;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_postgres::types::Type;

use crate::backend::PostgresCollection;
use crate::error::{failed, late};
use crate::lookup::{document_id, ordinal};
use crate::pool::{Parameters, Taken, stream};
use crate::rows::{COLUMNS, damaged};

/// Elements of the sets that are kept: 64 MiB.
const ELEMENTS_KEPT_MAX: usize = 8 << 20;

pub(crate) struct PostgresView {
    collection: PostgresCollection,
    /// Its connection ends with the view.
    taken: Taken,
    documents: u64,
    now_ms: i64,
    runtime: Handle,
    sets: HashMap<Ordinal, ShingleSet>,
    elements: usize,
}

impl PostgresView {
    pub async fn open(collection: &PostgresCollection) -> Result<Self, BackendError> {
        let (collection, now_ms) = (collection.clone(), collection.now_ms());
        let taken = collection.shared.scans.take().await?;
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        taken.client().batch_execute(begin).await.map_err(failed)?;
        let sql = "SELECT count(*) FROM akin.documents
            WHERE collection = $1 AND (expires_at IS NULL OR expires_at > $2)";
        let parameters: Parameters<'_> = &[(&collection.number, Type::INT4), (&now_ms, Type::INT8)];
        let count = taken.client().query_typed_one(sql, parameters).await.map_err(failed)?;
        let (documents, runtime) = (count.get::<_, i64>(0) as u64, Handle::current());
        let (sets, elements) = (HashMap::new(), 0);
        Ok(Self { collection, taken, documents, now_ms, runtime, sets, elements })
    }

    fn read(&self, wanted: Ordinal) -> Result<ShingleSet, BackendError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM akin.documents d JOIN akin.entries e ON e.entry = d.entry
             WHERE d.collection = $1 AND d.ordinal = $2"
        );
        let parameters: Parameters<'_> =
            &[(&self.collection.number, Type::INT4), (&wanted.get().cast_signed(), Type::INT8)];
        let row = self.runtime.block_on(async {
            let row = self.taken.client().query_typed_one(&sql, parameters);
            timeout(self.collection.shared.scans.deadline, row).await
        });
        let record =
            self.collection.record(&row.map_err(|_| late())?.map_err(failed)?, Detail::Set)?;
        record.set.ok_or_else(|| damaged(record.id.as_str(), "it has no set"))
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
        let parameters: Parameters<'_> =
            &[(&self.collection.number, Type::INT4), (&self.now_ms, Type::INT8)];
        self.runtime.block_on(async {
            let mut rows = pin!(stream(self.taken.client(), sql, parameters).await?);
            let mut goes_on = true;
            // The rest is read past, as the transaction goes on.
            while let Some(row) = self.collection.shared.scans.next(rows.as_mut()).await? {
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
        if let Some(set) = self.sets.get(&ordinal) {
            return Ok(set.clone());
        }
        let set = self.read(ordinal)?;
        if self.elements > ELEMENTS_KEPT_MAX {
            self.sets.clear();
            self.elements = 0;
        }
        self.elements += set.count();
        self.sets.insert(ordinal, set.clone());
        Ok(set)
    }
}
