//! The durable store: documents, the operation log and index snapshots.
//!
//! A [`Store`] is a collection in a directory of its own. It stores records only; the in-memory
//! index is kept by the backend, which saves it here as [`Snapshots`] and restores it at a start.
//!
//! ```text
//! DIR/lock           locked while the store is open: no other process opens it
//! DIR/store.sqlite   the database below, with -wal and -shm while it is open
//! DIR/snapshots/     the newest snapshots, see `snapshot_file`
//! DIR/acknowledged   the sequence at which the log has to end, see `acknowledged`
//! DIR/copy.sqlite    while a backup is made: a copy of the database, unlinked once complete
//! ```
//!
//! # The database
//!
//! Its `application_id` is "akin", its `user_version` the format, and its schema exactly what
//! `schema` creates: see `hostile`. A u64 is stored as the i64 with the same bits. Every row has
//! xxh3 checksums (see `checksum` and `row`), which every read verifies, because SQLite does not
//! detect flipped bits. They cover the content of rows; a bit flipped in a B-tree page can still
//! hide a row, which `PRAGMA integrity_check` finds.
//!
//! ## `documents`: one row per live document
//! Rows are immutable: replacing a document deletes its row and inserts another. A row has three
//! parts. Each part can be read without the parts after it. Rows are inserted in ordinal order,
//! which fills their pages.
//!
//! The set can be computed from the content, so it is stored only where no content is kept. There
//! is no index on `id`: with random ids, each insertion would dirty another of its pages.
//!
//! | column | meaning |
//! |---|---|
//! | `ordinal` | The document's number of 48 bits, assigned by the caller. Never reused. |
//! | `id` | The client's id for it. The caller keeps ids unique. |
//! | `shingles` | Number of elements in the set. |
//! | `fingerprint` | 64-bit hash of the set. |
//! | `flags` | The contents of the row, see `row::flags`. |
//! | `expires_at` | Milliseconds since the epoch, from which on it is not returned. Or null. |
//! | `sketch` | The slots, little-endian. |
//! | `sketch_checksum` | Of the first part, from which the index is rebuilt. |
//! | `stored_at` | Milliseconds since the epoch. |
//! | `content_hash` | 64-bit hash of content and metadata. |
//! | `metadata` | JSON, or null. |
//! | `elements` | The set, packed by `elements`; empty if computed from the content. |
//! | `details_checksum` | Of the second part, which match responses show. |
//! | `content` | Compressed, see `content`; null in a collection that keeps none. |
//! | `content_checksum` | Of the third part. |
//!
//! Example: document `a` with the text "x y z" and the metadata `{}`:
//!
//! ```text
//! ordinal           1
//! id                a
//! shingles          1
//! fingerprint       -1
//! flags             12
//! expires_at        NULL
//! sketch            x'c0c1'
//! sketch_checksum   4966621892321425524
//! stored_at         1800000000000
//! content_hash      7
//! metadata          {}
//! elements          x''
//! details_checksum  5271937684932942728
//! content           x'28b52ffd2005290000782079207a'
//! content_checksum  -5100424419032858321
//! ```
//!
//! ## `removals`: ids of documents that were removed and not replaced, see `changes`
//! | column | meaning |
//! |---|---|
//! | `sequence` | Of the removal in the log. |
//! | `id` | The document's. |
//! | `checksum` | Of both columns. |
//!
//! ## `log`: insertions and removals of documents, one row per transaction
//! Operations are numbered 1, 2, 3… without a gap. A row is trimmed when no kept snapshot needs
//! any of it, but the last row stays. A replacement is a removal and an insertion. A transaction of
//! more than 4,096 operations has several rows.
//!
//! | column | meaning |
//! |---|---|
//! | `sequence` | The number of the row's first operation. |
//! | `operations` | 7 bytes each: 1 insertion or 2 removal; ordinal, little-endian. |
//! | `documents` | Number of live documents, after the operations. |
//! | `next_ordinal` | Greater than every ordinal ever stored. |
//! | `checksum` | Of the other columns. |
//!
//! Example: ordinal 9 replaced ordinal 4, as operations 17 and 18:
//!
//! ```text
//! sequence          17
//! operations        x'0204000000000001090000000000'
//! documents         5
//! next_ordinal      10
//! ```
//!
//! ## `settings`: two rows
//! `identity` is the caller's canonical form of the settings that decide the stored data, and
//! `created_at_ms` the time of the store's creation. They never change.

mod acknowledged;
mod changes;
mod checksum;
mod command;
mod committer;
pub mod content;
mod copy;
mod counters;
mod details;
mod directory;
mod disk;
pub mod elements;
mod error;
#[cfg(any(test, fuzzing, feature = "fuzzing"))]
pub mod fuzzing;
mod hostile;
mod inspect;
mod log;
mod readers;
mod record;
mod recovery;
mod room;
mod row;
mod schema;
mod sets;
mod settings;
mod snapshot;
mod snapshot_file;
mod snapshot_reader;
mod snapshot_writer;
mod store;
mod verify;
mod view;
mod wal_sync;

pub use command::Write;
pub use copy::CopyStop;
pub use directory::{DirectoryLock, lock_directory, lock_existing, read_small};
pub use disk::{check_room, free_bytes};
pub use error::StorageError;
pub use inspect::{Expected, Finding, Inspection, inspect};
pub use record::EncodedRecord;
pub use row::SketchRow;
pub use schema::stored_identity;
pub use sets::{SetRow, Visited};
pub use settings::{StorageSettings, Sync};
pub use snapshot::{SNAPSHOTS_KEPT, Snapshots};
pub use snapshot_file::{SnapshotEntry, SnapshotHeader, SnapshotListing, SnapshotRecord};
pub use snapshot_reader::SnapshotReader;
pub use snapshot_writer::SnapshotWriter;
pub use store::Store;
pub use view::StoreView;

/// Makes the next document of a closed store get a number of the test's choice.
#[cfg(test)]
pub(crate) fn set_next_ordinal(dir: &std::path::Path, next_ordinal: u64) {
    let raw = rusqlite::Connection::open(dir.join("store.sqlite")).unwrap();
    let counters = counters::Counters::read(&raw).unwrap();
    let mut after = counters::Counters { next_ordinal, ..counters };
    let mut logged = log::Logged::default();
    for operation in [log::Operation::Put, log::Operation::Remove] {
        logged.append(&mut after, operation, crate::document::Ordinal::MAX);
    }
    logged.write(&raw, &after).unwrap();
}

#[cfg(test)]
mod tests;
