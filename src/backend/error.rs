use crate::storage::StorageError;

/// Why an operation of a backend failed.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// A write failed, so nothing more is acknowledged.
    #[error("the store is out of service: {reason}")]
    OutOfService { reason: String },
    #[error("every ordinal has been given out: export the collection and import it into a new one")]
    OrdinalsExhausted,
    /// Another backend has taken over since: what was to be written is to be written there.
    #[error("the collection was reindexed meanwhile: try again")]
    Superseded,
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
