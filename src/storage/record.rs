//! A document as a row: three parts, each read without the next and each closed by its checksum.

use rusqlite::{Connection, Row, params};

use super::columns::{
    ALL_COLUMNS, Columns, ContentPart, FilingPart, RowPart, SET_COLUMNS, SetPart, flags, seal,
};
use super::content::{self, Form};
use super::{StorageError, elements, expiries};
use crate::document::{Content, DocumentId, Metadata, Ordinal};
use crate::sketch::Sketch;
use crate::text::ShingleSet;

/// All that is kept of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub ordinal: Ordinal,
    pub id: DocumentId,
    /// Milliseconds since the epoch.
    pub stored_at_ms: i64,
    /// Milliseconds since the epoch; `None` if it never does.
    pub expires_at_ms: Option<i64>,
    /// `None` in a collection that keeps no contents.
    pub content: Option<Content>,
    pub metadata: Option<Metadata>,
    pub set: ShingleSet,
    /// One number for the set, as [`ShingleSet::fingerprint`] gives it.
    pub fingerprint: u64,
    /// One number for content and metadata, by which the caller knows an unchanged document.
    pub content_hash: u64,
    pub sketch: Sketch,
    /// The content has no shingle but the whole of it: see [`crate::text::Shingled`].
    pub whole_document: bool,
    /// None of the text's shingles was in the sample: see [`crate::text::Shingled`].
    pub sampled_to_one: bool,
}

impl Record {
    /// Compresses and digests on the caller's thread what the committer then only has to bind.
    ///
    /// `compression_level` is zstd's, as [`super::StorageSettings`] has it. The ordinal may still
    /// be changed by [`EncodedRecord::with_ordinal`].
    #[must_use]
    pub fn encode(&self, compression_level: i32) -> EncodedRecord {
        let content =
            self.content.as_ref().map(|content| content::encode(content, compression_level));
        let mut record = EncodedRecord {
            ordinal: self.ordinal,
            id: self.id.clone(),
            shingles: u32::try_from(self.set.count()).expect("a set has fewer than 2³² shingles"),
            fingerprint: self.fingerprint,
            flags: self.flags(),
            sketch: self.sketch.clone(),
            stored_at_ms: self.stored_at_ms,
            expires_at_ms: self.expires_at_ms,
            content_hash: self.content_hash,
            metadata: self.metadata.clone(),
            elements: elements::encode(&self.set),
            content,
            digests: [0; 3],
        };
        record.digests = record.digests();
        record
    }

    fn flags(&self) -> i64 {
        let set_if = |flag, condition| if condition { flag } else { 0 };
        let form = self.content.as_ref().map(Form::of);
        set_if(flags::TOKENS, form == Some(Form::Tokens))
            | set_if(flags::FIELDS, form == Some(Form::Fields))
            | set_if(flags::WHOLE_DOCUMENT, self.whole_document)
            | set_if(flags::SAMPLED_TO_ONE, self.sampled_to_one)
            | set_if(flags::CONTENT, self.content.is_some())
            | set_if(flags::METADATA, self.metadata.is_some())
            | set_if(flags::EXPIRES, self.expires_at_ms.is_some())
    }
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
    #[must_use]
    pub fn ordinal(&self) -> Ordinal {
        self.ordinal
    }

    /// The same record under another ordinal; cheap.
    #[must_use]
    pub fn with_ordinal(self, ordinal: Ordinal) -> Self {
        Self { ordinal, ..self }
    }

