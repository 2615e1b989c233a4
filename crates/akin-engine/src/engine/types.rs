//! Requests to the engine and their results.

use std::num::NonZeroUsize;
use std::sync::Arc;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::backend::BackendStats;
use crate::budget::Reservation;
use crate::document::{Content, DocumentId};
use crate::engine::{
    ClusterCounts, ClusterFigures, Conditions, ContainmentCheck, DiscoveryStats, Recall,
};
use akin_core::scheme::Threshold;
use akin_model::analysis::Mode;
use akin_model::passages::ContainedOf;

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

/// The options of a lookup.
#[derive(Clone, Debug)]
pub struct Lookup {
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
}

impl Default for Lookup {
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
        }
    }
}

/// The details that are read of each match: by default none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchDetails {
    pub metadata: bool,
    /// Its text, tokens or fields, in collections that keep them.
    pub content: bool,
    /// The parts of its text that the probe shares.
    pub highlights: bool,
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
