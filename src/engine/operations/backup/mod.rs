//! Collections as one file, and back.
//!
//! A backup is a tar archive, whose entries are in this order:
//!
//! ```text
//! NAME.sqlite         the store of a collection, one for each
//! akin-backup.json    [`Manifest`]: which collections there are, their settings, their checksums
//! akin-backup.xxh3    the XXH3 of the manifest, in 16 hexadecimal digits
//! ```
//!
//! The manifest comes last as it holds the checksums of what came before: a backup that broke off
//! has none.

mod restore;
mod write;

pub use restore::{Restored, Restoring, restore};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::engine::{CollectionName, CollectionSettings};

const MANIFEST: &str = "akin-backup.json";
const MANIFEST_CHECKSUM: &str = "akin-backup.xxh3";

/// The layout above. A change to it that an older version would misread takes the next number.
const FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    /// RFC 3339, UTC.
    created_at: String,
    /// Of the akin that made it.
    version: String,
    collections: Vec<SavedCollection>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedCollection {
    name: String,
    #[serde(deserialize_with = "stored_settings")]
    settings: CollectionSettings,
    bytes: u64,
    /// Of the store's file, in 16 hexadecimal digits.
    xxh3: String,
}

fn stored_settings<'de, D>(deserializer: D) -> Result<CollectionSettings, D::Error>
where
    D: Deserializer<'de>,
{
    CollectionSettings::from_stored(Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// The entry that is the store of a collection.
fn store_entry(name: &CollectionName) -> String {
    format!("{name}.sqlite")
}

fn hexadecimal(digest: u64) -> String {
    format!("{digest:016x}")
}
