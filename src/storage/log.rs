//! The operation log: a row for each birth and each death of a document, numbered without a gap.

use rusqlite::{Connection, params};

use super::StorageError;
use super::checksum::Digest;
use super::counters::Counters;
use crate::document::Ordinal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Put,
    Remove,
}

impl Operation {
    fn code(self) -> i64 {
        match self {
            Self::Put => 1,
            Self::Remove => 2,
        }
    }

    fn of_code(code: i64) -> Option<Self> {
        [Self::Put, Self::Remove].into_iter().find(|operation| operation.code() == code)
    }
}

/// Logs an operation under the next sequence.
pub(super) fn append(
    connection: &Connection,
    counters: &mut Counters,
    operation: Operation,
    ordinal: Ordinal,
) -> Result<(), StorageError> {
    counters.last_sequence += 1;
    let sequence = counters.last_sequence.cast_signed();
    let insert = "INSERT INTO log (sequence, operation, ordinal, checksum) VALUES (?1, ?2, ?3, ?4)";
    let checksum = checksum(sequence, operation.code(), ordinal.0.into());
    connection.prepare_cached(insert)?.execute(params![
        sequence,
        operation.code(),
        ordinal.0,
        checksum
    ])?;
    Ok(())
}

/// Visits what follows `after`, in order.
pub(super) fn visit_after(
    connection: &Connection,
    after: u64,
    mut visit: impl FnMut(Operation, Ordinal),
) -> Result<(), StorageError> {
    let query = "SELECT sequence, operation, ordinal, checksum FROM log
                 WHERE sequence > ?1 ORDER BY sequence";
    let mut statement = connection.prepare_cached(query)?;
    let mut rows = statement.query([after.cast_signed()])?;
    while let Some(row) = rows.next()? {
        let (sequence, code, ordinal) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let operation = Operation::of_code(code);
        let number = u32::try_from(ordinal).ok();
        let sound = row.get::<_, i64>(3)? == checksum(sequence, code, ordinal);
        let (Some(operation), Some(number), true) = (operation, number, sound) else {
            let what = format!("the log row {sequence} does not have its checksum");
            return Err(StorageError::corrupt(what));
        };
        visit(operation, Ordinal(number));
    }
    Ok(())
}

/// The sequence before the first row that is left; `last` if there is none.
pub(super) fn kept_after(connection: &Connection, last: u64) -> Result<u64, StorageError> {
    let query = "SELECT min(sequence) FROM log";
    let first: Option<i64> = connection.prepare_cached(query)?.query_row([], |row| row.get(0))?;
    Ok(first.map_or(last, |first| first.cast_unsigned().saturating_sub(1)))
}

/// Removes at most `rows_max` of the oldest rows, none above `up_to`; gives back how many.
pub(super) fn trim(
    connection: &Connection,
    counters: &Counters,
    up_to: u64,
    rows_max: u64,
) -> Result<u64, StorageError> {
    let kept_after = kept_after(connection, counters.last_sequence)?;
    let end = up_to.min(kept_after.saturating_add(rows_max)).min(counters.last_sequence);
    let delete = "DELETE FROM log WHERE sequence <= ?1";
    let removed = connection.prepare_cached(delete)?.execute([end.cast_signed()])?;
    Ok(removed as u64)
}

fn checksum(sequence: i64, operation: i64, ordinal: i64) -> i64 {
    let mut digest = Digest::new();
    for number in [sequence, operation, ordinal] {
        digest.number(number.cast_unsigned());
    }
    digest.finish().cast_signed()
}
