//! How the OpenAPI document shows what serde alone cannot say of a type: read for their schemas
//! only.
#![expect(dead_code, reason = "no value of these types is ever made")]

use serde_json::Value;
use utoipa::ToSchema;

use crate::document::DocumentId;
use crate::http::openapi::fields::{FieldsDocument, FieldsProbe};
use crate::http::response::answers::AnswerReply;

/// An element of a ready-made set, once or as often as counted.
#[derive(ToSchema)]
#[schema(as = Token)]
#[serde(untagged)]
pub enum TokenSchema {
    Once(String),
    Counted(CountedToken),
}

#[derive(ToSchema)]
#[schema(min_items = 2, max_items = 2, value_type = (String, Count), example = json!(["b", 3]))]
pub struct CountedToken((String, u32));

/// How often a token is in its document.
#[derive(ToSchema)]
#[schema(value_type = u64, minimum = 1, maximum = 4_294_967_295_u64)]
pub struct Count(u32);

/// A document: a text, the elements of a ready-made set, or a record's fields.
#[derive(ToSchema)]
#[schema(as = Document)]
#[serde(untagged)]
pub enum DocumentSchema {
    Text(TextDocument),
    Tokens(TokensDocument),
    Fields(FieldsDocument),
}

#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TextDocument {
    /// Without one the server makes a UUIDv7.
    id: Option<DocumentId>,
    #[schema(min_length = 1, example = "the quick brown fox jumps over the lazy dog")]
    text: String,
    /// Given back as it came.
    #[schema(value_type = Option<Object>)]
    metadata: Option<()>,
    /// In the future: from then on it is as if the document were not there. Without it, the
    /// collection's `store.ttl_s` after it is stored, if it has one.
    #[schema(format = DateTime)]
    expires_at: Option<String>,
}

#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokensDocument {
    /// Without one the server makes a UUIDv7.
    id: Option<DocumentId>,
    #[schema(example = json!(["a", ["b", 3]]), min_items = 1)]
    tokens: Vec<TokenSchema>,
    /// Given back as it came.
    #[schema(value_type = Option<Object>)]
    metadata: Option<()>,
    /// In the future: from then on it is as if the document were not there. Without it, the
    /// collection's `store.ttl_s` after it is stored, if it has one.
    #[schema(format = DateTime)]
    expires_at: Option<String>,
}

/// One document, or an array of them.
#[derive(ToSchema)]
#[schema(as = Documents)]
#[serde(untagged)]
pub enum DocumentsSchema {
    One(DocumentSchema),
    Many(Vec<DocumentSchema>),
}

/// What is looked up or compared: a stored document by its `id`, or a document without one.
#[derive(ToSchema)]
#[schema(as = Probe)]
#[serde(untagged)]
pub enum ProbeSchema {
    Stored(StoredProbe),
    Text(TextProbe),
    Tokens(TokensProbe),
    Fields(FieldsProbe),
}

#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StoredProbe {
    id: DocumentId,
    /// Of no consequence.
    metadata: Option<Value>,
    /// Of no consequence.
    expires_at: Option<Value>,
}

#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TextProbe {
    #[schema(min_length = 1)]
    text: String,
    /// Of no consequence.
    metadata: Option<Value>,
    /// Of no consequence.
    expires_at: Option<Value>,
}

#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokensProbe {
    #[schema(min_items = 1)]
    tokens: Vec<TokenSchema>,
    /// Of no consequence.
    metadata: Option<Value>,
    /// Of no consequence.
    expires_at: Option<Value>,
}

/// Two probes to be compared.
#[derive(ToSchema)]
#[schema(as = Pair)]
#[serde(deny_unknown_fields)]
pub struct PairSchema {
    a: ProbeSchema,
    b: ProbeSchema,
}

/// A ranked list.
#[derive(ToSchema)]
#[schema(as = Ranked)]
#[serde(deny_unknown_fields)]
pub struct RankedSchema {
    /// Distinct; the first ranks highest.
    ids: Vec<DocumentId>,
    /// The collection's own by default.
    #[schema(exclusive_minimum = 0.0, maximum = 1.0)]
    threshold: Option<f64>,
}

/// One probe, or an array of them.
#[derive(ToSchema)]
#[schema(as = Probes)]
#[serde(untagged)]
pub enum ProbesSchema {
    One(ProbeSchema),
    Many(Vec<ProbeSchema>),
}

/// To one probe an answer, to an array of probes an array of answers.
#[derive(ToSchema)]
#[schema(as = Answers)]
#[serde(untagged)]
pub enum AnswersSchema {
    One(AnswerReply),
    Many(Vec<AnswerReply>),
}
