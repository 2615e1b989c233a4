//! The operation log: insertions and removals of documents, numbered without a gap. A row holds
//! the operations of one transaction, and the counters after it. The last row is never trimmed.

use rusqlite::{Connection, Row, params};

use super::StorageError;
use super::checksum::Digest;
use super::counters::Counters;
use crate::document::Ordinal;

/// Operations of a page of a visit.
const VISITED_AT_ONCE: usize = 1 << 16;

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

    /// Writes the operations, and the counters after the last of them.
    pub fn write(&self, connection: &Connection, after: &Counters) -> Result<(), StorageError> {
        let insert = "INSERT INTO log (sequence, operations, documents, next_ordinal, checksum)
                      VALUES (?1, ?2, ?3, ?4, ?5)";
        let mut sequence = after.last_sequence + 1 - self.len() as u64;
        for operations in self.0.chunks(OPERATIONS_OF_ROW_MAX) {
            let encoded = encode(operations);
            connection.prepare_cached(insert)?.execute(params![
                sequence.cast_signed(),
                encoded,
                after.documents.cast_signed(),
                after.next_ordinal.cast_signed(),
                checksum(sequence, &encoded, after.documents, after.next_ordinal),
            ])?;
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
    let mut found = 0;
    loop {
        let page = page_after(connection, after + found, VISITED_AT_ONCE)?;
        found += page.len() as u64;
        if page.is_empty() {
            break;
        }
        for (operation, ordinal) in page {
            visit(operation, ordinal);
        }
    }
    if after + found != last {
        let what = format!("the log has {found} operations after {after}, but ends at {last}");
        return Err(StorageError::corrupt(what));
    }
    Ok(())
}

/// The first `max` operations after the sequence `after`, in order. The log may be trimmed up to
/// `after`, but no further.
///
/// # Errors
/// [`StorageError::Corrupt`] if a row is damaged or missing.
pub(super) fn page_after(
    connection: &Connection,
    after: u64,
    max: usize,
) -> Result<Vec<(Operation, Ordinal)>, StorageError> {
    let query = "SELECT sequence, operations, documents, next_ordinal, checksum FROM log
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
        let wanted = first + page.len() as u64;
        if sequence > wanted {
            return Err(StorageError::corrupt(format!("the log lacks operation {wanted}")));
        }
        let before = usize::try_from(first.saturating_sub(sequence)).unwrap_or(usize::MAX);
        page.extend(read(row)?.0.into_iter().skip(before));
    }
    page.truncate(max);
    Ok(page)
}

/// The counters after the last operation; zeros if the log is empty.
pub(super) fn last_counters(connection: &Connection) -> Result<Counters, StorageError> {
    let query = "SELECT sequence, operations, documents, next_ordinal, checksum FROM log
                 ORDER BY sequence DESC LIMIT 1";
    let mut statement = connection.prepare_cached(query)?;
    let mut rows = statement.query([])?;
    let last = rows.next()?.map(read).transpose()?;
    Ok(last.map_or_else(Counters::default, |(_, counters)| counters))
}

/// The operations of a row, and the counters after them.
fn read(row: &Row<'_>) -> Result<(Vec<(Operation, Ordinal)>, Counters), StorageError> {
    let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
    let (sequence, documents, next_ordinal) = (number(0)?, number(2)?, number(3)?);
    let encoded = row.get_ref(1)?.as_blob().unwrap_or_default();
    let sound = row.get::<_, i64>(4)? == checksum(sequence, encoded, documents, next_ordinal);
    let operations = decode(encoded).filter(|_| sound).ok_or_else(|| {
        let what = format!("the log row {sequence} does not match its checksum");
        StorageError::corrupt(what)
    })?;
    let last_sequence = sequence.saturating_add(operations.len() as u64 - 1);
    Ok((operations, Counters { documents, next_ordinal, last_sequence }))
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
pub(super) fn decode(operations: &[u8]) -> Option<Vec<(Operation, Ordinal)>> {
    if operations.is_empty() {
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

/// Removes the oldest rows that lie entirely at or below `up_to` from a log that ends at `last`,
/// except for the last row, at most [`OPERATIONS_OF_ROW_MAX`] operations; returns how many
/// operations it removed.
pub(super) fn trim(connection: &Connection, last: u64, up_to: u64) -> Result<u64, StorageError> {
    let before = kept_after(connection, last)?;
    let end = up_to.min(before.saturating_add(OPERATIONS_OF_ROW_MAX as u64)).min(last);
    let delete = "DELETE FROM log
                  WHERE sequence < (SELECT max(sequence) FROM log WHERE sequence <= ?1 + 1)";
    connection.prepare_cached(delete)?.execute([end.cast_signed()])?;
    Ok(kept_after(connection, last)? - before)
}

fn checksum(sequence: u64, operations: &[u8], documents: u64, next_ordinal: u64) -> i64 {
    Digest::new()
        .number(sequence)
        .bytes(operations)
        .number(documents)
        .number(next_ordinal)
        .finish()
        .cast_signed()
}
