//! A backup → collections on disk, while no server has them open.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tar::{Archive, Entry};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::{FORMAT, MANIFEST, MANIFEST_CHECKSUM, Manifest, SavedCollection, hexadecimal};
use crate::engine::collections::files::{self, CollectionFiles};
use crate::engine::{Analyser, CollectionName, CollectionSettings, EngineError};
use crate::storage::{StorageSettings, lock_directory, verify};

/// Where collections are until all of them are known to be whole: no collection's name.
const PREPARED: &str = ".restoring";

const STORE: &str = "store.sqlite";

/// The settings of a thousand collections are less.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;

const COPY_BYTES: usize = 256 << 10;

/// What is restored, and where.
pub struct Restoring<'a> {
    /// The directory of all collections.
    pub root: &'a Path,
    /// Of the backup's collections only this one.
    pub only: Option<CollectionName>,
    /// Under this name, if it is one collection.
    pub rename: Option<CollectionName>,
    /// What the configuration says of `default`, which has no settings of its own on disk.
    pub default: &'a CollectionSettings,
}

/// A collection that is there again.
#[derive(Debug)]
pub struct Restored {
    pub name: CollectionName,
    pub documents: u64,
}

/// A collection of the backup that is wanted.
struct Wanted {
    saved: SavedCollection,
    /// Its directory while it is prepared.
    prepared: PathBuf,
    name: CollectionName,
}

/// Unpacks the backup, reads all of it by its checksums, and only then puts it in its place.
/// Blocks.
///
/// # Errors
/// [`EngineError::Backup`]: it is no whole backup, or one of its collections is there already or
/// does not fit the configuration; nothing is restored then. [`EngineError::Store`]: the directory
/// is in use, or cannot be written.
pub fn restore(backup: impl Read, restoring: &Restoring<'_>) -> Result<Vec<Restored>, EngineError> {
    let default = restoring.root.join(CollectionName::default().as_str());
    let _lock = lock_directory(&default).map_err(|error| store(&error))?;
    let prepared = Prepared::new(restoring.root)?;
    let manifest = unpack(backup, &prepared.0)?;
    let wanted = wanted(manifest, restoring, &prepared.0)?;
    for collection in &wanted {
        collection.check_place(restoring)?;
    }
    let mut restored = Vec::new();
    for collection in &wanted {
        let documents = collection.verify()?;
        restored.push(Restored { name: collection.name.clone(), documents });
    }
    wanted.iter().try_for_each(|collection| collection.place(restoring.root))?;
    Ok(restored)
}

/// A directory that goes with what is still in it.
struct Prepared(PathBuf);

impl Prepared {
    fn new(root: &Path) -> Result<Self, EngineError> {
        let dir = root.join(PREPARED);
        if dir.exists() {
            fs::remove_dir_all(&dir).map_err(files::failed(&dir))?;
        }
        fs::create_dir(&dir).map_err(files::failed(&dir))?;
        Ok(Self(dir))
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(dir = %self.0.display(), %error, "the next restore removes it");
        }
    }
}

/// Every store into a directory of its own, whose checksum must be the manifest's.
fn unpack(backup: impl Read, into: &Path) -> Result<Manifest, EngineError> {
    let mut archive = Archive::new(backup);
    let mut sums = Vec::new();
    let mut manifest = None;
    for entry in archive.entries().map_err(|error| broken(&error))? {
        let entry = entry.map_err(|error| broken(&error))?;
        let path = entry.path().map_err(|error| broken(&error))?.to_string_lossy().into_owned();
        match (path.as_str(), path.strip_suffix(".sqlite")) {
            (MANIFEST, _) => manifest = Some(small(entry)?),
            (MANIFEST_CHECKSUM, _) => {
                let checksum = small(entry)?;
                return read_manifest(&manifest.unwrap_or_default(), &checksum, &sums);
            }
            (_, Some(name)) if entry.header().entry_type().is_file() => {
                let name = CollectionName::new(name).map_err(|error| broken(&error))?;
                sums.push((name.to_string(), unpack_store(entry, &into.join(name.as_str()))?));
            }
            _ => return Err(broken(&format!("'{path}' does not belong there"))),
        }
    }
    Err(broken(&"it breaks off"))
}

fn small(entry: Entry<'_, impl Read>) -> Result<Vec<u8>, EngineError> {
    let mut bytes = Vec::new();
    entry.take(MANIFEST_BYTES_MAX).read_to_end(&mut bytes).map_err(|error| broken(&error))?;
    Ok(bytes)
}

/// Gives back the checksum.
fn unpack_store(mut entry: Entry<'_, impl Read>, dir: &Path) -> Result<String, EngineError> {
    fs::create_dir(dir).map_err(files::failed(dir))?;
    let path = dir.join(STORE);
    let mut file = File::create(&path).map_err(files::failed(&path))?;
    let mut hash = Xxh3Default::new();
    let mut piece = vec![0; COPY_BYTES];
    loop {
        let read = entry.read(&mut piece).map_err(|error| broken(&error))?;
        if read == 0 {
            break;
        }
        hash.update(&piece[..read]);
        io::Write::write_all(&mut file, &piece[..read]).map_err(files::failed(&path))?;
    }
    file.sync_all().map_err(files::failed(&path))?;
    Ok(hexadecimal(hash.digest()))
}

