//! The wire types of replies, and what they are made from.

use std::fmt::Write;
use std::time::Duration;

use jiff::Timestamp;
use serde::ser::{Error, SerializeTuple};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::parameters::{Include, ModeSchema};
use super::request::TokenSchema;
use crate::document::{Content, DocumentId, Metadata, Token};
use crate::engine::{AddStatus, Added, Answer, Exact, Match, Mode, Policy, StoredDocument};
use crate::sketch::Sketch;
use crate::text::ShingleSet;

/// What became of an added document.
#[derive(Serialize, ToSchema)]
#[schema(as = Added)]
pub struct AddedReply {
    #[serde(serialize_with = "id")]
    #[schema(value_type = String)]
    pub id: DocumentId,
    #[schema(value_type = AddStatusSchema)]
    pub status: AddStatus,
    /// The near-duplicates that were there before it.
    pub duplicates: Vec<MatchReply>,
    /// Its distinct shingles.
    pub shingles: usize,
    /// What was done that its sender may not expect: `whole_document`, the text is shorter than
    /// one shingle, so the whole of it is its only one.
    #[schema(value_type = Vec<String>)]
    pub policy: Vec<Policy>,
    /// There, and true, if a work limit was hit while looking for near-duplicates.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub truncated: bool,
}

impl From<Added> for AddedReply {
    fn from(added: Added) -> Self {
        Self {
            id: added.id,
            status: added.status,
            duplicates: added.duplicates.into_iter().map(MatchReply::from).collect(),
            shingles: added.shingles,
            policy: added.policy,
            truncated: added.truncated,
        }
    }
}

#[derive(ToSchema)]
#[schema(as = AddStatus, rename_all = "snake_case")]
#[expect(dead_code, reason = "read for its schema only")]
pub enum AddStatusSchema {
    Created,
    Replaced,
    /// The same content and metadata were stored under this id already.
    Unchanged,
    /// Not stored, since it has a near-duplicate.
    Skipped,
}

/// The near-duplicates of a probe: `resemblance` falling, then by id.
#[derive(Serialize, ToSchema)]
#[schema(as = Answer)]
pub struct AnswerReply {
    pub matches: Vec<MatchReply>,
    /// Distinct sets that shared a key with the probe.
    pub candidates: usize,
    /// A work limit was hit: there may be more matches.
    pub truncated: bool,
    /// The chance that a document at just the threshold is found.
    #[schema(example = 0.997)]
    pub expected_recall: f64,
    #[schema(example = 0.8)]
    pub threshold: f64,
    #[schema(value_type = ModeSchema)]
    pub mode: Mode,
    pub took_us: u64,
}

impl AnswerReply {
    pub fn new(answer: Answer, took: Duration) -> Self {
        Self {
            matches: answer.matches.into_iter().map(MatchReply::from).collect(),
            candidates: answer.candidates,
            truncated: answer.truncated,
            expected_recall: answer.expected_recall,
            threshold: answer.threshold.get(),
            mode: answer.mode,
            took_us: took.as_micros() as u64,
        }
    }
}

/// A near-duplicate. `exact`, `containment`, `shared` and `union` are absent where the exact
/// resemblance is not known, as in mode `estimated`.
#[derive(Serialize, ToSchema)]
#[schema(as = Match)]
pub struct MatchReply {
    #[serde(serialize_with = "id")]
    #[schema(value_type = String)]
    pub id: DocumentId,
    /// The exact value where it is known, else the estimate.
    #[schema(example = 0.91)]
    pub resemblance: f64,
    #[schema(example = 0.898)]
    pub estimated: f64,
    #[serde(flatten)]
    pub exact: Option<ExactReply>,
    /// Keys of the probe's that the match is filed under.
    pub keys_shared: u32,
    #[serde(serialize_with = "metadata", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Metadata>,
}

impl From<Match> for MatchReply {
    fn from(found: Match) -> Self {
        Self {
            id: found.id,
            resemblance: found.resemblance,
            estimated: found.estimated,
            exact: found.exact.map(ExactReply::from),
            keys_shared: found.keys_shared,
            metadata: found.metadata,
        }
    }
}

#[derive(Serialize, ToSchema)]
pub struct ExactReply {
    #[schema(example = 0.91)]
    exact: f64,
    containment: ContainmentReply,
    /// Shingles that both have.
    shared: usize,
    /// Shingles that either has.
    union: usize,
}

#[derive(Serialize, ToSchema)]
#[schema(as = MatchContainment)]
struct ContainmentReply {
    /// The share of the probe's shingles that the match has.
    of_probe: f64,
    /// The share of the match's shingles that the probe has.
    of_match: f64,
}

impl From<Exact> for ExactReply {
    fn from(exact: Exact) -> Self {
        let of_probe = exact.containment_of_a;
        let containment = ContainmentReply { of_probe, of_match: exact.containment_of_b };
        Self { exact: exact.value, containment, shared: exact.shared, union: exact.union }
    }
}

/// A document as it was posted: what can be posted again.
#[derive(Serialize, ToSchema)]
#[schema(as = ExportedDocument)]
pub struct DocumentReply {
    #[serde(serialize_with = "id")]
    #[schema(value_type = String)]
    id: DocumentId,
    /// Absent, as `tokens` is, in a collection that does not keep texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(serialize_with = "tokens", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<TokenSchema>>)]
    tokens: Option<Vec<Token>>,
    #[serde(serialize_with = "metadata", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    metadata: Option<Metadata>,
}

impl From<StoredDocument> for DocumentReply {
    fn from(stored: StoredDocument) -> Self {
        let (text, tokens) = match stored.content {
            Some(Content::Text(text)) => (Some(text), None),
            Some(Content::Tokens(tokens)) => (None, Some(tokens)),
            None => (None, None),
        };
        Self { id: stored.id, text, tokens, metadata: stored.metadata }
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
    #[schema(value_type = Vec<String>)]
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
            shingles: include.shingles.then(|| shingles(&stored.set)),
        });
        Self {
            stored_at: time(stored.stored_at_ms),
            shingles: stored.set.count(),
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
    let time = Timestamp::from_millisecond(ms).expect("the store keeps times that a clock gave");
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

fn id<S: Serializer>(id: &DocumentId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(id.as_str())
}

/// As it came, byte for byte.
#[expect(clippy::ref_option, reason = "serde hands the field over like this")]
fn metadata<S: Serializer>(metadata: &Option<Metadata>, serializer: S) -> Result<S::Ok, S::Error> {
    let Some(metadata) = metadata else { return serializer.serialize_none() };
    let raw: &RawValue = serde_json::from_str(metadata.as_json()).map_err(S::Error::custom)?;
    raw.serialize(serializer)
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

#[expect(clippy::ref_option, reason = "serde hands the field over like this")]
fn tokens<S: Serializer>(tokens: &Option<Vec<Token>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(tokens.iter().flatten().map(TokenReply))
}
