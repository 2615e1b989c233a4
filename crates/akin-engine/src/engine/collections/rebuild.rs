//! Rebuilds `default` with the configured settings, while no server has it open.

use std::path::Path;
use std::{fs, io};

use super::CollectionName;
use crate::backend::directory::files::{WorkDirectory, failed, remove_directory, sync};
use crate::backend::directory::{StorageError, StorageSettings, Store, lock_directory};
use crate::backend::{BackendError, LocalCollection};
use crate::engine::{CollectionSettings, Engine, EngineError, Opening};
use crate::stored::{Detail, Order, Record};

/// The directory in which it is built. Not a valid collection name.
const BUILDING: &str = ".reindexing";

/// Documents held in memory at a time.
const DOCUMENTS_AT_ONCE: usize = 256;

/// A time at which no document has expired, so that all are read.
const ALL_ALIVE_MS: i64 = i64::MIN;

/// Rebuilds the collection `default` below `root` with other settings. A crash leaves either the
/// old or the new collection. Calls `done` with the number of documents of each batch; returns the
/// total.
///
/// # Errors
/// `Store`: a server has it open, or it cannot be read; `TextNotKept`, `Unfit`, `DocumentDamaged`.
pub async fn rebuild_default(
    root: &Path,
    settings: CollectionSettings,
    storage: &StorageSettings,
    mut done: impl FnMut(u64),
) -> Result<u64, EngineError> {
    let dir = root.join(CollectionName::default().as_str());
    let failed_store = |error: StorageError| EngineError::from(BackendError::from(error));
    let nothing = || BackendError::Store { reason: format!("no store in {}", dir.display()) };
    if !dir.join("store.sqlite").exists() {
        return Err(nothing().into());
    }
    let shingler = settings.unlimited_shingler();
    let old = Store::open(&dir, storage, |found| {
        let identity = found.ok_or_else(nothing)?.to_owned();
        Ok::<_, BackendError>((identity, shingler))
    })?;
    // Only once the store is locked, so that it is not another process's.
    let building = WorkDirectory::create(root.join(BUILDING))?;
    let stored = LocalCollection::new(building.path().to_owned(), settings, storage.clone());
    let new = Engine::open(&stored, &Opening::default())?;
    let mut records = old.export(Detail::Content, Order::Stored, ALL_ALIVE_MS).await;
    let (mut batch, mut documents) = (Vec::new(), 0);
    while records.recv_many(&mut batch, DOCUMENTS_AT_ONCE).await > 0 {
        let read: Result<Vec<Record>, StorageError> = batch.drain(..).collect();
        let records = read.map_err(failed_store)?;
        let count = records.len() as u64;
        new.copy_in(records).await?;
        documents += count;
        done(count);
    }
    new.close().await?;
    drop(new);
    old.close().map_err(failed_store)?;
    drop(old);
    let _lock = lock_directory(&dir).map_err(failed_store)?;
    replace_store(&dir, building.path()).map_err(failed(&dir))?;
    Ok(documents)
}

/// Replaces the store by a single atomic rename. A start would refuse the old store's snapshots, so
/// they are removed first; without snapshots, a start reads the sketches from the store.
fn replace_store(dir: &Path, new: &Path) -> io::Result<()> {
    check_log_empty(new)?;
    check_log_empty(dir)?;
    remove_directory(&dir.join("snapshots"))?;
    sync(dir)?;
    fs::rename(new.join("store.sqlite"), dir.join("store.sqlite"))?;
    fs::rename(new.join("snapshots"), dir.join("snapshots"))?;
    sync(dir)
}

/// Closing a store empties its write-ahead log, but for a full disk or a reader. The database
/// renamed alone would lose the documents of such a log.
fn check_log_empty(dir: &Path) -> io::Result<()> {
    let wal = dir.join("store.sqlite-wal");
    match fs::metadata(&wal) {
        Ok(found) if found.len() > 0 => Err(io::Error::other(format!(
            "{} could not be written into the database: the disk is full, or another program \
             reads the database",
            wal.display()
        ))),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_with_documents_in_its_log_replaces_nothing_and_is_not_replaced() {
        let root = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| root.path().join(name));
        for dir in [&old, &new] {
            fs::create_dir_all(dir.join("snapshots")).unwrap();
            fs::write(dir.join("store.sqlite"), dir.file_name().unwrap().as_encoded_bytes())
                .unwrap();
            fs::write(dir.join("store.sqlite-wal"), "").unwrap();
        }
        let replace = || replace_store(&old, &new);
        let database = || fs::read_to_string(old.join("store.sqlite")).unwrap();
        for dir in [&old, &new] {
            fs::write(dir.join("store.sqlite-wal"), "documents").unwrap();
            assert!(replace().unwrap_err().to_string().contains("could not be written"));
            assert!(old.join("snapshots").exists());
            assert_eq!(database(), "old");
            fs::write(dir.join("store.sqlite-wal"), "").unwrap();
        }
        replace().unwrap();
        assert_eq!(database(), "new");
    }
}