fn read_manifest(
    json: &[u8],
    checksum: &[u8],
    sums: &[(String, String)],
) -> Result<Manifest, EngineError> {
    if hexadecimal(xxh3_64(json)).as_bytes() != checksum {
        return Err(broken(&"its manifest does not have its checksum"));
    }
    let manifest: Manifest = serde_json::from_slice(json).map_err(|error| broken(&error))?;
    if manifest.format > FORMAT {
        let reason = format!(
            "the backup has format {}; this version knows formats up to {FORMAT}",
            manifest.format
        );
        return Err(EngineError::Backup { reason });
    }
    let known = manifest.collections.iter().map(|saved| (&saved.name, &saved.xxh3));
    if !known.eq(sums.iter().map(|(name, sum)| (name, sum))) {
        return Err(broken(&"a collection does not have its checksum"));
    }
    Ok(manifest)
}

fn wanted(
    manifest: Manifest,
    restoring: &Restoring<'_>,
    prepared: &Path,
) -> Result<Vec<Wanted>, EngineError> {
    let there: Vec<String> = manifest.collections.iter().map(|saved| saved.name.clone()).collect();
    let is_wanted = |saved: &SavedCollection| {
        restoring.only.as_ref().is_none_or(|only| only.as_str() == saved.name)
    };
    let saved: Vec<_> = manifest.collections.into_iter().filter(is_wanted).collect();
    let there = there.join(", ");
    if let (Some(only), true) = (&restoring.only, saved.is_empty()) {
        let reason = format!("the backup has no collection '{only}', only {there}");
        return Err(EngineError::Backup { reason });
    }
    if restoring.rename.is_some() && saved.len() != 1 {
        let reason = format!("only one collection can have another name, and there are {there}");
        return Err(EngineError::Backup { reason });
    }
    let wanted = |saved: SavedCollection| {
        let name = CollectionName::new(&saved.name).map_err(|error| broken(&error))?;
        let prepared = prepared.join(name.as_str());
        let name = restoring.rename.clone().unwrap_or(name);
        Ok(Wanted { saved, prepared, name })
    };
    saved.into_iter().map(wanted).collect()
}

impl Wanted {
    /// Whether it may take its place.
    fn check_place(&self, restoring: &Restoring<'_>) -> Result<(), EngineError> {
        let name = &self.name;
        let taken = match name.is_default() {
            true => {
                let dir = restoring.root.join(name.as_str());
                let there = fs::read_dir(&dir).map_err(files::failed(&dir))?;
                there.flatten().any(|entry| entry.file_name() != "lock")
            }
            false => files::find(restoring.root)?.whole.iter().any(|(whole, ..)| whole == name),
        };
        if taken {
            let reason = format!("the collection '{name}' is there already");
            return Err(EngineError::Backup { reason });
        }
        let (configured, saved) = (restoring.default, &self.saved.settings);
        if name.is_default() && identity(configured) != identity(saved) {
            let reason = format!(
                "the collection 'default' was made with the settings {}, but the configuration \
                 has {}",
                identity(saved),
                identity(configured)
            );
            return Err(EngineError::Backup { reason });
        }
        Ok(())
    }

    /// Gives back how many documents there are.
    fn verify(&self) -> Result<u64, EngineError> {
        let settings = &self.saved.settings;
        if let Some((part, fault)) = settings.faults().first() {
            return Err(broken(&format!("{part}: {fault}")));
        }
        let verified = verify(
            &self.prepared,
            &StorageSettings::default(),
            &identity(settings),
            settings.unlimited_shingler(),
        );
        verified.map_err(|error| broken(&format!("collection '{}': {error}", self.saved.name)))
    }

    /// One rename, after which the collection is there.
    fn place(&self, root: &Path) -> Result<(), EngineError> {
        if self.name.is_default() {
            let place = root.join(self.name.as_str());
            let moved = fs::rename(self.prepared.join(STORE), place.join(STORE));
            return moved.and_then(|()| files::sync(&place)).map_err(files::failed(&place));
        }
        let prepared = CollectionFiles::permanent(self.prepared.clone());
        prepared.describe(&self.saved.settings)?;
        files::adopt(root, &self.name, &self.prepared)
    }
}

/// What is the same for all settings under which a store may be opened. Settings with faults have
/// none in common with others.
fn identity(settings: &CollectionSettings) -> String {
    match settings.faults().is_empty() {
        true => settings.identity(&Analyser::new(settings).scheme),
        false => format!("{settings:?}"),
    }
}

fn broken(what: &dyn std::fmt::Display) -> EngineError {
    EngineError::Backup { reason: format!("it is no whole backup of akin: {what}") }
}

fn store(error: &crate::storage::StorageError) -> EngineError {
    EngineError::Store { reason: error.to_string() }
}
