//! Loads the index at a start: from the newest good snapshot and the log after it, or, without a
//! usable snapshot, from the stored sketches of all documents.

use std::collections::HashSet;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::catalog::{Catalog, Listing};
use super::passages::CollectionPassages;
use crate::backend::parallel::share_out;
use crate::backend::{Recovery, RecoverySource, StartProgress};
use crate::document::{Content, DocumentId, Ordinal};
use crate::storage::{
    SketchRow, SnapshotEntry, SnapshotListing, SnapshotReader, SnapshotRecord, StorageError, Store,
};
use akin_core::index::{self, Index};
use akin_core::passages::PassageSettings;
use akin_core::scheme::{Scheme, Threshold};
use akin_core::sketch::SketchSettings;
use akin_core::text::Shingler;

/// Ordinals read in a piece of parallel work.
const PIECE: u64 = 4_096;

pub(super) struct Recovered {
    pub index: Index,
    pub catalog: Catalog,
    /// Higher than every ordinal ever assigned.
    pub next_ordinal: u64,
    pub recovery: Recovery,
}

/// # Errors
/// [`StorageError::LostTail`] and other errors that mean the store cannot be trusted.
pub(super) fn recover(
    store: &Store,
    identity: &str,
    scheme: &Scheme,
    sketch: &SketchSettings,
    progress: &StartProgress,
) -> Result<Recovered, StorageError> {
    let started = Instant::now();
    let next_ordinal = store.next_ordinal()?;
    progress.add_total(store.documents()?);
    let recovering = Recovering { store, scheme, sketch, progress, next_ordinal };
    let mut recovered = match recovering.newest_snapshot(identity)? {
        Some(recovered) => recovered,
        None => recovering.scan_documents()?,
    };
    store.check_seen(recovered.catalog.documents())?;
    recovered.recovery.took_ms = started.elapsed().as_millis() as u64;
    Ok(recovered)
}

/// Adds the prefix index, which is rebuilt from the stored sets at every start.
///
/// A damaged set would be silently missing from it. If a set is damaged, no prefix index is built,
/// and exact lookups scan every set and report the error.
pub(super) fn with_prefix(
    index: Index,
    exact_from: Option<Threshold>,
    store: &Store,
) -> Result<Index, StorageError> {
    if exact_from.is_none() {
        return Ok(index);
    }
    let index = index.with_prefix(exact_from);
    let seen = AtomicU64::new(0);
    let filed = timed("prefixes", || {
        share_out_ordinals(
            store,
            0..store.next_ordinal()?,
            || (),
            |(), ordinals| {
                let sets = store.scan_sets(ordinals, |row| {
                    index.insert_prefix(
                        row.document.ordinal,
                        row.document.fingerprint,
                        &row.set()?,
                    );
                    Ok(ControlFlow::Continue(()))
                })?;
                seen.fetch_add(sets.unwrap_or(0), Ordering::Relaxed);
                Ok(())
            },
        )?;
        store.check_seen(seen.into_inner())
    });
    match filed {
        Err(error @ StorageError::CorruptDocument { .. }) => {
            tracing::error!(%error, "no prefix index: exact lookups scan every set");
            Ok(index.without_prefix())
        }
        filed => filed.map(|()| index),
    }
}

/// The index of passages, which is made from the stored texts at every start.
///
/// Documents with damaged texts are left out, and searches say that they may be missing.
pub(super) fn with_passages(
    settings: PassageSettings,
    shingler: &Shingler,
    store: &Store,
) -> Result<CollectionPassages, StorageError> {
    let passages = CollectionPassages::new(settings, shingler.clone());
    let (seen, damaged) = (AtomicU64::new(0), AtomicU64::new(0));
    let index = |ordinal, content: Result<Option<Content>, StorageError>| {
        match content {
            Err(error @ StorageError::CorruptDocument { .. }) => {
                if damaged.fetch_add(1, Ordering::Relaxed) == 0 {
                    tracing::error!(%error, "passages of damaged documents are not found");
                }
                passages.add_unreadable(ordinal);
            }
            content => {
                let content = content?;
                let blocks = content.and_then(|content| passages.cut(&content));
                passages.add(ordinal, blocks.as_ref());
            }
        }
        Ok(())
    };
    timed("passages", || {
        let ordinals = 0..store.next_ordinal()?;
        share_out_ordinals(
            store,
            ordinals,
            || (),
            |(), ordinals| {
                seen.fetch_add(store.scan_contents(ordinals, index)?, Ordering::Relaxed);
                Ok(())
            },
        )
    })?;
    store.check_seen(seen.into_inner())?;
    Ok(passages)
}

