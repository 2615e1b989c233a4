//! Periodic work of a process: what changed in the database, rows that can go, and collections that
//! are being built.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use akin_engine::backend::BackendError;
use tokio::time::{MissedTickBehavior, interval};
use tokio_postgres::types::Type;

use crate::backend::PostgresCollection;
use crate::changes::{RUNNING, last_before};
use crate::shared::SharedDatabase;

/// How often the last changes are looked at.
const FOLLOW_EVERY: Duration = Duration::from_millis(250);

const MAINTAIN_EVERY: Duration = Duration::from_secs(10);

/// Rows of removed collections that are deleted in a transaction.
const CLEARED_AT_ONCE: i32 = 2_000;

/// The followed figures of the collections of this process.
#[derive(Default)]
pub(crate) struct FollowedChanges {
    collections: Mutex<HashMap<i32, Weak<FollowedFigures>>>,
    /// Collections that this process builds: other processes leave them alone.
    building: Mutex<HashSet<i32>>,
}

/// Of a collection, as of a moment ago.
#[derive(Default)]
pub(crate) struct FollowedFigures {
    /// The transaction of the last change that readers can see.
    pub last_change: AtomicU64,
    pub documents: AtomicI64,
}

impl FollowedChanges {
    pub fn add(&self, collection: &PostgresCollection) {
        let mut collections = self.collections.lock().unwrap_or_else(PoisonError::into_inner);
        collections.retain(|_, of| of.strong_count() > 0);
        collections.insert(collection.number, Arc::downgrade(&collection.followed));
    }

    pub fn set_building(&self, collection: i32, is_building: bool) {
        let mut building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        match is_building {
            true => building.insert(collection),
            false => building.remove(&collection),
        };
    }

    pub fn is_building(&self, collection: i32) -> bool {
        let building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        building.contains(&collection)
    }

    fn building(&self) -> Vec<i32> {
        let building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        building.iter().copied().collect()
    }

    fn update(&self, collection: i32, last_change: u64, documents: i64) {
        let collections = self.collections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(figures) = collections.get(&collection).and_then(Weak::upgrade) {
            figures.last_change.fetch_max(last_change, Ordering::Relaxed);
            figures.documents.store(documents, Ordering::Relaxed);
        }
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
        *shared.outage.lock().unwrap_or_else(PoisonError::into_inner) = outage;
        // Until the database is back, the known figures stay.
        for row in read.unwrap_or_default() {
            let last_change = row.get::<_, i64>(1).cast_unsigned();
            shared.followed.update(row.get(0), last_change, row.get(2));
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
    shared.reads.query(touch, &[(&building, Type::INT4_ARRAY)]).await?;
    let trim = "SELECT akin.trim_changes(collection, $1) FROM akin.collections
        WHERE name IS NOT NULL";
    shared.reads.query(trim, &[(&changes_kept.cast_signed(), Type::INT8)]).await?;
    let clear = "SELECT akin.clear($1)";
    while let Some(row) = shared.reads.query_opt(clear, &[(&CLEARED_AT_ONCE, Type::INT4)]).await?
        && row.get(0)
    {}
    Ok(())
}
