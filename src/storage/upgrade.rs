//! Bringing a database of an older format to this one.

use rusqlite::Connection;

use super::StorageError;
use super::checksum::Digest;
use super::counters::Counters;
use super::log::{Logged, OPERATIONS_OF_ROW_MAX, Operation};
use super::schema::{EXPIRIES, LOG};
use crate::document::Ordinal;

/// Brings tables of the format `found` to the current one: one `if found < N` for each format, in
/// ascending order.
pub(super) fn upgrade(connection: &Connection, found: u32) -> Result<(), StorageError> {
    if found < 2 {
        connection.execute_batch(EXPIRIES)?;
    }
    if found < 3 {
        connection.execute_batch("ALTER TABLE log RENAME TO log_2")?;
        connection.execute_batch(LOG)?;
        pack_log(connection)?;
        connection.execute_batch("DROP TABLE log_2")?;
    }
    // Rows of format 3 store the set beside the content, which readers accept, so only column
    // names change.
    if found < 4 {
        connection.execute_batch(
            "ALTER TABLE documents RENAME COLUMN filing_checksum TO sketch_checksum;
             ALTER TABLE documents RENAME COLUMN set_checksum TO details_checksum;",
        )?;
    }
    Ok(())
}

/// Until format 3 each operation had a row of its own.
fn pack_log(connection: &Connection) -> Result<(), StorageError> {
    let query = "SELECT sequence, operation, ordinal, checksum FROM log_2 ORDER BY sequence";
    let mut statement = connection.prepare(query)?;
    let mut rows = statement.query([])?;
    let mut counters = Counters::default();
    let mut logged = Logged::default();
    while let Some(row) = rows.next()? {
        let numbers: [i64; 3] = [row.get(0)?, row.get(1)?, row.get(2)?];
        let (operation, ordinal) = operation(numbers, row.get(3)?)?;
        let sequence = numbers[0].cast_unsigned();
        if counters.last_sequence + 1 != sequence || logged.len() == OPERATIONS_OF_ROW_MAX {
            logged.write(connection, counters.last_sequence)?;
            logged = Logged::default();
            counters.last_sequence = sequence - 1;
        }
        logged.append(&mut counters, operation, ordinal);
    }
    logged.write(connection, counters.last_sequence)
}

fn operation(numbers: [i64; 3], checksum: i64) -> Result<(Operation, Ordinal), StorageError> {
    let [sequence, code, ordinal] = numbers;
    let mut digest = Digest::new();
    for number in numbers {
        digest.number(number.cast_unsigned());
    }
    let digest = digest.finish().cast_signed();
    let operation = u8::try_from(code).ok().and_then(Operation::of_code);
    match (operation, u32::try_from(ordinal)) {
        (Some(operation), Ok(ordinal)) if digest == checksum => Ok((operation, ordinal.into())),
        _ => {
            Err(StorageError::corrupt(format!("the log row {sequence} does not have its checksum")))
        }
    }
}
