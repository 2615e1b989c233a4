//! Periodic work of a process: what changed in the database, rows that can go, and collections that
//! are being built.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use akin_engine::backend::BackendError;
use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval};

use crate::changes::{RUNNING, last_before};
use crate::pool::parameters;
use crate::shared::SharedDatabase;

/// How often the last changes are looked at.
const FOLLOW_EVERY: Duration = Duration::from_millis(250);

const MAINTAIN_EVERY: Duration = Duration::from_secs(10);

/// Rows of removed collections that are deleted in a transaction.
const CLEARED_AT_ONCE: i32 = 2_000;

/// Changes that are deleted in a transaction.
const TRIMMED_AT_ONCE: i32 = 20_000;

/// The collections of this process, by their numbers.
#[derive(Default)]
pub(crate) struct FollowedCollections(Mutex<HashMap<i32, Weak<FollowedCollection>>>);

/// A collection, as of a moment ago.
#[derive(Default)]
pub(crate) struct FollowedCollection {
    /// This process builds it, and has not given it a name yet: other processes leave it alone.
    pub is_building: AtomicBool,
    /// The transaction of the last change that readers can see.
    pub last_change: AtomicU64,
    pub documents: AtomicI64,
}

impl FollowedCollections {
    pub fn add(&self, number: i32, collection: &Arc<FollowedCollection>) {
        let mut collections = self.0.lock();
        collections.retain(|_, of| of.strong_count() > 0);
        collections.insert(number, Arc::downgrade(collection));
    }

    fn building(&self) -> Vec<i32> {
        let is_building =
            |of: &Weak<FollowedCollection>| of.upgrade().is_some_and(|of| of.is_building());
        let collections = self.0.lock();
        collections.iter().filter(|(_, of)| is_building(of)).map(|(number, _)| *number).collect()
    }
}

impl FollowedCollection {
    pub fn is_building(&self) -> bool {
        self.is_building.load(Ordering::Relaxed)
    }
}

pub(crate) async fn follow(shared: Weak<SharedDatabase>) {
    let sql = format!(
        "SELECT c.collection, {}, coalesce((SELECT sum(n.documents)::int8
         FROM akin.counts n WHERE n.collection = c.collection), 0)
         FROM akin.collections c WHERE c.built_at > '-infinity'",
        last_before(RUNNING)
    );
    let mut ticks = interval(FOLLOW_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(shared) = shared.upgrade() else { return };
        let read = shared.reads.query(&sql, &[]).await;
        let outage = read.as_ref().err().map(|error| match error {
            BackendError::OutOfService { reason } => reason.clone(),
            error => error.to_string(),
        });
        *shared.outage.lock() = outage;
        // Until the database is back, the known figures stay.
        for row in read.unwrap_or_default() {
            let followed =
                shared.followed.0.lock().get(&row.get::<_, i32>(0)).and_then(Weak::upgrade);
            let Some(followed) = followed else { continue };
            let last_change = row.get::<_, i64>(1).cast_unsigned();
            followed.last_change.fetch_max(last_change, Ordering::Relaxed);
            followed.documents.store(row.get(2), Ordering::Relaxed);
        }
    }
}

pub(crate) async fn maintain(shared: Weak<SharedDatabase>, changes_kept: u64) {
    let mut ticks = interval(MAINTAIN_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(shared) = shared.upgrade() else { return };
        if let Err(error) = maintain_once(&shared, changes_kept).await {
            tracing::debug!(%error, "the database could not be maintained");
        }
    }
}

async fn maintain_once(shared: &SharedDatabase, changes_kept: u64) -> Result<(), BackendError> {
    let building = shared.followed.building();
    let touch = "UPDATE akin.collections SET built_at = now()
        WHERE collection = ANY ($1) AND name IS NULL AND built_at > '-infinity'";
    shared.reads.query(touch, parameters![building]).await?;
    let named = "SELECT collection FROM akin.collections WHERE name IS NOT NULL";
    let (trim, kept) = ("SELECT akin.trim_changes($1, $2, $3)", changes_kept.cast_signed());
    for row in shared.reads.query(named, &[]).await? {
        let collection: i32 = row.get(0);
        let step = parameters![collection, kept, TRIMMED_AT_ONCE];
        while let Some(row) = shared.reads.query_opt(trim, step).await?
            && row.get(0)
        {}
    }
    let clear = "SELECT akin.clear($1)";
    while let Some(row) = shared.reads.query_opt(clear, parameters![CLEARED_AT_ONCE]).await?
        && row.get(0)
    {}
    Ok(())
}