struct Recovering<'a> {
    store: &'a Store,
    scheme: &'a Scheme,
    sketch: &'a SketchSettings,
    progress: &'a StartProgress,
    /// The next ordinal of the store.
    next_ordinal: u64,
}

impl Recovering<'_> {
    /// Recovers from the newest intact snapshot; `None` if there is none that the log continues.
    fn newest_snapshot(&self, identity: &str) -> Result<Option<Recovered>, StorageError> {
        for snapshot in self.store.snapshots().readable(identity)? {
            let snapshot = snapshot?;
            if snapshot.header().sketch_bytes as usize != self.scheme.sketch_bytes() {
                let path = snapshot.path().display();
                tracing::warn!(%path, "skipping a snapshot with sketches of another length");
                continue;
            }
            match self.read_snapshot(&snapshot) {
                Err(error @ StorageError::CorruptSnapshot { .. }) => {
                    tracing::warn!(%error, "skipping a broken snapshot");
                }
                Err(StorageError::TrimmedTail { .. }) => return Ok(None),
                Ok(read) if self.store.check_seen(read.catalog.documents()).is_err() => {
                    let path = snapshot.path().display();
                    tracing::warn!(%path, "skipping a snapshot that does not match the store");
                }
                read => return read.map(Some),
            }
        }
        Ok(None)
    }

    fn read_snapshot(&self, snapshot: &SnapshotReader) -> Result<Recovered, StorageError> {
        let header = snapshot.header();
        let tail = timed("log", || self.store.tail(header.sequence))?;
        let index = self.empty_index();
        let value = |sketch: &[u8], table| self.scheme.value(sketch, table);
        let loading = Loading::new(&index, &value, self.scheme.sketch_bytes());
        timed("snapshot", || {
            share_out(
                snapshot.sections(),
                || loading.portion(),
                |portion, section| {
                    let documents = loading.read_section(portion, snapshot, section, &tail.dead)?;
                    self.progress.add_done(documents);
                    Ok::<_, StorageError>(())
                },
            )
        })?;
        let first = tail.born.first().map_or(0, |first| first.get());
        let end = tail.born.last().map_or(0, |last| last.get() + 1);
        timed("tail", || self.read_rows(first..end, &loading))?;
        let recovery = Recovery {
            source: RecoverySource::Snapshot,
            snapshot_sequence: Some(header.sequence),
            replayed: tail.last_sequence - header.sequence,
            took_ms: 0,
        };
        let next_ordinal = self.next_ordinal.max(header.next_ordinal);
        let catalog = loading.finish();
        Ok(Recovered { index, catalog, next_ordinal, recovery })
    }

    fn scan_documents(&self) -> Result<Recovered, StorageError> {
        let index = self.empty_index();
        let value = |sketch: &[u8], table| self.scheme.value(sketch, table);
        let loading = Loading::new(&index, &value, self.scheme.sketch_bytes());
        timed("stored sketches", || self.read_rows(0..self.next_ordinal, &loading))?;
        let source = match loading.catalog.documents() {
            0 => RecoverySource::Empty,
            _ => RecoverySource::Rebuilt,
        };
        let recovery = Recovery { source, snapshot_sequence: None, replayed: 0, took_ms: 0 };
        let catalog = loading.finish();
        Ok(Recovered { index, catalog, next_ordinal: self.next_ordinal, recovery })
    }

    fn read_rows(&self, ordinals: Range<u64>, loading: &Loading<'_>) -> Result<(), StorageError> {
        share_out_ordinals(
            self.store,
            ordinals,
            || loading.portion(),
            |portion, ordinals| {
                self.progress.add_done(loading.read_rows(portion, self.store, ordinals)?);
                Ok(())
            },
        )
    }

    fn empty_index(&self) -> Index {
        let estimator = self.scheme.estimator(self.sketch);
        Index::new(self.scheme.tables(), self.scheme.sketch_bytes(), estimator)
    }
}

