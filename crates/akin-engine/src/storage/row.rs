//! The three parts of a row of `documents`: their columns, checksums and reading.

use rusqlite::types::{FromSqlResult, ValueRef};
use rusqlite::{Connection, Row};

use super::checksum::{Digest, of_numbers};
use super::{StorageError, content, elements};
use crate::document::{Content, DocumentId, Metadata, Ordinal};
use akin_core::text::{ShingleSet, Shingler};

/// The bits of the column `flags`.
pub(super) mod flags {
    /// The content is JSON, not a text.
    pub const JSON: i64 = 1;
    pub const WHOLE_DOCUMENT: i64 = 2;
    /// The row has a content.
    pub const CONTENT: i64 = 4;
    pub const METADATA: i64 = 8;
}

/// The part is in its checksum, so that no part is accepted in the place of another.
#[derive(Clone, Copy)]
pub(super) enum RowPart {
    Sketch = 1,
    Details = 2,
    Content = 3,
}

/// The stored checksum. It binds a digest to its ordinal and part, which detects parts of one row
/// in another. It is cheap, so the digest can be computed before the ordinal is known.
pub(super) fn seal(digest: u64, ordinal: Ordinal, part: RowPart) -> i64 {
    of_numbers([digest, ordinal.get(), part as u64]).cast_signed()
}

/// The columns of the first part, the first two parts, and all parts.
pub(super) const SKETCH_COLUMNS: &str =
    "ordinal, id, shingles, fingerprint, flags, expires_at, sketch, sketch_checksum";
pub(super) const DETAILS_COLUMNS: &str =
    "ordinal, id, shingles, fingerprint, flags, expires_at, sketch, sketch_checksum,
     stored_at, content_hash, metadata, elements, details_checksum";
pub(super) const ALL_COLUMNS: &str =
    "ordinal, id, shingles, fingerprint, flags, expires_at, sketch, sketch_checksum,
     stored_at, content_hash, metadata, elements, details_checksum, content, content_checksum";

/// The first part of a row: the source of a rebuilt index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SketchRow<'a> {
    pub ordinal: Ordinal,
    /// A [`DocumentId`].
    pub id: &'a str,
    /// Number of elements in the set.
    pub shingles: u32,
    pub fingerprint: u64,
    /// Milliseconds since the epoch; `None` if the document never expires.
    pub expires_at_ms: Option<i64>,
    pub sketch: &'a [u8],
    pub(super) flags: i64,
}

impl<'a> SketchRow<'a> {
    pub fn document_id(&self) -> DocumentId {
        DocumentId::new(self.id).expect("reading the row checked its id")
    }

    /// Checks the length of the sketch, which the index relies on.
    ///
    /// # Errors
    /// [`StorageError::CorruptDocument`].
    pub fn check_sketch(&self, bytes: usize) -> Result<(), StorageError> {
        if self.sketch.len() == bytes {
            return Ok(());
        }
        let what = "its sketch does not have the length of the settings";
        Err(StorageError::CorruptDocument { ordinal: self.ordinal, id: self.id.to_owned(), what })
    }

    pub fn has_metadata(&self) -> bool {
        self.has(flags::METADATA)
    }

    pub(super) fn has(&self, flag: i64) -> bool {
        self.flags & flag != 0
    }

    pub(super) fn digest(&self) -> u64 {
        let expires_at_ms = self.expires_at_ms.map(i64::to_le_bytes);
        Digest::new()
            .bytes(self.id.as_bytes())
            .number(u64::from(self.shingles))
            .number(self.fingerprint)
            .number(self.flags.cast_unsigned())
            .optional(expires_at_ms.as_ref().map(<[u8; 8]>::as_slice))
            .bytes(self.sketch)
            .finish()
    }

    pub(super) fn read(columns: &Columns<'a>) -> Result<Self, StorageError> {
        let shingles = columns.number(2)?;
        let row = Self {
            ordinal: columns.ordinal,
            id: columns.get(1, |id| id.as_str())?,
            shingles: u32::try_from(shingles).map_err(|_| columns.corrupt("its shingles"))?,
            fingerprint: columns.number(3)?.cast_unsigned(),
            flags: columns.number(4)?,
            expires_at_ms: columns.get(5, |at| at.as_i64_or_null())?,
            sketch: columns.get(6, |sketch| sketch.as_blob())?,
        };
        columns.check(7, seal(row.digest(), row.ordinal, RowPart::Sketch))?;
        DocumentId::check(row.id).map_err(|_| columns.corrupt("its id"))?;
        Ok(row)
    }

    /// Whether the document has not expired yet.
    pub(super) fn is_alive(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_none_or(|at| at > now_ms)
    }
}

/// The second part: details for responses, and the set if it is stored.
pub(super) struct DetailsPart<'a> {
    pub stored_at_ms: i64,
    pub content_hash: u64,
    pub metadata: Option<&'a str>,
    pub elements: &'a [u8],
}

impl<'a> DetailsPart<'a> {
    pub fn digest(&self) -> u64 {
        Digest::new()
            .number(self.stored_at_ms.cast_unsigned())
            .number(self.content_hash)
            .optional(self.metadata.map(str::as_bytes))
            .bytes(self.elements)
            .finish()
    }

