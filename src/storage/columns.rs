//! The three parts of a row of `documents`: their columns, checksums and reading.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::checksum::{Digest, of_numbers};
use super::{StorageError, expiries};
use crate::document::{DocumentId, Metadata, Ordinal};

/// The bits of the column `flags`.
pub(super) mod flags {
    /// The content is tokens, not text.
    pub const TOKENS: i64 = 1;
    pub const WHOLE_DOCUMENT: i64 = 2;
    /// The content was kept.
    pub const CONTENT: i64 = 4;
    pub const METADATA: i64 = 8;
    pub const SAMPLED_TO_ONE: i64 = 16;
    /// When is in the table `expiries`.
    pub const EXPIRES: i64 = 32;
    /// The content is fields.
    pub const FIELDS: i64 = 64;
}

/// Names a part in its checksum, so that one cannot stand in for another.
#[derive(Clone, Copy)]
pub(super) enum RowPart {
    Filing = 1,
    Set = 2,
    Content = 3,
}

/// The checksum as stored: binds a digest to its ordinal and part, so that a part of one row found
/// in another is noticed. Cheap, so that a digest can be taken before the ordinal is known.
pub(super) fn seal(digest: u64, ordinal: Ordinal, part: RowPart) -> i64 {
    of_numbers([digest, u64::from(ordinal.0), part as u64]).cast_signed()
}

/// What is selected to read the filing part alone, and with it the set, and with that the content.
pub(super) const FILING_COLUMNS: &str =
    "ordinal, id, shingles, fingerprint, flags, sketch, filing_checksum";
pub(super) const SET_COLUMNS: &str =
    "ordinal, id, shingles, fingerprint, flags, sketch, filing_checksum,
     stored_at, content_hash, metadata, elements, set_checksum";
pub(super) const ALL_COLUMNS: &str =
    "ordinal, id, shingles, fingerprint, flags, sketch, filing_checksum,
     stored_at, content_hash, metadata, elements, set_checksum, content, content_checksum";

/// What an index of everything is rebuilt from.
pub(super) struct FilingPart<'a> {
    pub id: &'a str,
    pub shingles: u32,
    pub fingerprint: u64,
    pub flags: i64,
    pub sketch: &'a [u8],
}

impl<'a> FilingPart<'a> {
    pub fn digest(&self) -> u64 {
        Digest::new()
            .bytes(self.id.as_bytes())
            .number(u64::from(self.shingles))
            .number(self.fingerprint)
            .number(self.flags.cast_unsigned())
            .bytes(self.sketch)
            .finish()
    }

    /// # Errors
    /// [`StorageError::CorruptDocument`] if the part is not what was written.
    pub fn read(columns: &Columns<'a>) -> Result<Self, StorageError> {
        let shingles: i64 = columns.get(2)?;
        let part = Self {
            id: columns.get(1)?,
            shingles: u32::try_from(shingles).map_err(|_| columns.corrupt("its shingles"))?,
            fingerprint: columns.get::<i64>(3)?.cast_unsigned(),
            flags: columns.get(4)?,
            sketch: columns.get(5)?,
        };
        columns.check(6, seal(part.digest(), columns.ordinal, RowPart::Filing))?;
        Ok(part)
    }

    /// When the document expires, which is looked up only if it does.
    pub fn expires_at_ms(
        &self,
        connection: &Connection,
        ordinal: Ordinal,
    ) -> Result<Option<i64>, StorageError> {
        let expires = self.flags & flags::EXPIRES != 0;
        expires.then(|| expiries::read(connection, ordinal)).transpose()
    }

    /// Whether the document has not expired yet.
    pub fn is_alive(
        &self,
        connection: &Connection,
        ordinal: Ordinal,
        now_ms: i64,
    ) -> Result<bool, StorageError> {
        Ok(self.expires_at_ms(connection, ordinal)?.is_none_or(|at| at > now_ms))
    }

    pub fn document_id(&self, columns: &Columns<'_>) -> Result<DocumentId, StorageError> {
        DocumentId::new(self.id).map_err(|_| columns.corrupt("its id"))
    }

