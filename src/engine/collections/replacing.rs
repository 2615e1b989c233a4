//! Rebuilds a collection that other processes share, with other settings.
//!
//! A successor is filled in rounds. Each round compares the versions of all documents with those
//! that the successor has, and copies documents that differ, while all processes go on writing.
//! When a round has found few differences, the collection is closed for writes, and once no write
//! can be under way any more, a last round finds what is left. Then the successor gets the name in
//! one step. Until that step any failure leaves the collection as it was, and the successor is
//! dropped, by another process if this one dies.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use futures_util::{StreamExt, TryStreamExt, stream};

use super::reindex::Reindex;
use super::{Collection, Collections, Location};
use crate::backend::{
    Backend, BackendError, CopiedDocument, ListedCollection, PreparedDocument, Replacing,
    SharedCollections, Times,
};
use crate::document::DocumentId;
use crate::engine::{Analyser, CollectionSettings, Engine, EngineError, off_runtime_if};

/// Documents copied at once.
const COPIES_AT_ONCE: usize = 64;

/// Differences that may be left when the collection is closed.
const DIFFERENCES_LEFT_MAX: u64 = 1_000;

/// Rounds before it is closed at the latest, however much is written meanwhile.
const ROUNDS_MAX: u32 = 8;

impl Collections {
    /// Notes that this process replaces the collection; `None` for a collection in a directory.
    ///
    /// # Errors
    /// `ReindexUnderWay`, also in another process.
    pub(super) async fn begin_replacing(
        &self,
        old: &Collection,
        settings: &CollectionSettings,
    ) -> Result<Option<Replacing>, EngineError> {
        let (Location::Shared(listed), Some(shared)) = (&old.location, &self.settings.shared)
        else {
            return Ok(None);
        };
        super::shared::check_supported(settings)?;
        let seeded = settings.seeded(None)?;
        let identity = seeded.identity(&Analyser::new(&seeded).scheme);
        let json = serde_json::to_string(settings).expect("settings are plain JSON");
        let begun = shared.begin_replacing(listed, json, identity).await?;
        begun.map(Some).ok_or(EngineError::ReindexUnderWay)
    }

    pub(super) async fn replace_shared(
        self: &Arc<Self>,
        old: &Arc<Collection>,
        reindex: &Arc<Reindex>,
        mut replacing: Replacing,
    ) -> Result<(), EngineError> {
        let shared = self.settings.shared.clone().expect("the collection is shared");
        let replaced = self.fill_and_replace(&shared, old, reindex, &mut replacing).await;
        if replaced.is_err()
            && let Err(error) = shared.give_up_replacing(&replacing).await
        {
            tracing::warn!(%error, "the remains of a reindex are removed after the lease");
        }
        replaced
    }

    async fn fill_and_replace(
        self: &Arc<Self>,
        shared: &Arc<dyn SharedCollections>,
        old: &Arc<Collection>,
        reindex: &Arc<Reindex>,
        replacing: &mut Replacing,
    ) -> Result<(), EngineError> {
        let new =
            Arc::new(self.open_successor(&**shared, old, &replacing.new, &reindex.settings)?);
        reindex.set_new(&new);
        reindex.total.store(old.engine.stats().await?.backend.documents, Ordering::Relaxed);
        let mut filling =
            Filling { shared, from: &old.engine, to: &new.engine, reindex, replacing };
        let mut rounds = 1;
        while filling.round().await? > DIFFERENCES_LEFT_MAX && rounds < ROUNDS_MAX {
            rounds += 1;
        }
        filling.close().await?;
        filling.round().await?;
        shared.give_name(replacing).await?;
        let (this, old, new) = (Arc::clone(self), Arc::clone(old), Arc::clone(&new));
        off_runtime_if(true, move || this.take_over_here(&old, &new)).await??;
        Ok(())
    }

    pub(super) fn open_successor(
        &self,
        shared: &dyn SharedCollections,
        old: &Collection,
        listed: &ListedCollection,
        settings: &CollectionSettings,
    ) -> Result<Collection, EngineError> {
        let engine = Engine::open_listed(shared, listed, settings.clone(), self.opening())?;
        let location = Location::Shared(listed.clone());
        Ok(Collection { name: old.name.clone(), engine, location })
    }

