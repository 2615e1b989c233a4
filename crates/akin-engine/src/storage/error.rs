//! The errors of the storage layer.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

use crate::document::Ordinal;

#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    #[error("the storage settings are not usable: {}", faults.join("; "))]
    Settings { faults: Vec<String> },

    #[error("{} is in use by another process", dir.display())]
    InUse { dir: PathBuf },

    #[error("{} is not an akin database", path.display())]
    NotAkin { path: PathBuf },

    #[error(
        "{} has format {found}, and this version of akin reads format {known}: open it with the \
         version that made it", path.display()
    )]
    OtherFormat { path: PathBuf, found: u32, known: u32 },

    /// Something else than akin made or changed the database.
    #[error(
        "{} does not have the tables that akin makes: {what}. It was changed by another program, \
         so nothing of it is read", path.display()
    )]
    ForeignSchema { path: PathBuf, what: String },

    #[error("{} was made with other settings: stored {stored}, given {given}", path.display())]
    OtherSettings { path: PathBuf, stored: String, given: String },

    #[error(
        "the document '{id}' (ordinal {}) is damaged: {what}; remove it and add it again, or \
         restore a backup", ordinal.get()
    )]
    CorruptDocument { ordinal: Ordinal, id: String, what: &'static str },

    #[error("the store is corrupt: {what}")]
    Corrupt { what: String },

    #[error("snapshot {} is corrupt: {what}", path.display())]
    CorruptSnapshot { path: PathBuf, what: String },

    /// A write failed, so the state on disk is unknown until the next start.
    #[error("the store refuses writes until a restart: {reason}")]
    Poisoned { reason: String },

    #[error("the store is closed")]
    Closed,

    /// The snapshot contains writes that the store does not.
    #[error(
        "the store ends at sequence {store} but a snapshot was taken at {snapshot}: \
         the store has lost acknowledged writes or the snapshot is of another store"
    )]
    LostTail { store: u64, snapshot: u64 },

    /// The write-ahead log is missing or damaged.
    #[error(
        "the store ends at sequence {store}, but writes up to {acknowledged} were acknowledged: \
         its write-ahead log is missing or damaged. Restore a backup; or delete {} to go on \
         without those writes", path.display()
    )]
    LostWrites { path: PathBuf, store: u64, acknowledged: u64 },

    /// Writes would go to files that no start will find.
    #[error("{} was removed or replaced while it was in use", path.display())]
    Moved { path: PathBuf },

    /// The log no longer reaches back to the sequence: everything must be scanned instead.
    #[error("the log begins after sequence {kept_after}, so it cannot be read from {after}")]
    TrimmedTail { after: u64, kept_after: u64 },

    /// The disk is too full for a further file beside the reserve.
    #[error(
        "{what} needs {needed_bytes} bytes free, with the reserve \
         (storage.disk_free_min_bytes), but \
         the disk of {} has only {free_bytes}", dir.display()
    )]
    NoRoom { what: &'static str, dir: PathBuf, needed_bytes: u64, free_bytes: u64 },

    /// A write was refused or rolled back as a whole, for lack of room. Later writes may succeed.
    #[error("the disk of {} has only {free_bytes} bytes free: {why}", dir.display())]
    DiskFull { dir: PathBuf, free_bytes: u64, why: String },

    #[error("{path}: {source}", path = path.display())]
    Io { path: PathBuf, source: io::Error },

    #[error("database: {0}")]
    Database(#[from] rusqlite::Error),
}

impl StorageError {
    /// Names the file that an operation failed on.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Io { path, source }
    }

    /// Whether an operation failed because the disk is full.
    pub fn is_for_lack_of_room(&self) -> bool {
        match self {
            Self::Io { source, .. } => is_full(source),
            Self::Database(rusqlite::Error::SqliteFailure(error, _)) => {
                // The file of the second is the index of the log, which is in memory but has room
                // on the disk.
                error.code == ErrorCode::DiskFull
                    || error.extended_code == ffi::SQLITE_IOERR_SHMSIZE
            }
            _ => false,
        }
    }

    pub(super) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }
}

/// Whether the disk or the quota is used up.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
