//! Opening the collections of a data directory. A collection that cannot be opened is left as it
//! is, and all other collections are served.
//!
//! `default` must open: its lock keeps other processes out of the directory, and its settings are
//! in the configuration, so a failure is most often a mistake there.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use super::files::{self, CollectionFiles, FoundDirectories};
use super::{Collection, CollectionName, Collections, CollectionsSettings, Registry};
use crate::backend::parallel::share_out;
use crate::backend::{Progress, SetCache};
use crate::engine::{CollectionSettings, Engine, EngineError, Opening};

/// A collection that was found but not opened.
type Whole = (CollectionName, CollectionSettings, CollectionFiles);

impl Collections {
    /// Opens all collections below `root`, one per core at a time; creates `default` if it does not
    /// exist, and removes remains of collections that were being created or removed at a crash.
    /// Collections that cannot be opened, except `default`, are [unavailable](Self::unavailable).
    /// Blocks: call it off the runtime.
    ///
    /// # Errors
    /// [`EngineError::Store`]: `default` cannot be opened, see [`Engine::open`].
    pub fn open(
        root: &Path,
        default: CollectionSettings,
        settings: CollectionsSettings,
        progress: &Progress,
    ) -> Result<Self, EngineError> {
        let collections = Self {
            root: root.to_owned(),
            sets: SetCache::new(settings.sets_cache_bytes),
            settings,
            registry: Registry::new(),
            reindexes: Mutex::default(),
            backups: Arc::new(Semaphore::new(1)),
        };
        // `default` is opened before anything is removed: its lock keeps other processes out.
        let name = CollectionName::default();
        let files = CollectionFiles::permanent(root.join(name.as_str()));
        let default = collections.open_in(name.clone(), default, files, progress)?;
        collections.registry.add(name, default);
        let FoundDirectories { whole, remains, unclear } = files::find(root)?;
        for dir in remains {
            tracing::info!(dir = %dir.display(), "removing the remains of a collection");
            if let Err(error) = files::clear(&dir) {
                tracing::warn!(
                    dir = %dir.display(),
                    %error,
                    "could not delete leftover collection files; retrying at the next start"
                );
            }
        }
        let whole = without_twins(whole, &unclear);
        let failed = Mutex::new(unclear);
        collections.open_all(whole, &failed, progress);
        for (name, error) in failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            tracing::error!(%name, %error, "a collection is unavailable: run `akin verify`");
            collections.registry.add_unavailable(name);
        }
        Ok(collections)
    }

    fn open_all(
        &self,
        whole: Vec<Result<Whole, (CollectionName, EngineError)>>,
        failed: &Mutex<Vec<(CollectionName, EngineError)>>,
        progress: &Progress,
    ) {
        let (number, whole) = (whole.len(), Mutex::new(whole));
        let _ = share_out(
            number,
            || (),
            |(), _| {
                let next = whole.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let opened = next.expect("there is a collection for each number");
                let opened = opened.and_then(|(name, settings, files)| {
                    match self.open_in(name.clone(), settings, files, progress) {
                        Ok(collection) => Ok((name, collection)),
                        Err(error) => Err((name, error)),
                    }
                });
                match opened {
                    Ok((name, collection)) => self.registry.add(name, collection),
                    Err(error) => failed.lock().unwrap_or_else(PoisonError::into_inner).push(error),
                }
                Ok::<_, EngineError>(())
            },
        );
    }

    pub(super) fn opening(&self) -> Opening {
        Opening {
            storage: self.settings.store.clone(),
            sets: self.sets.clone(),
            progress: Progress::default(),
            clock: self.settings.clock.clone(),
        }
    }

    /// Opens a collection, which is not served until it is in the registry.
    pub(super) fn open_in(
        &self,
        name: CollectionName,
        settings: CollectionSettings,
        files: CollectionFiles,
        progress: &Progress,
    ) -> Result<Collection, EngineError> {
        let opening = Opening { progress: progress.clone(), ..self.opening() };
        match Engine::open(files.dir(), settings, opening) {
            Ok(engine) => Ok(Collection { name, engine, files }),
            Err(EngineError::Store { reason }) => {
                let reason = format!("collection '{name}': {reason}");
                Err(EngineError::Store { reason })
            }
            Err(EngineError::StoreNotOpened { cause, reason }) => {
                let reason = format!("collection '{name}': {reason}");
                Err(EngineError::StoreNotOpened { cause, reason })
            }
            Err(error) => Err(error),
        }
    }
}

/// Replaces collections with the same name by an error, and omits collections with the name of an
/// unclear collection: nothing says which of them is meant.
fn without_twins(
    whole: Vec<Whole>,
    unclear: &[(CollectionName, EngineError)],
) -> Vec<Result<Whole, (CollectionName, EngineError)>> {
    let mut by_name = BTreeMap::<CollectionName, Vec<Whole>>::new();
    for found in whole {
        by_name.entry(found.0.clone()).or_default().push(found);
    }
    for (name, _) in unclear {
        by_name.remove(name);
    }
    let single = |(name, mut found): (CollectionName, Vec<Whole>)| match found.len() {
        1 => Ok(found.swap_remove(0)),
        _ => {
            let dirs = found.iter().map(|(.., files)| files.dir().display().to_string());
            let dirs = dirs.collect::<Vec<_>>().join(" and ");
            let reason = format!(
                "two directories belong to the collection '{name}': {dirs}. Move one of them away"
            );
            Err((name, EngineError::Store { reason }))
        }
    };
    by_name.into_iter().map(single).collect()
}
