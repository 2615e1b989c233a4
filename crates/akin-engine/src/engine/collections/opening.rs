//! Opening the collections of a store, at the start and when another process has changed them. A
//! collection that cannot be opened is left as it is, and all other collections are served.
//!
//! `default` must open: its settings are in the configuration, so a failure is most often a mistake
//! there.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::registry::Standing;
use super::{Collection, CollectionName, Collections, CollectionsSettings, Registry};
use crate::backend::parallel::share_out;
use crate::backend::{CollectionStore, ListedCollection, StoredCollection};
use crate::engine::{CollectionSettings, Engine, EngineError, Opening, off_runtime};

/// How often changes of other processes are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Collections {
    /// Opens all collections of a store, one per core at a time; creates `default` if it does not
    /// exist. Collections that cannot be opened, except `default`, are
    /// [unavailable](Self::unavailable). Blocks: call it off the runtime.
    ///
    /// # Errors
    /// [`Store`](crate::backend::BackendError::Store): `default` cannot be opened, see
    /// [`Engine::open`].
    pub fn open(
        store: Arc<dyn CollectionStore>,
        default: &CollectionSettings,
        settings: CollectionsSettings,
    ) -> Result<Self, EngineError> {
        let collections = Self {
            store,
            settings,
            registry: Registry::new(),
            reindexes: Mutex::default(),
            backups: Arc::new(Semaphore::new(1)),
        };
        let name = CollectionName::default();
        let opening = &collections.settings.opening;
        let stored = collections.store.default_collection(default)?;
        let default = Self::open_stored(name.clone(), stored, opening)?;
        collections.registry.set(name, Some(Standing::Open(Arc::new(default))));
        collections.open_new(collections.store.list()?, opening);
        Ok(collections)
    }

    /// Opens the listed collections whose names are not known. No other thread changes names
    /// during the call: the caller has the guard of the changes, or is the start.
    fn open_new(&self, listed: Vec<ListedCollection>, opening: &Opening) {
        let is_new = |listed: &ListedCollection| self.get(&listed.name).is_err();
        let new: Vec<_> = listed.into_iter().filter(is_new).collect();
        let (number, new) = (new.len(), Mutex::new(new));
        let _ = share_out(
            number,
            || (),
            |(), _| {
                let next = new.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let ListedCollection { name, stored } = next.expect("there is one a number");
                let opened = stored.map_err(EngineError::from);
                let opened = opened.and_then(|it| Self::open_stored(name.clone(), it, opening));
                let standing = match opened {
                    Ok(opened) => Standing::Open(Arc::new(opened)),
                    Err(error) => {
                        let advice = "a collection is unavailable: run akin verify";
                        tracing::error!(%name, %error, "{advice}");
                        Standing::Unavailable
                    }
                };
                self.registry.set(name, Some(standing));
                Ok::<_, EngineError>(())
            },
        );
    }

    /// Opens a collection, which is not served until it is in the registry.
    pub(super) fn open_stored(
        name: CollectionName,
        stored: Arc<dyn StoredCollection>,
        opening: &Opening,
    ) -> Result<Collection, EngineError> {
        match Engine::open(&*stored, opening) {
            Ok(engine) => Ok(Collection { name, engine, stored }),
            Err(EngineError::Backend(error)) => Err(error.in_collection(&name).into()),
            Err(error) => Err(error),
        }
    }

    /// Follows the changes that other processes make of the same store; never returns.
    pub async fn follow(self: &Arc<Self>) -> Infallible {
        let (mut known, mut ticks) = (None, tokio::time::interval(LOOK_EVERY));
        loop {
            ticks.tick().await;
            let this = Arc::clone(self);
            let look = move || {
                let generation = this.store.generation()?;
                if generation != known {
                    this.take_changes()?;
                }
                Ok::<_, EngineError>(generation)
            };
            match off_runtime(look).await {
                Ok(Ok(None)) => return std::future::pending().await,
                Ok(Ok(generation)) => known = generation,
                Ok(Err(error)) | Err(error) => {
                    tracing::warn!(%error, "cannot read the changed list of collections; retrying");
                }
            }
        }
    }

    /// Opens the collections that other processes have created, and closes those that they have
    /// removed or replaced. Blocks.
    pub(super) fn take_changes(&self) -> Result<(), EngineError> {
        // Or this process could change a name after it was listed.
        let _changes = self.registry.changes()?;
        let listed = self.store.list()?;
        self.registry.forget_unavailable();
        for open in self.list() {
            match listed.iter().find(|listed| listed.name == open.name) {
                Some(ListedCollection { stored: Ok(stored), .. }) => {
                    self.follow_name(&open, stored)?;
                }
                Some(_) => {}
                None if open.name.is_default() => {}
                None => {
                    tracing::info!(name = %open.name, "the collection was removed elsewhere");
                    self.registry.set(open.name.clone(), None);
                    tokio::spawn(async move { open.close_removed().await });
                }
            }
        }
        self.open_new(listed, &self.settings.opening.later());
        Ok(())
    }

    /// The name of a collection leads to what is stored under it now.
    fn follow_name(
        &self,
        open: &Arc<Collection>,
        stored: &Arc<dyn StoredCollection>,
    ) -> Result<(), EngineError> {
        if open.stored.number() == stored.number() {
            return Ok(());
        }
        tracing::info!(name = %open.name, "the collection was replaced elsewhere");
        let opening = self.settings.opening.later();
        let new = Self::open_stored(open.name.clone(), Arc::clone(stored), &opening)?;
        let new = Arc::new(new);
        self.registry.set(open.name.clone(), Some(Standing::Open(Arc::clone(&new))));
        open.redirect(new);
        let replaced = Arc::clone(open);
        tokio::spawn(async move { replaced.close_removed().await });
        Ok(())
    }
}
