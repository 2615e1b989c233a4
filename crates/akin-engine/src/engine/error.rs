use std::io;
use std::path::Path;

use jiff::Timestamp;

use crate::backend::BackendError;
use crate::budget::Exhausted;
use crate::document::DocumentId;
use crate::engine::{CollectionName, HitName};
use akin_core::text::ShingleError;
use akin_model::analysis::ContentError;

/// Causes that keep a store from opening and that its operator can remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOpened {
    /// Another process has it open.
    InUse,
    /// It was made with other settings.
    OtherSettings,
    /// The user of this process may not read or write its files.
    NotPermitted,
}

/// Why an operation of the engine failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error("the document would have expired already, at {expires_at}")]
    AlreadyExpired { expires_at: Timestamp },
    /// Retry later.
    #[error("the document is being written by other requests: try again")]
    DocumentChanged,
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
    #[error(
        "the collection has no index of passages: set passages.words (32 is a good choice) and \
         reindex"
    )]
    PassagesOff,
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
    #[error("the collection is closed: it was removed, or the server is stopping")]
    Closed,
    #[error(
        "recall of this collection is being measured already: try again once the measurement \
         has ended"
    )]
    MeasurementUnderWay,
    #[error("the collection is being reindexed already")]
    ReindexUnderWay,
    #[error("the reindex was cancelled")]
    ReindexCancelled,
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
    /// A reindex has replaced this engine: the write must be repeated in its successor.
    #[error("the collection was reindexed meanwhile: try again")]
    Superseded,
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
    /// The request needs more memory or work than it may, or more memory than there is now.
    #[error(transparent)]
    OverBudget(#[from] Exhausted),
    /// The disk is too full for the operation.
    #[error("{reason}")]
    NoRoom { reason: String },
    /// The store accepts no more writes, as the process is about to stop. Retry later.
    #[error("the store is out of service: {reason}")]
    OutOfService { reason: String },
    /// The stored document is corrupt.
    #[error("{reason}")]
    DocumentDamaged { id: String, reason: String },
    #[error(
        "the changes since then are no longer kept (storage.changes_kept), or the collection was \
         reindexed or restored: take the position of now, and read all documents again"
    )]
    ChangesGone,
    #[error("{what} are not supported by the backend of this collection")]
    UnsupportedByBackend { what: &'static str },
    /// The store cannot be opened for a cause that its operator can remove.
    #[error("{reason}")]
    StoreNotOpened { cause: NotOpened, reason: String },
    /// An internal error, logged at the boundary and not shown to clients.
    #[error("{reason}")]
    Store { reason: String },
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
        matches!(self, Self::Closed | Self::OutOfService { .. } | Self::Superseded)
    }

    /// The failure of an operation on a file.
    pub(super) fn of_file(path: &Path, error: &io::Error) -> Self {
        let reason = format!("{}: {error}", path.display());
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::NoRoom { reason: "the disk is full".to_owned() }
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::StoreNotOpened { cause: NotOpened::NotPermitted, reason }
            }
            _ => Self::Store { reason },
        }
    }

    pub(super) fn not_found(id: &DocumentId) -> Self {
        Self::DocumentNotFound { id: id.clone() }
    }
}

impl From<BackendError> for EngineError {
    fn from(error: BackendError) -> Self {
        match error {
            BackendError::OutOfService { reason } => Self::OutOfService { reason },
            BackendError::Changed => Self::DocumentChanged,
            BackendError::Superseded => Self::Superseded,
            BackendError::ReindexUnderWay => Self::ReindexUnderWay,
            BackendError::PassagesOff => Self::PassagesOff,
            BackendError::Unsupported { what } => Self::UnsupportedByBackend { what },
            BackendError::OverBudget(exhausted) => Self::OverBudget(exhausted),
            BackendError::Closed => Self::Closed,
            BackendError::NoRoom { reason } => Self::NoRoom { reason },
            BackendError::OtherSettings { reason } => {
                let reason = format!(
                    "{reason}. Configure the settings of the store, or run `akin reindex` to \
                     rebuild the store under the new settings"
                );
                Self::StoreNotOpened { cause: NotOpened::OtherSettings, reason }
            }
            BackendError::InUse { reason } => {
                Self::StoreNotOpened { cause: NotOpened::InUse, reason }
            }
            BackendError::File { path, source } => Self::of_file(&path, &source),
            BackendError::DocumentDamaged { id, reason } => Self::DocumentDamaged { id, reason },
            other => Self::Store { reason: other.to_string() },
        }
    }
}

impl From<ShingleError> for EngineError {
    fn from(error: ShingleError) -> Self {
        ContentError::from(error).into()
    }
}
