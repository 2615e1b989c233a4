//! Rows of documents and of sets.

use std::sync::{Arc, OnceLock};

use akin_core::sketch::Sketch;
use akin_core::text::{ShingleSet, Shingler};
use akin_engine::backend::{BackendError, Sketched};
use akin_engine::storage::{content, elements};
use akin_engine::stored::{Detail, Record};
use akin_model::document::{Content, DocumentId, Metadata};
use smallvec::smallvec;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use crate::backend::PostgresCollection;
use crate::lookup::{document_id, ordinal};
use akin_engine::backend::{Candidate, Member};

/// The content is JSON, not a text.
const JSON: i16 = 1;

/// The whole content is the only shingle.
const WHOLE_DOCUMENT: i16 = 8;

/// Larger contents are read off the runtime's threads: it takes about a millisecond.
const INLINE_BYTES_MAX: usize = 256 << 10;

/// The columns of [`PostgresCollection::record`], of `documents d JOIN entries e`.
pub(crate) const COLUMNS: &str = "d.ordinal, d.id, d.entry, e.shingles, e.sketch, d.stored_at,
    d.expires_at, d.form, d.hash, d.metadata, d.content, e.elements";

/// The place of the content in these columns.
pub(crate) const CONTENT: usize = 10;

/// The source of a set: the content of a document, or the elements. Lookups that wait for the same
/// call share it, and make its set once.
#[derive(Default)]
pub(crate) struct Material {
    form: i16,
    content: Option<Vec<u8>>,
    elements: Option<Vec<u8>>,
    /// Of the elements.
    shingles: u32,
    made: OnceLock<Option<ShingleSet>>,
}

impl Material {
    /// `None` without a content and without elements.
    fn new(
        form: i16,
        content: Option<&[u8]>,
        elements: Option<&[u8]>,
        shingles: Option<i32>,
    ) -> Option<Arc<Self>> {
        content.or(elements)?;
        let (content, elements) = (content.map(<[u8]>::to_vec), elements.map(<[u8]>::to_vec));
        let shingles = shingles.unwrap_or(0) as u32;
        Some(Arc::new(Self { form, content, elements, shingles, made: OnceLock::new() }))
    }

    /// Of a row of `akin.sketched`.
    pub fn of_document(row: &Row) -> Option<Arc<Self>> {
        Self::new(row.get(7), row.get(8), row.get(9), row.get(3))
    }

    /// Of a row of `akin.materials`, whose columns begin with `first`, each with its set.
    pub fn of_sets(row: &Row, first: usize) -> impl Iterator<Item = (i64, Arc<Self>)> {
        let (entries, forms) = (list::<i64>(row, first), list(row, first + 1));
        let (contents, elements) = (list(row, first + 2), list(row, first + 3));
        let sizes = list(row, first + 4);
        let material = move |(n, entry)| {
            Some((entry, Self::new(forms[n], contents[n], elements[n], sizes[n])?))
        };
        entries.into_iter().enumerate().filter_map(material)
    }

    /// The bytes that the set is made of: of a compressed content, those that it declares.
    fn bytes(&self) -> usize {
        match (&self.elements, &self.content) {
            (Some(elements), _) => elements.len(),
            (None, content) => content.as_deref().and_then(content::plain_bytes).unwrap_or(0),
        }
    }

    /// `None` for bytes that this program cannot have written.
    fn set(&self, shingler: &Shingler) -> Option<ShingleSet> {
        self.made.get_or_init(|| self.make(shingler)).clone()
    }

    fn make(&self, shingler: &Shingler) -> Option<ShingleSet> {
        if let Some(elements) = &self.elements {
            return elements::decode(elements, self.shingles);
        }
        let content = decoded(self.form, self.content.as_deref()?)?;
        shingler.shingle(&content).ok().map(|shingled| shingled.set)
    }
}

/// An array, which is NULL if it has no values.
pub(crate) fn list<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Vec<T> {
    row.get::<_, Option<Vec<T>>>(column).unwrap_or_default()
}

pub(crate) fn form_of(content: &Content, whole_document: bool) -> i16 {
    let form = if matches!(content, Content::Text(_)) { 0 } else { JSON };
    form + if whole_document { WHOLE_DOCUMENT } else { 0 }
}

fn decoded(form: i16, frame: &[u8]) -> Option<Content> {
    match form & !WHOLE_DOCUMENT {
        0 => content::decode(frame, true),
        JSON => content::decode(frame, false),
        _ => None,
    }
}

