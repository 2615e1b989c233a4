//! What survives: documents, the log of what happened to them, snapshots of the index.
//!
//! A store is one collection in one directory:
//!
//! ```text
//! DIR/lock            held while the store is open, so that no other process opens it
//! DIR/store.sqlite    the database, with -wal and -shm beside it while it is open
//! DIR/snapshots/      see `snapshot_file`
//! ```
mod checksum;
mod columns;
mod committer;
mod content;
mod counters;
mod directory;
mod elements;
mod error;
mod log;
mod readers;
mod record;
mod recovery;
mod schema;
mod settings;
mod snapshot;
mod snapshot_file;
mod snapshot_reader;
mod snapshot_writer;
mod store;
mod wal_sync;

pub use committer::Write;
pub use error::StorageError;
pub use readers::StoreSizes;
pub use record::{EncodedRecord, Part, Record};
pub use recovery::{FilingRow, Tail};
pub use settings::{StorageSettings, Sync};
pub use snapshot::Snapshots;
pub use snapshot_file::{SnapshotEntry, SnapshotHeader, SnapshotInfo, SnapshotMember};
pub use snapshot_reader::SnapshotReader;
pub use snapshot_writer::SnapshotWriter;
pub use store::Store;

#[cfg(test)]
mod tests;
