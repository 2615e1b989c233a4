//! Operations that not every backend has.

use super::{Backend, BackendError, Local};

/// An operation that not every backend has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    Backups,
    Changes,
    Discoveries,
    MostSimilar,
    Passages,
    Reindexes,
    Snapshots,
    StoredClusters,
}

impl Capability {
    /// The plural noun of its errors.
    fn name(self) -> &'static str {
        match self {
            Self::Backups => "backups",
            Self::Changes => "changes",
            Self::Discoveries => "discoveries, other than by `akin pairs --url`,",
            Self::MostSimilar => "lookups of the most similar documents ('k')",
            Self::Passages => "passages",
            Self::Reindexes => "reindexes",
            Self::Snapshots => "snapshots",
            Self::StoredClusters => "stored clusters",
        }
    }

    /// The error of a backend that lacks it.
    pub(crate) fn unsupported(self) -> BackendError {
        BackendError::Unsupported { what: self.name() }
    }
}

impl dyn Backend {
    /// The implementation of a capability.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`]
    pub fn require(&self, capability: Capability) -> Result<&Local, BackendError> {
        self.capability(capability).ok_or_else(|| capability.unsupported())
    }
}