/// # Errors
/// `DocumentDamaged`: another program wrote the content.
pub(crate) fn content_of(
    id: &str,
    form: i16,
    frame: Option<&[u8]>,
) -> Result<Option<Content>, BackendError> {
    let Some(frame) = frame else { return Ok(None) };
    decoded(form, frame).map(Some).ok_or_else(|| damaged(id, "its content cannot be read"))
}

pub(crate) fn metadata_of(
    id: &str,
    metadata: Option<&str>,
) -> Result<Option<Metadata>, BackendError> {
    let metadata = metadata.map(Metadata::from_json).transpose();
    metadata.map_err(|_| damaged(id, "its metadata is no object"))
}

pub(crate) fn damaged(id: &str, what: &str) -> BackendError {
    let reason = format!("the document '{id}' is damaged: {what}");
    BackendError::DocumentDamaged { id: id.to_owned(), reason }
}

impl PostgresCollection {
    /// The record of a row of [`COLUMNS`].
    pub(crate) fn record(&self, row: &Row, detail: Detail) -> Result<Record, BackendError> {
        let id: DocumentId = document_id(row.get(1))?;
        let shingles = row.get::<_, i32>(3) as u32;
        let (form, frame): (i16, Option<&[u8]>) = (row.get(7), row.get(CONTENT));
        let content = content_of(id.as_str(), form, frame)?;
        let set = match row.get::<_, Option<&[u8]>>(11) {
            _ if detail == Detail::Content => None,
            Some(packed) => elements::decode(packed, shingles),
            None => content.as_ref().and_then(|of| Some(self.shingler.shingle(of).ok()?.set)),
        };
        if set.is_none() && detail != Detail::Content && self.has_sets {
            return Err(damaged(id.as_str(), "it has no set"));
        }
        Ok(Record {
            ordinal: ordinal(row.get(0)),
            stored_at_ms: row.get(5),
            expires_at_ms: row.get(6),
            content: content.filter(|_| detail != Detail::Set),
            metadata: metadata_of(id.as_str(), row.get(9))?,
            set,
            shingles,
            fingerprint: self.fingerprint(row.get(2)),
            content_hash: row.get::<_, i64>(8).cast_unsigned(),
            sketch: sketch(row.get(4)),
            whole_document: form & WHOLE_DOCUMENT != 0,
            id,
        })
    }

    /// A document of the first columns of [`COLUMNS`].
    pub(crate) fn sketched_of(
        &self,
        row: &Row,
        has_metadata: bool,
    ) -> Result<Sketched, BackendError> {
        let member =
            Member { ordinal: ordinal(row.get(0)), id: document_id(row.get(1))?, has_metadata };
        let candidate = Candidate {
            fingerprint: self.fingerprint(row.get(2)),
            shingles: row.get::<_, i32>(3) as u32,
            agreeing: 0,
            keys_shared: 0,
            members: smallvec![member],
        };
        Ok(Sketched { candidate, sketch: sketch(row.get(4)) })
    }

    /// Makes sets, on a blocking thread if that takes long. Unreadable rows are left out.
    pub(crate) async fn sets_made(
        &self,
        materials: Vec<(u64, Arc<Material>)>,
    ) -> Result<Vec<(u64, ShingleSet)>, BackendError> {
        let bytes: usize = materials.iter().map(|(_, of)| of.bytes()).sum();
        let shingler = self.shingler.clone();
        let make = move || {
            let set =
                |(fingerprint, of): (u64, Arc<Material>)| Some((fingerprint, of.set(&shingler)?));
            materials.into_iter().filter_map(set).collect()
        };
        match bytes > INLINE_BYTES_MAX {
            true => tokio::task::spawn_blocking(make).await.map_err(|_| BackendError::Closed),
            false => Ok(make()),
        }
    }
}

pub(crate) fn sketch(bytes: &[u8]) -> Sketch {
    Sketch::from_bytes(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_compressed_content_are_those_of_the_text() {
        let text = Content::Text("word ".repeat(200_000));
        let content = content::encode(&text, 1);
        assert!(content.len() < 10_000);
        let material = Material { content: Some(content), ..Material::default() };
        assert_eq!(material.bytes(), 1_000_000);
    }

    #[test]
    fn lookups_that_share_a_content_make_its_set_once() {
        let shingler = akin_model::settings::CollectionSettings::default().unlimited_shingler();
        let content = content::encode(&Content::Text("one two three four".to_owned()), 1);
        let material = Material { content: Some(content), ..Material::default() };
        let sets = [(); 2].map(|()| material.set(&shingler).unwrap());
        assert_eq!(sets[0].as_slice().as_ptr(), sets[1].as_slice().as_ptr());
    }
}
