//! The changes of documents in order, for clients that keep a copy of the documents elsewhere: the
//! operation log, with the ids of documents that were removed and not replaced.
//!
//! A stored document needs no entry here, as its row has the id. A document that was replaced or
//! removed later is reported by the later operation.

use rusqlite::{Connection, OptionalExtension, params};

use super::checksum::Digest;
use super::counters::Counters;
use super::log::{self, Operation};
use super::row::{Columns, DETAILS_COLUMNS, DetailsPart, by_ordinals};
use super::{SketchRow, StorageError, Store, schema};
use crate::document::{DocumentId, Ordinal};
use crate::stored::{Change, Changes, Position};

impl Store {
    /// The changes after a position, among at most `operations_max` operations, as far as they are
    /// on disk.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] if a change is damaged.
    pub async fn changes(
        &self,
        after: Position,
        operations_max: usize,
    ) -> Result<Changes, StorageError> {
        let until = self.applied_sequence();
        let read =
            move |connection: &Connection| self::after(connection, after, until, operations_max);
        self.readers.read(read).await
    }

    /// The position behind the last change that is on disk.
    ///
    /// # Errors
    /// [`StorageError::Database`].
    pub async fn last_change(&self) -> Result<Position, StorageError> {
        let sequence = self.applied_sequence();
        let store = self.readers.read(schema::created_at_ms).await?;
        Ok(Position { store, sequence })
    }
}

pub(super) fn insert(connection: &Connection, sequence: u64, id: &str) -> Result<(), StorageError> {
    let insert = "INSERT INTO removals (sequence, id, checksum) VALUES (?1, ?2, ?3)";
    let row = params![sequence.cast_signed(), id, checksum(sequence, id)];
    connection.prepare_cached(insert)?.execute(row)?;
    Ok(())
}

/// Forgets removals that are no longer in the log.
pub(super) fn trim(connection: &Connection, kept_after: u64) -> Result<(), StorageError> {
    let delete = "DELETE FROM removals WHERE sequence <= ?1";
    connection.prepare_cached(delete)?.execute([kept_after.cast_signed()])?;
    Ok(())
}

/// The position behind the last change.
fn last(connection: &Connection) -> Result<Position, StorageError> {
    let sequence = Counters::read(connection)?.last_sequence;
    Ok(Position { store: schema::created_at_ms(connection)?, sequence })
}

/// The position before the oldest change that is kept.
fn oldest(connection: &Connection) -> Result<Position, StorageError> {
    let end = last(connection)?;
    let sequence = log::kept_after(connection, end.sequence)?;
    Ok(Position { sequence, ..end })
}

/// The changes after a position, from at most `operations_max` operations, and none after `until`,
/// which is not on disk for certain. The caller has a transaction open.
fn after(
    connection: &Connection,
    position: Position,
    until: u64,
    operations_max: usize,
) -> Result<Changes, StorageError> {
    let (oldest, end) = (oldest(connection)?, last(connection)?);
    let is_known = position.store == end.store
        && (oldest.sequence..=end.sequence).contains(&position.sequence);
    if !is_known {
        return Ok(Changes::Gone);
    }
    let mut changes = Vec::new();
    let mut next = position;
    for (operation, ordinal) in log::page_after(connection, position.sequence, operations_max)? {
        if next.sequence >= until {
            break;
        }
        next.sequence += 1;
        let change = match operation {
            Operation::Put => stored(connection, ordinal)?,
            Operation::Remove => removed(connection, next.sequence)?.map(|id| (id, None)),
        };
        if let Some((id, stored_at_ms)) = change {
            changes.push(Change { id, stored_at_ms, next });
        }
    }
    Ok(Changes::Some(changes, next))
}

/// The document with this ordinal, unless it was replaced or removed since.
fn stored(
    connection: &Connection,
    ordinal: Ordinal,
) -> Result<Option<(DocumentId, Option<i64>)>, StorageError> {
    let mut found = by_ordinals(connection, DETAILS_COLUMNS, &[ordinal], |row| {
        let columns = Columns::new(row)?;
        let stored_at_ms = DetailsPart::read(&columns)?.stored_at_ms;
        Ok((SketchRow::read(&columns)?.document_id(), Some(stored_at_ms)))
    })?;
    Ok(found.remove(0))
}

/// The id of the document that this operation removed; `None` if it replaced it.
fn removed(connection: &Connection, sequence: u64) -> Result<Option<DocumentId>, StorageError> {
    let query = "SELECT id, checksum FROM removals WHERE sequence = ?1";
    let mut statement = connection.prepare_cached(query)?;
    let row = statement.query_row([sequence.cast_signed()], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
    });
    let Some((id, sum)) = row.optional()? else { return Ok(None) };
    let corrupt = || StorageError::corrupt(format!("the removal {sequence} is damaged"));
    if sum != checksum(sequence, &id) {
        return Err(corrupt());
    }
    DocumentId::new(id).map(Some).map_err(|_| corrupt())
}

fn checksum(sequence: u64, id: &str) -> i64 {
    Digest::new().number(sequence).bytes(id.as_bytes()).finish().cast_signed()
}
