//! Building `default` anew under the settings that the configuration has, while no server has it
//! open.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::files::{failed, sync};
use super::{CollectionName, CollectionsSettings};
use crate::backend::{BackendError, Clock, Progress};
use crate::engine::{CollectionSettings, Engine, EngineError};
use crate::storage::{Detail, Order, Record, StorageError, Store, lock_directory, stored_identity};

/// Where it is built: no collection's name.
const BUILDING: &str = ".reindexing";

/// Documents that are in memory at once.
const DOCUMENTS_AT_ONCE: usize = 256;

/// The documents that are read whatever the time is: none has expired then.
const ALL_ALIVE_MS: i64 = i64::MIN;

/// Builds the collection `default` below `root` anew under other settings. A crash leaves the old
/// one or the new one. Calls `done` with the number of documents of each batch; gives back how many
/// there are.
///
/// # Errors
/// `Store`: a server has it open, or it cannot be read; `TextNotKept`, `Unfit`, `DocumentDamaged`.
pub async fn rebuild_default(
    root: &Path,
    settings: CollectionSettings,
    of_all: &CollectionsSettings,
    mut done: impl FnMut(u64),
) -> Result<u64, EngineError> {
    let dir = root.join(CollectionName::default().as_str());
    let building = Building::new(root)?;
    let failed_store = |error: StorageError| EngineError::from(BackendError::from(error));
    let identity = stored_identity(&dir).map_err(failed_store)?;
    let shingler = settings.unlimited_shingler();
    let old = Store::open(&dir, &of_all.store, &identity, shingler).map_err(failed_store)?;
    let new = Engine::open_at(
        &building.0,
        settings,
        &of_all.store,
        of_all.sets_cache_bytes,
        &Progress::default(),
        Clock::system(),
    )?;
    let mut records = old.export(Detail::Content, Order::Stored, ALL_ALIVE_MS).await;
    let (mut batch, mut documents) = (Vec::new(), 0);
    while records.recv_many(&mut batch, DOCUMENTS_AT_ONCE).await > 0 {
        let read: Result<Vec<Record>, StorageError> = batch.drain(..).collect();
        let copied = read.map_err(failed_store)?.into_iter().map(|record| new.copied(record));
        let copied = copied.collect::<Result<Vec<_>, _>>()?;
        let count = copied.len() as u64;
        new.backend.copy_in(copied).await?;
        documents += count;
        done(count);
    }
    new.close().await?;
    drop(new);
    old.close().map_err(failed_store)?;
    drop(old);
    let _lock = lock_directory(&dir).map_err(failed_store)?;
    building.take_over(&dir).map_err(failed(&dir))?;
    Ok(documents)
}

/// A directory that goes with what is still in it.
struct Building(PathBuf);

impl Building {
    fn new(root: &Path) -> Result<Self, EngineError> {
        let dir = root.join(BUILDING);
        remove_if_there(&dir).map_err(failed(&dir))?;
        Ok(Self(dir))
    }

    /// The store by one rename. Snapshots of another store would be refused, so those of the old
    /// one go before it: without any, a start reads the sketches of the store that is there.
    fn take_over(&self, dir: &Path) -> std::io::Result<()> {
        remove_if_there(&dir.join("snapshots"))?;
        sync(dir)?;
        let wal = dir.join("store.sqlite-wal");
        if wal.metadata().is_ok_and(|wal| wal.len() > 0) {
            return Err(std::io::Error::other("another program reads the database"));
        }
        fs::rename(self.0.join("store.sqlite"), dir.join("store.sqlite"))?;
        fs::rename(self.0.join("snapshots"), dir.join("snapshots"))?;
        sync(dir)
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        if let Err(error) = remove_if_there(&self.0) {
            tracing::warn!(dir = %self.0.display(), %error, "the next reindex removes it");
        }
    }
}

fn remove_if_there(dir: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
