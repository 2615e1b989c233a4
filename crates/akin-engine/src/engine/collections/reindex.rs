//! Rebuilds a collection from its stored texts with other settings, while it is in use.
//!
//! A reindex copies one view of all documents, and then, in rounds, the documents that differ from
//! the documents of the old collection by their [stamps](crate::backend::Stamp). A round compares
//! what the feed of changes names since the round before it, and all documents if the feed does not
//! reach back so far. When a round has found few differences, writes are paused for a last round,
//! and the new collection takes the name in one step; paused writes go to the new collection. Until
//! that step, any failure leaves the old collection unchanged.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, Weak};
use std::time::Instant;

use akin_model::reindex::ReindexState;

use super::transfer::Transfer;
use super::{Collection, CollectionName, Collections};
use crate::backend::BackendError;
use crate::engine::{CollectionSettings, EngineError, off_runtime};

/// The progress or outcome of a reindex.
#[derive(Clone, Debug)]
pub struct ReindexStatus {
    pub state: ReindexState,
    /// Documents copied so far, including documents inserted since the start.
    pub done: u64,
    /// Number of documents at its start.
    pub total: u64,
    pub settings: CollectionSettings,
    /// Milliseconds since the epoch.
    pub started_at_ms: i64,
    pub ended_at_ms: Option<i64>,
    /// Why it failed.
    pub failure: Option<EngineError>,
}

/// A reindex, shared by the task and by status requests.
pub(super) struct Reindex {
    old: Weak<Collection>,
    /// The new collection, from shortly before it takes over.
    new: OnceLock<Weak<Collection>>,
    pub(super) settings: CollectionSettings,
    started_at_ms: i64,
    pub(super) total: AtomicU64,
    pub(super) done: AtomicU64,
    cancelled: AtomicBool,
    ended: OnceLock<(i64, Result<(), EngineError>)>,
}

impl Reindex {
    pub(super) fn status(&self) -> ReindexStatus {
        let ended = self.ended.get();
        let failure = ended.and_then(|(_, outcome)| outcome.clone().err());
        ReindexStatus {
            state: match (ended, &failure) {
                (None, _) => ReindexState::Running,
                (Some(_), None) => ReindexState::Done,
                (Some(_), Some(_)) => ReindexState::Failed,
            },
            done: self.done.load(Ordering::Relaxed),
            total: self.total.load(Ordering::Relaxed),
            settings: self.settings.clone(),
            started_at_ms: self.started_at_ms,
            ended_at_ms: ended.map(|(at, _)| *at),
            failure,
        }
    }

    /// Whether it belongs to this collection, and not to an earlier collection with its name.
    fn is_of(&self, collection: &Arc<Collection>) -> bool {
        let is_it = |of: &Weak<Collection>| std::ptr::eq(of.as_ptr(), Arc::as_ptr(collection));
        is_it(&self.old) || self.new.get().is_some_and(is_it)
    }

    pub(super) fn set_new(&self, new: &Arc<Collection>) {
        let set = self.new.set(Arc::downgrade(new));
        set.unwrap_or_else(|_| unreachable!("it is built once"));
    }

    pub(super) fn check_cancelled(&self) -> Result<(), EngineError> {
        let cancelled = self.cancelled.load(Ordering::Relaxed);
        if cancelled { Err(EngineError::ReindexCancelled) } else { Ok(()) }
    }
}

impl Collections {
    /// Starts to rebuild a collection with other settings. Only one reindex of a collection runs at
    /// a time.
    ///
    /// # Errors
    /// `CollectionNotFound`, `CollectionSettings`, `TextsNotKept`, `ReindexUnderWay`, `NoRoom`,
    /// `ReindexOfDefault`.
    pub async fn reindex(
        self: &Arc<Self>,
        name: &CollectionName,
        settings: CollectionSettings,
    ) -> Result<ReindexStatus, EngineError> {
        let old = self.get(name)?;
        self.check_new(&settings)?;
        if name.is_default() {
            return Err(EngineError::ReindexOfDefault);
        }
        if !old.settings().store.text {
            return Err(EngineError::TextsNotKept { name: name.clone() });
        }
        if let Some(backups) = old.engine.backend.backups() {
            backups.check_room_for_copy().await?;
        }
        let reindex = self.begin(&old, settings)?;
        let (this, status) = (Arc::clone(self), reindex.status());
        tokio::spawn(async move {
            let outcome = this.rebuild(&old, &reindex).await;
            if let Err(error) = &outcome {
                tracing::error!(name = %old.name, %error, "a reindex failed");
            }
            let ended = (old.engine.clock.now_ms(), outcome);
            reindex.ended.set(ended).unwrap_or_else(|_| unreachable!("it ends once"));
        });
        Ok(status)
    }

