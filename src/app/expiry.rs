//! Periodic removal of expired documents.

use std::convert::Infallible;
use std::time::Duration;

use crate::engine::{Collection, Collections, EngineError};

pub(super) async fn remove_expired(collections: &Collections, every: Duration) -> Infallible {
    let mut ticks = super::ticks(every).await;
    loop {
        ticks.tick().await;
        for collection in collections.list() {
            remove_expired_of(&collection).await;
        }
    }
}

async fn remove_expired_of(collection: &Collection) {
    let name = collection.name();
    match collection.remove_expired().await {
        // The collection may have been removed.
        Ok(0) | Err(EngineError::Closed) => {}
        Ok(removed) => tracing::info!(collection = %name, removed, "removed expired documents"),
        Err(error) => {
            tracing::error!(collection = %name, %error, "cannot remove expired documents");
        }
    }
}
