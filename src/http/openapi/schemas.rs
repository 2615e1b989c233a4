//! How the OpenAPI document shows what serde alone cannot say of a type: read for their schemas
//! only.
#![expect(dead_code, reason = "no value of these types is ever made")]

use serde_json::Value;
use utoipa::ToSchema;

use crate::http::openapi::fields::{FieldsDocument, FieldsProbe};
use crate::http::response::answers::AnswerReply;

/// 1..=1024 bytes of UTF-8 without control characters.
#[derive(ToSchema)]
#[schema(as = Id, min_length = 1, max_length = 1024, pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$",
    example = "https://example.org/a")]
pub struct IdSchema(String);

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
    id: Option<IdSchema>,
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
    id: Option<IdSchema>,
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
    id: IdSchema,
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
    ids: Vec<IdSchema>,
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

#[derive(ToSchema)]
#[schema(as = AddStatus, rename_all = "snake_case")]
pub enum AddStatusSchema {
    Created,
    Replaced,
    /// The same content and metadata were stored under this id already, to expire at the same time.
    Unchanged,
    /// Not stored, since it has a near-duplicate.
    Skipped,
}

#[derive(ToSchema)]
#[schema(as = OnDuplicate, rename_all = "snake_case")]
pub enum OnDuplicateSchema {
    Keep,
    Skip,
}

#[derive(ToSchema)]
#[schema(as = Order, rename_all = "snake_case")]
pub enum OrderSchema {
    Stored,
    Id,
}

#[derive(ToSchema)]
#[schema(as = Mode, rename_all = "snake_case")]
pub enum ModeSchema {
    Verified,
    Estimated,
    Exact,
}

#[derive(ToSchema)]
#[schema(as = FoundBy, rename_all = "snake_case")]
pub enum FoundBySchema {
    Keys,
    Prefix,
    Scan,
}

/// A collection's settings. What is left out has the default shown.
#[derive(ToSchema)]
#[schema(as = Settings)]
#[serde(deny_unknown_fields)]
pub struct SettingsSchema {
    #[schema(required = false)]
    shingles: ShinglesSchema,
    #[schema(required = false)]
    sketch: SketchSchema,
    #[schema(required = false)]
    scheme: SchemeSchema,
    #[schema(required = false)]
    store: StoreSchema,
    #[schema(required = false)]
    limits: LimitsSchema,
}

