//! Details of documents, by which they are selected and which responses show.

use rusqlite::Connection;

use super::counters::Counters;
use super::row::{Columns, DETAILS_COLUMNS, DetailsPart, by_ordinals};
use super::{SketchRow, StorageError};
use crate::document::Ordinal;
use crate::stored::DocumentDetails;

fn read(columns: &Columns<'_>) -> Result<DocumentDetails, StorageError> {
    let part = DetailsPart::read(columns)?;
    Ok(DocumentDetails {
        stored_at_ms: part.stored_at_ms,
        content_hash: part.content_hash,
        metadata: part.metadata(columns)?,
    })
}

pub(super) fn details(
    connection: &Connection,
    ordinals: &[Ordinal],
) -> Result<Vec<Option<DocumentDetails>>, StorageError> {
    by_ordinals(connection, DETAILS_COLUMNS, ordinals, |row| read(&Columns::new(row)?))
}

/// The matching documents alive at `now_ms`, ascending; incomplete if it is cancelled.
pub(super) fn select(
    connection: &Connection,
    now_ms: i64,
    matches: impl Fn(&DocumentDetails) -> bool,
    is_cancelled: impl Fn() -> bool,
) -> Result<Vec<Ordinal>, StorageError> {
    let query = format!("SELECT {DETAILS_COLUMNS} FROM documents ORDER BY ordinal");
    let mut statement = connection.prepare_cached(&query)?;
    let mut rows = statement.query([])?;
    let (mut selected, mut seen) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        if is_cancelled() {
            return Ok(selected);
        }
        seen += 1;
        let columns = Columns::new(row)?;
        let document = SketchRow::read(&columns)?;
        if document.is_alive(now_ms) && matches(&read(&columns)?) {
            selected.push(columns.ordinal);
        }
    }
    Counters::read(connection)?.check_seen(seen)?;
    Ok(selected)
}
