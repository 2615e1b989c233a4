//! The wire types of requests, and what they become.

use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::document::{Content, Document, DocumentId, Metadata, Token};
use crate::engine::{CollectionSettings, Probe};
use crate::http::openapi::fields::FieldsBody;
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::request::conditions::Time;
use crate::http::request::json::{self, Object};
use crate::http::request::query::Parameter;

/// A document: an object with one of `text`, `tokens` and `fields`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentBody<'a> {
    id: Option<String>,
    text: Option<String>,
    tokens: Option<Vec<TokenBody>>,
    fields: Option<FieldsBody>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    expires_at: Option<String>,
}

/// What is looked up or compared: an object with one of `id` (of a stored document), `text`,
/// `tokens` and `fields`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProbeBody {
    id: Option<String>,
    text: Option<String>,
    tokens: Option<Vec<TokenBody>>,
    fields: Option<FieldsBody>,
    /// Taken so that a document can be posted as a probe; of no consequence.
    #[serde(rename = "metadata")]
    _metadata: Option<IgnoredAny>,
    /// The same.
    #[serde(rename = "expires_at")]
    _expires_at: Option<IgnoredAny>,
}

/// Two probes to be compared.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PairBody {
    a: Object<ProbeBody>,
    b: Object<ProbeBody>,
}

struct TokenBody(Token);

impl<'de> Deserialize<'de> for TokenBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TokenVisitor)
    }
}

struct TokenVisitor;

