//! What a collection is on disk.
//!
//! A directory with a `collection.json`, which holds the settings, is a collection, and one without
//! is none: each comes about and ends by a single rename. The store inside may be missing, if the
//! process ended before it was made; opening makes it.
//!
//! ```text
//! NAME/, NAME.2/, …        the first that is free when the collection is made
//!   collection.json        the collection is there
//!   collection.json.new    it was being made
//!   collection.json.gone   it was removed; a start clears what is left of it
//! ```
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
const GONE: &str = "collection.json.gone";

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
        self.write_settings(settings).map_err(failed(&self.dir))
    }

    fn write_settings(&self, settings: &CollectionSettings) -> io::Result<()> {
        let json = serde_json::to_vec_pretty(settings).expect("settings are plain JSON");
        let new = self.dir.join(NEW);
        let mut file = File::create(&new)?;
        file.write_all(&json)?;
        file.sync_all()?;
        fs::rename(new, self.dir.join(HERE))?;
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
        } else if entry.file_name() != GONE {
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
    Ok(found)
}

const NO_SETTINGS: &str = "there is data here, but no collection.json says what it is";

/// Was removed, or never quite made.
fn counts_for_nothing(dir: &Path) -> io::Result<bool> {
    if dir.join(GONE).try_exists()? {
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
