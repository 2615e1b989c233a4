//! The background work on the clusters that collections keep.

use std::collections::HashMap;
use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::backend::BackendError;
use crate::background;
use crate::engine::{Collection, CollectionName, Collections, EngineError};

/// The pause after a round in which no collection had work.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The pause of a collection after its work failed; other collections are not paused.
const AFTER_FAILURE: Duration = Duration::from_secs(10);

pub(super) async fn update(collections: &Collections) -> Infallible {
    let mut pauses = Pauses::default();
    loop {
        let mut has_more = false;
        for collection in collections.list() {
            let work = || update_one(&collection);
            has_more |= pauses.update(collection.name(), work).await;
        }
        if !has_more {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Works on the clusters of a collection for a slice of time; returns whether there is more work.
async fn update_one(collection: &Arc<Collection>) -> Result<bool, EngineError> {
    let collection = Arc::clone(collection);
    let updated = background::run(async move { collection.update_clusters().await }).await;
    updated.unwrap_or_else(|failure| resume_unwind(failure.into_panic()))
}

/// Collections that are paused after a failure, and the ends of their pauses.
#[derive(Default)]
struct Pauses(HashMap<CollectionName, Instant>);

impl Pauses {
    /// Does some work of a collection, unless it is paused; returns whether there is more work.
    async fn update(
        &mut self,
        name: &CollectionName,
        work: impl AsyncFnOnce() -> Result<bool, EngineError>,
    ) -> bool {
        let now = Instant::now();
        self.0.retain(|_, end| *end > now);
        if self.0.contains_key(name) {
            return false;
        }
        match work().await {
            Ok(has_more) => has_more,
            // The collection may have been removed.
            Err(EngineError::Backend(BackendError::Closed)) => false,
            Err(error) => {
                tracing::error!(
                    collection = %name, %error, "could not update kept clusters; retrying in 10 s"
                );
                self.0.insert(name.clone(), Instant::now() + AFTER_FAILURE);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_failing_collection_pauses_no_other() {
        let [failing, other] = ["failing", "other"].map(|name| name.parse().unwrap());
        let mut pauses = Pauses::default();
        let (mut failures, mut rounds) = (0, 0);
        let started = Instant::now();
        while started.elapsed() < 2 * AFTER_FAILURE {
            let fail = async || {
                failures += 1;
                Err(EngineError::Backend(BackendError::Store { reason: "on purpose".to_owned() }))
            };
            assert!(!pauses.update(&failing, fail).await);
            assert!(pauses.update(&other, async || Ok(true)).await);
            rounds += 1;
            tokio::time::advance(LOOK_EVERY).await;
        }
        assert_eq!((failures, rounds), (2, 200));
    }
}
