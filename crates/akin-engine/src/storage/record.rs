//! Documents as they are written to and read from rows.

use rusqlite::{Connection, Row, params};

use super::row::{
    ALL_COLUMNS, Columns, DetailsPart, RowPart, SketchRow, content_digest, derive, flags,
    read_content, seal, set_of,
};
use super::{StorageError, content, elements, row};
use crate::document::{Content, DocumentId, Metadata, Ordinal};
use crate::stored::{Detail, Record, Times};
use akin_core::sketch::Sketch;
use akin_core::text::{ShingleSet, Shingler};

/// A document to be written, with its sketch and its set.
pub struct NewRecord<'a> {
    pub id: &'a DocumentId,
    pub times: Times,
    /// `None` in a collection that keeps no contents.
    pub content: Option<&'a Content>,
    pub metadata: Option<&'a Metadata>,
    /// `None` only if there is a content.
    pub set: Option<&'a ShingleSet>,
    pub shingles: u32,
    pub fingerprint: u64,
    pub content_hash: u64,
    pub sketch: &'a Sketch,
    pub whole_document: bool,
}

impl<'a> NewRecord<'a> {
    /// A document that was read from another store.
    pub fn of(record: &'a Record) -> Self {
        let Record { stored_at_ms, expires_at_ms, .. } = *record;
        Self {
            id: &record.id,
            times: Times { stored_at_ms, expires_at_ms },
            content: record.content.as_ref(),
            metadata: record.metadata.as_ref(),
            set: record.set.as_ref(),
            shingles: record.shingles,
            fingerprint: record.fingerprint,
            content_hash: record.content_hash,
            sketch: &record.sketch,
            whole_document: record.whole_document,
        }
    }

    /// Compresses and hashes on the caller's thread, so that the committer only binds columns. The
    /// set is stored only if there is no content from which it can be computed.
    ///
    /// `compression_level` is zstd's, see [`super::StorageSettings`]. The ordinal is set later, by
    /// [`EncodedRecord::with_ordinal`].
    ///
    /// # Panics
    /// If the record has neither a content nor a set.
    pub fn encode(&self, compression_level: i32) -> EncodedRecord {
        let content = self.content.map(|content| content::encode(content, compression_level));
        let elements = match (&content, self.set) {
            (Some(_), _) => Vec::new(),
            (None, set) => elements::encode(set.expect("there is a set or a content")),
        };
        let mut record = EncodedRecord {
            ordinal: Ordinal::MIN,
            id: self.id.clone(),
            shingles: self.shingles,
            fingerprint: self.fingerprint,
            flags: self.flags(),
            sketch: self.sketch.clone(),
            times: self.times,
            content_hash: self.content_hash,
            metadata: self.metadata.cloned(),
            elements,
            content,
            digests: [0; 3],
        };
        record.digests = record.digests();
        record
    }

    fn flags(&self) -> i64 {
        let set_if = |flag, condition| if condition { flag } else { 0 };
        let is_text = matches!(self.content, None | Some(Content::Text(_)));
        set_if(flags::JSON, !is_text)
            | set_if(flags::WHOLE_DOCUMENT, self.whole_document)
            | set_if(flags::CONTENT, self.content.is_some())
            | set_if(flags::METADATA, self.metadata.is_some())
    }
}

/// Checks the length of a sketch, which the index relies on.
///
/// # Errors
/// [`StorageError::CorruptDocument`].
pub(super) fn check_sketch(record: &Record, bytes: usize) -> Result<(), StorageError> {
    if record.sketch.as_bytes().len() == bytes {
        return Ok(());
    }
    let (ordinal, id) = (record.ordinal, record.id.to_string());
    Err(StorageError::CorruptDocument { ordinal, id, what: row::OTHER_SKETCH })
}

/// Reads a row of `ALL_COLUMNS`.
///
/// # Errors
/// [`StorageError::CorruptDocument`] if any part of the row is damaged.
pub(super) fn decode(
    row: &Row<'_>,
    detail: Detail,
    shingler: &Shingler,
) -> Result<Record, StorageError> {
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
    Ok(Record {
        ordinal: columns.ordinal,
        id: row.document_id(),
        stored_at_ms: details.stored_at_ms,
        expires_at_ms: row.expires_at_ms,
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

/// A record ready to be written.
#[derive(Clone, Debug)]
pub struct EncodedRecord {
    ordinal: Ordinal,
    id: DocumentId,
    shingles: u32,
    fingerprint: u64,
    flags: i64,
    sketch: Sketch,
    times: Times,
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
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
        );
        let [sketch, details, content] = self.digests;
        connection.prepare_cached(&insert)?.execute(params![
            i64::from(self.ordinal),
            self.id.as_str(),
            self.shingles,
            self.fingerprint.cast_signed(),
            self.flags,
            self.times.expires_at_ms,
            self.sketch.as_bytes(),
            seal(sketch, self.ordinal, RowPart::Sketch),
            self.times.stored_at_ms,
            self.content_hash.cast_signed(),
            self.metadata.as_ref().map(Metadata::as_json),
            self.elements,
            seal(details, self.ordinal, RowPart::Details),
            self.content,
            seal(content, self.ordinal, RowPart::Content),
        ])?;
        Ok(())
    }

    fn digests(&self) -> [u64; 3] {
        let sketch = SketchRow {
            ordinal: self.ordinal,
            id: self.id.as_str(),
            shingles: self.shingles,
            fingerprint: self.fingerprint,
            flags: self.flags,
            expires_at_ms: self.times.expires_at_ms,
            sketch: self.sketch.as_bytes(),
        };
        let details = DetailsPart {
            stored_at_ms: self.times.stored_at_ms,
            content_hash: self.content_hash,
            metadata: self.metadata.as_ref().map(Metadata::as_json),
            elements: &self.elements,
        };
        [sketch.digest(), details.digest(), content_digest(self.content.as_deref())]
    }
}
