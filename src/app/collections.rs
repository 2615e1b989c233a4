//! Where the collections are kept.

use std::sync::Arc;

use super::collections_dir;
use crate::backend::{BackendError, CollectionStore, LocalCollections};
use crate::config::{Settings, StorageBackend};

/// For the log and for messages.
pub(super) fn place(settings: &Settings) -> String {
    match settings.storage.backend {
        StorageBackend::Local => settings.storage.data_dir.display().to_string(),
        StorageBackend::Postgres => format!("{:?}", settings.postgres.url),
    }
}

/// Blocks, within a runtime.
///
/// # Errors
/// Of a database: `OutOfService` if it cannot be reached, `OtherSettings` if it lacks something.
pub(super) fn store(settings: &Settings) -> Result<Arc<dyn CollectionStore>, BackendError> {
    match settings.storage.backend {
        StorageBackend::Local => {
            let storage = &settings.storage;
            let root = collections_dir(&storage.data_dir);
            Ok(Arc::new(LocalCollections::new(root, storage.store.clone())))
        }
        StorageBackend::Postgres => postgres(settings),
    }
}

#[cfg(feature = "postgres")]
fn postgres(settings: &Settings) -> Result<Arc<dyn CollectionStore>, BackendError> {
    let storage = &settings.storage.store;
    let connections = akin_postgres::ConnectionSettings {
        deadline: std::time::Duration::from_millis(settings.postgres.timeout_ms),
        scans_max: storage.scans_max as usize,
        changes_kept: storage.changes_kept,
        compression_level: storage.compression_level,
    };
    let open = akin_postgres::PostgresStore::open(settings.postgres.url.as_str(), &connections);
    let store = tokio::runtime::Handle::current().block_on(open)?;
    Ok(Arc::new(store))
}

#[cfg(not(feature = "postgres"))]
fn postgres(_: &Settings) -> Result<Arc<dyn CollectionStore>, BackendError> {
    unreachable!("the settings were refused")
}
