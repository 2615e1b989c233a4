//! A collection's files.
//!
//! A directory is a collection exactly if it has a `collection.json` with the settings, so a single
//! rename creates or removes a collection. It gets that file once its store is open, so that a
//! collection that cannot be opened is never created.
//!
//! ```text
//! NAME/, NAME.2/, …             the first free name when the collection is created
//!   collection.json             the collection exists
//!   collection.json.new         the file is being written
//!   collection.json.building    it is being created or reindexed from another directory
//!   collection.json.gone        it was removed; a start deletes the directory
//!   replaces                    the name of the directory from which it was reindexed
//! ```
//!
//! A reindexed collection takes over when its `collection.json.building` is renamed. It keeps
//! `replaces` until the old directory has its `collection.json.gone`; a start completes an
//! interrupted takeover.
//!
//! A removed collection's directory keeps its name while requests still read from it, because the
//! store opens its files by path. Hence the numbers.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use parking_lot::Mutex;

use crate::backend::{BackendError, Removal};
use crate::storage::{StorageSettings, read_small};
use akin_model::name::CollectionName;
use akin_model::settings::CollectionSettings;

pub(crate) use super::work_directory::{WorkDirectory, remove_directory};

const HERE: &str = "collection.json";
const NEW: &str = "collection.json.new";
const BUILDING: &str = "collection.json.building";
const GONE: &str = "collection.json.gone";
const REPLACES: &str = "replaces";

/// More than the settings of a collection need, with all of their stop words and equivalents.
const SETTINGS_BYTES_MAX: u64 = 16 << 20;

/// More than the name of a directory has.
const NAME_BYTES_MAX: u64 = 4096;

/// A collection's directory. If the collection was removed, dropping this deletes the directory, so
/// it must be dropped after everything that reads from it.
#[derive(Debug)]
pub struct LocalCollection {
    dir: PathBuf,
    pub(super) settings: CollectionSettings,
    pub(super) storage: StorageSettings,
    /// The collection whose name this collection takes over.
    replaced: Mutex<Option<Arc<Self>>>,
    removed: AtomicBool,
    /// The replaced collection may still be on disk, and would reappear without this file. The next
    /// start removes it.
    takeover_unfinished: AtomicBool,
}

/// The collections that a start finds in the data directory.
#[derive(Default)]
pub(crate) struct FoundDirectories {
    pub whole: Vec<(CollectionName, CollectionSettings, PathBuf)>,
    /// Directories of collections with an incomplete creation or removal.
    pub remains: Vec<PathBuf>,
    /// Directories that hold data but no readable settings.
    pub unclear: Vec<(CollectionName, BackendError)>,
}

impl LocalCollection {
    /// The collection in a directory, or none yet. The directory is not deleted when this is
    /// dropped.
    #[must_use]
    pub fn new(dir: PathBuf, settings: CollectionSettings, storage: StorageSettings) -> Self {
        let [removed, takeover_unfinished] = [const { AtomicBool::new(false) }; 2];
        Self { dir, settings, storage, replaced: Mutex::default(), removed, takeover_unfinished }
    }

    /// Creates a directory for a new collection, which may replace another collection. Dropping it
    /// deletes the files unless it [takes over](Self::take_over).
    pub(crate) fn building(
        root: &Path,
        name: &CollectionName,
        settings: &CollectionSettings,
        storage: &StorageSettings,
        replaced: Option<Arc<Self>>,
    ) -> Result<Self, BackendError> {
        replaced.as_deref().map_or(Ok(()), Self::check_taken_over)?;
        let dir = make_free_directory(root, name).map_err(failed(root))?;
        let mut new = Self::new(dir, settings.clone(), storage.clone());
        new.removed.store(true, Ordering::Relaxed);
        let written = write_settings(&new.dir, settings, BUILDING).and_then(|()| {
            let Some(replaced) = &replaced else { return Ok(()) };
            let replaced = replaced.dir.file_name().expect("a collection's directory has a name");
            write_synced(&new.dir.join(REPLACES), replaced.as_encoded_bytes())?;
            sync(&new.dir)
        });
        written.map_err(failed(&new.dir))?;
        new.replaced = Mutex::new(replaced);
        Ok(new)
    }

    /// The data directory, and the name of the collection.
    pub(super) fn root_and_name(&self) -> (&Path, CollectionName) {
        let name = self.dir.file_name().and_then(OsStr::to_str).and_then(name_in);
        let root = self.dir.parent().expect("a collection's directory is in another");
        (root, name.expect("a collection's directory has its name"))
    }

    /// Makes the directory a collection, in place of its predecessor, by a single rename.
    pub(crate) fn take_over(&self) -> Result<(), BackendError> {
        self.take_over_with(sync)
    }