    /// About what it takes in the database.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let metadata = self.metadata.as_ref().map_or(0, |metadata| metadata.as_json().len());
        let content = self.content.as_ref().map_or(0, Vec::len);
        let columns = self.id.as_str().len() + self.sketch.as_bytes().len() + self.elements.len();
        (columns + metadata + content + 100) as u64
    }

    pub(super) fn insert(&self, connection: &Connection) -> Result<(), StorageError> {
        let insert = "INSERT INTO documents VALUES
                      (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
        let [filing, set, content] = self.digests;
        connection.prepare_cached(insert)?.execute(params![
            self.ordinal.0,
            self.id.as_str(),
            self.shingles,
            self.fingerprint.cast_signed(),
            self.flags,
            self.sketch.as_bytes(),
            seal(filing, self.ordinal, RowPart::Filing),
            self.stored_at_ms,
            self.content_hash.cast_signed(),
            self.metadata.as_ref().map(Metadata::as_json),
            self.elements,
            seal(set, self.ordinal, RowPart::Set),
            self.content,
            seal(content, self.ordinal, RowPart::Content),
        ])?;
        match self.expires_at_ms {
            Some(expires_at_ms) => expiries::insert(connection, self.ordinal, expires_at_ms),
            None => Ok(()),
        }
    }

    fn digests(&self) -> [u64; 3] {
        let filing = FilingPart {
            id: self.id.as_str(),
            shingles: self.shingles,
            fingerprint: self.fingerprint,
            flags: self.flags,
            sketch: self.sketch.as_bytes(),
        };
        let set = SetPart {
            stored_at_ms: self.stored_at_ms,
            content_hash: self.content_hash,
            metadata: self.metadata.as_ref().map(Metadata::as_json),
            elements: &self.elements,
        };
        let content = ContentPart { content: self.content.as_deref() };
        [filing.digest(), set.digest(), content.digest()]
    }
}

/// In which order an export gives documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// In that in which they were stored, which is how they lie on the disk.
    #[default]
    Stored,
    /// By the bytes of their ids, so that equal collections are exported alike.
    Id,
}

/// How much of a document is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All but the content, which is `None` then, without touching the pages that it is on.
    Set,
    All,
}

impl Part {
    /// The columns to select for [`Record::decode`].
    pub(super) fn columns(self) -> &'static str {
        match self {
            Self::Set => SET_COLUMNS,
            Self::All => ALL_COLUMNS,
        }
    }
}

impl Record {
    /// Whether the document has not expired yet; the time is in milliseconds since the epoch.
    #[must_use]
    pub fn is_alive(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_none_or(|at| at > now_ms)
    }

    /// Reads a row of [`Part::columns`], and from the same state when the document expires.
    ///
    /// # Errors
    /// [`StorageError::CorruptDocument`] if any of it is not what was written.
    pub(super) fn decode(
        connection: &Connection,
        row: &Row<'_>,
        part: Part,
    ) -> Result<Self, StorageError> {
        let columns = Columns::new(row)?;
        let filing = FilingPart::read(&columns)?;
        let set = SetPart::read(&columns)?;
        let content = match part {
            Part::Set => None,
            Part::All => ContentPart::read(&columns)?.content,
        };
        let form = form(filing.flags);
        let content = content
            .map(|bytes| content::decode(bytes, form).ok_or(columns.corrupt("its content")))
            .transpose()?;
        Ok(Self {
            ordinal: columns.ordinal,
            id: filing.document_id(&columns)?,
            stored_at_ms: set.stored_at_ms,
            expires_at_ms: filing.expires_at_ms(connection, columns.ordinal)?,
            content,
            metadata: set.metadata(&columns)?,
            set: elements::decode(set.elements, filing.shingles)
                .ok_or(columns.corrupt("its elements"))?,
            fingerprint: filing.fingerprint,
            content_hash: set.content_hash,
            sketch: Sketch::from_bytes(filing.sketch.into()),
            whole_document: filing.flags & flags::WHOLE_DOCUMENT != 0,
            sampled_to_one: filing.flags & flags::SAMPLED_TO_ONE != 0,
        })
    }
}

/// The form of the content, if there is one.
fn form(all: i64) -> Form {
    match all {
        _ if all & flags::TOKENS != 0 => Form::Tokens,
        _ if all & flags::FIELDS != 0 => Form::Fields,
        _ => Form::Text,
    }
}
