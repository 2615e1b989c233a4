//! How the index comes back at a start: the newest good snapshot and what the log says happened
//! after it; or, without a snapshot that serves, every document's stored sketch.

use std::ops::ControlFlow;
use std::thread;
use std::time::Instant;

use super::catalog::{Catalog, Listing};
use crate::backend::{Progress, Recovery, RecoverySource};
use crate::document::Ordinal;
use crate::index::{self, Index, Loading};
use crate::scheme::{Scheme, Threshold};
use crate::sketch::{Estimator, Sketch, SketchSettings};
use crate::storage::{FilingRow, SnapshotEntry, SnapshotReader, StorageError, Store, Tail};

pub(super) struct Recovered {
    pub index: Index,
    pub catalog: Catalog,
    /// Higher than every ordinal that was ever given.
    pub next_ordinal: u32,
    pub recovery: Recovery,
}

/// # Errors
/// [`StorageError::LostTail`] and whatever else says that the store is not to be trusted.
pub(super) fn recover(
    store: &Store,
    identity: &str,
    scheme: &Scheme,
    sketch: &SketchSettings,
    progress: &Progress,
) -> Result<Recovered, StorageError> {
    let started = Instant::now();
    let recovering = Recovering { store, scheme, sketch, progress };
    let mut recovered = match store.snapshots().newest_good(identity)? {
        Some(snapshot) => recovering.read_snapshot(snapshot)?,
        None => recovering.scan_documents()?,
    };
    store.expiries(|ordinal, at_ms| recovered.catalog.expiries.insert(ordinal, at_ms))?;
    recovered.next_ordinal = recovered.next_ordinal.max(store.next_ordinal()?);
    recovered.recovery.took_ms = started.elapsed().as_millis() as u64;
    Ok(recovered)
}

/// The index with one of prefixes beside its tables, which is made anew from the stored sets at
/// every start.
///
/// A damaged set would be missing in it without a word; so then there is none, and exact lookups
/// look at every set and say what is wrong.
pub(super) fn with_prefix(
    index: Index,
    exact_from: Option<Threshold>,
    store: &Store,
) -> Result<Index, StorageError> {
    if exact_from.is_none() {
        return Ok(index);
    }
    let index = index.with_prefix(exact_from);
    let filed = store.scan_sets(|row| {
        index.file_prefix(row.filing.ordinal, row.filing.fingerprint, &row.set()?);
        Ok(ControlFlow::Continue(()))
    });
    match filed {
        Err(error @ StorageError::CorruptDocument { .. }) => {
            tracing::error!(%error, "exact lookups go without an index of prefixes");
            Ok(index.without_prefix())
        }
        filed => filed.map(|()| index),
    }
}

struct Recovering<'a> {
    store: &'a Store,
    scheme: &'a Scheme,
    sketch: &'a SketchSettings,
    progress: &'a Progress,
}

impl Recovering<'_> {
    fn read_snapshot(&self, snapshot: SnapshotReader) -> Result<Recovered, StorageError> {
        let header = snapshot.header().clone();
        let tail = match self.store.tail(header.sequence) {
            Err(StorageError::TrimmedTail { .. }) => return self.scan_documents(),
            tail => tail?,
        };
        self.progress.set_left(snapshot.documents() + tail.born.len() as u64);
        let (mut index, catalog) = self.empty(snapshot.documents() as usize);
        let mut loading = index.loading();
        match snapshot.read(|entry| self.load_entry(&entry, &tail, &mut loading, &catalog)) {
            Err(error @ StorageError::CorruptSnapshot { .. }) => {
                tracing::warn!(%error, "the index is rebuilt from the stored sketches instead");
                return self.scan_documents();
            }
            read => read?,
        }
        self.file(loading);
        self.store.filing_rows(&tail.born, |row| self.load_row(&row, &index, &catalog))?;
        let recovery = Recovery {
            source: RecoverySource::Snapshot,
            snapshot_sequence: Some(header.sequence),
            replayed: tail.last_sequence - header.sequence,
            took_ms: 0,
        };
        Ok(Recovered { index, catalog, next_ordinal: header.next_ordinal, recovery })
    }

    fn scan_documents(&self) -> Result<Recovered, StorageError> {
        let (mut index, catalog) = self.empty(0);
        let mut loading = index.loading();
        self.store.scan(Ordinal(0), |row| {
            loading.add(row.fingerprint, row.shingles, row.sketch, [row.ordinal]);
            self.list(&row, &catalog);
        })?;
        self.file(loading);
        let source = match catalog.documents() {
            0 => RecoverySource::Empty,
            _ => RecoverySource::Rebuilt,
        };
        let recovery = Recovery { source, snapshot_sequence: None, replayed: 0, took_ms: 0 };
        Ok(Recovered { index, catalog, next_ordinal: 0, recovery })
    }

    fn empty(&self, documents: usize) -> (Index, Catalog) {
        let estimator = Estimator::new(self.sketch);
        let index = Index::new(self.scheme.tables(), self.scheme.sketch_bytes(), estimator);
        (index, Catalog::with_capacity(documents))
    }

    fn load_entry(
        &self,
        entry: &SnapshotEntry<'_>,
        tail: &Tail,
        loading: &mut Loading<'_>,
        catalog: &Catalog,
    ) {
        self.progress.add_done(entry.members.len() as u64);
        let living = || entry.members.iter().filter(|member| !tail.dead.contains(&member.ordinal));
        let ordinals = living().map(|member| member.ordinal);
        loading.add(entry.fingerprint, entry.shingles, entry.sketch, ordinals);
        for member in living() {
            let listing = Listing {
                id: member.id.clone(),
                fingerprint: entry.fingerprint,
                has_metadata: member.has_metadata,
            };
            catalog.insert(member.ordinal, listing);
        }
    }

    /// A document from the log. The snapshot may have it already: it was copied while writes went
    /// on.
    fn load_row(&self, row: &FilingRow<'_>, index: &Index, catalog: &Catalog) {
        let sketch = Sketch::from_bytes(row.sketch.into());
        let keys: Vec<_> = self.scheme.all_keys(row.sketch).collect();
        index.insert(
            row.ordinal,
            &index::Filing {
                fingerprint: row.fingerprint,
                shingles: row.shingles,
                sketch: &sketch,
                keys: &keys,
                set: None,
            },
        );
        self.list(row, catalog);
    }

    fn list(&self, row: &FilingRow<'_>, catalog: &Catalog) {
        self.progress.add_done(1);
        let listing = Listing {
            id: row.id.clone(),
            fingerprint: row.fingerprint,
            has_metadata: row.has_metadata,
        };
        catalog.insert(row.ordinal, listing);
    }

    fn file(&self, loading: Loading<'_>) {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        loading.file(cores, |sketch, table| self.scheme.value(sketch, table));
    }
}
