//! Failures of the store, as the seam has them.

use crate::backend::BackendError;
use crate::storage::StorageError;

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
            StorageError::OtherSettings { .. } => Self::OtherSettings {
                reason: format!(
                    "{reason}. Configure the settings of the store, or run `akin reindex` to \
                     rebuild the store under the new settings"
                ),
            },
            StorageError::InUse { .. } => Self::InUse { reason },
            StorageError::Io { path, source } => Self::of_file(&path, &source),
            StorageError::CorruptDocument { id, .. } => Self::DocumentDamaged { id, reason },
            _ => Self::Store { reason },
        }
    }
}
