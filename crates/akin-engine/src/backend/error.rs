use std::io;
use std::path::Path;

use crate::budget::Exhausted;
use akin_model::name::CollectionName;

/// Why an operation of a backend failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BackendError {
    /// A write failed, so that no further write is acknowledged, or the store cannot be reached
    /// now. Retry later.
    #[error("the store is out of service: {reason}")]
    OutOfService { reason: String },
    #[error("all ordinals are used up: export the collection and import it into a new one")]
    OrdinalsExhausted,
    /// The document was removed or replaced before it could be changed. Retry later.
    #[error("the document is being written by other requests: try again")]
    Changed,
    /// The collection was reindexed; the write must be repeated in its successor.
    #[error("the collection was reindexed meanwhile: try again")]
    Superseded,
    #[error("the collection is being reindexed already")]
    ReindexUnderWay,
    #[error(
        "the collection has no index of passages: set passages.words (32 is a good choice) and \
         reindex"
    )]
    PassagesOff,
    /// Its plural noun.
    #[error("{what} are not supported by the backend of this collection")]
    Unsupported { what: &'static str },
    /// The request needs more memory or work than it may, or more memory than there is now.
    #[error(transparent)]
    OverBudget(#[from] Exhausted),
    #[error("the collection is closed: it was removed, or the server is stopping")]
    Closed,
    /// The disk is too full for the operation.
    #[error("{reason}")]
    NoRoom { reason: String },
    /// The store was made with other settings, or lacks what the settings need; with the remedy.
    #[error("{reason}")]
    OtherSettings { reason: String },
    /// Another process has the store open.
    #[error("{reason}")]
    InUse { reason: String },
    /// The user of this process may not read or write the store's files.
    #[error("{reason}")]
    NotPermitted { reason: String },
    /// The stored document is corrupt.
    #[error("{reason}")]
    DocumentDamaged { id: String, reason: String },
    /// An internal error, logged at the boundary and not shown to clients.
    #[error("{reason}")]
    Store { reason: String },
}

impl BackendError {
    /// The failure of an operation on a file.
    pub(crate) fn of_file(path: &Path, error: &io::Error) -> Self {
        let reason = format!("{}: {error}", path.display());
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::NoRoom { reason: "the disk is full".to_owned() }
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::NotPermitted { reason }
            }
            _ => Self::Store { reason },
        }
    }

    /// Names the collection in the reason, for an operation on several collections.
    pub(crate) fn in_collection(mut self, name: &CollectionName) -> Self {
        if let Self::OtherSettings { reason }
        | Self::InUse { reason }
        | Self::NotPermitted { reason }
        | Self::DocumentDamaged { reason, .. }
        | Self::Store { reason } = &mut self
        {
            *reason = format!("collection '{name}': {reason}");
        }
        self
    }
}
