//! Expiry times: a row for each document that expires.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::checksum::Digest;
use super::{StorageError, row};
use crate::document::Ordinal;

/// Stores when a document expires, in milliseconds since the epoch.
pub(super) fn insert(
    connection: &Connection,
    ordinal: Ordinal,
    expires_at_ms: i64,
) -> Result<(), StorageError> {
    let insert = "INSERT INTO expiries (ordinal, expires_at, checksum) VALUES (?1, ?2, ?3)";
    let checksum = checksum(ordinal, expires_at_ms);
    connection.prepare_cached(insert)?.execute(params![
        i64::from(ordinal),
        expires_at_ms,
        checksum
    ])?;
    Ok(())
}

/// Removes the row of a document, if there is such a row.
pub(super) fn remove(connection: &Connection, ordinal: Ordinal) -> Result<(), StorageError> {
    let delete = "DELETE FROM expiries WHERE ordinal = ?1";
    connection.prepare_cached(delete)?.execute([i64::from(ordinal)])?;
    Ok(())
}

/// When a document with the flag `EXPIRES` expires.
///
/// # Errors
/// [`StorageError::CorruptDocument`] if the row is missing or damaged.
pub(super) fn read(
    connection: &Connection,
    ordinal: Ordinal,
    id: &str,
) -> Result<i64, StorageError> {
    let query = "SELECT expires_at, checksum FROM expiries WHERE ordinal = ?1";
    let mut statement = connection.prepare_cached(query)?;
    let columns = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    let row = statement.query_row([i64::from(ordinal)], columns).optional()?;
    match row {
        Some((at, sum)) if sum == checksum(ordinal, at) => Ok(at),
        _ => Err(corrupt(ordinal, id)),
    }
}

/// Visits every document that expires, with the time.
///
/// # Errors
/// [`StorageError::CorruptDocument`] at the first damaged row.
pub(super) fn visit(
    connection: &Connection,
    mut visit: impl FnMut(Ordinal, i64),
) -> Result<(), StorageError> {
    let query = "SELECT ordinal, expires_at, checksum FROM expiries";
    let mut statement = connection.prepare_cached(query)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let ordinal = row::stored_ordinal(row.get(0)?)?;
        let expires_at_ms = row.get(1)?;
        if row.get::<_, i64>(2)? != checksum(ordinal, expires_at_ms) {
            return Err(corrupt(ordinal, ""));
        }
        visit(ordinal, expires_at_ms);
    }
    Ok(())
}

fn corrupt(ordinal: Ordinal, id: &str) -> StorageError {
    StorageError::CorruptDocument { ordinal, id: id.to_owned(), what: "its expiry time" }
}

fn checksum(ordinal: Ordinal, expires_at_ms: i64) -> i64 {
    Digest::new().number(ordinal.get()).number(expires_at_ms.cast_unsigned()).finish().cast_signed()
}