/// Data loaded so far, by several threads. Documents may be loaded repeatedly: writes continue
/// while a snapshot is taken, so it may contain documents that the log contains, too.
struct Loading<'a> {
    index: &'a Index,
    /// The key value of a sketch in a table.
    value: &'a (dyn Fn(&[u8], u32) -> Option<u32> + Sync),
    sketch_bytes: usize,
    catalog: Catalog,
}

/// Data loaded by one thread.
struct Portion<'a> {
    sets: index::Loader<'a>,
    /// A reusable buffer for a section.
    room: Vec<u8>,
}

impl<'a> Loading<'a> {
    fn new(
        index: &'a Index,
        value: &'a (dyn Fn(&[u8], u32) -> Option<u32> + Sync),
        sketch_bytes: usize,
    ) -> Self {
        Self { index, value, sketch_bytes, catalog: Catalog::default() }
    }

    fn portion(&self) -> Portion<'a> {
        Portion { sets: self.index.loader(self.value), room: Vec::new() }
    }

    /// The catalog, once everything is loaded.
    fn finish(self) -> Catalog {
        timed("ids", || self.catalog.load());
        self.catalog
    }

    /// Leaves out documents removed or replaced after the snapshot was begun, so that the snapshot
    /// and the log can be read in any order. Returns the number of documents listed.
    fn read_section(
        &self,
        Portion { sets, room }: &mut Portion<'_>,
        snapshot: &SnapshotReader,
        section: usize,
        dead: &HashSet<Ordinal>,
    ) -> Result<u64, StorageError> {
        let mut documents = 0;
        snapshot.read(section, room, |record| match record {
            SnapshotRecord::Entry(SnapshotEntry { fingerprint, shingles, sketch, members }) => {
                let alive = members.iter().copied().filter(|ordinal| !dead.contains(ordinal));
                sets.add(fingerprint, shingles, sketch, alive);
            }
            SnapshotRecord::Listing(listing) => {
                let SnapshotListing { ordinal, id, fingerprint, expires_at_ms, has_metadata } =
                    listing;
                if !dead.contains(&ordinal) {
                    let id = DocumentId::new(id).expect("storage has checked it");
                    let listing =
                        Listing::new(ordinal, id, fingerprint, has_metadata, expires_at_ms);
                    self.catalog.list(listing);
                    documents += 1;
                }
            }
        })?;
        Ok(documents)
    }

    /// Returns the number of documents read.
    fn read_rows(
        &self,
        portion: &mut Portion<'_>,
        store: &Store,
        ordinals: Range<u64>,
    ) -> Result<u64, StorageError> {
        let mut documents = 0;
        store.scan(ordinals, |row| {
            row.check_sketch(self.sketch_bytes)?;
            let SketchRow { ordinal, fingerprint, shingles, sketch, expires_at_ms, .. } = row;
            let (id, has_metadata) = (row.document_id(), row.has_metadata());
            portion.sets.add(fingerprint, shingles, sketch, [ordinal]);
            let listing = Listing::new(ordinal, id, fingerprint, has_metadata, expires_at_ms);
            self.catalog.list(listing);
            documents += 1;
            Ok(())
        })?;
        Ok(documents)
    }
}

fn share_out_ordinals<S>(
    store: &Store,
    ordinals: Range<u64>,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, Range<u64>) -> Result<(), StorageError> + Sync,
) -> Result<(), StorageError> {
    let pieces = store.pieces(ordinals, PIECE)?;
    share_out(pieces.len(), state, |state, piece| work(state, pieces[piece].clone()))
}

/// Logs the duration of a phase of the start.
fn timed<T>(phase: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let outcome = work();
    tracing::debug!(phase, took_ms = started.elapsed().as_millis() as u64, "recovering");
    outcome
}
