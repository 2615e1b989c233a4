//! Settings of a store. None of them decides the stored data: a store opens with any of them.

use std::path::Path;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::readers::EXPORTS_MAX;
use super::{StorageError, disk};

/// The lock, the log as it is synced, its mark and its index, a snapshot, and a copy being made.
const OTHER_FILES_MAX: u64 = 8;

/// More than a new store takes on the disk.
const NEW_STORE_BYTES: u64 = 1 << 20;

/// How a store syncs, reads, compresses and groups writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StorageSettings {
    pub sync: Sync,
    /// Under [`Sync::Interval`], the longest that a committed write waits to be synced.
    pub sync_interval_ms: u64,
    /// Concurrent reads, each on a connection of its own.
    pub readers: u32,
    /// Concurrent lookups that scan all sets or very long postings.
    pub scans_max: u32,
    /// zstd level for contents of 1 KiB and more: -7..=19.
    pub compression_level: i32,
    /// Capacity of the committer's queue; a call of [`Store::write_all`](super::Store::write_all)
    /// takes a single slot. Further calls wait.
    pub queue_writes_max: u32,
    /// Writes committed in a single transaction; the writes of a call are never split. No key: only
    /// tests choose fewer.
    #[serde(skip)]
    pub group_writes_max: u32,
    /// Bytes of records committed in a single transaction; a larger record is still accepted alone.
    #[serde(skip)]
    pub group_bytes_max: u64,
    /// Operations of the log that are kept for readers of changes, in addition to the operations
    /// that a start may need; 0: none.
    pub changes_kept: u64,
    /// Records, copies and snapshots are refused that would leave fewer bytes of the disk free; 0:
    /// never.
    pub disk_free_min_bytes: u64,
    /// Memory for database pages of all stores of the process; a store divides it evenly among its
    /// connections.
    pub page_cache_bytes: u64,
}

/// When a write counts as committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    /// Once it is on disk: it survives a power failure.
    Always,
    /// Once the operating system has it: it survives a crash of the process, and a power failure
    /// after `sync_interval_ms`.
    Interval,
}

impl Default for StorageSettings {
    fn default() -> Self {
        Self {
            sync: Sync::Always,
            sync_interval_ms: 1000,
            readers: 4,
            scans_max: 2,
            compression_level: 1,
            queue_writes_max: 1024,
            group_writes_max: 1024,
            group_bytes_max: 16 << 20,
            changes_kept: 1_000_000,
            disk_free_min_bytes: 64 << 20,
            page_cache_bytes: 64 << 20,
        }
    }
}

impl StorageSettings {
    /// Every setting out of its range, each named by its key.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut within = |key: &str, value: i128, least: i128, most: i128| {
            if !(least..=most).contains(&value) {
                faults.push(format!("{key} must be {least}..={most}, not {value}"));
            }
        };
        within("sync_interval_ms", self.sync_interval_ms.into(), 1, 3_600_000);
        within("readers", self.readers.into(), 1, 256);
        within("scans_max", self.scans_max.into(), 1, 256);
        within("compression_level", self.compression_level.into(), -7, 19);
        within("queue_writes_max", self.queue_writes_max.into(), 1, 1 << 20);
        within("changes_kept", self.changes_kept.into(), 0, 1 << 40);
        within("disk_free_min_bytes", self.disk_free_min_bytes.into(), 0, 1 << 60);
        within("page_cache_bytes", self.page_cache_bytes.into(), 1 << 20, 1 << 40);
        faults
    }

    /// The maximum number of files that a store has open, without the files of long-lived views.
    pub fn files_max(&self) -> u64 {
        // A connection has two, the database and its log.
        let connections =
            1 + u64::from(self.readers) + EXPORTS_MAX as u64 + u64::from(self.scans_max);
        connections * 2 + OTHER_FILES_MAX
    }

    /// Checks that the disk of a directory has room for the reserve and a new store.
    ///
    /// # Errors
    /// [`StorageError::NoRoom`], [`StorageError::Io`].
    pub fn check_room(&self, dir: &Path) -> Result<(), StorageError> {
        match self.disk_free_min_bytes {
            0 => Ok(()),
            reserve => disk::check_room(dir, "a new collection", NEW_STORE_BYTES, reserve),
        }
    }

    /// The page cache of each reader and of the committer, in KiB.
    pub(super) fn page_cache_kib_each(&self) -> i64 {
        let each = self.page_cache_bytes / 1024 / (u64::from(self.readers) + 1);
        i64::try_from(each).unwrap_or(i64::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_have_no_faults() {
        assert_eq!(StorageSettings::default().faults(), Vec::<String>::new());
    }

    #[test]
    fn every_fault_is_named_by_its_key() {
        let settings = StorageSettings {
            readers: 0,
            compression_level: 20,
            page_cache_bytes: 0,
            ..StorageSettings::default()
        };
        assert_eq!(
            settings.faults(),
            [
                "readers must be 1..=256, not 0",
                "compression_level must be -7..=19, not 20",
                "page_cache_bytes must be 1048576..=1099511627776, not 0",
            ]
        );
    }

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        let refusal = serde_json::from_str::<StorageSettings>(r#"{"sink": "always"}"#).unwrap_err();
        assert!(refusal.to_string().contains("sink"), "{refusal}");
        let read: StorageSettings = serde_json::from_str(r#"{"sync": "interval"}"#).unwrap();
        assert_eq!(read, StorageSettings { sync: Sync::Interval, ..StorageSettings::default() });
    }
}