impl<'de> Visitor<'de> for TokenVisitor {
    type Value = TokenBody;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token: a string, or [string, count] with a count of 1..=4294967295")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<TokenBody, E> {
        Ok(TokenBody(Token { text: text.to_owned(), count: 1 }))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<TokenBody, E> {
        Ok(TokenBody(Token { text, count: 1 }))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<TokenBody, A::Error> {
        let Some(text) = seq.next_element()? else { return Err(Error::invalid_length(0, &self)) };
        let Some(count) = seq.next_element()? else { return Err(Error::invalid_length(1, &self)) };
        if seq.next_element::<IgnoredAny>()?.is_some() {
            return Err(Error::invalid_length(3, &self));
        }
        if count == 0 {
            return Err(Error::custom("a token's count must be 1..=4294967295, not 0"));
        }
        Ok(TokenBody(Token { text, count }))
    }
}

fn tokens(tokens: Vec<TokenBody>) -> Content {
    Content::Tokens(tokens.into_iter().map(|token| token.0).collect())
}

fn id(code: Code, pointer: &str, id: String) -> Result<DocumentId, Problem> {
    DocumentId::new(id).map_err(|error| Problem::of_field(code, pointer, error.to_string()))
}

fn time(code: Code, pointer: &str, text: &str) -> Result<Time, Problem> {
    let fault = |allowed| Problem::of_field(code, pointer, format!("must be {allowed}"));
    Time::parse(text).map_err(fault)
}

/// Reads one document as JSON.
pub fn document(json: &[u8]) -> Result<Document, Problem> {
    const CODE: Code = Code::InvalidDocument;
    let Object(body) = json::read::<Object<DocumentBody<'_>>>(json, CODE)?;
    let content = match (body.text, body.tokens, body.fields) {
        (Some(text), None, None) => Content::Text(text),
        (None, Some(list), None) => tokens(list),
        (None, None, Some(fields)) => Content::Fields(fields.0),
        _ => {
            let detail = "a document has exactly one of text, tokens and fields";
            return Err(Problem::of_field(CODE, "", detail));
        }
    };
    let id = body.id.map_or_else(|| Ok(new_id()), |text| id(CODE, "/id", text))?;
    let metadata = body.metadata.map(|raw| Metadata::from_json(raw.get())).transpose();
    let metadata =
        metadata.map_err(|error| Problem::of_field(CODE, "/metadata", error.to_string()))?;
    let expires_at = body.expires_at.map(|text| time(CODE, "/expires_at", &text)).transpose()?;
    Ok(Document { id, content, metadata, expires_at_ms: expires_at.map(|time| time.0) })
}

/// A document of a corpus that is not to be stored: whatever else it has is of no consequence.
#[derive(Deserialize)]
struct CorpusDocument {
    id: Option<String>,
    text: Option<String>,
    tokens: Option<Vec<TokenBody>>,
}

/// Reads what a document's set is made of, and its id, if it has one.
///
/// # Errors
/// What is wrong with it.
pub fn corpus_document(json: &[u8]) -> Result<(Option<DocumentId>, Content), String> {
    let document = || {
        let Object(body) = json::read::<Object<CorpusDocument>>(json, Code::InvalidDocument)?;
        let id = body.id.map(|text| id(Code::InvalidDocument, "/id", text)).transpose()?;
        let content = match (body.text, body.tokens) {
            (Some(text), None) => Content::Text(text),
            (None, Some(list)) => tokens(list),
            _ => {
                let detail = "a document has either text or tokens";
                return Err(Problem::of_field(Code::InvalidDocument, "", detail));
            }
        };
        Ok((id, content))
    };
    document().map_err(|problem: Problem| problem.detail)
}

pub fn new_id() -> DocumentId {
    DocumentId::new(Uuid::now_v7().to_string()).expect("a UUID keeps the rules of ids")
}

impl ProbeBody {
    fn probe(self) -> Result<Probe, Problem> {
        const CODE: Code = Code::InvalidRequest;
        match (self.id, self.text, self.tokens, self.fields) {
            (Some(text), None, None, None) => id(CODE, "/id", text).map(Probe::Stored),
            (None, Some(text), None, None) => Ok(Probe::Content(Content::Text(text))),
            (None, None, Some(list), None) => Ok(Probe::Content(tokens(list))),
            (None, None, None, Some(fields)) => Ok(Probe::Content(Content::Fields(fields.0))),
            _ => {
                let detail = "a probe has exactly one of id, text, tokens and fields";
                Err(Problem::of_field(CODE, "", detail))
            }
        }
    }
}

/// The probes of a lookup: one object, or an array of them.
pub enum Probes {
    One(Probe),
    Many(Vec<Probe>),
}

/// Reads one probe or an array of at most `probes_max`.
pub fn probes(json: &Bytes, probes_max: usize) -> Result<Probes, Problem> {
    const CODE: Code = Code::InvalidRequest;
    if json.trim_ascii_start().first() != Some(&b'[') {
        let Object(body) = json::read::<Object<ProbeBody>>(json, CODE)?;
        return body.probe().map(Probes::One);
    }
    let bodies: Vec<Object<ProbeBody>> = json::read(json, CODE)?;
    if bodies.len() > probes_max {
        let detail = format!("{} probes are more than the {probes_max} allowed", bodies.len());
        return Err(Problem::of_field(CODE, "", detail));
    }
    let numbered = bodies.into_iter().enumerate();
    let probe = |(at, body): (usize, Object<ProbeBody>)| {
        body.0.probe().map_err(|problem| problem.under(&format!("/{at}")))
    };
    numbered.map(probe).collect::<Result<_, _>>().map(Probes::Many)
}

/// Reads `{"a": probe, "b": probe}`.
pub fn pair(json: &Bytes) -> Result<(Probe, Probe), Problem> {
    let Object(body) = json::read::<Object<PairBody>>(json, Code::InvalidRequest)?;
    let a = body.a.0.probe().map_err(|problem| problem.under("/a"))?;
    let b = body.b.0.probe().map_err(|problem| problem.under("/b"))?;
    Ok((a, b))
}

/// Reads a collection's settings, of which anything may be left out.
pub fn settings(body: &[u8]) -> Result<CollectionSettings, Problem> {
    const CODE: Code = Code::InvalidRequest;
    let Object(given) = json::read::<Object<serde_json::Map<_, _>>>(body, CODE)?;
    // serde would take an array of a part's values in their order, too.
    if let Some((part, _)) = given.iter().find(|(_, value)| !value.is_object()) {
        let pointer = json::pointer_to(part);
        return Err(Problem::of_field(CODE, pointer, "a part of the settings is an object"));
    }
    let completed = CollectionSettings::completed(given.into()).to_string();
    json::read(completed.as_bytes(), CODE)
}
