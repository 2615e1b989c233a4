//! The operation log: insertions and removals of documents, numbered without a gap. A row holds
//! the operations of one transaction.

use rusqlite::{Connection, Row, params};

use super::StorageError;
use super::checksum::Digest;
use super::counters::Counters;
use crate::document::Ordinal;

/// A transaction with more operations takes several rows.
pub(super) const OPERATIONS_OF_ROW_MAX: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Put,
    Remove,
}

impl Operation {
    fn code(self) -> u8 {
        match self {
            Self::Put => 1,
            Self::Remove => 2,
        }
    }

    pub fn of_code(code: u8) -> Option<Self> {
        [Self::Put, Self::Remove].into_iter().find(|operation| operation.code() == code)
    }
}

/// The operations of a transaction.
#[derive(Default)]
pub(super) struct Logged(Vec<(Operation, Ordinal)>);

impl Logged {
    /// Logs an operation under the next sequence.
    pub fn append(&mut self, counters: &mut Counters, operation: Operation, ordinal: Ordinal) {
        counters.last_sequence += 1;
        self.0.push((operation, ordinal));
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Writes the operations, the last of which has the sequence `last`.
    pub fn write(&self, connection: &Connection, last: u64) -> Result<(), StorageError> {
        let insert = "INSERT INTO log (sequence, operations, checksum) VALUES (?1, ?2, ?3)";
        let mut sequence = last + 1 - self.len() as u64;
        for operations in self.0.chunks(OPERATIONS_OF_ROW_MAX) {
            let encoded = encode(operations);
            let checksum = checksum(sequence, &encoded);
            let row = params![sequence.cast_signed(), encoded, checksum];
            connection.prepare_cached(insert)?.execute(row)?;
            sequence += operations.len() as u64;
        }
        Ok(())
    }
}

/// Visits the operations after the sequence `after` of a log that ends at `last`, in order.
///
/// # Errors
/// [`StorageError::Corrupt`] if a row is damaged, or operations are missing.
pub(super) fn visit_after(
    connection: &Connection,
    after: u64,
    last: u64,
    mut visit: impl FnMut(Operation, Ordinal),
) -> Result<(), StorageError> {
    let query = "SELECT sequence, operations, checksum FROM log
                 WHERE sequence >= (SELECT coalesce(max(sequence), 0) FROM log WHERE sequence <= ?1)
                 ORDER BY sequence";
    let first = after + 1;
    let mut visited = 0;
    let mut statement = connection.prepare_cached(query)?;
    let mut rows = statement.query([first.cast_signed()])?;
    while let Some(row) = rows.next()? {
        let sequence = row.get::<_, i64>(0)?.cast_unsigned();
        let before = usize::try_from(first.saturating_sub(sequence)).unwrap_or(usize::MAX);
        for (operation, ordinal) in operations(row)?.into_iter().skip(before) {
            visit(operation, ordinal);
            visited += 1;
        }
    }
    if after + visited != last {
        let what = format!("the log has {visited} operations after {after}, but ends at {last}");
        return Err(StorageError::corrupt(what));
    }
    Ok(())
}

/// The first `max` operations after the sequence `after`, in order.
///
/// # Errors
/// [`StorageError::Corrupt`] if a row is damaged.
pub(super) fn page_after(
    connection: &Connection,
    after: u64,
    max: usize,
) -> Result<Vec<(Operation, Ordinal)>, StorageError> {
    let query = "SELECT sequence, operations, checksum FROM log
                 WHERE sequence >= (SELECT coalesce(max(sequence), 0) FROM log WHERE sequence <= ?1)
                 ORDER BY sequence";
    let first = after + 1;
    let mut page = Vec::new();
    let mut statement = connection.prepare_cached(query)?;
    let mut rows = statement.query([first.cast_signed()])?;
    while page.len() < max
        && let Some(row) = rows.next()?
    {
        let sequence = row.get::<_, i64>(0)?.cast_unsigned();
        let before = usize::try_from(first.saturating_sub(sequence)).unwrap_or(usize::MAX);
        page.extend(operations(row)?.into_iter().skip(before));
    }
    page.truncate(max);
    Ok(page)
}

/// The operations of a row of sequence, operations and checksum.
fn operations(row: &Row<'_>) -> Result<Vec<(Operation, Ordinal)>, StorageError> {
    let sequence = row.get::<_, i64>(0)?.cast_unsigned();
    let encoded = row.get_ref(1)?.as_blob().unwrap_or_default();
    decode(sequence, encoded, row.get(2)?).ok_or_else(|| {
        let what = format!("the log row {sequence} does not match its checksum");
        StorageError::corrupt(what)
    })
}

/// The code of an operation and its ordinal, little-endian.
const OPERATION_BYTES: usize = 1 + Ordinal::BYTES;

pub(super) fn encode(operations: &[(Operation, Ordinal)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(operations.len() * OPERATION_BYTES);
    for (operation, ordinal) in operations {
        bytes.push(operation.code());
        bytes.extend_from_slice(&ordinal.to_le_bytes());
    }
    bytes
}

/// `None` for a row that [`Logged::write`] cannot have written.
pub(super) fn decode(
    sequence: u64,
    operations: &[u8],
    sum: i64,
) -> Option<Vec<(Operation, Ordinal)>> {
    if operations.is_empty() || sum != checksum(sequence, operations) {
        return None;
    }
    let (operations, []) = operations.as_chunks::<OPERATION_BYTES>() else { return None };
    let decoded = operations.iter().map(|&[code, ref ordinal @ ..]| {
        Some((Operation::of_code(code)?, Ordinal::from_le_bytes(*ordinal)))
    });
    decoded.collect()
}

/// The sequence before the first operation in the log; `last` if the log is empty.
pub(super) fn kept_after(connection: &Connection, last: u64) -> Result<u64, StorageError> {
    let query = "SELECT min(sequence) FROM log";
    let first: Option<i64> = connection.prepare_cached(query)?.query_row([], |row| row.get(0))?;
    Ok(first.map_or(last, |first| first.cast_unsigned().saturating_sub(1)))
}

/// Removes the oldest rows that lie entirely at or below `up_to` from a log that ends at `last`, at
/// most [`OPERATIONS_OF_ROW_MAX`] operations; returns how many operations it removed.
pub(super) fn trim(connection: &Connection, last: u64, up_to: u64) -> Result<u64, StorageError> {
    let before = kept_after(connection, last)?;
    let end = up_to.min(before.saturating_add(OPERATIONS_OF_ROW_MAX as u64)).min(last);
    let delete = if end == last {
        "DELETE FROM log WHERE sequence <= ?1"
    } else {
        "DELETE FROM log
         WHERE sequence < (SELECT max(sequence) FROM log WHERE sequence <= ?1 + 1)"
    };
    connection.prepare_cached(delete)?.execute([end.cast_signed()])?;
    Ok(kept_after(connection, last)? - before)
}

pub(super) fn checksum(sequence: u64, operations: &[u8]) -> i64 {
    Digest::new().number(sequence).bytes(operations).finish().cast_signed()
}
