//! Requests to the engine and their results.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::backend::{BackendStats, Registered};
use crate::document::{Content, DocumentId, Metadata};
use crate::engine::{ClusterFigures, DiscoveryStats, MeasureSelection, MeasureValues, Recall};
use crate::measure::{BagOverlap, Points};
use crate::scheme::Threshold;
use crate::sketch::{Estimate, Sketch};
use crate::storage::SnapshotInfo;
use crate::text::ShingleSet;

/// How a document is added.
#[derive(Clone, Copy, Debug)]
pub struct AddOptions {
    /// Look for near-duplicates at all.
    pub check: bool,
    pub on_duplicate: OnDuplicate,
    /// The collection's threshold if `None`.
    pub threshold: Option<Threshold>,
    /// Of records: the collection's points if `None`.
    pub points: Option<u32>,
}

impl Default for AddOptions {
    fn default() -> Self {
        Self { check: true, on_duplicate: OnDuplicate::Keep, threshold: None, points: None }
    }
}

/// What to do with a document that has a near-duplicate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDuplicate {
    #[default]
    Keep,
    Skip,
}

/// A document registered in the order of arrival.
pub struct Admitted {
    pub(super) registered: Registered,
    pub(super) options: AddOptions,
}

/// The result of adding a document.
#[derive(Clone, Debug)]
pub struct Added {
    pub id: DocumentId,
    pub status: AddStatus,
    /// The near-duplicates added before it, most similar first; `limits.duplicates_max` at most.
    pub duplicates: Vec<Match>,
    /// The number of distinct shingles.
    pub shingles: usize,
    pub policy: Vec<Policy>,
    /// There are more near-duplicates than `duplicates` has room for.
    pub more: bool,
    /// A work limit was hit while looking for near-duplicates: some may be missing.
    pub truncated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddStatus {
    Created,
    Replaced,
    /// The same content and metadata were stored under this id already, to expire at the same time.
    Unchanged,
    /// Not stored, since it has a near-duplicate. An older document of its id stays as it is.
    Skipped,
}

/// Special treatment of a document that its sender may not expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// The text has no shingle, being too short or without stop words: the whole text counts as
    /// its only one.
    WholeDocument,
    /// None of its shingles is in the collection's sample: its set is one element, which only equal
    /// documents share.
    SampledToOne,
}

/// How candidates are found and scored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Candidates are checked against the exact resemblance: no false positive.
    #[default]
    Verified,
    /// Candidates are scored by their sketches alone.
    Estimated,
    /// No false positive, and no false negative either.
    Exact,
}

/// How the candidates of a lookup were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoundBy {
    /// They share a key of the sketch with the probe.
    Keys,
    /// They share one of the first elements with the probe.
    Prefix,
    /// By a full scan.
    Scan,
}

/// The options of a lookup.
#[derive(Clone, Copy, Debug)]
pub struct Lookup {
    /// The collection's threshold if `None`.
    pub threshold: Option<Threshold>,
    /// Of records: the collection's points if `None`.
    pub points: Option<u32>,
    /// Matches reported, at most.
    pub limit: usize,
    /// The collection's default mode if `None`.
    pub mode: Option<Mode>,
}

/// The near-duplicates of a probe.
#[derive(Clone, Debug)]
pub struct Answer {
    /// By falling resemblance, then by id.
    pub matches: Vec<Match>,
    /// Distinct sets that shared a key with the probe, or all documents in a full scan.
    pub candidates: usize,
    /// There are more matches than the limit has room for.
    pub more: bool,
    /// A work limit was hit: some matches may be missing.
    pub truncated: bool,
    /// The probability that a document at just the threshold is found; for records, the lowest
    /// probability that a match shares a key.
    pub expected_recall: f64,
    /// For records, the minimum points as a share of the most that two records can have.
    pub threshold: Threshold,
    /// Of records only.
    pub points: Option<u32>,
    pub mode: Mode,
    pub found_by: FoundBy,
}

#[derive(Clone, Debug)]
pub struct Match {
    pub id: DocumentId,
    /// The exact value where it is known, else the estimate; for records, the points as a share of
    /// the most for the fields of either.
    pub resemblance: f64,
    /// `None` for records, which are compared exactly.
    pub estimated: Option<f64>,
    /// Where `exact` is `None`: the 95 % interval of the estimate.
    pub interval: Option<(f64, f64)>,
    /// `None` where only sketches or samples are known.
    pub exact: Option<Exact>,
    /// Keys that the probe and the match share; elements if found by the prefix index.
    pub keys_shared: u32,
    pub metadata: Option<Metadata>,
    /// Of records only.
    pub points: Option<Points>,
}

/// The exact overlap of two sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exact {
    pub value: f64,
    pub shared: usize,
    pub union: usize,
    pub containment_of_a: f64,
    pub containment_of_b: f64,
}

/// The optional parts of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompareOptions {
    /// Report the shared and differing passages.
    pub explain: bool,
    pub measures: MeasureSelection,
}

/// The result of comparing two contents.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Estimated from the sketches, or from the sets if these are samples; `None` for records.
    pub estimated: Option<Estimate>,
    /// `None` where the set of a document is a sample and its content is not kept.
    pub exact: Option<Exact>,
    /// `None` if counts are not known: of a document without its content, unless the collection's
    /// sets are multisets.
    pub bag: Option<BagOverlap>,
    pub measured: MeasureValues,
    /// The probability that sets of this resemblance share a key that a lookup at the collection's
    /// threshold probes; for records, 1 if they share a key, else 0. `None` for prefix schemes.
    pub probability_candidate: Option<f64>,
    /// The probability that a lookup of one at the collection's threshold reports the other: 0
    /// below the threshold.
    pub probability_reported: f64,
    pub explanation: Option<Explanation>,
    /// Of records only.
    pub points: Option<Points>,
}

/// The shared passages of two texts. Ranges are bytes; shared and differing ranges of a text do
/// not overlap.
#[derive(Clone, Debug)]
pub struct Explanation {
    pub a: Passages,
    pub b: Passages,
    /// The bands in which both have the same key.
    pub bands_shared: Vec<u32>,
    /// For records, which have no passages: the fields of either.
    pub fields: Vec<ComparedField>,
}

/// A field of two records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedField {
    pub name: String,
    /// The normalised value in the first record, if any.
    pub a: Option<String>,
    pub b: Option<String>,
    /// Points if both records have the field.
    pub points: Option<u32>,
}

#[derive(Clone, Debug, Default)]
pub struct Passages {
    pub shared: Vec<Range<usize>>,
    pub differing: Vec<Range<usize>>,
}

/// A document as stored.
#[derive(Clone, Debug)]
pub struct StoredDocument {
    pub id: DocumentId,
    /// `None` in a collection that does not keep texts.
    pub content: Option<Content>,
    pub metadata: Option<Metadata>,
    /// Milliseconds since the epoch.
    pub stored_at_ms: i64,
    /// Milliseconds since the epoch; `None` if it never expires.
    pub expires_at_ms: Option<i64>,
    pub fingerprint: u64,
    /// `None` in an export.
    pub set: Option<ShingleSet>,
    /// Elements of the set.
    pub shingles: u32,
    pub sketch: Sketch,
    pub policy: Vec<Policy>,
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
    pub last_snapshot: Option<SnapshotInfo>,
    /// The running discoveries, oldest first.
    pub discoveries: Vec<DiscoveryStats>,
    /// `None` before the first complete one.
    pub last_clusters: Option<ClusterFigures>,
    /// MeasureValues last at the collection's threshold, if it was.
    pub last_recall: Option<Recall>,
}
