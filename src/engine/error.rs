use crate::backend::BackendError;
use crate::document::DocumentId;

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
            other => Self::Store { reason: other.to_string() },
        }
    }
}
