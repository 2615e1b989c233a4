//! The background work of clusters that collections keep.

use std::convert::Infallible;
use std::time::Duration;

use crate::engine::{Collections, EngineError};

/// How often there is a look whether there is something to do.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The pause after work that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(10);

pub(super) async fn update(collections: &Collections) -> Infallible {
    loop {
        let mut has_more = false;
        for collection in collections.list() {
            match collection.update_clusters().await {
                Ok(more) => has_more |= more,
                // The collection may have been removed.
                Err(EngineError::Closed) => {}
                Err(error) => {
                    let name = collection.name();
                    tracing::error!(collection = %name, %error, "clusters are not up to date");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
        }
        if !has_more {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}
