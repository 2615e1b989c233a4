//! Periodic removal of expired documents.

use std::sync::Arc;

use crate::backend::BackendError;
use crate::engine::{Collection, EngineError};

pub(super) async fn remove_expired(collection: Arc<Collection>) {
    let name = collection.name();
    match collection.remove_expired().await {
        // The collection may have been removed.
        Ok(0) | Err(EngineError::Backend(BackendError::Closed)) => {}
        Ok(removed) => tracing::info!(collection = %name, removed, "removed expired documents"),
        Err(error) => {
            tracing::error!(collection = %name, %error, "cannot remove expired documents");
        }
    }
}