    /// The name leads to the successor in this process, too. Requests that have the old collection
    /// go on with the successor when they write.
    pub(super) fn take_over_here(
        &self,
        old: &Arc<Collection>,
        new: &Arc<Collection>,
    ) -> Result<(), EngineError> {
        let redirect = || {
            let set = old.engine.successor.set(Arc::clone(new));
            set.unwrap_or_else(|_| unreachable!("a collection is replaced once"));
        };
        self.registry.replace(&old.name, old, new, || Ok(()), redirect)?;
        old.engine.discoveries.close();
        Ok(())
    }
}

/// Brings a successor level with its collection.
struct Filling<'a> {
    shared: &'a Arc<dyn SharedCollections>,
    from: &'a Engine,
    to: &'a Engine,
    reindex: &'a Reindex,
    replacing: &'a mut Replacing,
}

impl Filling<'_> {
    /// Copies and removes what differs; returns the number of these documents.
    async fn round(&mut self) -> Result<u64, EngineError> {
        let (mut after, mut differences) = (None, 0);
        loop {
            let (page, next) = self.from.backend.versions(after.as_ref()).await?;
            let mut there = versions_until(&*self.to.backend, after, next.as_ref()).await?;
            let differs = |(id, version): (DocumentId, (u64, Times))| {
                (there.remove(&id) != Some(version)).then_some(id)
            };
            let to_copy: Vec<DocumentId> = page.into_iter().filter_map(differs).collect();
            differences += (to_copy.len() + there.len()) as u64;
            for id in there.into_keys() {
                self.to.backend.remove(&id).await?;
            }
            for ids in to_copy.chunks(COPIES_AT_ONCE) {
                self.go_on().await?;
                let copies = ids.iter().map(|id| self.copy(id)).collect::<Vec<_>>();
                let copies = stream::iter(copies).buffer_unordered(COPIES_AT_ONCE);
                copies.try_collect::<()>().await?;
            }
            self.go_on().await?;
            match next {
                Some(next) => after = Some(next),
                None => return Ok(differences),
            }
        }
    }

    /// A document that is removed meanwhile is left to the next round.
    async fn copy(&self, id: &DocumentId) -> Result<(), EngineError> {
        let Some(record) = self.from.backend.record(id).await? else { return Ok(()) };
        let to = self.to.clone();
        let copied = off_runtime_if(true, move || to.copied(record)).await??;
        let CopiedDocument { prepared, stored_at_ms, expires_at_ms, .. } = copied;
        let times = Some(Times { stored_at_ms, expires_at_ms });
        let prepared = PreparedDocument { times, ..prepared };
        let registered = self.to.backend.register(prepared, false, None).await?;
        self.to.backend.store(registered).await?;
        self.reindex.done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Closes the collection, and returns once no write can be under way.
    async fn close(&mut self) -> Result<(), EngineError> {
        self.shared.note_replacing(self.replacing, true).await?;
        let end = Instant::now() + self.replacing.closed_after;
        while let Some(rest) = end.checked_duration_since(Instant::now()) {
            tokio::time::sleep(rest.min(self.replacing.notes_every)).await;
            self.go_on().await?;
        }
        Ok(())
    }

    /// Notes from time to time that this process is alive.
    async fn go_on(&mut self) -> Result<(), EngineError> {
        self.reindex.check_cancelled()?;
        if self.replacing.noted.elapsed() >= self.replacing.notes_every {
            self.shared.note_replacing(self.replacing, false).await?;
        }
        Ok(())
    }
}

/// The versions of the documents after an id, up to and with another.
async fn versions_until(
    backend: &dyn Backend,
    mut after: Option<DocumentId>,
    until: Option<&DocumentId>,
) -> Result<HashMap<DocumentId, (u64, Times)>, BackendError> {
    let is_in = |id: &DocumentId| until.is_none_or(|until| id <= until);
    let mut versions = HashMap::new();
    loop {
        let (page, next) = backend.versions(after.as_ref()).await?;
        versions.extend(page.into_iter().filter(|(id, _)| is_in(id)));
        match next.filter(|next| until.is_none_or(|until| next < until)) {
            Some(next) => after = Some(next),
            None => return Ok(versions),
        }
    }
}
