//! Periodic removal of expired documents, which waits while the clock is not believed.

use std::convert::Infallible;
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::clock::{ClockCheck, Verdict};
use crate::engine::{Clock, Collection, Collections, EngineError};

pub(super) async fn remove_expired(
    collections: &Collections,
    every: Duration,
    clock: &Clock,
    mut check: ClockCheck,
) -> Infallible {
    let mut ticks = super::ticks(every).await;
    loop {
        ticks.tick().await;
        if !is_believed(&mut check, clock).await {
            continue;
        }
        for collection in collections.list() {
            remove_expired_of(&collection).await;
        }
    }
}

async fn is_believed(check: &mut ClockCheck, clock: &Clock) -> bool {
    let verdict = check.check(clock.now_ms());
    let ahead_ms = match verdict {
        Verdict::Believed => 0,
        Verdict::Jumped(ahead_ms) | Verdict::Waits(ahead_ms) => ahead_ms,
    };
    metrics::gauge!("akin_clock_jump_seconds").set(ahead_ms as f64 / 1_000.0);
    if let Verdict::Jumped(_) = verdict {
        let ahead_s = ahead_ms / 1_000;
        tracing::warn!(
            ahead_s,
            "the system clock jumped forward: expired documents are not returned, but not yet \
             removed; correct the clock, or wait for storage.clock_jump_confirm_s"
        );
    }
    if verdict == Verdict::Believed
        && let Ok(Err(error)) = spawn_blocking(check.note()).await
    {
        tracing::warn!(%error, "cannot store the time in the data directory");
    }
    verdict == Verdict::Believed
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;
    use crate::app::tests::{add_expiring, open};

    #[tokio::test(start_paused = true)]
    async fn documents_that_a_clock_expires_by_a_jump_are_kept_until_it_is_believed() {
        let dir = tempfile::tempdir().unwrap();
        let collections = open(dir.path());
        let collection = collections.list().remove(0);
        let real = Clock::system();
        let expires_at_ms = real.now_ms() + 50;
        add_expiring(&collection, "a", expires_at_ms).await;
        while real.now_ms() < expires_at_ms {
            std::thread::yield_now();
        }
        let wall_ms = Arc::new(AtomicI64::new(0));
        let clock = {
            let wall_ms = Arc::clone(&wall_ms);
            Clock::new(move || wall_ms.load(Ordering::Relaxed))
        };
        let check = ClockCheck::start(dir.path(), 3_600, 3_600, 0);
        wall_ms.store(7_200_000, Ordering::Relaxed);
        let sets = async || collection.stats().await.unwrap().backend.distinct_sets;
        let kept_then_removed = async {
            // Ten rounds of removal.
            tokio::time::sleep(Duration::from_millis(10_500)).await;
            assert_eq!((collection.stats().await.unwrap().backend.documents, sets().await), (0, 1));
            wall_ms.store(10_500, Ordering::Relaxed);
            while sets().await == 1 {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        let removing = remove_expired(&collections, Duration::from_secs(1), &clock, check);
        tokio::select! {
            never = removing => match never {},
            () = kept_then_removed => {}
        }
    }
}
