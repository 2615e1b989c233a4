//! How similar two documents are: the matches of a probe, and pairs.

use std::collections::BTreeMap;

use akin_core::measure::{Overlap, Points};
use akin_core::sketch::Estimate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::Ref;

use crate::document::{Content, DocumentId, Metadata, Ordinal};

/// How similar two documents are, by how they were compared. `C`: how much of each the other
/// contains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Similarity<C> {
    /// The sets were compared.
    #[schema(title = "Verified")]
    Verified {
        /// The Jaccard similarity: the same as `exact`.
        #[schema(example = 0.91)]
        resemblance: f64,
        /// The estimate from the sketches.
        #[schema(example = 0.898)]
        estimated: f64,
        #[schema(example = 0.91)]
        exact: f64,
        #[schema(schema_with = reference::<C>)]
        containment: C,
        /// Shingles that both have.
        shared: usize,
        /// Shingles that either has.
        union: usize,
    },
    /// Only the sketches were compared, as in mode `estimated`.
    #[schema(title = "Estimated")]
    Estimated {
        /// The Jaccard similarity: the same as `estimated`.
        #[schema(example = 0.898)]
        resemblance: f64,
        #[schema(example = 0.898)]
        estimated: f64,
        /// The 95 % interval of the estimate.
        #[schema(value_type = Vec<f64>, example = json!([0.84, 0.95]))]
        interval: (f64, f64),
    },
    /// Records are compared by their fields, and not estimated.
    #[schema(title = "OfRecords")]
    Records {
        /// `points` as a share of the most for the fields that either has.
        #[schema(example = 0.91)]
        resemblance: f64,
        /// The Jaccard similarity of the sets of fields.
        #[schema(example = 0.91)]
        exact: f64,
        #[schema(schema_with = reference::<C>)]
        containment: C,
        /// Fields that both have with the same value.
        shared: usize,
        /// Fields that either has.
        union: usize,
        /// The points of all fields.
        #[schema(example = 296)]
        points: u32,
        /// The points of each field that both have.
        #[schema(example = json!({"name": 96, "address": 100, "phone": 100}))]
        field_points: BTreeMap<String, u32>,
    },
}

/// The schema of a type by its name: generic types would have it within them.
fn reference<C: ToSchema>() -> Ref {
    Ref::from_schema_name(C::name())
}

/// How much of a probe and of a match the other has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MatchContainment {
    /// The share of the probe's shingles that the match has.
    pub of_probe: f64,
    /// The share of the match's shingles that the probe has.
    pub of_match: f64,
}

/// How much of the documents of a pair the other has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PairContainment {
    /// The share of a's shingles that b has.
    pub a_in_b: f64,
    /// The share of b's shingles that a has.
    pub b_in_a: f64,
}

/// A near-duplicate of a probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Match {
    pub id: DocumentId,
    #[serde(flatten)]
    #[schema(inline)]
    pub similarity: Similarity<MatchContainment>,
    /// Keys that the match shares with the probe; elements, if these found it.
    pub keys_shared: u32,
    /// By `include=metadata`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Metadata>,
    /// By `include=text`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Content, inline)]
    pub content: Option<Content>,
    /// By `include=highlights`: the parts of the match's text that are covered by shingles of the
    /// probe, in Unicode code points, each `[from, to)`: the slice `text[from:to]` of Python.
    /// Absent if the match has no text, or the call has done as much work before as it may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = json!([[0, 46], [80, 106]]))]
    pub highlights: Option<Vec<[usize; 2]>>,
    /// The stored version, which has the details; `None` for a document in flight.
    #[serde(skip)]
    pub stored: Option<StoredVersion>,
}

/// Which stored version of a document a match is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredVersion {
    pub ordinal: Ordinal,
    pub has_metadata: bool,
}

/// Two near-duplicates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FoundPair {
    /// The id that is lower in byte order.
    pub a: DocumentId,
    pub b: DocumentId,
    #[serde(flatten)]
    #[schema(inline)]
    pub similarity: Similarity<PairContainment>,
}

impl<C: From<Overlap>> Similarity<C> {
    /// Of two sets. `estimated`: the estimate from their sketches.
    pub fn verified(overlap: Overlap, estimated: f64) -> Self {
        Self::Verified {
            resemblance: overlap.resemblance(),
            estimated,
            exact: overlap.resemblance(),
            containment: overlap.into(),
            shared: overlap.shared,
            union: overlap.union(),
        }
    }

    /// Of two records.
    pub fn of_records(points: Points) -> Self {
        let overlap = points.overlap();
        Self::Records {
            resemblance: points.resemblance(),
            exact: overlap.resemblance(),
            containment: overlap.into(),
            shared: overlap.shared,
            union: overlap.union(),
            points: points.total(),
            field_points: points.by_field,
        }
    }
}

impl<C> Similarity<C> {
    /// Of two sketches.
    pub fn estimated(estimate: &Estimate) -> Self {
        let Estimate { value, interval, .. } = *estimate;
        Self::Estimated { resemblance: value, estimated: value, interval }
    }

    /// The exact value where it is known, else the estimate.
    pub fn resemblance(&self) -> f64 {
        match self {
            Self::Records { resemblance, .. }
            | Self::Verified { resemblance, .. }
            | Self::Estimated { resemblance, .. } => *resemblance,
        }
    }

    /// The points of two records; `None` of other documents.
    pub fn points(&self) -> Option<u32> {
        match self {
            Self::Records { points, .. } => Some(*points),
            Self::Verified { .. } | Self::Estimated { .. } => None,
        }
    }

    /// How much of each the other contains; `None` of an estimate.
    pub fn containment(&self) -> Option<&C> {
        match self {
            Self::Records { containment, .. } | Self::Verified { containment, .. } => {
                Some(containment)
            }
            Self::Estimated { .. } => None,
        }
    }
}

impl Match {
    /// A match without details.
    pub fn new(
        id: DocumentId,
        similarity: Similarity<MatchContainment>,
        keys_shared: u32,
        stored: Option<StoredVersion>,
    ) -> Self {
        let (metadata, content, highlights) = (None, None, None);
        Self { id, similarity, keys_shared, metadata, content, highlights, stored }
    }

    pub fn resemblance(&self) -> f64 {
        self.similarity.resemblance()
    }
}

impl From<Overlap> for MatchContainment {
    fn from(overlap: Overlap) -> Self {
        Self { of_probe: overlap.containment_of_a(), of_match: overlap.containment_of_b() }
    }
}

impl From<Overlap> for PairContainment {
    fn from(overlap: Overlap) -> Self {
        Self { a_in_b: overlap.containment_of_a(), b_in_a: overlap.containment_of_b() }
    }
}