    pub fn read(columns: &Columns<'a>) -> Result<Self, StorageError> {
        let part = Self {
            stored_at_ms: columns.number(8)?,
            content_hash: columns.number(9)?.cast_unsigned(),
            metadata: columns.get(10, |metadata| metadata.as_str_or_null())?,
            elements: columns.get(11, |elements| elements.as_blob())?,
        };
        columns.check(12, seal(part.digest(), columns.ordinal, RowPart::Details))?;
        Ok(part)
    }

    pub fn metadata(&self, columns: &Columns<'_>) -> Result<Option<Metadata>, StorageError> {
        let metadata = self.metadata.map(Metadata::from_json).transpose();
        metadata.map_err(|_| columns.corrupt("its metadata"))
    }
}

/// The digest of the third part.
pub(super) fn content_digest(content: Option<&[u8]>) -> u64 {
    Digest::new().optional(content).finish()
}

/// The content, which is the third part; `None` if none is stored.
///
/// # Errors
/// [`StorageError::CorruptDocument`] if it is not what was written.
pub(super) fn read_content(
    columns: &Columns<'_>,
    row: &SketchRow<'_>,
) -> Result<Option<Content>, StorageError> {
    let bytes = columns.get(13, |content| content.as_blob_or_null())?;
    columns.check(14, seal(content_digest(bytes), columns.ordinal, RowPart::Content))?;
    let decode = |bytes| content::decode(bytes, !row.has(flags::JSON));
    bytes
        .map(|bytes| decode(bytes).ok_or_else(|| columns.corrupt("its content cannot be decoded")))
        .transpose()
}

/// The stored set, or the set computed from the content.
///
/// # Errors
/// [`StorageError::CorruptDocument`] if a part is damaged, or the set computed from the content has
/// another fingerprint than the stored set.
pub(super) fn set_of(
    columns: &Columns<'_>,
    row: &SketchRow<'_>,
    details: &DetailsPart<'_>,
    shingler: &Shingler,
) -> Result<ShingleSet, StorageError> {
    if !details.elements.is_empty() {
        let set = elements::decode(details.elements, row.shingles);
        return set.ok_or_else(|| columns.corrupt("its set cannot be decoded"));
    }
    let content = read_content(columns, row)?;
    let content = content.ok_or_else(|| columns.corrupt("it has neither a set nor a content"))?;
    derive(columns, row, &content, shingler)
}

/// Computes the set of a content and checks its fingerprint and its size.
pub(super) fn derive(
    columns: &Columns<'_>,
    row: &SketchRow<'_>,
    content: &Content,
    shingler: &Shingler,
) -> Result<ShingleSet, StorageError> {
    let shingled = shingler.shingle(content).ok().map(|shingled| shingled.set);
    let same = shingled
        .filter(|set| set.fingerprint() == row.fingerprint && set.count() == row.shingles as usize);
    same.ok_or_else(|| columns.corrupt("its content gives another set than the stored set"))
}

/// What is read from the rows with these ordinals, in the given order; `None` where there is none.
pub(super) fn by_ordinals<T>(
    connection: &Connection,
    columns: &str,
    ordinals: &[Ordinal],
    mut read: impl FnMut(&Row<'_>) -> Result<T, StorageError>,
) -> Result<Vec<Option<T>>, StorageError> {
    let query = format!("SELECT {columns} FROM documents WHERE ordinal = ?1");
    let mut statement = connection.prepare_cached(&query)?;
    let read = |ordinal: &Ordinal| {
        let mut rows = statement.query([i64::from(*ordinal)])?;
        rows.next()?.map(&mut read).transpose()
    };
    ordinals.iter().map(read).collect()
}

/// # Errors
/// [`StorageError::Corrupt`] if it is none.
pub(super) fn stored_ordinal(number: i64) -> Result<Ordinal, StorageError> {
    Ordinal::try_from(number.cast_unsigned())
        .map_err(|_| StorageError::corrupt(format!("{number} is not a valid ordinal")))
}

/// The columns of a row, with its ordinal and id for errors.
pub(super) struct Columns<'a> {
    row: &'a Row<'a>,
    pub ordinal: Ordinal,
}

impl<'a> Columns<'a> {
    pub fn new(row: &'a Row<'a>) -> Result<Self, StorageError> {
        Ok(Self { row, ordinal: stored_ordinal(row.get(0)?)? })
    }

    pub fn corrupt(&self, what: &'static str) -> StorageError {
        // The id itself may be damaged, but nothing else identifies the document.
        let id = self.get(1, |id| Ok(id.as_str().unwrap_or_default().to_owned()));
        let id = id.unwrap_or_default();
        StorageError::CorruptDocument { ordinal: self.ordinal, id, what }
    }

    fn number(&self, column: usize) -> Result<i64, StorageError> {
        self.get(column, |value| value.as_i64())
    }

    /// A value of an unexpected type means that the row is corrupt.
    fn get<T>(
        &self,
        column: usize,
        read: impl FnOnce(ValueRef<'a>) -> FromSqlResult<T>,
    ) -> Result<T, StorageError> {
        let value = self.row.get_ref(column)?;
        read(value).map_err(|_| self.corrupt("a column has another type"))
    }

    fn check(&self, column: usize, checksum: i64) -> Result<(), StorageError> {
        if self.number(column)? == checksum {
            return Ok(());
        }
        Err(self.corrupt("it does not match its checksum"))
    }
}
