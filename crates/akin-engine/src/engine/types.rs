//! Requests to the engine and their results.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::backend::BackendStats;
use crate::budget::Reservation;
use crate::document::{Content, DocumentId, Metadata, Ordinal, Token};
use crate::engine::{
    AddedPassages, Chance, ClusterCounts, ClusterFigures, Conditions, ContainedOf,
    ContainmentCheck, DiscoveryStats, Guarantee, Recall,
};
use akin_core::measure::Overlap;
use akin_core::scheme::Threshold;
use akin_model::analysis::Mode;

/// How documents are added.
#[derive(Clone, Debug)]
pub struct AddOptions {
    /// Look for near-duplicates of each document.
    pub check: bool,
    /// `skip`: do not store a new document that has a near-duplicate. By default `keep`.
    pub on_duplicate: OnDuplicate,
    /// The lowest Jaccard similarity of a near-duplicate; by default the collection's threshold.
    pub threshold: Option<Threshold>,
    /// Of records, the fewest points of a near-duplicate; by default the collection's. Other
    /// documents have a `threshold` instead.
    pub points: Option<u32>,
    /// Look for stored documents that share passages with each document.
    pub passages: Option<ContainmentCheck>,
    /// Where the memory of the near-duplicates is counted: without room for them the document is
    /// refused with `OverBudget`, and not stored.
    pub memory: Option<Arc<Reservation>>,
}

impl Default for AddOptions {
    fn default() -> Self {
        Self {
            check: true,
            on_duplicate: OnDuplicate::Keep,
            threshold: None,
            points: None,
            passages: None,
            memory: None,
        }
    }
}

/// What to do with a new document that has a near-duplicate, or that is contained. A document whose
/// id is stored replaces the stored document.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum OnDuplicate {
    #[default]
    Keep,
    Skip,
}

/// The result of an addition.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Added {
    pub id: DocumentId,
    pub status: AddStatus,
    /// The near-duplicates that were stored before it.
    pub duplicates: Vec<Match>,
    /// The number of its distinct shingles.
    pub shingles: usize,
    /// What was done that its sender may not expect: `whole_document`, the text has no shingle, so
    /// the whole of it is its only one.
    pub notes: Vec<Note>,
    /// The name of its cluster, in a collection that keeps them; absent while they are being built,
    /// and of a document that was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "e6c632b61e964e1f")]
    pub cluster: Option<String>,
    /// There, and true, if there are more near-duplicates than `duplicates` has room for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub more: bool,
    /// There, and true, if a work limit was hit while looking for near-duplicates: some may be
    /// missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub truncated: bool,
    /// By `passages`: the documents that share passages with it. Absent of a document that was
    /// skipped for its near-duplicates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passages: Option<AddedPassages>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddStatus {
    Created,
    Replaced,
    /// The same content and metadata were stored under this id already, to expire at the same time.
    Unchanged,
    /// Not stored, since it has a near-duplicate (`on_duplicate`) or shares its words with a stored
    /// document (`on_contained`), and no document of its id is stored.
    Skipped,
}

/// Special treatment of a document that its sender may not expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The text has no shingle, being too short or without stop words: the whole text counts as
    /// its only one.
    WholeDocument,
}

impl Note {
    /// The notes about a content.
    pub fn of(whole_document: bool) -> Vec<Self> {
        whole_document.then_some(Self::WholeDocument).into_iter().collect()
    }
}

/// How the candidates of a lookup were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoundBy {
    /// They share a key of the sketch with the probe.
    Keys,
    /// They share a run of words with the probe.
    Passages,
    /// They share one of the first elements with the probe.
    Prefix,
    /// By a full scan.
    Scan,
}

/// The options of a lookup.
#[derive(Clone, Debug)]
pub struct Lookup<'a> {
    /// The number of most similar documents that are reported, however unlike they are, instead of
    /// the documents that reach a threshold; `threshold`, `points`, `limit` and `offset` are then
    /// not considered.
    pub k: Option<NonZeroUsize>,
    /// By the containment of the probe or of the match, instead of by resemblance; without `k`.
    pub contained: Option<ContainedOf>,
    /// The collection's threshold if `None`.
    pub threshold: Option<Threshold>,
    /// Of records: the collection's points if `None`.
    pub points: Option<u32>,
    /// Matches reported, at most.
    pub limit: usize,
    /// Matches left out before the first that is reported.
    pub offset: usize,
    /// The collection's default mode if `None`.
    pub mode: Option<Mode>,
    /// Only documents that match the conditions are reported, and count for the limit.
    pub conditions: Conditions,
    /// Where the memory and the work of the lookup are counted, if they are.
    pub memory: Option<&'a Reservation>,
}

impl Default for Lookup<'_> {
    fn default() -> Self {
        Self {
            k: None,
            contained: None,
            threshold: None,
            points: None,
            limit: 20,
            offset: 0,
            mode: None,
            conditions: Conditions::default(),
            memory: None,
        }
    }
}