    pub(crate) fn take_over_with(
        &self,
        sync: impl Fn(&Path) -> io::Result<()>,
    ) -> Result<(), BackendError> {
        let [building, here] = [BUILDING, HERE].map(|name| self.dir.join(name));
        fs::rename(&building, &here).map_err(failed(&self.dir))?;
        if let Err(error) = sync(&self.dir) {
            // A crash could undo the rename and lose later writes, so the old collection stays in
            // use.
            fs::rename(&here, &building).map_err(failed(&self.dir))?;
            return Err(failed(&self.dir)(error));
        }
        self.removed.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Removes the replaced collection. If that fails, the next start does it.
    pub(crate) fn remove_replaced(&self) -> Result<(), BackendError> {
        let replaced = self.replaced.lock().take();
        let Some(replaced) = replaced else { return Ok(()) };
        self.takeover_unfinished.store(true, Ordering::Relaxed);
        if let Removal::Uncertain(error) = replaced.mark_removed()? {
            return Err(error);
        }
        forget_replaced(&self.dir)?;
        self.takeover_unfinished.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn check_taken_over(&self) -> Result<(), BackendError> {
        if !self.takeover_unfinished.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(failed(&self.dir)(io::Error::other(UNFINISHED)))
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Marks the collection as removed; its files are deleted on drop or by the next start. They
    /// stay if the removal is uncertain: the next start finds out which it is.
    ///
    /// # Errors
    /// Nothing happened.
    pub(crate) fn mark_removed(&self) -> Result<Removal, BackendError> {
        self.check_taken_over()?;
        fs::rename(self.dir.join(HERE), self.dir.join(GONE)).map_err(failed(&self.dir))?;
        if let Err(error) = sync(&self.dir) {
            return Ok(Removal::Uncertain(failed(&self.dir)(error)));
        }
        self.removed.store(true, Ordering::Relaxed);
        Ok(Removal::Durable)
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Relaxed)
    }
}

impl Drop for LocalCollection {
    fn drop(&mut self) {
        if !self.is_removed() {
            return;
        }
        let dir = std::mem::take(&mut self.dir);
        // Deleting gigabytes would block a runtime thread.
        let cleared = thread::Builder::new().name("akin-remover".to_owned()).spawn(move || {
            if let Err(error) = clear(&dir) {
                let dir = dir.display();
                tracing::warn!(%dir, %error, "cannot delete a collection; the next start retries");
            }
        });
        if let Err(error) = cleared {
            tracing::warn!(%error, "cannot delete a removed collection; the next start retries");
        }
    }
}

/// Deletes the remains of a collection, its marker file last.
pub(crate) fn clear(dir: &Path) -> io::Result<()> {
    // If a power failure undid the mark but not the deletions, the directory would look like a
    // damaged collection.
    sync(dir)?;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != GONE && entry.file_name() != BUILDING {
            fs::remove_file(entry.path())?;
        }
    }
    sync(dir)?;
    fs::remove_dir_all(dir)
}

/// # Errors
/// The directory cannot be read, or a replacement cannot be completed.
pub(crate) fn find(root: &Path) -> Result<FoundDirectories, BackendError> {
    let mut found = FoundDirectories::default();
    for entry in fs::read_dir(root).map_err(failed(root))? {
        let entry = entry.map_err(failed(root))?;
        let Some(name) = name_of(&entry) else {
            tracing::warn!(path = %entry.path().display(), "ignored: this is not a collection");
            continue;
        };
        if name.is_default() {
            continue;
        }
        let dir = entry.path();
        match settings_in(&dir) {
            Ok(Some(settings)) => {
                found.whole.push((name, settings, dir));
            }
            Ok(None) => found.remains.push(dir),
            Err(error) => found.unclear.push((name, error)),
        }
    }
    found.end_takeovers()?;
    Ok(found)
}

/// The settings of the collection in a directory; `None` if the directory has only remains of a
/// collection.
///
/// # Errors
/// The directory holds data but no readable settings.
pub(crate) fn settings_in(dir: &Path) -> Result<Option<CollectionSettings>, BackendError> {
    match read_small(&dir.join(HERE), SETTINGS_BYTES_MAX) {
        Ok(json) => read_settings(&json).map(Some).map_err(failed(&dir.join(HERE))),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed(&dir.join(HERE))(error))
        }
        Err(_) if is_incomplete(dir).map_err(failed(dir))? => Ok(None),
        Err(_) => Err(failed(dir)(io::Error::other(NO_SETTINGS))),
    }
}

impl FoundDirectories {
    /// Whether a collection of this name exists, readable or not.
    pub fn has(&self, name: &CollectionName) -> bool {
        let whole = self.whole.iter().map(|(name, ..)| name);
        whole.chain(self.unclear.iter().map(|(name, _)| name)).any(|found| found == name)
    }

