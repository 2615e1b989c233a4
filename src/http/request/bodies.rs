//! Posted documents, and the content that documents and probes have in common.

use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::document::{Document, DocumentId, Metadata, Token};
use crate::engine::{AddOptions, DocumentChange};
use crate::http::problem::{Code, Problem};
use crate::http::request::body::{self, merged};
use crate::http::request::{AddParameters, Body, PageReader, json};
use akin_model::content::{Extract, FieldsBody, Object, content};
use akin_model::time::Time;

pub const CODE: Code = Code::InvalidDocument;

/// A document: it has exactly one of `text`, `html`, `tokens`, `fields` and `signature`. The
/// options, from `check` on, are not stored; they may stand in the query instead.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Document)]
pub struct DocumentMembers<'a> {
    /// By default the server makes a UUIDv7.
    #[schema(value_type = Option<GivenId>)]
    id: Option<DocumentId>,
    #[schema(example = "the quick brown fox jumps over the lazy dog")]
    text: Option<String>,
    /// A page, whose text is extracted and stored in place of `text`.
    html: Option<String>,
    /// Beside `html`: which text of the page, by default `text`.
    extract: Option<Extract>,
    /// The elements of a ready-made set.
    #[schema(example = json!(["a", ["b", 3]]))]
    tokens: Option<Vec<Token>>,
    /// Of a record, in a collection that declares these fields.
    fields: Option<FieldsBody>,
    /// MinHash values, in a collection whose `sketch.method` is `foreign`: as many as its
    /// `sketch.slots`.
    #[schema(min_items = 16, max_items = 1024)]
    signature: Option<Vec<u64>>,
    /// Returned as it came.
    #[serde(borrow)]
    #[schema(value_type = Option<Object>)]
    metadata: Option<&'a RawValue>,
    /// In the future. From then on the document is no longer returned, and its id can be reused.
    /// By default documents expire as the collection's `store.ttl_s` says, or never.
    expires_at: Option<Time>,
}

pub type DocumentBody<'a> = Body<DocumentMembers<'a>, AddParameters>;

/// An id as a client may write it: an integer means its decimal digits. Answers have strings.
#[derive(ToSchema)]
#[serde(untagged)]
#[schema(as = GivenId)]
#[expect(dead_code, reason = "ids are read as they are written, so no value is ever made")]
pub enum GivenId {
    Text(DocumentId),
    Integer(i64),
}

/// The changes of a document. Absent fields stay unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DocumentChange)]
pub struct ChangeBody<'a> {
    /// A merge patch (RFC 7396): a field that is `null` is removed; `null` removes all.
    #[serde(borrow, default, deserialize_with = "given")]
    #[schema(value_type = Option<Object>, example = json!({"lang": "en", "draft": null}))]
    metadata: Option<&'a RawValue>,
    /// `null`: as the collection's `store.ttl_s` says, or never.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Time>)]
    #[expect(clippy::option_option, reason = "absent, null or a time")]
    expires_at: Option<Option<Time>>,
}

/// Distinguishes `null` from an absent field.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// One document, or an array of them.
#[derive(ToSchema)]
#[serde(untagged)]
#[schema(as = Documents)]
#[expect(dead_code, reason = "arrays are split while they arrive, so no value is ever made")]
pub enum DocumentsBody<'a> {
    One(DocumentBody<'a>),
    Many(Vec<DocumentBody<'a>>),
}

/// Reads one document as JSON, with its options: its own options, and the options of the call.
/// `of_path`: the id that the path has.
pub fn document(
    json: &[u8],
    of_path: Option<DocumentId>,
    call: &AddParameters,
    pages: &PageReader,
) -> Result<(Document, AddOptions), Problem> {
    let (body, own) = body::read::<DocumentMembers<'_>, _>(json, CODE)?;
    let options = merged(own, call).and_then(AddParameters::options);
    let id = match (of_path, body.id) {
        (Some(of_path), Some(own)) if of_path != own => {
            let detail = "is not the id of the path: leave it out";
            return Err(Problem::of_field(CODE, "/id", detail));
        }
        (of_path, own) => of_path.or(own).unwrap_or_else(new_id),
    };
    let options = options.map_err(|wrong| wrong.in_body(CODE))?;
    let text = pages.text(body.text, body.html.as_deref(), body.extract)?;
    let Some(content) = content(text, body.tokens, body.fields, body.signature) else {
        let detail = "a document has exactly one of text, html, tokens, fields and signature";
        return Err(Problem::of_field(CODE, "", detail));
    };
    let metadata = body.metadata.map(metadata).transpose()?;
    let expires_at_ms = body.expires_at.map(|time| time.0);
    Ok((Document { id, content, metadata, expires_at_ms }, options))
}

/// Reads the changes of a document.
pub fn change(json: &[u8]) -> Result<DocumentChange, Problem> {
    let Object(body) = json::read::<Object<ChangeBody<'_>>>(json, CODE)?;
    let patch = |raw: &RawValue| (raw.get() != "null").then(|| metadata(raw)).transpose();
    Ok(DocumentChange {
        metadata: body.metadata.map(patch).transpose()?,
        expires_at_ms: body.expires_at.map(|at| at.map(|time| time.0)),
    })
}

/// Metadata is kept as text, so it is parsed here to make sure that filters can read it.
fn metadata(raw: &RawValue) -> Result<Metadata, Problem> {
    let metadata = Metadata::from_json(raw.get())
        .map_err(|error| Problem::of_field(CODE, "/metadata", error.to_string()))?;
    json::check(metadata.as_json(), CODE).map_err(|problem| problem.under("/metadata"))?;
    Ok(metadata)
}

pub fn new_id() -> DocumentId {
    DocumentId::new(Uuid::now_v7().to_string()).expect("a UUID keeps the rules of ids")
}
