//! The wire types of what is stored.

use std::collections::BTreeMap;
use std::fmt::Write;

use jiff::Timestamp;
use serde::ser::SerializeTuple;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use crate::document::{Content, DocumentId, Metadata, Token};
use crate::engine::{Policy, StoredDocument};
use crate::http::openapi::schemas::TokenSchema;
use crate::http::request::parameters::Include;
use crate::http::response::answers::metadata;
use crate::sketch::Sketch;
use crate::text::ShingleSet;

/// A document as it was posted: what can be posted again.
#[derive(Serialize, ToSchema)]
#[schema(as = ExportedDocument)]
pub struct DocumentReply {
    id: DocumentId,
    /// Absent, as `tokens` and `fields` are, in a collection that does not keep texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(serialize_with = "tokens", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<TokenSchema>>)]
    tokens: Option<Vec<Token>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<BTreeMap<String, String>>,
    #[serde(serialize_with = "metadata", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    metadata: Option<Metadata>,
    /// Absent if it never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    expires_at: Option<String>,
}

impl From<StoredDocument> for DocumentReply {
    fn from(stored: StoredDocument) -> Self {
        let mut reply = Self {
            id: stored.id,
            text: None,
            tokens: None,
            fields: None,
            metadata: stored.metadata,
            expires_at: stored.expires_at_ms.map(time),
        };
        match stored.content {
            Some(Content::Text(text)) => reply.text = Some(text),
            Some(Content::Tokens(tokens)) => reply.tokens = Some(tokens),
            Some(Content::Fields(fields)) => reply.fields = Some(fields),
            None => {}
        }
        reply
    }
}

/// A document as stored.
#[derive(Serialize, ToSchema)]
#[schema(as = StoredDocument)]
pub struct StoredReply {
    #[serde(flatten)]
    document: DocumentReply,
    #[schema(format = DateTime)]
    stored_at: String,
    /// Its distinct shingles.
    shingles: usize,
    /// One number for all of its shingles, in 16 hexadecimal digits: equal sets have equal ones.
    #[schema(example = "00f9a3c6d4e2b180")]
    fingerprint: String,
    policy: Vec<Policy>,
    /// With `?include=`.
    #[serde(skip_serializing_if = "Option::is_none")]
    included: Option<IncludedReply>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Included)]
struct IncludedReply {
    /// The slots one after the other, each little-endian, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    sketch: Option<String>,
    /// The hashed shingles, ascending, each in 16 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    shingles: Option<Vec<String>>,
}

impl StoredReply {
    pub fn new(stored: StoredDocument, include: Option<Include>) -> Self {
        let included = include.map(|include| IncludedReply {
            sketch: include.sketch.then(|| sketch(&stored.sketch)),
            shingles: stored.set.as_ref().filter(|_| include.shingles).map(shingles),
        });
        Self {
            stored_at: time(stored.stored_at_ms),
            shingles: stored.shingles as usize,
            fingerprint: format!("{:016x}", stored.fingerprint),
            policy: stored.policy.clone(),
            included,
            document: DocumentReply::from(stored),
        }
    }
}

fn sketch(sketch: &Sketch) -> String {
    let mut hex = String::with_capacity(sketch.as_bytes().len() * 2);
    for byte in sketch.as_bytes() {
        write!(hex, "{byte:02x}").expect("a string takes what is written to it");
    }
    hex
}

fn shingles(set: &ShingleSet) -> Vec<String> {
    set.as_slice().iter().map(|shingle| format!("{shingle:016x}")).collect()
}

/// RFC 3339 in UTC, to the millisecond.
pub fn time(ms: i64) -> String {
    // A time to live may lead beyond the last that can be written.
    let time = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
    format!("{time:.3}")
}

/// Ids in byte order.
#[derive(Serialize, ToSchema)]
#[schema(as = Ids)]
pub struct IdsReply {
    pub ids: Vec<String>,
    /// What `after` must be for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl IdsReply {
    /// Takes one id more than the page holds, if there is one, to know that there is a next page.
    pub fn new(ids: &[DocumentId], limit: usize) -> Self {
        let page = &ids[..ids.len().min(limit)];
        let next = if ids.len() > limit { page.last() } else { None };
        Self {
            ids: page.iter().map(ToString::to_string).collect(),
            next: next.map(ToString::to_string),
        }
    }
}

/// A token is a string, or a pair if it counts more than once.
struct TokenReply<'a>(&'a Token);

impl Serialize for TokenReply<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.count == 1 {
            return serializer.serialize_str(&self.0.text);
        }
        let mut pair = serializer.serialize_tuple(2)?;
        pair.serialize_element(&self.0.text)?;
        pair.serialize_element(&self.0.count)?;
        pair.end()
    }
}

#[expect(clippy::ref_option, reason = "serde hands over the field itself")]
fn tokens<S: Serializer>(tokens: &Option<Vec<Token>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(tokens.iter().flatten().map(TokenReply))
}
