//! Documents as they are written to and read from rows.

use clap::ValueEnum;
use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::content::{self, FrameForm};
use super::row::{
    ALL_COLUMNS, Columns, DetailsPart, RowPart, SketchRow, content_digest, derive, flags,
    read_content, seal, set_of,
};
use super::{StorageError, elements, expiries, row};
use crate::document::{Content, DocumentId, Metadata, Ordinal};
use akin_core::sketch::Sketch;
use akin_core::text::{ShingleSet, Shingler};

/// A stored document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub ordinal: Ordinal,
    pub id: DocumentId,
    /// Milliseconds since the epoch.
    pub stored_at_ms: i64,
    /// Milliseconds since the epoch; `None` if it never does.
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
    /// 64-bit hash of content and metadata, by which the caller detects unchanged documents.
    pub content_hash: u64,
    pub sketch: Sketch,
    /// The whole content is the only shingle: see [`akin_core::text::Shingled`].
    pub whole_document: bool,
}

impl Record {
    /// Compresses and hashes on the caller's thread, so that the committer only binds columns. The
    /// set is stored only if there is no content from which it can be computed.
    ///
    /// `compression_level` is zstd's, see [`super::StorageSettings`]. The ordinal may still be
    /// changed by [`EncodedRecord::with_ordinal`].
    ///
    /// # Panics
    /// If the record has neither a content nor a set.
    pub fn encode(&self, compression_level: i32) -> EncodedRecord {
        let content =
            self.content.as_ref().map(|content| content::encode(content, compression_level));
        let elements = match (&content, &self.set) {
            (Some(_), _) => Vec::new(),
            (None, set) => elements::encode(set.as_ref().expect("there is a set or a content")),
        };
        let mut record = EncodedRecord {
            ordinal: self.ordinal,
            id: self.id.clone(),
            shingles: self.shingles,
            fingerprint: self.fingerprint,
            flags: self.flags(),
            sketch: self.sketch.clone(),
            stored_at_ms: self.stored_at_ms,
            expires_at_ms: self.expires_at_ms,
            content_hash: self.content_hash,
            metadata: self.metadata.clone(),
            elements,
            content,
            digests: [0; 3],
        };
        record.digests = record.digests();
        record
    }

    fn flags(&self) -> i64 {
        let set_if = |flag, condition| if condition { flag } else { 0 };
        let form = self.content.as_ref().map(FrameForm::of);
        set_if(flags::TOKENS, form == Some(FrameForm::Tokens))
            | set_if(flags::FIELDS, form == Some(FrameForm::Fields))
            | set_if(flags::SIGNATURE, form == Some(FrameForm::Signature))
            | set_if(flags::WHOLE_DOCUMENT, self.whole_document)
            | set_if(flags::CONTENT, self.content.is_some())
            | set_if(flags::METADATA, self.metadata.is_some())
            | set_if(flags::EXPIRES, self.expires_at_ms.is_some())
    }

    /// Checks the length of the sketch, which the index relies on.
    ///
    /// # Errors
    /// [`StorageError::CorruptDocument`].
    pub(super) fn check_sketch(&self, bytes: usize) -> Result<(), StorageError> {
        if self.sketch.as_bytes().len() == bytes {
            return Ok(());
        }
        let (ordinal, id) = (self.ordinal, self.id.to_string());
        Err(StorageError::CorruptDocument { ordinal, id, what: row::OTHER_SKETCH })
    }

    /// Whether the document has not expired at `now_ms` (milliseconds since the epoch).
    pub fn is_alive(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_none_or(|at| at > now_ms)
    }

