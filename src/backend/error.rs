use crate::budget::Exhausted;
use crate::storage::StorageError;

/// Why an operation of a backend failed.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// A write failed; no further write is acknowledged.
    #[error("the store is out of service: {reason}")]
    OutOfService { reason: String },
    #[error("all ordinals are used up: export the collection and import it into a new one")]
    OrdinalsExhausted,
    /// The document was removed or replaced before it could be changed.
    #[error("the document is being written by others: try again")]
    Changed,
    /// The collection was reindexed; the write must go to its successor.
    #[error("the collection was reindexed meanwhile: try again")]
    Superseded,
    #[error("{what} are not supported by the backend of this collection")]
    Unsupported { what: &'static str },
    #[error("the collection has no index of passages (passages.words is 0)")]
    PassagesOff,
    #[error(transparent)]
    OverBudget(#[from] Exhausted),
    #[error("the collection is closed")]
    Closed,
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for BackendError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Poisoned { reason } => Self::OutOfService { reason },
            other => Self::Storage(other),
        }
    }
}
