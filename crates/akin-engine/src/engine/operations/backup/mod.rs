//! Backup and restore of collections.
//!
//! A backup is a tar archive with its entries in this order:
//!
//! ```text
//! NAME.sqlite         the store of each collection
//! akin-backup.json    [`Manifest`]: the collections, their settings and checksums
//! akin-backup.xxh3    the XXH3 of the manifest, in 16 hexadecimal digits
//! ```
//!
//! The manifest comes last, because it holds the checksums of the stores: a truncated backup has
//! none.

mod restore;
mod write;

#[cfg(any(test, fuzzing, feature = "fuzzing"))]
pub use restore::check_backup;
pub use restore::{Restored, Restoring, restore};

use serde::{Deserialize, Serialize};

use crate::engine::{CollectionName, CollectionSettings};

pub(in crate::engine) const MANIFEST: &str = "akin-backup.json";
pub(in crate::engine) const MANIFEST_CHECKSUM: &str = "akin-backup.xxh3";

/// The version of the layout above. A change that an older akin would misread increments it.
const FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    /// RFC 3339, UTC.
    created_at: String,
    /// The version of akin that made the backup.
    version: String,
    collections: Vec<SavedCollection>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedCollection {
    name: String,
    settings: CollectionSettings,
    bytes: u64,
    /// The XXH3 of the store's file, in 16 hexadecimal digits.
    xxh3: String,
}

/// The name of the entry of a collection's store.
fn store_entry(name: &CollectionName) -> String {
    format!("{name}.sqlite")
}

pub(in crate::engine) fn hexadecimal(digest: u64) -> String {
    format!("{digest:016x}")
}
