use jiff::Timestamp;

use crate::backend::BackendError;
use crate::budget::Exhausted;
use crate::document::DocumentId;
use crate::engine::{CollectionName, HitName};
use akin_core::text::ShingleError;
use akin_model::analysis::ContentError;

/// Why an operation of the engine failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error("the document would have expired already, at {expires_at}")]
    AlreadyExpired { expires_at: Timestamp },
    #[error("there is no document '{id}'")]
    DocumentNotFound { id: DocumentId },
    #[error(
        "the documents that may be near-duplicates of each other, and the texts, have {found} \
         shingles together or more, which is more than the {max} of limits.collapse_shingles_max: \
         collapse fewer hits at a time"
    )]
    TooMuchToCollapse { found: usize, max: usize },
    #[error("{error}")]
    TextOfHit { hit: HitName, error: ContentError },
    #[error("the metadata has {found} bytes, more than the {max} of limits.metadata_bytes_max")]
    MetadataTooLarge { found: usize, max: usize },
    #[error("the text of '{id}' is not kept: the collection has store.text = false")]
    TextNotKept { id: DocumentId },
    #[error("highlights need the texts of the matches: the collection has store.text = false")]
    NoTextsToHighlight,
    #[error("the collection takes records: they are compared in points, not by a threshold")]
    PointsWanted,
    #[error(
        "the collection takes no records: documents are compared by a threshold, not in points"
    )]
    NoPointsWanted,
    #[error("two records of this collection have from 1 to {max} points, not {points}")]
    PointsOutOfRange { points: u32, max: u32 },
    #[error("the collection takes records: this is for texts and tokens only")]
    NotForRecords,
    #[error(
        "the collection takes signatures (sketch.method = foreign): signatures have no sets, so \
         only estimates are possible"
    )]
    NotForSignatures,
    #[error(
        "threshold must be at least {least}, not {threshold}: scheme.threshold_min says for which \
         thresholds documents are indexed. mode=exact compares all sets and k finds the most \
         similar documents; to look up by keys, reindex with a lower threshold_min"
    )]
    ThresholdTooLow { threshold: f64, least: f64 },
    #[error("mode must be {served}")]
    UnsupportedMode { served: &'static str },
    #[error("removing documents takes a condition: filter, stored_after or stored_before")]
    NoConditions,
    #[error("the measures edit and lcs are of texts: a document of tokens has no characters")]
    TextRequired,
    #[error(
        "the texts are too long to be compared character by character: the product of their \
         lengths is {found}, more than the {max} of limits.edit_product_max"
    )]
    TextsTooLong { found: u64, max: u64 },
    #[error("there is no collection '{name}'")]
    CollectionNotFound { name: CollectionName },
    #[error(
        "the collection '{name}' could not be opened: the server's log says why, and `akin verify` \
         what to do"
    )]
    CollectionUnavailable { name: CollectionName },
    /// Both as JSON.
    #[error("the collection '{name}' has the settings {standing}, the request has {given}")]
    CollectionExists { name: CollectionName, standing: String, given: String },
    #[error("the collection 'default' cannot be removed: the paths without a collection act on it")]
    CollectionRequired,
    /// Each fault with the part of the settings that it is in.
    #[error("the settings are invalid: {faults:?}")]
    CollectionSettings { faults: Vec<(&'static str, String)> },
    #[error("the scheme is invalid: {}", faults.join("; "))]
    Curve { faults: Vec<String> },
    #[error("there are {max} collections, as many as storage.collections_max allows")]
    TooManyCollections { max: usize },
    #[error(
        "recall of this collection is being measured already: try again once the measurement \
         has ended"
    )]
    MeasurementUnderWay,
    #[error("the reindex was cancelled")]
    ReindexCancelled,
    #[error(
        "for ten minutes, a transaction of the database server was older than many changes of the \
         collection: reindex once it has ended"
    )]
    ReindexUnsettled,
    #[error("the collection '{name}' was not reindexed since the server started")]
    ReindexNotFound { name: CollectionName },
    #[error(
        "the settings of 'default' are those of the configuration: stop the server, change \
         `[collection]` there, and run `akin reindex`"
    )]
    ReindexOfDefault,
    /// The collection cannot be reindexed.
    #[error(
        "the collection '{name}' keeps no texts (store.text = false), so it cannot be reindexed: \
         create another collection and add the documents to it"
    )]
    TextsNotKept { name: CollectionName },
    /// A document is refused by the settings of a reindex.
    #[error("the document '{id}' does not fit the settings: {reason}")]
    Unfit { id: DocumentId, reason: String },
    #[error("a backup is being made already")]
    BackupUnderWay,
    /// The backup cannot be restored.
    #[error("{reason}")]
    Backup { reason: String },
    #[error(
        "comparing a sample of {sample} with {documents} documents costs more than a request may \
         (server.request_cost_max): {}", instead_of_sample(*.most)
    )]
    SampleTooCostly { documents: usize, sample: usize, most: usize },
    #[error(
        "the changes since then are no longer kept (storage.changes_kept), or the collection was \
         reindexed or restored: take the position of now, and read all documents again"
    )]
    ChangesGone,
}

/// The advice to a client with too large a sample.
fn instead_of_sample(most: usize) -> String {
    let at_most = match most {
        0 => String::new(),
        most => format!("ask for sample={most} at most, or "),
    };
    format!("{at_most}let the server measure (storage.recall_interval_s)")
}

impl EngineError {
    /// Whether the collection is closed or stopping, so that every further call would fail.
    pub(super) fn is_of_stopping(&self) -> bool {
        use BackendError::{Closed, OutOfService, Superseded};
        matches!(self, Self::Backend(Closed | OutOfService { .. } | Superseded))
    }

    pub(super) fn not_found(id: &DocumentId) -> Self {
        Self::DocumentNotFound { id: id.clone() }
    }
}

impl From<Exhausted> for EngineError {
    fn from(exhausted: Exhausted) -> Self {
        BackendError::from(exhausted).into()
    }
}

impl From<ShingleError> for EngineError {
    fn from(error: ShingleError) -> Self {
        ContentError::from(error).into()
    }
}
