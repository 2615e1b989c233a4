//! Stored documents as the store reads them and the seam hands them on, and the changes of a
//! collection.

use std::collections::HashSet;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::document::{Content, DocumentId, Metadata, Ordinal};
use akin_core::sketch::Sketch;
use akin_core::text::ShingleSet;

/// A stored document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub ordinal: Ordinal,
    pub id: DocumentId,
    /// Milliseconds since the epoch.
    pub stored_at_ms: i64,
    /// Milliseconds since the epoch; `None` if the document never expires.
    pub expires_at_ms: Option<i64>,
    /// `None` in a collection that keeps no contents, and if it was not requested.
    pub content: Option<Content>,
    pub metadata: Option<Metadata>,
    /// `None` if it was not requested.
    pub set: Option<ShingleSet>,
    /// Number of elements in the set.
    pub shingles: u32,
    /// 64-bit hash of the set, see [`ShingleSet::fingerprint`].
    pub fingerprint: u64,
    /// 64-bit hash of content and metadata, by which unchanged documents are detected.
    pub content_hash: u64,
    pub sketch: Sketch,
    /// The whole content is the only shingle: see [`akin_core::text::Shingled`].
    pub whole_document: bool,
}

impl Record {
    /// Whether the document has not expired at `now_ms` (milliseconds since the epoch).
    pub fn is_alive(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_none_or(|at| at > now_ms)
    }
}

/// When a document was stored and when it expires, in milliseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub stored_at_ms: i64,
    /// `None` if the document never expires.
    pub expires_at_ms: Option<i64>,
}

/// The difference between two states of a document: its content and metadata by their hash, and its
/// times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// See [`Record::content_hash`].
    pub content_hash: u64,
    pub times: Times,
}

/// How much of a document is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// All but its content.
    Set,
    /// All but its set.
    Content,
    All,
}

/// The order of an export. `stored`: as documents were stored, the fastest. `id`: by the bytes of
/// their ids, so that equal collections are exported alike.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// As they were stored, which is faster for a collection larger than memory
    #[default]
    Stored,
    /// By the bytes of their ids: equal collections make equal files
    Id,
}

/// The attributes of a document without its set and its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentDetails {
    /// Milliseconds since the epoch.
    pub stored_at_ms: i64,
    /// See [`Record::content_hash`].
    pub content_hash: u64,
    pub metadata: Option<Metadata>,
}

/// A position between two changes of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// When the store was created: a reindexed or restored collection is another.
    pub store: i64,
    pub sequence: u64,
}

/// A change, and the position behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub id: DocumentId,
    /// When the document was stored, in milliseconds since the epoch; `None` if it was removed.
    pub stored_at_ms: Option<i64>,
    pub next: Position,
}

/// The changes after a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changes {
    /// The position behind them; there may be more.
    Some(Vec<Change>, Position),
    /// The position is of another store, or its log no longer reaches back to it.
    Gone,
}

/// The net effect of all operations after a sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    pub last_sequence: u64,
    /// Every removed document, whenever it was inserted.
    pub dead: HashSet<Ordinal>,
    /// The documents that were inserted and are alive, ascending.
    pub born: Vec<Ordinal>,
}
