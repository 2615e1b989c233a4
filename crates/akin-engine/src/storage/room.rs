//! The room on the disk: whether records may be written, and the return of pages that removed
//! documents have left unused.
//!
//! Records are refused before the disk has less than the reserve (`disk_free_min_bytes`), which is
//! for removals: they go through the write-ahead log, too. Everything in the log takes room twice,
//! in the log and after a checkpoint in the database. So when the disk gets short, the log is
//! checkpointed and truncated before each group.
//!
//! Unused pages of the database count as room, except for half of the reserve, which has to be free
//! on the disk: the log cannot use these pages. While no command waits, the database file gives
//! unused pages back to the disk (`auto_vacuum = incremental`), in steps that take milliseconds.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::store::Files;
use super::{StorageError, disk, schema};

/// The pause after a write before pages are given back.
const IDLE: Duration = Duration::from_millis(200);

/// The pause after a step without room in the log, which a long read keeps.
const RETRY: Duration = Duration::from_secs(10);

/// Pages given back in a step.
const STEP_PAGES: u32 = 64;

/// One unused page in so many is kept for later records, and at least as many pages as given.
const KEPT_SHARE: u64 = 8;
const KEPT_PAGES_MIN: u64 = 128;

/// A longer log, which a long read keeps, is truncated once no read needs it; until then pages are
/// not given back.
const WAL_BYTES_MAX: u64 = 32 << 20;

pub(super) struct DiskRoom {
    files: Files,
    min_bytes: u64,
    /// When to look at the log and for unused pages; `None` until the next write.
    give_back_at: Option<Instant>,
}

impl DiskRoom {
    pub fn new(files: &Files, min_bytes: u64) -> Self {
        // Unused pages may be left from before the start.
        Self { files: files.clone(), min_bytes, give_back_at: Some(Instant::now() + IDLE) }
    }

    /// Why records of so many bytes are refused now, if they are. Truncates the log if the disk is
    /// short.
    pub fn refusal(&self, connection: &Connection, bytes: u64) -> Option<String> {
        let min = self.min_bytes;
        if min == 0 {
            return None;
        }
        let twice = bytes.saturating_mul(2);
        // If this cannot be read, the write itself will tell.
        let free = self.free_beside_log(connection, min.saturating_add(twice))?;
        let unused = match free < min.saturating_add(twice) {
            true => DatabasePages::read(connection).map_or(0, |pages| pages.unused_bytes()),
            false => 0,
        };
        let has_room = free.saturating_add(unused) >= min.saturating_add(twice)
            && free >= (min / 2).saturating_add(twice);
        (!has_room).then(|| format!("storage.disk_free_min_bytes is {min}"))
    }

    /// The bytes of the disk that are free, once the log is truncated if they are fewer than the
    /// log and `needed` together.
    fn free_beside_log(&self, connection: &Connection, needed: u64) -> Option<u64> {
        let free = self.free_bytes()?;
        let log = self.log_bytes();
        if log == 0 || free >= needed.saturating_add(log) {
            return Some(free);
        }
        try_truncating_log(connection);
        self.free_bytes()
    }

    pub fn free_bytes(&self) -> Option<u64> {
        disk::free_bytes(self.files.dir()).ok()
    }

    fn log_bytes(&self) -> u64 {
        self.files.wal.metadata().map_or(0, |log| log.len())
    }

    /// Notes a write, which may leave pages unused.
    pub fn written(&mut self) {
        self.give_back_at = Some(Instant::now() + IDLE);
    }

    /// When to [give back](Self::give_back) pages, if no command comes before.
    pub fn give_back_at(&self) -> Option<Instant> {
        self.give_back_at
    }

    /// Truncates a log that a long read has kept, and gives a step of unused pages back to the
    /// disk.
    ///
    /// # Errors
    /// [`StorageError::Database`]; a lack of room is none.
    pub fn give_back(&mut self, connection: &Connection) -> Result<(), StorageError> {
        self.give_back_at = None;
        if self.log_bytes() > WAL_BYTES_MAX {
            try_truncating_log(connection);
        }
        if self.log_bytes() > WAL_BYTES_MAX {
            self.give_back_at = Some(Instant::now() + RETRY);
            return Ok(());
        }
        let before = DatabasePages::read(connection)?;
        if !before.are_too_many_unused() {
            return Ok(());
        }
        let step_bytes = u64::from(STEP_PAGES) * before.page_bytes;
        let free = self.free_beside_log(connection, self.min_bytes / 2 + 2 * step_bytes);
        if free.is_some_and(|free| free < 2 * step_bytes) {
            self.give_back_at = Some(Instant::now() + RETRY);
            return Ok(());
        }
        match step(connection) {
            Err(error) if error.is_for_lack_of_room() => {
                self.give_back_at = Some(Instant::now() + RETRY);
                return Ok(());
            }
            outcome => outcome?,
        }
        let after = DatabasePages::read(connection)?;
        if after.are_too_many_unused() && after.unused < before.unused {
            self.give_back_at = Some(Instant::now());
            return Ok(());
        }
        // The file shrinks once its log is in it. If there is no room for that, it shrinks later.
        match truncate_log(connection) {
            Err(error) if !error.is_for_lack_of_room() => Err(error),
            _ => Ok(()),
        }
    }
}

/// Moves the last pages of the database into unused pages, in a transaction of its own.
fn step(connection: &Connection) -> Result<(), StorageError> {
    let mut statement =
        connection.prepare_cached(&format!("PRAGMA incremental_vacuum({STEP_PAGES})"))?;
    let mut moved = statement.query([])?;
    while moved.next()?.is_some() {}
    Ok(())
}

fn try_truncating_log(connection: &Connection) {
    if let Err(error) = truncate_log(connection) {
        tracing::debug!(%error, "the write-ahead log could not be truncated");
    }
}

/// Copies the log into the database and truncates it, as far as reads permit, without waiting for
/// them.
///
/// # Errors
/// [`StorageError::Database`].
pub(super) fn truncate_log(connection: &Connection) -> Result<(), StorageError> {
    connection.busy_timeout(Duration::ZERO)?;
    let truncated = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    connection.busy_timeout(schema::BUSY_TIMEOUT)?;
    Ok(truncated?)
}

/// The pages of a database.
#[derive(Clone, Copy, Debug)]
pub(super) struct DatabasePages {
    page_bytes: u64,
    all: u64,
    unused: u64,
}

impl DatabasePages {
    pub fn read(connection: &Connection) -> Result<Self, StorageError> {
        let value = |pragma: &str| {
            let mut statement = connection.prepare_cached(&format!("PRAGMA {pragma}"))?;
            statement.query_row([], |row| row.get(0)).map(i64::cast_unsigned)
        };
        Ok(Self {
            page_bytes: value("page_size")?,
            all: value("page_count")?,
            unused: value("freelist_count")?,
        })
    }

    pub fn unused_bytes(&self) -> u64 {
        self.unused * self.page_bytes
    }

    fn are_too_many_unused(&self) -> bool {
        self.unused > KEPT_PAGES_MIN.max(self.all / KEPT_SHARE)
    }
}
