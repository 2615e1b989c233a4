use crate::backend::BackendError;
use crate::document::DocumentId;
use crate::engine::CollectionName;
use crate::storage::StorageError;

/// Why the engine did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("the document is empty: it has nothing to make a shingle of")]
    EmptyDocument,
    #[error("there is no document '{id}'")]
    DocumentNotFound { id: DocumentId },
    #[error("the document has {found} shingles, more than the {max} of limits.shingles_max")]
    TooManyShingles { found: usize, max: usize },
    #[error("the metadata has {found} bytes, more than the {max} of limits.metadata_bytes_max")]
    MetadataTooLarge { found: usize, max: usize },
    #[error("the text of '{id}' is not kept: the collection has store.text = false")]
    TextNotKept { id: DocumentId },
    #[error("there is no collection '{name}'")]
    CollectionNotFound { name: CollectionName },
    /// Both as JSON.
    #[error("the collection '{name}' has the settings {standing}, asked for were {given}")]
    CollectionExists { name: CollectionName, standing: String, given: String },
    #[error("the collection 'default' cannot be removed: the paths without a collection act on it")]
    CollectionRequired,
    /// Each with the part of the settings that it is in.
    #[error("these settings cannot be: {faults:?}")]
    CollectionSettings { faults: Vec<(&'static str, String)> },
    #[error("there are {max} collections, as many as storage.collections_max allows")]
    TooManyCollections { max: usize },
    #[error("the collection is closed: it was removed, or the server is stopping")]
    Closed,
    #[error("a backup is being made already")]
    BackupUnderWay,
    /// Of a backup that cannot be restored.
    #[error("{reason}")]
    Backup { reason: String },
    /// The disk is too full for what was asked.
    #[error("{reason}")]
    NoRoom { reason: String },
    /// The store takes nothing more; the process is about to stop. Retry later.
    #[error("the store is out of service: {reason}")]
    OutOfService { reason: String },
    /// A fault of the server's: not the client's business, to be logged where it leaves the
    /// process.
    #[error("{reason}")]
    Store { reason: String },
}

impl EngineError {
    pub(super) fn not_found(id: &DocumentId) -> Self {
        Self::DocumentNotFound { id: id.clone() }
    }
}

impl From<BackendError> for EngineError {
    fn from(error: BackendError) -> Self {
        match error {
            BackendError::OutOfService { reason } => Self::OutOfService { reason },
            BackendError::Storage(StorageError::Closed) => Self::Closed,
            BackendError::Storage(error @ StorageError::NoRoom { .. }) => {
                Self::NoRoom { reason: error.to_string() }
            }
            other => Self::Store { reason: other.to_string() },
        }
    }
}
