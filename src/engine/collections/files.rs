//! What a collection is on disk.
//!
//! A directory with a `collection.json`, which holds the settings, is a collection, and one without
//! is none: each comes about and ends by a single rename. The store inside may be missing, if the
//! process ended before it was made; opening makes it.
//!
//! ```text
//! NAME/, NAME.2/, …             the first that is free when the collection is made
//!   collection.json             the collection is there
//!   collection.json.new         it was being made
//!   collection.json.building    it is being built anew from another directory
//!   collection.json.gone        it was removed; a start clears what is left of it
//!   replaces                    names the directory that it was built from
//! ```
//!
//! A reindexed collection takes over when its `collection.json.building` is renamed. Its `replaces`
//! says so until the other directory has its `collection.json.gone`, and a start makes that good.
//!
//! A removed collection's directory keeps its name while requests under way still read from it:
//! the store opens its files by path. Hence the numbers.

use std::fs::{self, DirEntry, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::CollectionName;
use crate::engine::{CollectionSettings, EngineError};

const HERE: &str = "collection.json";
const NEW: &str = "collection.json.new";
const BUILDING: &str = "collection.json.building";
const GONE: &str = "collection.json.gone";
const REPLACES: &str = "replaces";

/// A collection's directory. If the collection was removed, what is in the directory goes when this
/// is dropped, so it must be dropped after whatever reads from there.
#[derive(Debug)]
pub(in crate::engine) struct CollectionFiles {
    dir: PathBuf,
    removed: AtomicBool,
}

/// What a start finds below the directory of all collections.
#[derive(Default)]
pub(in crate::engine) struct Found {
    pub whole: Vec<(CollectionName, CollectionSettings, CollectionFiles)>,
    /// Directories of what was never quite made or not quite removed.
    pub remains: Vec<PathBuf>,
}

impl CollectionFiles {
    /// The directory of a collection that is always there.
    pub fn permanent(dir: PathBuf) -> Self {
        Self { dir, removed: AtomicBool::new(false) }
    }

    /// Makes a collection without a store. Once this returns, a crash leaves it whole; before, it
    /// leaves nothing that counts.
    pub fn create(
        root: &Path,
        name: &CollectionName,
        settings: &CollectionSettings,
    ) -> Result<Self, EngineError> {
        let dir = make_free_directory(root, name).map_err(failed(root))?;
        let files = Self::permanent(dir);
        if let Err(error) = files.describe(settings) {
            files.removed.store(true, Ordering::Relaxed);
            return Err(error);
        }
        Ok(files)
    }

    /// Says what collection is in the directory, which makes it one.
    pub fn describe(&self, settings: &CollectionSettings) -> Result<(), EngineError> {
        self.write_settings(settings, HERE).map_err(failed(&self.dir))
    }

    /// Makes a directory for a collection that is to take the place of the one in `replaced`. Its
    /// files go with it unless it [takes over](Self::take_over).
    pub fn begin_building(
        root: &Path,
        name: &CollectionName,
        settings: &CollectionSettings,
        replaced: &Self,
    ) -> Result<Self, EngineError> {
        let dir = make_free_directory(root, name).map_err(failed(root))?;
        let files = Self { dir, removed: AtomicBool::new(true) };
        let replaced = replaced.dir.file_name().expect("a collection's directory has a name");
        let written = files
            .write_settings(settings, BUILDING)
            .and_then(|()| write_synced(&files.dir.join(REPLACES), replaced.as_encoded_bytes()))
            .and_then(|()| sync(&files.dir));
        written.map_err(failed(&files.dir)).map(|()| files)
    }

    /// By one rename; a crash before it leaves the old collection, one after it the new.
    pub fn take_over(&self) -> Result<(), EngineError> {
        let [building, here] = [BUILDING, HERE].map(|name| self.dir.join(name));
        fs::rename(&building, &here).map_err(failed(&self.dir))?;
        if let Err(error) = sync(&self.dir) {
            // What is written from now on must not go to the one while the other may come back.
            fs::rename(&here, &building).map_err(failed(&self.dir))?;
            return Err(failed(&self.dir)(error));
        }
        self.removed.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// The collection that this one has replaced is gone for good.
    pub fn forget_replaced(&self) -> Result<(), EngineError> {
        let removed = fs::remove_file(self.dir.join(REPLACES));
        removed.and_then(|()| sync(&self.dir)).map_err(failed(&self.dir))
    }

    fn write_settings(&self, settings: &CollectionSettings, name: &str) -> io::Result<()> {
        let json = serde_json::to_vec_pretty(settings).expect("settings are plain JSON");
        let new = self.dir.join(NEW);
        write_synced(&new, &json)?;
        fs::rename(new, self.dir.join(name))?;
        sync(&self.dir)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// From here on there is no such collection on disk, whatever of its files is still there.
    ///
    /// # Errors
    /// Whether it is gone after a power cut is not known; [`Self::is_removed`] says whether it is
    /// now.
    pub fn remove(&self) -> Result<(), EngineError> {
        let failed = failed(&self.dir);
        if let Err(error) = fs::rename(self.dir.join(HERE), self.dir.join(GONE)) {
            return Err(failed(error));
        }
        self.removed.store(true, Ordering::Relaxed);
        sync(&self.dir).map_err(failed)
    }

    pub fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Relaxed)
    }
}

impl Drop for CollectionFiles {
    fn drop(&mut self) {
        if !self.is_removed() {
            return;
        }
        let dir = std::mem::take(&mut self.dir);
        // A runtime's thread should not wait for gigabytes to be freed.
        let cleared = thread::Builder::new().name("akin-remover".to_owned()).spawn(move || {
            if let Err(error) = clear(&dir) {
                tracing::warn!(dir = %dir.display(), %error, "the next start removes the rest");
            }
        });
        if let Err(error) = cleared {
            tracing::warn!(%error, "the next start removes a collection's files");
        }
    }
}

/// Removes what is left of a collection, the mark that says so last.
pub(super) fn clear(dir: &Path) -> io::Result<()> {
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
/// A directory holds data but nothing that says what collection it is, or cannot be read.
pub(in crate::engine) fn find(root: &Path) -> Result<Found, EngineError> {
    let mut found = Found::default();
    for entry in fs::read_dir(root).map_err(failed(root))? {
        let entry = entry.map_err(failed(root))?;
        let Some(name) = name_of(&entry) else {
            tracing::warn!(path = %entry.path().display(), "this is no collection: left alone");
            continue;
        };
        let dir = entry.path();
        if name.is_default() {
            continue;
        }
        match fs::read(dir.join(HERE)) {
            Ok(json) => {
                let settings = read_settings(&json).map_err(failed(&dir.join(HERE)))?;
                found.whole.push((name, settings, CollectionFiles::permanent(dir)));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(&dir.join(HERE))(error));
            }
            Err(_) if counts_for_nothing(&dir).map_err(failed(&dir))? => found.remains.push(dir),
            Err(_) => return Err(failed(&dir)(io::Error::other(NO_SETTINGS))),
        }
    }
    found.end_takeovers()?;
    Ok(found)
}

impl Found {
    /// Lets those go that were replaced when the process ended.
    fn end_takeovers(&mut self) -> Result<(), EngineError> {
        let replaced_by = |files: &CollectionFiles| fs::read(files.dir.join(REPLACES)).ok();
        let by_file = |files: &CollectionFiles, name: &[u8]| {
            files.dir.file_name().is_some_and(|own| own.as_encoded_bytes() == name)
        };
        let takeovers =
            self.whole.iter().filter_map(|(.., new)| Some((new.dir.clone(), replaced_by(new)?)));
        for (new, replaced) in takeovers.collect::<Vec<_>>() {
            if let Some(at) = self.whole.iter().position(|(.., old)| by_file(old, &replaced)) {
                let (.., old) = self.whole.swap_remove(at);
                fs::rename(old.dir.join(HERE), old.dir.join(GONE)).map_err(failed(&old.dir))?;
                sync(&old.dir).map_err(failed(&old.dir))?;
                self.remains.push(old.dir.clone());
            }
            CollectionFiles::permanent(new).forget_replaced()?;
        }
        Ok(())
    }
}

const NO_SETTINGS: &str = "there is data here, but no collection.json says what it is";

/// Was removed, or never quite made or built.
fn counts_for_nothing(dir: &Path) -> io::Result<bool> {
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

/// The name before the number, if it is a directory that may be a collection's.
fn name_of(entry: &DirEntry) -> Option<CollectionName> {
    let file_name = entry.file_name();
    let (name, number) = match file_name.to_str()?.split_once('.') {
        Some((name, number)) => (name, number),
        None => (file_name.to_str()?, "1"),
    };
    let is_dir = entry.file_type().ok()?.is_dir();
    (is_dir && number.parse::<u32>().is_ok()).then(|| CollectionName::new(name).ok())?
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn read_settings(json: &[u8]) -> io::Result<CollectionSettings> {
    let settings = CollectionSettings::from_stored(serde_json::from_slice(json)?)?;
    match settings.faults().first() {
        None => Ok(settings),
        Some((section, fault)) => Err(io::Error::other(format!("{section}: {fault}"))),
    }
}

/// Where a collection may be, in the order in which it is tried.
fn places(root: &Path, name: &CollectionName) -> impl Iterator<Item = PathBuf> {
    let numbered = (2..u32::MAX).map(move |number| root.join(format!("{name}.{number}")));
    std::iter::once(root.join(name.as_str())).chain(numbered)
}

/// Makes a directory that is a collection already that of this name. Nobody else may be making one.
pub(in crate::engine) fn adopt(
    root: &Path,
    name: &CollectionName,
    from: &Path,
) -> Result<(), EngineError> {
    let free = places(root, name).find(|place| !place.exists()).expect("few have one name");
    fs::rename(from, &free).and_then(|()| sync(root)).map_err(failed(root))
}

fn make_free_directory(root: &Path, name: &CollectionName) -> io::Result<PathBuf> {
    for dir in places(root, name) {
        match fs::create_dir(&dir) {
            Ok(()) => return sync(root).map(|()| dir),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("every number is taken"))
}

/// Makes what was created or renamed in a directory survive a power cut.
pub(in crate::engine) fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Names the path that an operation failed on.
pub(in crate::engine) fn failed(path: &Path) -> impl FnOnce(io::Error) -> EngineError + use<> {
    let path = path.to_owned();
    move |error| EngineError::Store { reason: format!("{}: {error}", path.display()) }
}