    /// Completes replacements that were interrupted, by removing the replaced collections.
    fn end_takeovers(&mut self) -> Result<(), BackendError> {
        let by_file = |dir: &Path, name: &[u8]| {
            dir.file_name().is_some_and(|own| own.as_encoded_bytes() == name)
        };
        let takeovers =
            self.whole.iter().filter_map(|(.., new)| Some((new.clone(), replaced_by(new)?)));
        for (new, replaced) in takeovers.collect::<Vec<_>>() {
            if let Some(at) = self.whole.iter().position(|(.., old)| by_file(old, &replaced)) {
                let (.., old) = self.whole.swap_remove(at);
                fs::rename(old.join(HERE), old.join(GONE)).map_err(failed(&old))?;
                sync(&old).map_err(failed(&old))?;
                self.remains.push(old);
            }
            forget_replaced(&new)?;
        }
        Ok(())
    }
}

/// The name of the directory that the collection in `dir` replaces, if that is not complete.
pub(crate) fn replaced_by(dir: &Path) -> Option<Vec<u8>> {
    read_small(&dir.join(REPLACES), NAME_BYTES_MAX).ok()
}

const UNFINISHED: &str = "the collection as it was before its reindex could not be removed; the \
                         next start does it, so restart akin first";

const NO_SETTINGS: &str = "the directory has data, but no collection.json says what it is";

/// Whether the collection was removed, or its creation or reindex did not complete.
fn is_incomplete(dir: &Path) -> io::Result<bool> {
    if dir.join(GONE).try_exists()? || dir.join(BUILDING).try_exists()? {
        return Ok(true);
    }
    for entry in fs::read_dir(dir)? {
        if entry?.file_name() != NEW {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The collection's name, if the entry is a directory with a valid name and number.
pub(crate) fn name_of(entry: &DirEntry) -> Option<CollectionName> {
    let is_dir = entry.file_type().ok()?.is_dir();
    is_dir.then(|| name_in(entry.file_name().to_str()?))?
}

/// The collection's name in that of its directory, if the latter has a valid name and number.
fn name_in(directory: &str) -> Option<CollectionName> {
    let (name, number) = directory.split_once('.').unwrap_or((directory, "1"));
    number.parse::<u32>().is_ok().then(|| CollectionName::new(name).ok())?
}

/// Writes the settings, which makes the directory a collection.
pub(crate) fn describe(dir: &Path, settings: &CollectionSettings) -> Result<(), BackendError> {
    write_settings(dir, settings, HERE).map_err(failed(dir))
}

fn write_settings(dir: &Path, settings: &CollectionSettings, name: &str) -> io::Result<()> {
    let json = serde_json::to_vec_pretty(settings).expect("settings are plain JSON");
    let new = dir.join(NEW);
    write_synced(&new, &json)?;
    fs::rename(new, dir.join(name))?;
    sync(dir)
}

/// Removes `replaces`, once the removal of the replaced collection is durable.
fn forget_replaced(dir: &Path) -> Result<(), BackendError> {
    let removed = fs::remove_file(dir.join(REPLACES));
    removed.and_then(|()| sync(dir)).map_err(failed(dir))
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn read_settings(json: &[u8]) -> io::Result<CollectionSettings> {
    let settings: CollectionSettings = serde_json::from_slice(json)?;
    match settings.faults().first() {
        None => Ok(settings),
        Some((section, fault)) => Err(io::Error::other(format!("{section}: {fault}"))),
    }
}

/// Possible directories of a collection, in the order in which they are tried.
fn candidates(root: &Path, name: &CollectionName) -> impl Iterator<Item = PathBuf> {
    let numbered = (2..u32::MAX).map(move |number| root.join(format!("{name}.{number}")));
    std::iter::once(root.join(name.as_str())).chain(numbered)
}

/// Moves a collection's directory to a free directory for this name. Must not run concurrently.
pub(crate) fn adopt(root: &Path, name: &CollectionName, from: &Path) -> Result<(), BackendError> {
    let free = candidates(root, name).find(|dir| !dir.exists()).expect("a number is free");
    fs::rename(from, &free).and_then(|()| sync(root)).map_err(failed(root))
}

fn make_free_directory(root: &Path, name: &CollectionName) -> io::Result<PathBuf> {
    for dir in candidates(root, name) {
        match fs::create_dir(&dir) {
            Ok(()) => return sync(root).map(|()| dir),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("no free directory name is left"))
}

/// Makes creations and renames in a directory durable.
pub(crate) fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Adds the path to an I/O error.
pub(crate) fn failed(path: &Path) -> impl FnOnce(io::Error) -> BackendError + use<> {
    let path = path.to_owned();
    move |error| BackendError::of_file(&path, &error)
}