/// What texts are cut into.
#[derive(ToSchema)]
#[schema(as = ShingleSettings)]
#[serde(deny_unknown_fields)]
pub struct ShinglesSchema {
    #[schema(inline, default = "word", required = false)]
    unit: UnitSchema,
    /// How many units make a shingle.
    #[schema(minimum = 1, maximum = 64, default = 3, required = false)]
    size: u32,
    /// Ignore upper and lower case.
    #[schema(default = true, required = false)]
    lowercase: bool,
    /// The second occurrence of a shingle is an element of its own, and so on.
    #[schema(default = false, required = false)]
    multiset: bool,
    /// Only shingles that are 0 modulo this are kept: one in so many.
    #[schema(minimum = 1, maximum = 65_536, default = 1, required = false)]
    sample_modulo: u32,
    /// For the unit `stopword`: a language's list by its code, or words.
    #[schema(inline, default = "en", required = false)]
    stopwords: StopWordsSchema,
    /// For the unit `field`: groups of words and whole values that mean the same.
    #[schema(example = json!([["william", "bill", "will"]]))]
    equivalents: Option<Vec<Vec<String>>>,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum UnitSchema {
    Word,
    Character,
    /// A stop word and the words that follow it.
    Stopword,
    /// Whatever stands between white space.
    Token,
    /// The fields of records, each as a whole.
    Field,
}

#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it stands for a shape, and is never made")]
pub enum StopWordsSchema {
    /// A language, such as `en`.
    Language(String),
    Words(Vec<String>),
}

#[derive(ToSchema)]
#[schema(as = SketchSettings)]
#[serde(deny_unknown_fields)]
pub struct SketchSchema {
    /// More of them estimate better.
    #[schema(minimum = 16, maximum = 1024, multiple_of = 4, default = 128, required = false)]
    slots: u32,
    /// Of a slot: 8, 16 or 32.
    #[schema(minimum = 8, maximum = 32, default = 8, required = false)]
    bits: u32,
    /// Another seed gives other sketches.
    #[schema(default = 0, required = false)]
    seed: u64,
    #[schema(inline, default = "fast32", required = false)]
    method: MethodSchema,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum MethodSchema {
    /// One-permutation hashing.
    Fast32,
    /// The same, slower for short documents: as collections were made at first.
    Fast,
    /// The textbook's minhash, slower.
    Permutations,
}

#[derive(ToSchema)]
#[schema(as = SchemeSettings)]
#[serde(deny_unknown_fields)]
pub struct SchemeSchema {
    #[schema(inline, default = "bands", required = false)]
    kind: KindSchema,
    /// The resemblance from which documents count as near-duplicates, for calls that name none.
    #[schema(exclusive_minimum = 0.0, maximum = 1.0, default = 0.8, required = false)]
    threshold: f64,
    /// The wanted chance to find a document at just the threshold.
    #[schema(exclusive_minimum = 0.0, exclusive_maximum = 1.0, default = 0.99, required = false)]
    recall: f64,
    /// Keys of a document. Chosen from slots, threshold and recall unless given.
    bands: Option<u32>,
    /// Slots of a key. Chosen like `bands`.
    rows: Option<u32>,
    /// The lowest threshold that exact lookups have an index for; below, they look at every set.
    #[schema(exclusive_minimum = 0.0, maximum = 1.0, example = 0.7)]
    exact_from: Option<f64>,
    /// For the kind `fields`: the names of the fields that records may have.
    #[schema(min_items = 1, max_items = 32, example = json!(["name", "address", "phone"]))]
    fields: Option<Vec<String>>,
    /// For the kind `fields`: file records under what is nearly the value of a field, too.
    #[schema(default = false, required = false)]
    field_sketches: bool,
    /// For the kind `fields`: the points from which records count as near-duplicates, for calls
    /// that name none; 80 a field unless given.
    #[schema(minimum = 1, maximum = 3_200, example = 250)]
    points: Option<u32>,
    /// For the kind `fields`: the points that one edit costs, d edits costing d² as many; 4 unless
    /// given.
    #[schema(minimum = 1, maximum = 100)]
    penalty: Option<u32>,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum KindSchema {
    /// Keys of consecutive slots.
    Bands,
    /// Keys of slots drawn at random.
    RandomRows,
    /// The first elements of the set itself: lookups are exact.
    Prefix,
    /// A key for each field of a record.
    Fields,
}

#[derive(ToSchema)]
#[schema(as = StoreSettings)]
#[serde(deny_unknown_fields)]
pub struct StoreSchema {
    /// Keep the texts themselves, to give them back and to explain matches.
    #[schema(default = true, required = false)]
    text: bool,
    /// Seconds that a document lives that does not say when it expires; without it, for ever.
    #[schema(minimum = 1, maximum = 3_155_760_000_u64)]
    ttl_s: Option<u64>,
}

#[derive(ToSchema)]
#[schema(as = LimitSettings)]
#[serde(deny_unknown_fields)]
pub struct LimitsSchema {
    /// Candidates that one lookup looks at, and matches that it holds against a filter.
    #[schema(minimum = 1, default = 10_000, required = false)]
    candidates_max: u64,
    /// Of those, the ones that are checked, which agree best; `limit` if that is more.
    #[schema(minimum = 1, default = 40, required = false)]
    checked_max: u64,
    /// Near-duplicates that the answer to an added document tells.
    #[schema(minimum = 1, default = 20, required = false)]
    duplicates_max: u64,
    /// Distinct shingles of a document.
    #[schema(minimum = 1, default = 1_000_000, required = false)]
    shingles_max: u64,
    /// Bytes of a document's metadata.
    #[schema(default = 65_536, required = false)]
    metadata_bytes_max: u64,
    /// Bytes of one field of a record.
    #[schema(minimum = 1, default = 4_096, required = false)]
    field_bytes_max: u64,
    /// Clusters of more documents are told of as giant.
    #[schema(minimum = 1, default = 1_000, required = false)]
    cluster_members_alarm: u64,
    /// Shingles that one collapse has in memory.
    #[schema(minimum = 1, default = 4_194_304, required = false)]
    collapse_shingles_max: u64,
    /// Characters of one text times those of another that are compared one by one.
    #[schema(default = 1_000_000_000_u64, required = false)]
    edit_product_max: u64,
}