/// The details that are read of each match: by default none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchDetails {
    pub metadata: bool,
    /// Its text, tokens or fields, in collections that keep them.
    pub content: bool,
}

/// The near-duplicates of a probe: `resemblance` falling, then by id, within the groups of the
/// first 40 candidates and of the next 40, 80, 160 … candidates.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Answer {
    pub matches: Vec<Match>,
    /// Distinct sets that share a key with the probe; or, if it was a scan, all documents, or with
    /// `k` all distinct sets.
    pub candidates: usize,
    /// There are more matches than `limit`; with `k` never true.
    pub more: bool,
    /// A work limit was hit: some matches may be missing.
    pub truncated: bool,
    /// The chance to find a document whose similarity is exactly the threshold; of records, one
    /// that agrees in a field. With `k`, the least chance to find each of the `k` most similar
    /// documents whose similarity is at least `floor`, unless `truncated` is true.
    /// Absent with `measure=containment`, of which `guarantee` says what is sure to be found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.997)]
    pub expected_recall: Option<f64>,
    /// With `measure=containment` only: unless `truncated` is true, every document that reaches the
    /// threshold and has a run of so many words of the probe is found. Others may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<Guarantee>,
    /// With `measure=containment` and `of=probe` only: the chances to find a document that has the
    /// whole probe, edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chances: Option<Vec<Chance>>,
    /// Of records, `points` as a share of the most that two of them can have. Absent with `k`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, example = 0.8)]
    pub threshold: Option<Threshold>,
    /// With `k` only: the similarity from which `expected_recall` holds. Less similar documents may
    /// be among the matches, and others may be missing. Absent in mode `estimated`, where the
    /// matches are the highest estimates of all documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.15)]
    pub floor: Option<f64>,
    /// Of records only: the fewest points of a match.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 250)]
    pub points: Option<u32>,
    pub mode: Mode,
    /// Whether the candidates share a key of the sketch with the probe (`keys`), one of the first
    /// elements (`prefix`) or a run of words (`passages`), or are all documents (`scan`).
    pub found_by: FoundBy,
}

/// A near-duplicate. `exact`, `containment`, `shared` and `union` are absent where the exact
/// resemblance is not known, as in mode `estimated`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Match {
    pub id: DocumentId,
    /// The Jaccard similarity: the exact value where it is known, else the estimate; of records,
    /// `points` as a share of the most for the fields that either has.
    #[schema(example = 0.91)]
    pub resemblance: f64,
    /// Absent of records, which are not estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.898)]
    pub estimated: Option<f64>,
    /// Where `exact` is absent: the 95 % interval of the estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<f64>>, example = json!([0.84, 0.95]))]
    pub interval: Option<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.91)]
    pub exact: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub containment: Option<MatchContainment>,
    /// Shingles that both have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<usize>,
    /// Shingles that either has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub union: Option<usize>,
    /// Keys that the match shares with the probe; elements, if these found it.
    pub keys_shared: u32,
    /// By `include=metadata`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Metadata>,
    /// By `include=text`, as `tokens` and `fields` are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<serde_json::Value>>)]
    pub tokens: Option<Vec<Token>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<Vec<u64>>,
    /// Of records only: the points of all fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 296)]
    pub points: Option<u32>,
    /// Of records only: the points of each field that both have.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!({"name": 96, "address": 100, "phone": 100}))]
    pub field_points: Option<BTreeMap<String, u32>>,
    /// The stored version, which has the details; `None` for a document in flight.
    #[serde(skip)]
    pub(crate) stored: Option<StoredVersion>,
}

/// Which stored version of a document a match is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredVersion {
    pub ordinal: Ordinal,
    pub has_metadata: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct MatchContainment {
    /// The share of the probe's shingles that the match has.
    pub of_probe: f64,
    /// The share of the match's shingles that the probe has.
    pub of_match: f64,
}

impl From<Overlap> for MatchContainment {
    fn from(overlap: Overlap) -> Self {
        Self { of_probe: overlap.containment_of_a(), of_match: overlap.containment_of_b() }
    }
}

/// The content of a lookup or comparison, given or of a stored document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    Stored(DocumentId),
    Content(Content),
}

/// The statistics of a collection.
#[derive(Clone, Debug)]
pub struct Stats {
    pub backend: BackendStats,
    /// The running discoveries, oldest first.
    pub discoveries: Vec<DiscoveryStats>,
    /// `None` before the first complete discovery.
    pub last_clusters: Option<ClusterFigures>,
    /// `None` if clusters are not kept.
    pub clusters: Option<ClusterCounts>,
    /// The latest recall measured at the collection's threshold; `None` before the first.
    pub last_recall: Option<Recall>,
}
