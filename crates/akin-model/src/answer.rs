//! The answers to lookups and to additions.

use akin_core::scheme::Threshold;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::analysis::Mode;
use crate::document::DocumentId;
use crate::passages::{AddedPassages, Chance, Guarantee};
use crate::similarity::{Match, MatchContainment};
use crate::time::Time;

/// How the candidates of a lookup were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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

/// The near-duplicates of a probe: `resemblance` falling, then by id, within the groups of the
/// first 40 candidates and of the next 40, 80, 160 … candidates.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Answer {
    pub matches: Vec<Match>,
    #[serde(flatten)]
    #[schema(inline)]
    pub searched: Searched,
}

/// How a lookup was done, and what it is sure to find: an answer without its matches.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Searched {
    /// Distinct sets that share a key with the probe; or, if it was a scan, all documents, or with
    /// `k` all distinct sets.
    pub candidates: usize,
    /// There are more matches than `limit`; with `k` never true.
    pub more: bool,
    /// A work limit was hit: some matches may be missing.
    pub truncated: bool,
    #[serde(flatten)]
    #[schema(inline)]
    pub reach: Reach,
    pub mode: Mode,
    /// Whether the candidates share a key of the sketch with the probe (`keys`), one of the first
    /// elements (`prefix`) or a run of words (`passages`), or are all documents (`scan`).
    pub found_by: FoundBy,
}

/// Which documents a lookup returns, and how sure it is to find them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Reach {
    /// By resemblance.
    #[schema(title = "ByThreshold")]
    Threshold {
        /// The chance to find a document whose similarity is exactly the threshold.
        #[schema(example = 0.997)]
        expected_recall: f64,
        /// The lowest Jaccard similarity of a match.
        #[schema(value_type = f64, example = 0.8)]
        threshold: Threshold,
    },
    /// By containment.
    #[schema(title = "ByContainment")]
    Containment {
        /// Unless `truncated` is true, every document that reaches the threshold and has a run of
        /// so many words of the probe is found. Further documents may be missing.
        guarantee: Guarantee,
        /// With `of=probe`: the chances to find a document that has the whole probe, edited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chances: Option<Vec<Chance>>,
        /// The least containment of a match.
        #[schema(value_type = f64, example = 0.8)]
        threshold: Threshold,
    },
    /// Records.
    #[schema(title = "ByPoints")]
    Points {
        /// The chance to find a record that agrees in a field.
        #[schema(example = 0.997)]
        expected_recall: f64,
        /// The fewest points of a match.
        #[schema(example = 250)]
        points: u32,
    },
    /// The most similar documents, with `k`.
    #[schema(title = "ByRank")]
    Nearest {
        /// The least chance to find each of the `k` most similar documents whose similarity is at
        /// least `floor`, unless `truncated` is true.
        #[schema(example = 0.999)]
        expected_recall: f64,
        /// The similarity from which `expected_recall` holds. Less similar documents may be among
        /// the matches, and others may be missing. In mode `estimated` 0: the matches are the
        /// highest estimates of all documents.
        #[schema(example = 0.15)]
        floor: f64,
    },
}

impl Reach {
    /// `None` by containment, of which `guarantee` says what is sure to be found.
    pub fn expected_recall(&self) -> Option<f64> {
        match self {
            Self::Containment { .. } => None,
            Self::Points { expected_recall, .. }
            | Self::Threshold { expected_recall, .. }
            | Self::Nearest { expected_recall, .. } => Some(*expected_recall),
        }
    }
}

/// The result of an addition.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
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
    /// Of a document that replaced a stored version of itself: what changed. Absent if the stored
    /// version is damaged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Previous>,
    /// The name of its cluster, in a collection that keeps them; absent while they are being built,
    /// and of a document that was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "e6c632b61e964e1f")]
    pub cluster: Option<String>,
    /// There, and true, if there are more near-duplicates than `duplicates` has room for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub more: bool,
    /// There, and true, if a work limit was hit while looking for near-duplicates: some may be
    /// missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub truncated: bool,
    /// By `passages`: the documents that share passages with it. Absent of a document that was
    /// skipped for its near-duplicates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passages: Option<AddedPassages>,
}

/// A stored version that was replaced, and what the new version changed. If neither content nor
/// metadata changed, the expiry did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Previous {
    pub stored_at: Time,
    /// Whether the text, the tokens or the fields changed, were it by a character.
    pub content_changed: bool,
    pub metadata_changed: bool,
    /// The Jaccard similarity of the two versions: the same as `exact`. Absent of records and of
    /// signatures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.98)]
    pub resemblance: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.98)]
    pub exact: Option<f64>,
    /// The new version is the probe, the replaced version the match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containment: Option<MatchContainment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