    /// The status of the last reindex of a collection.
    ///
    /// # Errors
    /// `CollectionNotFound`; `ReindexNotFound` if there was none since the server started or since
    /// the collection was made.
    pub fn reindex_status(&self, name: &CollectionName) -> Result<ReindexStatus, EngineError> {
        self.last_reindex(name).map(|reindex| reindex.status())
    }

    /// Cancels the reindex of a collection, if one is running. Returns before it has stopped.
    ///
    /// # Errors
    /// As [`Collections::reindex_status`].
    pub fn cancel_reindex(&self, name: &CollectionName) -> Result<ReindexStatus, EngineError> {
        let reindex = self.last_reindex(name)?;
        reindex.cancelled.store(true, Ordering::Relaxed);
        Ok(reindex.status())
    }

    pub(super) fn last_reindex(&self, name: &CollectionName) -> Result<Arc<Reindex>, EngineError> {
        let collection = self.get(name)?;
        let reindexes = self.reindexes.lock().unwrap_or_else(PoisonError::into_inner);
        let last = reindexes.get(name).filter(|reindex| reindex.is_of(&collection));
        last.cloned().ok_or_else(|| EngineError::ReindexNotFound { name: name.clone() })
    }

    fn begin(
        &self,
        old: &Arc<Collection>,
        settings: CollectionSettings,
    ) -> Result<Arc<Reindex>, EngineError> {
        let mut reindexes = self.reindexes.lock().unwrap_or_else(PoisonError::into_inner);
        // Drops the status of removed collections.
        reindexes.retain(|name, reindex| reindex.ended.get().is_none() || self.get(name).is_ok());
        if reindexes.get(&old.name).is_some_and(|last| last.ended.get().is_none()) {
            return Err(BackendError::ReindexUnderWay.into());
        }
        let reindex = Arc::new(Reindex {
            old: Arc::downgrade(old),
            new: OnceLock::new(),
            settings,
            started_at_ms: old.engine.clock.now_ms(),
            total: AtomicU64::new(0),
            done: AtomicU64::new(0),
            cancelled: AtomicBool::new(false),
            ended: OnceLock::new(),
        });
        reindexes.insert(old.name.clone(), Arc::clone(&reindex));
        Ok(reindex)
    }

    async fn rebuild(
        self: &Arc<Self>,
        old: &Arc<Collection>,
        reindex: &Arc<Reindex>,
    ) -> Result<(), EngineError> {
        let (this, replaced) = (Arc::clone(self), Arc::clone(old));
        let settings = reindex.settings.clone();
        let open = move || this.open_beside(&replaced, &settings);
        let new = Arc::new(off_runtime(open).await??);
        reindex.set_new(&new);
        let built = self.fill_and_swap(old, &new, reindex).await;
        if built.is_err() {
            // Dropping it deletes its files, once the engine is closed.
            let _ = new.engine.backend.close().await;
            let _ = off_runtime(move || new.stored.give_up()).await;
        }
        built
    }

    fn open_beside(
        &self,
        old: &Collection,
        settings: &CollectionSettings,
    ) -> Result<Collection, EngineError> {
        let stored = Arc::clone(&old.stored).replacement(settings)?;
        let opened = Self::open_stored(
            old.name.clone(),
            Arc::clone(&stored),
            &self.settings.opening.later(),
        );
        opened.inspect_err(|_| stored.give_up())
    }

    async fn fill_and_swap(
        self: &Arc<Self>,
        old: &Arc<Collection>,
        new: &Arc<Collection>,
        reindex: &Arc<Reindex>,
    ) -> Result<(), EngineError> {
        let mut transfer = Transfer::begin(&*old.engine.backend, &new.engine, reindex).await?;
        transfer.copy_all().await?;
        transfer.rounds().await?;
        // It makes a start after the takeover fast.
        new.engine.snapshot_if_changed().await?;
        transfer.rounds().await?;
        let since = Instant::now();
        let paused = old.engine.backend.pause_writes().await?;
        transfer.round().await?;
        // Returns once all writes are durable.
        drop(new.engine.backend.pause_writes().await?);
        let (this, replaced, new) = (Arc::clone(self), Arc::clone(old), Arc::clone(new));
        let swap = move || {
            let finish = || {
                // Only now: a client whose write was acknowledged reads it under the name.
                replaced.redirect(Arc::clone(&new));
                paused.supersede();
                let writes_paused_ms = since.elapsed().as_secs_f64() * 1e3;
                tracing::info!(name = %new.name, writes_paused_ms, "a collection was reindexed");
                if let Err(error) = new.stored.end_takeover() {
                    tracing::error!(
                        name = %new.name,
                        %error,
                        "could not delete the replaced collection; retrying at the next start"
                    );
                }
            };
            let take_name = || Ok(new.stored.take_name()?);
            this.registry.replace(&replaced.name, &replaced, &new, take_name, finish)
        };
        off_runtime(swap).await??;
        old.close_removed().await;
        Ok(())
    }
}
