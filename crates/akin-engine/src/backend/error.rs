use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::budget::Exhausted;
use crate::storage::StorageError;

/// Why an operation of a backend failed.
#[derive(Clone, Debug, thiserror::Error)]
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
    #[error("the collection has no index of passages (passages.words is 0)")]
    PassagesOff,
    #[error(transparent)]
    OverBudget(#[from] Exhausted),
    #[error("the collection is closed")]
    Closed,
    /// The disk is too full for the operation.
    #[error("{reason}")]
    NoRoom { reason: String },
    /// The store was made with other settings.
    #[error("{reason}")]
    OtherSettings { reason: String },
    /// Another process has the store open.
    #[error("{reason}")]
    InUse { reason: String },
    #[error("{path}: {source}", path = path.display())]
    File { path: PathBuf, source: Arc<io::Error> },
    #[error("{reason}")]
    DocumentDamaged { id: String, reason: String },
    #[error("{reason}")]
    Store { reason: String },
}

impl From<StorageError> for BackendError {
    fn from(error: StorageError) -> Self {
        let reason = error.to_string();
        match error {
            StorageError::Poisoned { reason } => Self::OutOfService { reason },
            StorageError::Closed => Self::Closed,
            StorageError::NoRoom { .. } | StorageError::DiskFull { .. } => Self::NoRoom { reason },
            error if error.is_for_lack_of_room() => {
                Self::NoRoom { reason: "the disk is full".to_owned() }
            }
            StorageError::OtherSettings { .. } => Self::OtherSettings { reason },
            StorageError::InUse { .. } => Self::InUse { reason },
            StorageError::Io { path, source } => Self::File { path, source: Arc::new(source) },
            StorageError::CorruptDocument { id, .. } => Self::DocumentDamaged { id, reason },
            _ => Self::Store { reason },
        }
    }
}
