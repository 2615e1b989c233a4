//! What survives: documents, the log of what happened to them, snapshots of the index.
//!
//! A [`Store`] is one collection in one directory. It knows records; what they are looked up by in
//! memory is for others to keep, to save here as [`Snapshots`], and to make good at a start.
//!
//! ```text
//! DIR/lock           locked while the store is open: no other process opens it
//! DIR/store.sqlite   the database below; -wal and -shm beside it while it is open
//! DIR/snapshots/     the newest few, see `snapshot_file`
//! DIR/copy.sqlite    while a backup is made: a copy of the database, nameless once it is whole
//! ```
//!
//! # The database
//!
//! Its `application_id` is "akin", its `user_version` the format. A number that is a
//! u64 elsewhere is the i64 of the same bits. Checksums are xxh3, as `checksum` and `row` have
//! it, and every read checks them: SQLite by itself gives out flipped bits as they are. (They cover
//! what is in a row; a bit flipped in the tree that leads to it may still make a row seem absent,
//! which is what `PRAGMA integrity_check` finds.)
//!
//! ## `documents`: a row for each document alive
//! A row is written once and never changed: replacing a document removes its row and inserts
//! another. It has three parts, so that a part can be read without those behind it. Rows are
//! inserted in the order of their ordinals, so they fill their pages.
//!
//! A set follows from its content, so it is stored only where no content is kept. Until format 4
//! it was stored beside the content, too, and is read from there where it still is. Until format 3
//! there was an index of ids, which a store made then still has: with ids in random order each
//! insertion changes another of its pages.
//!
//! | column | what it is |
//! |---|---|
//! | `ordinal` | The document's number, given by the caller. Never given again. |
//! | `id` | The client's name for it. No two are alike, which is for the caller to see to. |
//! | `shingles` | Elements of the set. |
//! | `fingerprint` | One number for the set. |
//! | `flags` | 1 tokens, 2 whole document, 4 content, 8 metadata, 16 sampled to one, 32 expires, 64 fields |
//! | `sketch` | The slots, little-endian. |
//! | `sketch_checksum` | Of the part so far: what the index is rebuilt from. |
//! | `stored_at` | Milliseconds since the epoch. |
//! | `content_hash` | One number for content and metadata. |
//! | `metadata` | JSON, or null. |
//! | `elements` | The set, as `elements` packs it; empty where it follows from the content. |
//! | `details_checksum` | Of the second part: what matches are shown with. |
//! | `content` | Compressed as `content` has it; null in a collection that keeps none. |
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
//! ## `log`: births and deaths of documents, those of one transaction in a row
//! They are numbered 1, 2, 3… without a gap. A row lives until it is trimmed, which is when no
//! snapshot kept needs any of it. A replacement is a death and a birth. Until format 3 each had a
//! row of its own. Of more than 4,096 operations there are several rows.
//!
//! | column | what it is |
//! |---|---|
//! | `sequence` | The number of its first. |
//! | `operations` | For each 5 bytes: 1 birth or 2 death; ordinal (u32, little-endian). |
//! | `checksum` | Of the two. |
//!
//! Example: ordinal 9 has taken the place of ordinal 4, as the 17th and the 18th:
//!
//! ```text
//! sequence          17
//! operations        x'02040000000109000000'
//! checksum          -6574995698203125794
//! ```
//!
//! ## `expiries`: a row for each document that expires
//! Written and removed with its document, in the same transaction. Format 1 had no such table.
//!
//! | column | what it is |
//! |---|---|
//! | `ordinal` | Whose. |
//! | `expires_at` | Milliseconds since the epoch: from then on it is as if it were not there. |
//! | `checksum` | Of the two. |
//!
//! ## `counters`: one row for life
//! Written with every transaction; it outlives removed documents and a trimmed log.
//!
//! | column | what it is |
//! |---|---|
//! | `one` | 1. |
//! | `documents` | Documents alive. |
//! | `next_ordinal` | Above every ordinal ever stored. |
//! | `last_sequence` | Of the last operation ever logged. |
//! | `checksum` | Of the three. |
//!
//! ## `settings`: two rows for life
//! `identity` is what the caller says decides what is stored; `created_at_ms` is when it began.

mod checksum;
mod command;
mod committer;
mod content;
mod copy;
mod counters;
mod details;
mod directory;
mod elements;
mod error;
mod expiries;
mod log;
mod readers;
mod record;
mod recovery;
mod row;
mod schema;
mod sets;
mod settings;
mod snapshot;
mod snapshot_file;
mod snapshot_reader;
mod snapshot_writer;
mod store;
mod upgrade;
mod verify;
mod view;
mod wal_sync;

pub use command::Write;
pub use copy::CopyStop;
pub use details::DocumentDetails;
pub use directory::{DirectoryLock, lock_directory};
pub use error::StorageError;
pub use readers::StoreSizes;
pub use record::{Detail, EncodedRecord, Order, Record};
pub use recovery::Tail;
pub use row::SketchRow;
pub use schema::stored_identity;
pub use sets::{SetRow, Visited};
pub use settings::{StorageSettings, Sync};
pub use snapshot::Snapshots;
pub use snapshot_file::{
    SnapshotEntry, SnapshotHeader, SnapshotInfo, SnapshotListing, SnapshotRecord,
};
pub use snapshot_reader::SnapshotReader;
pub use snapshot_writer::SnapshotWriter;
pub use store::Store;
pub use verify::verify;
pub use view::StoreView;

#[cfg(test)]
mod tests;
