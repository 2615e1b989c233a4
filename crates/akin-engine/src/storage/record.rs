//! Documents as they are written to and read from rows.

use rusqlite::{Connection, Row, params};

use super::row::{
    Columns, DetailsPart, RowPart, SketchRow, content_digest, derive, flags, read_content, seal,
    set_of,
};
use super::{StorageError, content, elements};
use crate::document::{Content, Document, DocumentId, Metadata, Ordinal};
use crate::stored::{Detail, Record, Stamp};
use akin_core::sketch::Sketch;
use akin_core::text::Shingler;
use akin_model::analysis::Analysis;

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
    pub ordinal: Ordinal,
    id: DocumentId,
    shingles: u32,
    fingerprint: u64,
    flags: i64,
    sketch: Sketch,
    stamp: Stamp,
    metadata: Option<Metadata>,
    elements: Vec<u8>,
    content: Option<Vec<u8>>,
    digests: [u64; 3],
}

impl EncodedRecord {
    /// Compresses and hashes on the caller's thread, so that the committer only binds columns. A
    /// collection that does not `keep` contents stores the sets, which follow from contents
    /// elsewhere. The ordinal is set later.
    ///
    /// `compression_level` is zstd's, see [`super::StorageSettings`].
    pub fn new(
        document: &Document,
        analysis: &Analysis,
        stamp: Stamp,
        keep: bool,
        compression_level: i32,
    ) -> Self {
        let content = keep.then(|| content::encode(&document.content, compression_level));
        let is_text = !keep || matches!(document.content, Content::Text(_));
        let set_if = |flag, condition| if condition { flag } else { 0 };
        let flags = set_if(flags::JSON, !is_text)
            | set_if(flags::WHOLE_DOCUMENT, analysis.whole_document)
            | set_if(flags::CONTENT, keep)
            | set_if(flags::METADATA, document.metadata.is_some());
        let mut record = Self {
            ordinal: Ordinal::MIN,
            id: document.id.clone(),
            shingles: analysis.set.count() as u32,
            fingerprint: analysis.fingerprint,
            flags,
            sketch: analysis.sketch.clone(),
            stamp,
            metadata: document.metadata.clone(),
            elements: if keep { Vec::new() } else { elements::encode(&analysis.set) },
            content,
            digests: [0; 3],
        };
        record.digests = record.digests();
        record
    }

    /// Approximate size in the database.
    pub fn bytes(&self) -> u64 {
        let metadata = self.metadata.as_ref().map_or(0, |metadata| metadata.as_json().len());
        let content = self.content.as_ref().map_or(0, Vec::len);
        let columns = self.id.as_str().len() + self.sketch.as_bytes().len() + self.elements.len();
        (columns + metadata + content + 100) as u64
    }

    pub(super) fn insert(&self, connection: &Connection) -> Result<(), StorageError> {
        // The schema is exactly akin's. The cache of statements hashes each byte of the SQL.
        let insert = "INSERT INTO documents VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
        let [sketch, details, content] = self.digests;
        connection.prepare_cached(insert)?.execute(params![
            i64::from(self.ordinal),
            self.id.as_str(),
            self.shingles,
            self.fingerprint.cast_signed(),
            self.flags,
            self.stamp.times.expires_at_ms,
            self.sketch.as_bytes(),
            seal(sketch, self.ordinal, RowPart::Sketch),
            self.stamp.times.stored_at_ms,
            self.stamp.content_hash.cast_signed(),
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
            expires_at_ms: self.stamp.times.expires_at_ms,
            sketch: self.sketch.as_bytes(),
        };
        let details = DetailsPart {
            stored_at_ms: self.stamp.times.stored_at_ms,
            content_hash: self.stamp.content_hash,
            metadata: self.metadata.as_ref().map(Metadata::as_json),
            elements: &self.elements,
        };
        [sketch.digest(), details.digest(), content_digest(self.content.as_deref())]
    }
}