    /// Reads a row of `ALL_COLUMNS`, and the expiry time from the same state of the database.
    ///
    /// # Errors
    /// [`StorageError::CorruptDocument`] if any part of the row is damaged.
    pub(super) fn decode(
        connection: &Connection,
        row: &Row<'_>,
        detail: Detail,
        shingler: &Shingler,
    ) -> Result<Self, StorageError> {
        let columns = Columns::new(row)?;
        let row = SketchRow::read(&columns)?;
        let details = DetailsPart::read(&columns)?;
        let mut content = None;
        if matches!(detail, Detail::Content | Detail::All) {
            content = read_content(&columns, &row)?;
        }
        let set = match (detail, &content) {
            (Detail::Content, _) => None,
            (Detail::All, Some(content)) => Some(derive(&columns, &row, content, shingler)?),
            _ => Some(set_of(&columns, &row, &details, shingler)?),
        };
        Ok(Self {
            ordinal: columns.ordinal,
            id: row.document_id(),
            stored_at_ms: details.stored_at_ms,
            expires_at_ms: row.expires_at_ms(connection)?,
            content,
            metadata: details.metadata(&columns)?,
            set,
            shingles: row.shingles,
            fingerprint: row.fingerprint,
            content_hash: details.content_hash,
            sketch: Sketch::from_bytes(row.sketch.into()),
            whole_document: row.has(flags::WHOLE_DOCUMENT),
        })
    }
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

/// A record ready to be written.
#[derive(Clone, Debug)]
pub struct EncodedRecord {
    ordinal: Ordinal,
    id: DocumentId,
    shingles: u32,
    fingerprint: u64,
    flags: i64,
    sketch: Sketch,
    stored_at_ms: i64,
    expires_at_ms: Option<i64>,
    content_hash: u64,
    metadata: Option<Metadata>,
    elements: Vec<u8>,
    content: Option<Vec<u8>>,
    digests: [u64; 3],
}

impl EncodedRecord {
    pub fn ordinal(&self) -> Ordinal {
        self.ordinal
    }

    /// Changes the ordinal; cheap.
    #[must_use]
    pub fn with_ordinal(self, ordinal: Ordinal) -> Self {
        Self { ordinal, ..self }
    }

    /// Approximate size in the database.
    pub fn bytes(&self) -> u64 {
        let metadata = self.metadata.as_ref().map_or(0, |metadata| metadata.as_json().len());
        let content = self.content.as_ref().map_or(0, Vec::len);
        let columns = self.id.as_str().len() + self.sketch.as_bytes().len() + self.elements.len();
        (columns + metadata + content + 100) as u64
    }

    pub(super) fn insert(&self, connection: &Connection) -> Result<(), StorageError> {
        let insert = format!(
            "INSERT INTO documents ({ALL_COLUMNS})
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
        );
        let [sketch, details, content] = self.digests;
        connection.prepare_cached(&insert)?.execute(params![
            i64::from(self.ordinal),
            self.id.as_str(),
            self.shingles,
            self.fingerprint.cast_signed(),
            self.flags,
            self.sketch.as_bytes(),
            seal(sketch, self.ordinal, RowPart::Sketch),
            self.stored_at_ms,
            self.content_hash.cast_signed(),
            self.metadata.as_ref().map(Metadata::as_json),
            self.elements,
            seal(details, self.ordinal, RowPart::Details),
            self.content,
            seal(content, self.ordinal, RowPart::Content),
        ])?;
        match self.expires_at_ms {
            Some(expires_at_ms) => expiries::insert(connection, self.ordinal, expires_at_ms),
            None => Ok(()),
        }
    }

    fn digests(&self) -> [u64; 3] {
        let sketch = SketchRow {
            ordinal: self.ordinal,
            id: self.id.as_str(),
            shingles: self.shingles,
            fingerprint: self.fingerprint,
            flags: self.flags,
            sketch: self.sketch.as_bytes(),
        };
        let details = DetailsPart {
            stored_at_ms: self.stored_at_ms,
            content_hash: self.content_hash,
            metadata: self.metadata.as_ref().map(Metadata::as_json),
            elements: &self.elements,
        };
        [sketch.digest(), details.digest(), content_digest(self.content.as_deref())]
    }
}
