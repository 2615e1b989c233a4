//! Verifies everything in a store.

use std::path::Path;

use rusqlite::{Connection, Row};

use super::counters::Counters;
use super::record;
use super::row::ALL_COLUMNS;
use super::{StorageError, StorageSettings, Store, log};
use crate::stored::Detail;
use akin_core::text::Shingler;

/// Opens the store in `dir` as a start does, and verifies the checksum of every row and the
/// B-trees. Sketches must have `sketch_bytes`. Returns the number of documents. Blocks.
///
/// # Errors
/// The errors of [`Store::open`]; [`StorageError::CorruptDocument`], [`StorageError::Corrupt`].
pub fn verify(
    dir: &Path,
    settings: &StorageSettings,
    identity: &str,
    shingler: Shingler,
    sketch_bytes: usize,
) -> Result<u64, StorageError> {
    let store =
        Store::open(dir, settings, |_| Ok::<_, StorageError>((identity.to_owned(), shingler)))?;
    let documents = store.readers.read_here(|connection| {
        check_trees(connection)?;
        check_rows(connection, |row| {
            let record = record::decode(row, Detail::All, &store.shingler)?;
            record::check_sketch(&record, sketch_bytes)
        })
    })?;
    store.close()?;
    Ok(documents)
}

/// Verifies everything but the B-trees, documents by `check`. Returns the number of documents.
pub(super) fn check_rows(
    connection: &Connection,
    check: impl Fn(&Row<'_>) -> Result<(), StorageError>,
) -> Result<u64, StorageError> {
    let counters = Counters::read(connection)?;
    check_log(connection, &counters)?;
    let query = format!("SELECT {ALL_COLUMNS} FROM documents");
    let mut statement = connection.prepare(&query)?;
    let mut rows = statement.query([])?;
    let mut documents = 0;
    while let Some(row) = rows.next()? {
        check(row)?;
        documents += 1;
    }
    counters.check_ordinals(connection)?;
    counters.check_seen(documents)?;
    Ok(documents)
}

/// Checks the B-trees by a pragma of SQLite.
fn check_trees(connection: &Connection) -> Result<(), StorageError> {
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Err(StorageError::corrupt(found));
    }
    Ok(())
}

pub(super) fn check_log(connection: &Connection, counters: &Counters) -> Result<(), StorageError> {
    let last = counters.last_sequence;
    let after = log::kept_after(connection, last)?;
    log::visit_after(connection, after, last, |_, _| {})
}
