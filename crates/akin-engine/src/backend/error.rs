use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::budget::Exhausted;

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
    #[error("the collection is being reindexed already")]
    ReindexUnderWay,
    #[error("the collection has no index of passages (passages.words is 0)")]
    PassagesOff,
    /// Its plural noun.
    #[error("{what} are not supported by the backend")]
    Unsupported { what: &'static str },
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
