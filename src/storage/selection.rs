//! What documents are chosen by, and choosing among all of them.

use rusqlite::Connection;

use super::StorageError;
use super::columns::{Columns, FilingPart, SET_COLUMNS, SetPart};
use crate::document::{Metadata, Ordinal};

/// What is told of a document besides its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Particulars {
    /// Milliseconds since the epoch.
    pub stored_at_ms: i64,
    pub metadata: Option<Metadata>,
}

impl Particulars {
    fn read(columns: &Columns<'_>) -> Result<Self, StorageError> {
        let part = SetPart::read(columns)?;
        Ok(Self { stored_at_ms: part.stored_at_ms, metadata: part.metadata(columns)? })
    }
}

pub(super) fn particulars(
    connection: &Connection,
    ordinals: &[Ordinal],
) -> Result<Vec<Option<Particulars>>, StorageError> {
    let query = format!("SELECT {SET_COLUMNS} FROM documents WHERE ordinal = ?1");
    let mut statement = connection.prepare_cached(&query)?;
    let particulars = |ordinal: &Ordinal| {
        let mut rows = statement.query([ordinal.0])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Particulars::read(&Columns::new(row)?).map(Some)
    };
    ordinals.iter().map(particulars).collect()
}

/// The documents alive at `now_ms` that match, ascending; fewer once nobody waits for them.
pub(super) fn select(
    connection: &Connection,
    now_ms: i64,
    matches: impl Fn(&Particulars) -> bool,
    nobody_waits: impl Fn() -> bool,
) -> Result<Vec<Ordinal>, StorageError> {
    let query = format!("SELECT {SET_COLUMNS} FROM documents ORDER BY ordinal");
    let mut statement = connection.prepare_cached(&query)?;
    let mut rows = statement.query([])?;
    let mut selected = Vec::new();
    while let Some(row) = rows.next()? {
        if nobody_waits() {
            break;
        }
        let columns = Columns::new(row)?;
        let alive = FilingPart::read(&columns)?.is_alive(connection, columns.ordinal, now_ms)?;
        if alive && matches(&Particulars::read(&columns)?) {
            selected.push(columns.ordinal);
        }
    }
    Ok(selected)
}
