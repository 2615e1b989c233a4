//! Stored documents and ids.

use serde::Serialize;
use utoipa::ToSchema;

use crate::background;
use crate::document::{Content, DocumentId, Metadata};
use crate::engine::{Engine, Mask, Note, Record};
use crate::http::problem::{Problem, ProblemReply, internal};
use crate::http::request::Include;
use akin_core::text::ShingleSet;
use akin_model::time::Time;

/// Disguising more shingles takes milliseconds.
const SHINGLES_INLINE_MAX: u32 = 16_384;

/// A document as it was posted, and can be posted again.
#[derive(Serialize, ToSchema)]
#[schema(as = ExportedDocument)]
pub struct DocumentReply {
    id: DocumentId,
    /// Absent in a collection that does not keep texts.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Content, inline)]
    content: Option<Content>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    metadata: Option<Metadata>,
    /// Absent if it never expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Time>,
}

impl From<Record> for DocumentReply {
    fn from(stored: Record) -> Self {
        let Record { id, content, metadata, expires_at_ms, .. } = stored;
        Self { id, content, metadata, expires_at: expires_at_ms.map(Time) }
    }
}

/// A line of an export.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum ExportedLine {
    Document(DocumentReply),
    #[schema(title = "DamagedDocument")]
    Damaged {
        /// As far as it can be read.
        id: String,
        problem: ProblemReply,
    },
}

/// A document as stored.
#[derive(Serialize, ToSchema)]
#[schema(as = StoredDocument)]
pub struct StoredReply {
    #[serde(flatten)]
    document: DocumentReply,
    stored_at: Time,
    /// Its distinct shingles, or the values of its signature.
    shingles: usize,
    /// A hash of all its shingles, in 16 hexadecimal digits: equal sets have equal fingerprints.
    #[schema(example = "00f9a3c6d4e2b180")]
    fingerprint: String,
    notes: Vec<Note>,
    /// The name of its cluster, in a collection that keeps them; absent while they are being built.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "e6c632b61e964e1f")]
    cluster: Option<String>,
    /// On request, by `include`.
    #[serde(skip_serializing_if = "Option::is_none")]
    included: Option<IncludedReply>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Included)]
struct IncludedReply {
    /// The slots in order, each little-endian, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    sketch: Option<String>,
    /// The hashed shingles, ascending, each in 16 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    shingles: Option<Vec<String>>,
}

impl StoredReply {
    /// # Errors
    /// The server is stopping.
    pub async fn of(
        engine: &Engine,
        stored: Record,
        include: Option<Include>,
    ) -> Result<Self, Problem> {
        let shingles = stored.shingles;
        let (mask, slot_bytes) = (engine.mask(), engine.settings().sketch.slot_bytes());
        let cluster = engine.cluster_name_of(&stored.id);
        let make = move || Self { cluster, ..Self::new(stored, include, mask, slot_bytes) };
        if !include.is_some_and(|include| include.shingles) || shingles <= SHINGLES_INLINE_MAX {
            return Ok(make());
        }
        background::compute(make).await.map_err(|_| internal())
    }

    fn new(stored: Record, include: Option<Include>, mask: Mask, slot_bytes: usize) -> Self {
        let sketch = || hex::encode(mask.sketch(stored.sketch.as_bytes(), slot_bytes));
        let included = include.map(|include| IncludedReply {
            sketch: include.sketch.then(sketch),
            shingles: stored
                .set
                .as_ref()
                .filter(|_| include.shingles)
                .map(|set| shingles(set, mask)),
        });
        Self {
            stored_at: Time(stored.stored_at_ms),
            shingles: stored.shingles as usize,
            fingerprint: format!("{:016x}", mask.hash(stored.fingerprint)),
            notes: Note::of(stored.whole_document),
            cluster: None,
            included,
            document: DocumentReply::from(stored),
        }
    }
}

/// A shingle as a string of 16 digits in a vector, and the shingle itself.
const BYTES_PER_SHINGLE: usize = 64;

/// Bytes that the value of an answer takes.
pub fn bytes(stored: &Record, include: Option<&Include>) -> usize {
    let content = stored.content.as_ref().map_or(0, Content::weight);
    let metadata = stored.metadata.as_ref().map_or(0, |metadata| metadata.as_json().len());
    let shingles = stored.set.as_ref().filter(|_| include.is_some_and(|of| of.shingles));
    content + metadata + shingles.map_or(0, |set| set.count() * BYTES_PER_SHINGLE)
}

fn shingles(set: &ShingleSet, mask: Mask) -> Vec<String> {
    let mut shown: Vec<u64> = set.as_slice().iter().map(|hash| mask.hash(*hash)).collect();
    shown.sort_unstable();
    shown.iter().map(|shingle| format!("{shingle:016x}")).collect()
}

/// Ids in byte order.
#[derive(ToSchema)]
#[schema(as = Ids)]
#[expect(dead_code, reason = "it documents what is written piece by piece")]
pub struct IdsReply {
    ids: Vec<DocumentId>,
    #[serde(flatten)]
    #[schema(inline)]
    rest: NextIds,
}

#[derive(Serialize, ToSchema)]
pub struct NextIds {
    /// The `after` of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<DocumentId>,
    /// By `count=true`: how many documents there are that meet the conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}
