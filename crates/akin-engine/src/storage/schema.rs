//! Creates and opens the database file, and refuses files of other programs, versions or settings.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use form_urlencoded::byte_serialize;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};

use super::store::Files;
use super::{StorageError, StorageSettings, acknowledged, directory, hostile};

/// "akin" in ASCII, in the database header.
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"akin");

/// The version of the layout below. A change that an older akin would misread increments it.
pub(super) const FORMAT: u32 = 1;

const TABLES: &str = "
CREATE TABLE documents (
    ordinal INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    shingles INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    expires_at INTEGER,
    sketch BLOB NOT NULL,
    sketch_checksum INTEGER NOT NULL,
    stored_at INTEGER NOT NULL,
    content_hash INTEGER NOT NULL,
    metadata TEXT,
    elements BLOB NOT NULL,
    details_checksum INTEGER NOT NULL,
    content BLOB,
    content_checksum INTEGER NOT NULL
) STRICT;
CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE log (
    sequence INTEGER PRIMARY KEY,
    operations BLOB NOT NULL,
    documents INTEGER NOT NULL,
    next_ordinal INTEGER NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
CREATE TABLE removals (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
";

/// How long to wait for a lock that another program (a backup, a shell) holds on the database.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Page size of new databases; an existing database keeps its page size. Rows of 2 kB leave half of
/// a 4 KiB page empty, and SQLite writes whole pages: pages of 8 KiB take a quarter to a third less
/// CPU time per row. Larger pages take no less.
const PAGE_BYTES: u32 = 8192;

/// The length of the write-ahead log that triggers a checkpoint: 16 MiB.
const CHECKPOINT_PAGES: u32 = 2000;

/// Page cache of a connection that reads a few rows.
const SMALL_CACHE_KIB: i64 = 256;

/// A write-ahead log that grew during a long read is truncated to this.
const WAL_KEPT_BYTES: u32 = 64 << 20;

/// The only connection that writes, to a database that was not changed yet.
pub(super) struct WriterConnection {
    connection: Connection,
    path: PathBuf,
    /// The identity that the database was created with; `None` if it is empty.
    identity: Option<String>,
}

impl WriterConnection {
    /// Creates an empty file if there is none.
    pub fn connect(path: &Path) -> Result<Self, StorageError> {
        let connection = Connection::open(path)?;
        keep_log(&connection)?;
        hostile::protect(&connection)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let identity = match is_empty(&connection).map_err(|error| not_akin(error, path))? {
            true => None,
            false => {
                check_ours(&connection, path)?;
                Some(read_identity(&connection)?)
            }
        };
        Ok(Self { connection, path: path.to_owned(), identity })
    }

    /// The identity that the database was created with, unless it is empty.
    pub fn identity(&self) -> Option<&str> {
        self.identity.as_deref()
    }

    /// Fills an empty database.
    pub fn open(
        self,
        settings: &StorageSettings,
        identity: &str,
    ) -> Result<Connection, StorageError> {
        let Self { mut connection, path, identity: found } = self;
        if found.is_none() {
            connection.pragma_update(None, "page_size", PAGE_BYTES)?;
            connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        }
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // SQLite syncs the directory at its first sync of the log and does not mind if that fails.
        // The log could then vanish, or the rollback journal come back and undo the creation.
        let dir = path.parent().unwrap_or(&path);
        directory::sync(dir)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        connection.pragma_update(None, "journal_size_limit", WAL_KEPT_BYTES)?;
        connection.pragma_update(None, "cache_size", -settings.page_cache_kib_each())?;
        // Of the process (0 would be none). Beyond it each connection reuses its own pages.
        connection.pragma_update(
            None,
            "soft_heap_limit",
            settings.page_cache_bytes.max(1) as i64,
        )?;
        match found {
            None => {
                acknowledged::check_new(dir)?;
                create(&mut connection, identity)?;
                // Otherwise the database without its log would be empty, and a start would create
                // it again.
                connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            }
            Some(stored) => check_same(&stored, &path, identity)?,
        }
        // From here on the committer syncs the log; SQLite does so only when it restarts the log.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        Ok(connection)
    }
}

/// Opens a read-only connection. The writer must be open already.
pub(super) fn open_reader(path: &Path, page_cache_kib: i64) -> Result<Connection, StorageError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    hostile::protect(&connection)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "cache_size", -page_cache_kib)?;
    Ok(connection)
}

/// Opens a database that no other connection has open, and creates or changes no file: neither the
/// write-ahead log, nor its index, nor a rollback journal.
pub(super) fn open_unchanged(path: &Path, page_cache_kib: i64) -> Result<Connection, StorageError> {
    let log = Files::of(path.parent().unwrap_or(path)).wal;
    let has_log = log.metadata().is_ok_and(|log| log.len() > 0);
    // SQLite creates a log that is missing unless the file is said never to change. With a log it
    // takes the locks of an only user, which a read-only file does not allow, so it has none.
    let how = if has_log { "vfs=unix-none" } else { "immutable=1" };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let name: String = byte_serialize(path.as_os_str().as_encoded_bytes()).collect();
    // A form has `+` for a space, and `%2B` for itself.
    let uri = format!("file:{}?{how}", name.replace('+', "%20"));
    let connection = Connection::open_with_flags(uri, flags)?;
    hostile::protect(&connection)?;
    keep_log(&connection)?;
    if has_log {
        // The index of the log is then kept in memory.
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    }
    connection.pragma_update(None, "cache_size", -page_cache_kib)?;
    Ok(connection)
}

