//! Answers to additions and lookups.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::document::{DocumentId, Metadata};
use crate::engine::{AddStatus, Added, Answer, Exact, FoundBy, Match, Mode, Points, Policy};
use crate::http::problem::ProblemReply;

/// The result of an addition.
#[derive(Serialize, ToSchema)]
#[schema(as = Added)]
pub struct AddedReply {
    pub id: DocumentId,
    pub status: AddStatus,
    /// The near-duplicates that were stored before it.
    pub duplicates: Vec<MatchReply>,
    /// The number of its distinct shingles.
    pub shingles: usize,
    /// What was done that its sender may not expect: `whole_document`, the text has no shingle, so
    /// the whole of it is its only one; `sampled_to_one`, none of its shingles is in the sample
    /// that the collection keeps, so one element stands for all, which only equal documents share.
    pub policy: Vec<Policy>,
    /// There, and true, if there are more near-duplicates than `duplicates` has room for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub more: bool,
    /// There, and true, if a work limit was hit while looking for near-duplicates: some may be
    /// missing.
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
            more: added.more,
            truncated: added.truncated,
        }
    }
}

/// The near-duplicates of a probe: `resemblance` falling, then by id.
#[derive(Serialize, ToSchema)]
#[schema(as = Answer)]
pub struct AnswerReply {
    pub matches: Vec<MatchReply>,
    /// Distinct sets that share a key with the probe, or all documents if it was a scan.
    pub candidates: usize,
    /// There are more matches than `limit`.
    pub more: bool,
    /// A work limit was hit: some matches may be missing.
    pub truncated: bool,
    /// The chance to find a document whose similarity is exactly the threshold; of records, one
    /// that agrees in a field.
    #[schema(example = 0.997)]
    pub expected_recall: f64,
    /// Of records, `points` as a share of the most that two of them can have.
    #[schema(example = 0.8)]
    pub threshold: f64,
    /// Of records only: the fewest points of a match.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 250)]
    pub points: Option<u32>,
    pub mode: Mode,
    /// Whether the candidates share a key of the sketch with the probe (`keys`), one of the first
    /// elements (`prefix`), or are all documents (`scan`).
    pub found_by: FoundBy,
    pub took_us: u64,
}

impl AnswerReply {
    pub fn new(answer: Answer, took: Duration) -> Self {
        Self {
            matches: answer.matches.into_iter().map(MatchReply::from).collect(),
            candidates: answer.candidates,
            more: answer.more,
            truncated: answer.truncated,
            expected_recall: answer.expected_recall,
            threshold: answer.threshold.get(),
            points: answer.points,
            mode: answer.mode,
            found_by: answer.found_by,
            took_us: took.as_micros() as u64,
        }
    }
}

/// The answer to one probe of several: its near-duplicates, or why it could not be looked up.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = ProbeAnswer)]
pub enum ProbeAnswerReply {
    Found(AnswerReply),
    Failed(FailedProbeReply),
}

#[derive(Serialize, ToSchema)]
#[schema(as = FailedProbe)]
pub struct FailedProbeReply {
    pub error: ProblemReply,
}

/// To one probe an answer; to an array of probes an array with an answer for each, in their order.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Answers)]
pub enum AnswersReply {
    One(AnswerReply),
    Many(Vec<ProbeAnswerReply>),
}

/// A near-duplicate. `exact`, `containment`, `shared` and `union` are absent where the exact
/// resemblance is not known, as in mode `estimated`.
#[derive(Serialize, ToSchema)]
#[schema(as = Match)]
pub struct MatchReply {
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
    #[schema(example = json!([0.84, 0.95]))]
    pub interval: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.91)]
    pub exact: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub containment: Option<ContainmentReply>,
    /// Shingles that both have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<usize>,
    /// Shingles that either has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub union: Option<usize>,
    /// Keys that the match shares with the probe; elements, if it was found by those.
    pub keys_shared: u32,
    #[serde(serialize_with = "metadata", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Metadata>,
    /// Of records only: the points of all fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 296)]
    pub points: Option<u32>,
    /// Of records only: the points of each field that both have.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!({"name": 96, "address": 100, "phone": 100}))]
    pub field_points: Option<BTreeMap<String, u32>>,
}

impl From<Match> for MatchReply {
    fn from(found: Match) -> Self {
        Self {
            points: found.points.as_ref().map(Points::total),
            id: found.id,
            resemblance: found.resemblance,
            estimated: found.estimated,
            interval: found.interval.map(Into::into),
            exact: found.exact.map(|exact| exact.value),
            containment: found.exact.map(ContainmentReply::from),
            shared: found.exact.map(|exact| exact.shared),
            union: found.exact.map(|exact| exact.union),
            keys_shared: found.keys_shared,
            metadata: found.metadata,
            field_points: found.points.map(|points| points.by_field),
        }
    }
}

#[derive(Serialize, ToSchema)]
#[schema(as = MatchContainment)]
pub struct ContainmentReply {
    /// The share of the probe's shingles that the match has.
    of_probe: f64,
    /// The share of the match's shingles that the probe has.
    of_match: f64,
}

impl From<Exact> for ContainmentReply {
    fn from(exact: Exact) -> Self {
        Self { of_probe: exact.containment_of_a, of_match: exact.containment_of_b }
    }
}

/// Writes metadata as it came, byte for byte.
#[expect(clippy::ref_option, reason = "serde hands over the field itself")]
pub fn metadata<S: Serializer>(
    metadata: &Option<Metadata>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let Some(metadata) = metadata else { return serializer.serialize_none() };
    let raw: &RawValue = serde_json::from_str(metadata.as_json()).map_err(S::Error::custom)?;
    raw.serialize(serializer)
}
