//! How the index comes back at a start: the newest good snapshot and what the log says happened
//! after it; or, without a snapshot that serves, every document's stored sketch.

use std::convert::Infallible;
use std::ops::{ControlFlow, Range};
use std::time::Instant;

use super::catalog::Catalog;
use crate::backend::cores::share_out;
use crate::backend::{Progress, Recovery, RecoverySource};
use crate::document::Ordinal;
use crate::index::{self, Index};
use crate::scheme::{Scheme, Threshold};
use crate::sketch::{Estimator, Sketch, SketchSettings};
use crate::storage::{FilingRow, SnapshotReader, SnapshotRecord, StorageError, Store, Tail};

/// Ordinals, or documents of the log, that a core reads in one go.
const PIECE: usize = 4_096;

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
    let next_ordinal = store.next_ordinal()?;
    progress.add_total(store.documents()?);
    let recovering = Recovering { store, scheme, sketch, progress, next_ordinal };
    let mut recovered = match recovering.from_a_snapshot(identity)? {
        Some(recovered) => recovered,
        None => recovering.scan_documents()?,
    };
    timed("expiries", || {
        store.expiries(|ordinal, at_ms| recovered.catalog.expiries.insert(ordinal, at_ms))
    })?;
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
    let filed = timed("prefixes", || {
        share_out_ordinals(store.next_ordinal()?, |ordinals| {
            store.scan_sets(ordinals, |row| {
                index.file_prefix(row.filing.ordinal, row.filing.fingerprint, &row.set()?);
                Ok(ControlFlow::Continue(()))
            })
        })
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
    /// Of the store.
    next_ordinal: u32,
}

impl Recovering<'_> {
    /// From the newest that is whole; `None` if there is none that the log follows on.
    fn from_a_snapshot(&self, identity: &str) -> Result<Option<Recovered>, StorageError> {
        for snapshot in self.store.snapshots().readable(identity)? {
            match self.read_snapshot(&snapshot?) {
                Err(error @ StorageError::CorruptSnapshot { .. }) => {
                    tracing::warn!(%error, "a broken snapshot is skipped");
                }
                Err(StorageError::TrimmedTail { .. }) => return Ok(None),
                read => return read.map(Some),
            }
        }
        Ok(None)
    }

    fn read_snapshot(&self, snapshot: &SnapshotReader) -> Result<Recovered, StorageError> {
        let header = snapshot.header();
        let tail = timed("log", || self.store.tail(header.sequence))?;
        let (index, catalog) =
            self.empty(snapshot.entries() as usize, snapshot.documents() as usize);
        timed("snapshot", || {
            share_out(snapshot.sections(), |section| {
                let mut listed = 0;
                snapshot.read(section, |record| {
                    listed += u64::from(Self::load(&record, &tail, &index, &catalog));
                })?;
                self.progress.add_done(listed);
                Ok::<_, StorageError>(())
            })
        })?;
        self.file_tables(&index);
        timed("tail", || self.replay(&tail, &index, &catalog))?;
        let recovery = Recovery {
            source: RecoverySource::Snapshot,
            snapshot_sequence: Some(header.sequence),
            replayed: tail.last_sequence - header.sequence,
            took_ms: 0,
        };
        let next_ordinal = self.next_ordinal.max(header.next_ordinal);
        Ok(Recovered { index, catalog, next_ordinal, recovery })
    }

    fn scan_documents(&self) -> Result<Recovered, StorageError> {
        let (index, catalog) = self.empty(0, 0);
        timed("stored sketches", || {
            share_out_ordinals(self.next_ordinal, |ordinals| {
                let mut listed = 0;
                self.store.scan(ordinals, |row| {
                    index.insert_unfiled(row.ordinal, row.fingerprint, row.shingles, row.sketch);
                    Self::list(&row, &catalog);
                    listed += 1;
                })?;
                self.progress.add_done(listed);
                Ok(())
            })
        })?;
        self.file_tables(&index);
        let source = match catalog.documents() {
            0 => RecoverySource::Empty,
            _ => RecoverySource::Rebuilt,
        };
        let recovery = Recovery { source, snapshot_sequence: None, replayed: 0, took_ms: 0 };
        Ok(Recovered { index, catalog, next_ordinal: self.next_ordinal, recovery })
    }

    fn empty(&self, sets: usize, documents: usize) -> (Index, Catalog) {
        let estimator = Estimator::new(self.sketch);
        let index = Index::new(self.scheme.tables(), self.scheme.sketch_bytes(), estimator, sets);
        (index, Catalog::with_capacity(documents))
    }

    /// What died after the snapshot was begun is left out: of a document whose id stands for
    /// another by now nothing comes back, in whatever order the two are read. Tells whether it was
    /// a listing that came back.
    fn load(record: &SnapshotRecord<'_>, tail: &Tail, index: &Index, catalog: &Catalog) -> bool {
        let is_dead = |ordinal: &Ordinal| tail.dead.contains(ordinal);
        match record {
            SnapshotRecord::Entry(entry) => {
                for &ordinal in entry.members.iter().filter(|ordinal| !is_dead(ordinal)) {
                    index.insert_unfiled(ordinal, entry.fingerprint, entry.shingles, entry.sketch);
                }
                false
            }
            SnapshotRecord::Listing(listing) if is_dead(&listing.ordinal) => false,
            SnapshotRecord::Listing(listing) => {
                let (fingerprint, has_metadata) = (listing.fingerprint, listing.has_metadata);
                catalog.list(listing.ordinal, listing.id, fingerprint, has_metadata);
                true
            }
        }
    }

    fn replay(&self, tail: &Tail, index: &Index, catalog: &Catalog) -> Result<(), StorageError> {
        let pieces: Vec<&[Ordinal]> = tail.born.chunks(PIECE).collect();
        share_out(pieces.len(), |piece| {
            self.store.filing_rows(pieces[piece], |row| self.load_row(&row, index, catalog))?;
            self.progress.add_done(pieces[piece].len() as u64);
            Ok(())
        })
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
        Self::list(row, catalog);
    }

    fn list(row: &FilingRow<'_>, catalog: &Catalog) {
        catalog.list(row.ordinal, row.id.as_str(), row.fingerprint, row.has_metadata);
    }

    /// Tables do not touch each other.
    fn file_tables(&self, index: &Index) {
        let file = |table: usize| {
            let table = table as u32;
            index.file_table(table, |sketch| self.scheme.value(sketch, table));
            Ok::<_, Infallible>(())
        };
        let Ok(()) = timed("tables", || share_out(self.scheme.tables() as usize, file));
    }
}

/// All ordinals below `next`, in pieces.
fn share_out_ordinals(
    next: u32,
    work: impl Fn(Range<u32>) -> Result<(), StorageError> + Sync,
) -> Result<(), StorageError> {
    let each = PIECE as u32;
    share_out(next.div_ceil(each) as usize, |piece| {
        let start = piece as u32 * each;
        work(start..start.saturating_add(each).min(next))
    })
}

/// Tells whoever wants to know where the time of a start goes.
fn timed<T>(phase: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let outcome = work();
    tracing::debug!(phase, took_ms = started.elapsed().as_millis() as u64, "recovering");
    outcome
}