/// Runs `work` in a transaction, which is rolled back if it fails. Both statements stay prepared:
/// parsing them takes as many instructions as inserting a row.
pub(super) fn in_transaction<T>(
    connection: &Connection,
    begin: &str,
    work: impl FnOnce(&Connection) -> Result<T, StorageError>,
) -> Result<T, StorageError> {
    let run = |statement: &str| connection.prepare_cached(statement)?.execute([]);
    run(begin)?;
    let outcome = work(connection).and_then(|outcome| {
        run("COMMIT")?;
        Ok(outcome)
    });
    if outcome.is_err() && !connection.is_autocommit() {
        // The first error is reported; a caller that goes on checks that nothing is left.
        let _ = connection.execute_batch("ROLLBACK");
    }
    outcome
}

/// Closing the connection then leaves the write-ahead log as it is. By default SQLite would copy it
/// into the database and delete it, also when a start refuses the store or a sync has failed.
fn keep_log(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(drop)
}

pub(super) fn is_empty(connection: &Connection) -> Result<bool, rusqlite::Error> {
    let tables: u32 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(tables == 0 && application_id(connection)? == 0)
}

fn application_id(connection: &Connection) -> Result<i32, rusqlite::Error> {
    connection.pragma_query_value(None, "application_id", |row| row.get(0))
}

fn not_akin(error: rusqlite::Error, path: &Path) -> StorageError {
    if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
        return StorageError::NotAkin { path: path.to_owned() };
    }
    error.into()
}

/// Checks that the database is akin's, of this format, with the schema that akin creates.
pub(super) fn check_ours(connection: &Connection, path: &Path) -> Result<(), StorageError> {
    let path_of = || path.to_owned();
    if application_id(connection)? != APPLICATION_ID {
        return Err(StorageError::NotAkin { path: path_of() });
    }
    let found = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match found {
        FORMAT => hostile::check_schema(connection, path),
        _ => Err(StorageError::OtherFormat { path: path_of(), found, known: FORMAT }),
    }
}

pub(super) fn create_tables(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.execute_batch(TABLES)
}

/// Creates the tables atomically: a crash leaves an empty database, which the next start fills.
fn create(connection: &mut Connection, identity: &str) -> Result<(), StorageError> {
    let created_at_ms = now_ms().to_string();
    let transaction = connection.transaction()?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    create_tables(&transaction)?;
    let setting = "INSERT INTO settings (name, value) VALUES (?1, ?2)";
    transaction.execute(setting, params!["identity", identity])?;
    transaction.execute(setting, params!["created_at_ms", created_at_ms])?;
    transaction.commit()?;
    Ok(())
}

/// The identity that the store in a directory was created with, if there is a store. No process
/// has it open. Changes nothing.
///
/// # Errors
/// [`StorageError::NotAkin`], [`StorageError::ForeignSchema`], [`StorageError::OtherFormat`],
/// [`StorageError::Database`].
pub fn stored_identity(dir: &Path) -> Result<Option<String>, StorageError> {
    let path = Files::of(dir).database;
    if !path.exists() {
        return Ok(None);
    }
    let connection = open_unchanged(&path, SMALL_CACHE_KIB)?;
    if is_empty(&connection).map_err(|error| not_akin(error, &path))? {
        return Ok(None);
    }
    check_ours(&connection, &path)?;
    read_identity(&connection).map(Some)
}

pub(super) fn read_identity(connection: &Connection) -> Result<String, StorageError> {
    setting(connection, "identity")
}

fn setting(connection: &Connection, name: &str) -> Result<String, StorageError> {
    let query = "SELECT value FROM settings WHERE name = ?1";
    let value = connection.query_row(query, [name], |row| row.get(0)).optional()?;
    value.ok_or_else(|| StorageError::corrupt(format!("its {name} is missing")))
}

/// When the store was created, in milliseconds since the epoch.
pub(super) fn created_at_ms(connection: &Connection) -> Result<i64, StorageError> {
    setting(connection, "created_at_ms")?
        .parse()
        .map_err(|_| StorageError::corrupt("its time of creation is not a number"))
}

/// # Errors
/// [`StorageError::OtherSettings`]
pub(super) fn check_same(stored: &str, path: &Path, given: &str) -> Result<(), StorageError> {
    if stored == given {
        return Ok(());
    }
    let (path, stored, given) = (path.to_owned(), stored.to_owned(), given.to_owned());
    Err(StorageError::OtherSettings { path, stored, given })
}

/// Milliseconds since the epoch.
pub(super) fn now_ms() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}