    /// The same, borrowed.
    pub fn checked_id(&self, columns: &Columns<'_>) -> Result<&'a str, StorageError> {
        DocumentId::check(self.id).map_err(|_| columns.corrupt("its id"))?;
        Ok(self.id)
    }
}

/// What a candidate is checked by and shown with.
pub(super) struct SetPart<'a> {
    pub stored_at_ms: i64,
    pub content_hash: u64,
    pub metadata: Option<&'a str>,
    pub elements: &'a [u8],
}

impl<'a> SetPart<'a> {
    pub fn digest(&self) -> u64 {
        Digest::new()
            .number(self.stored_at_ms.cast_unsigned())
            .number(self.content_hash)
            .optional(self.metadata.map(str::as_bytes))
            .bytes(self.elements)
            .finish()
    }

    /// # Errors
    /// [`StorageError::CorruptDocument`] if the part is not what was written.
    pub fn read(columns: &Columns<'a>) -> Result<Self, StorageError> {
        let part = Self {
            stored_at_ms: columns.get(7)?,
            content_hash: columns.get::<i64>(8)?.cast_unsigned(),
            metadata: columns.get(9)?,
            elements: columns.get(10)?,
        };
        columns.check(11, seal(part.digest(), columns.ordinal, RowPart::Set))?;
        Ok(part)
    }

    pub fn metadata(&self, columns: &Columns<'_>) -> Result<Option<Metadata>, StorageError> {
        let metadata = self.metadata.map(Metadata::from_json).transpose();
        metadata.map_err(|_| columns.corrupt("its metadata"))
    }
}

/// The largest part, and the last.
pub(super) struct ContentPart<'a> {
    pub content: Option<&'a [u8]>,
}

impl<'a> ContentPart<'a> {
    pub fn digest(&self) -> u64 {
        Digest::new().optional(self.content).finish()
    }

    /// # Errors
    /// [`StorageError::CorruptDocument`] if the part is not what was written.
    pub fn read(columns: &Columns<'a>) -> Result<Self, StorageError> {
        let part = Self { content: columns.get(12)? };
        columns.check(13, seal(part.digest(), columns.ordinal, RowPart::Content))?;
        Ok(part)
    }
}

/// A row, whose ordinal names it in errors.
pub(super) struct Columns<'a> {
    row: &'a Row<'a>,
    pub ordinal: Ordinal,
}

impl<'a> Columns<'a> {
    pub fn new(row: &'a Row<'a>) -> Result<Self, StorageError> {
        let ordinal: i64 = row.get(0)?;
        let ordinal = u32::try_from(ordinal).map_err(|_| {
            StorageError::corrupt(format!("{ordinal} is no ordinal that a document may have"))
        })?;
        Ok(Self { row, ordinal: Ordinal(ordinal) })
    }

    pub fn corrupt(&self, what: &'static str) -> StorageError {
        StorageError::CorruptDocument { ordinal: self.ordinal, what }
    }

    /// A value of another type than was written is as corrupt as another value.
    fn get<T: FromColumn<'a>>(&self, column: usize) -> Result<T, StorageError> {
        let value = self.row.get_ref(column)?;
        T::from_column(value).ok_or_else(|| self.corrupt("a column has another type"))
    }

    fn check(&self, column: usize, checksum: i64) -> Result<(), StorageError> {
        if self.get::<i64>(column)? == checksum {
            return Ok(());
        }
        Err(self.corrupt("it does not have its checksum"))
    }
}

/// Values borrowed from a row where they can be.
trait FromColumn<'a>: Sized {
    fn from_column(value: ValueRef<'a>) -> Option<Self>;
}

impl FromColumn<'_> for i64 {
    fn from_column(value: ValueRef<'_>) -> Option<Self> {
        value.as_i64().ok()
    }
}

impl<'a> FromColumn<'a> for &'a str {
    fn from_column(value: ValueRef<'a>) -> Option<Self> {
        value.as_str().ok()
    }
}

impl<'a> FromColumn<'a> for &'a [u8] {
    fn from_column(value: ValueRef<'a>) -> Option<Self> {
        value.as_blob().ok()
    }
}

impl<'a, T: FromColumn<'a>> FromColumn<'a> for Option<T> {
    fn from_column(value: ValueRef<'a>) -> Option<Self> {
        match value {
            ValueRef::Null => Some(None),
            value => T::from_column(value).map(Some),
        }
    }
}
