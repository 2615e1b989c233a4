//! Protection against database files that someone else made or changed: a restored backup, a copied
//! directory.
//!
//! SQLite runs code of a schema: a trigger on the first insertion or removal, a view instead
//! of a table, an expression of an index or a constraint. So every connection refuses the features
//! that no store needs, and a store is opened only if its schema is exactly akin's.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, Error, Row};

use super::StorageError;
use super::schema::create_tables;

/// Features that no store needs are off; protections against hostile files are on.
const FLAGS: [(DbConfig, bool); 7] = [
    (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
    (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    (DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
    (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
    (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
];

/// More than the statements and the schema of a store need. The length of a value is limited by the
/// size of the file, which SQLite compares with it.
const LIMITS: [(Limit, i32); 10] = [
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 16 << 10),
    (Limit::SQLITE_LIMIT_COLUMN, 64),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 32),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 4),
    (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 16),
    // `VACUUM INTO` attaches its target.
    (Limit::SQLITE_LIMIT_ATTACHED, 1),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// Objects of a schema that are named in an error.
const NAMED_MAX: usize = 5;

/// Called for every connection, before its first statement.
pub(super) fn protect(connection: &Connection) -> Result<(), Error> {
    for (flag, on) in FLAGS {
        connection.set_db_config(flag, on)?;
    }
    for (limit, most) in LIMITS {
        connection.set_limit(limit, most)?;
    }
    // Cells of a page that reach beyond it are found when the page is read.
    connection.pragma_update(None, "cell_size_check", true)
}

/// A table, index, view or trigger: its kind, its name, the table that it is of, and its SQL.
type Object = (String, String, String, Option<String>);

/// # Errors
/// [`StorageError::ForeignSchema`] unless the schema is exactly akin's.
pub(super) fn check_schema(connection: &Connection, path: &Path) -> Result<(), StorageError> {
    let foreign = |what: String| StorageError::ForeignSchema { path: path.to_owned(), what };
    let found = objects(connection)?;
    let memory = Connection::open_in_memory()?;
    create_tables(&memory)?;
    let ours = objects(&memory)?;
    let not_in = |objects: &[Object], others: &[Object]| -> Vec<String> {
        let missing = objects.iter().filter(|object| !others.contains(object));
        missing.take(NAMED_MAX).map(|(kind, name, ..)| format!("{kind} '{name}'")).collect()
    };
    let (strange, missing) = (not_in(&found, &ours), not_in(&ours, &found));
    match (strange.is_empty(), missing.is_empty()) {
        (true, true) if found.len() == ours.len() => Ok(()),
        (true, true) => Err(foreign("it has an object twice".to_owned())),
        (true, false) => Err(foreign(format!("it lacks {}", missing.join(", ")))),
        (false, _) => Err(foreign(format!("it has another {}", strange.join(", another ")))),
    }
}

fn objects(connection: &Connection) -> Result<Vec<Object>, Error> {
    let query = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name, sql";
    let mut statement = connection.prepare(query)?;
    let object = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    statement.query_map([], object)?.collect()
}
