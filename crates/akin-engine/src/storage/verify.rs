//! Verifies the rows of a store.

use rusqlite::{Connection, Row};

use super::counters::Counters;
use super::row::ALL_COLUMNS;
use super::{StorageError, log};

/// Verifies everything but the B-trees, documents by `check`.
pub(super) fn check_rows(
    connection: &Connection,
    check: impl Fn(&Row<'_>) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
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
    counters.check_seen(documents)
}

pub(super) fn check_log(connection: &Connection, counters: &Counters) -> Result<(), StorageError> {
    let last = counters.last_sequence;
    let after = log::kept_after(connection, last)?;
    log::visit_after(connection, after, last, |_, _| {})
}
