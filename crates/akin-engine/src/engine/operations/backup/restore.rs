//! Restores collections from a backup, while no server runs on the directory.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tar::{Archive, Entry};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::{FORMAT, MANIFEST, MANIFEST_CHECKSUM, Manifest, SavedCollection, hexadecimal};
use crate::backend::directory::files::{self, WorkDirectory};
use crate::backend::directory::{
    Expected, Finding, StorageError, StorageSettings, check_room, inspect, lock_directory,
    stored_identity,
};
use crate::backend::{BackendError, seeded};
use crate::engine::{CollectionName, CollectionSettings, EngineError};

/// The directory in which collections are unpacked and verified. Not a valid collection name.
const PREPARED: &str = ".restoring";

const STORE: &str = "store.sqlite";

/// More than the settings of a thousand collections need.
const MANIFEST_BYTES_MAX: u64 = 16 << 20;

/// More than a server serves.
const STORES_MAX: usize = 10_000;

/// The begin of a database: its magic number, the size of its pages and their number.
const DATABASE_HEAD_BYTES: usize = 32;

const COPY_BYTES: usize = 256 << 10;

/// The parameters of a restore.
pub struct Restoring<'a> {
    /// The directory of all collections.
    pub root: &'a Path,
    /// Restore only this collection.
    pub only: Option<CollectionName>,
    /// The new name of the collection; only for a backup of a single collection.
    pub rename: Option<CollectionName>,
    /// The configured settings of `default`, which has none on disk.
    pub default: &'a CollectionSettings,
}

/// A restored collection.
#[derive(Debug)]
pub struct Restored {
    pub name: CollectionName,
    pub documents: u64,
}

/// A collection that is to be restored.
struct SelectedCollection {
    saved: SavedCollection,
    /// The directory in which it is unpacked.
    prepared: PathBuf,
    name: CollectionName,
}

/// Unpacks the backup, verifies all of its checksums, and only then moves the collections into
/// place. Blocks.
///
/// # Errors
/// [`EngineError::Backup`]: it is not an intact backup, or a collection in it exists already or
/// does not fit the configuration; nothing is restored then. [`BackendError::NoRoom`]: the disk has
/// no room for the size that a store in it declares. [`BackendError::Store`]: the directory is in
/// use, or cannot be written.
pub fn restore(backup: impl Read, restoring: &Restoring<'_>) -> Result<Vec<Restored>, EngineError> {
    let default = restoring.root.join(CollectionName::default().as_str());
    let _lock =
        lock_directory(&default).map_err(|error| EngineError::from(BackendError::from(error)))?;
    let prepared = WorkDirectory::create(restoring.root.join(PREPARED))?;
    let unpack = |entry: &mut dyn Read, name: &CollectionName, bytes: u64| {
        let is_wanted = restoring.only.as_ref().is_none_or(|only| only == name);
        match is_wanted {
            true => unpack_store(entry, bytes, &prepared.path().join(name.as_str())),
            false => hash_only(entry),
        }
    };
    let manifest = read(backup, unpack)?;
    let selected = select(manifest, restoring, prepared.path())?;
    for collection in &selected {
        collection.check_target(restoring)?;
    }
    let mut restored = Vec::new();
    for collection in &selected {
        let documents = collection.verify()?;
        restored.push(Restored { name: collection.name.clone(), documents });
    }
    selected.iter().try_for_each(|collection| collection.move_into(restoring.root))?;
    Ok(restored)
}

/// Reads a whole backup and verifies its checksums. Blocks. (The rows of each store were verified
/// when the backup was made.)
///
/// # Errors
/// [`EngineError::Backup`]: it is not intact.
#[cfg(any(test, fuzzing, feature = "fuzzing"))]
pub fn check_backup(backup: impl Read) -> Result<(), EngineError> {
    read(backup, |entry, _, _| hash_only(entry)).map(drop)
}

/// A store as it is in the archive: its name, its length and its checksum.
type ReadStore = (String, u64, String);

/// Reads a backup, checks that it matches its manifest, and returns that. `store` reads a store of
/// a declared length and returns its checksum.
fn read(
    backup: impl Read,
    mut store: impl FnMut(&mut dyn Read, &CollectionName, u64) -> Result<String, EngineError>,
) -> Result<Manifest, EngineError> {
    let mut archive = Archive::new(backup);
    let mut stores = Vec::new();
    let mut manifest = None;
    // Raw: `tar` would read long names and extended headers, which backups do not have, into
    // memory, however long they are.
    for entry in archive.entries().map_err(|error| broken(&error))?.raw(true) {
        let mut entry = entry.map_err(|error| broken(&error))?;
        let path = entry.path().map_err(|error| broken(&error))?.to_string_lossy().into_owned();
        match (path.as_str(), path.strip_suffix(".sqlite")) {
            (MANIFEST, _) => manifest = Some(small(entry)?),
            (MANIFEST_CHECKSUM, _) => {
                let checksum = small(entry)?;
                return read_manifest(&manifest.unwrap_or_default(), &checksum, &stores);
            }
            (_, Some(name)) if entry.header().entry_type().is_file() => {
                let name = CollectionName::new(name).map_err(|error| broken(&error))?;
                if stores.len() == STORES_MAX {
                    return Err(broken(&format!("it has more than {STORES_MAX} collections")));
                }
                let bytes = entry.size();
                // The entry ends after the bytes that it declares.
                let checksum = store(&mut entry, &name, bytes)?;
                stores.push((name.to_string(), bytes, checksum));
            }
            _ => return Err(broken(&format!("unexpected entry '{path}'"))),
        }
    }
    Err(broken(&"it is truncated"))
}

fn small(entry: Entry<'_, impl Read>) -> Result<Vec<u8>, EngineError> {
    if entry.size() > MANIFEST_BYTES_MAX {
        return Err(broken(&format!("its manifest has more than {MANIFEST_BYTES_MAX} bytes")));
    }
    let mut bytes = Vec::new();
    entry.take(MANIFEST_BYTES_MAX).read_to_end(&mut bytes).map_err(|error| broken(&error))?;
    Ok(bytes)
}

fn hash_only(entry: &mut dyn Read) -> Result<String, EngineError> {
    hash_into(entry, io::sink(), |error| broken(&error))
}

/// Returns the checksum. A small compressed file may declare any length. So before the rest is
/// unpacked the disk must have room for the declared length, and the store must begin like a
/// database of that length.
fn unpack_store(entry: &mut dyn Read, bytes: u64, dir: &Path) -> Result<String, EngineError> {
    fs::create_dir(dir).map_err(files::failed(dir))?;
    let reserve_bytes = StorageSettings::default().disk_free_min_bytes;
    check_room(dir, "a store in the backup", bytes, reserve_bytes).map_err(BackendError::from)?;
    let mut head = Vec::new();
    let mut begin = Read::take(&mut *entry, DATABASE_HEAD_BYTES as u64);
    begin.read_to_end(&mut head).map_err(|error| broken(&error))?;
    if database_bytes(&head) != Some(bytes) {
        return Err(broken(&"one of its stores is not a database of the length that it declares"));
    }
    let path = dir.join(STORE);
    let file = File::create(&path).map_err(files::failed(&path))?;
    let whole = &mut head.as_slice().chain(entry);
    let checksum = hash_into(whole, &file, |error| files::failed(&path)(error).into())?;
    file.sync_all().map_err(files::failed(&path))?;
    Ok(checksum)
}

/// The length of a database that begins with these bytes: the size of its pages times their number
/// (the file format of SQLite, section 1.3).
fn database_bytes(head: &[u8]) -> Option<u64> {
    let head: &[u8; DATABASE_HEAD_BYTES] = head.try_into().ok()?;
    let page_bytes = match u16::from_be_bytes([head[16], head[17]]) {
        1 => 1 << 16,
        bytes => u64::from(bytes),
    };
    let pages = u32::from_be_bytes([head[28], head[29], head[30], head[31]]);
    head.starts_with(b"SQLite format 3\0").then_some(page_bytes * u64::from(pages))
}

/// Copies a store and returns its checksum.
fn hash_into(
    entry: &mut dyn Read,
    mut into: impl io::Write,
    unwritable: impl Fn(io::Error) -> EngineError,
) -> Result<String, EngineError> {
    let mut hash = Xxh3Default::new();
    let mut piece = vec![0; COPY_BYTES];
    loop {
        let read = entry.read(&mut piece).map_err(|error| broken(&error))?;
        if read == 0 {
            return Ok(hexadecimal(hash.digest()));
        }
        hash.update(&piece[..read]);
        into.write_all(&piece[..read]).map_err(&unwritable)?;
    }
}

fn read_manifest(
    json: &[u8],
    checksum: &[u8],
    stores: &[ReadStore],
) -> Result<Manifest, EngineError> {
    if hexadecimal(xxh3_64(json)).as_bytes() != checksum {
        return Err(broken(&"its manifest does not match its checksum"));
    }
    let manifest: Manifest = serde_json::from_slice(json).map_err(|error| broken(&error))?;
    if manifest.format != FORMAT {
        let reason = format!(
            "the backup has format {}, and this version of akin reads format {FORMAT}: restore it \
             with the version that made it",
            manifest.format
        );
        return Err(EngineError::Backup { reason });
    }
    let known = manifest.collections.iter().map(|of| (&of.name, of.bytes, &of.xxh3));
    if !known.eq(stores.iter().map(|(name, bytes, sum)| (name, *bytes, sum))) {
        return Err(broken(&"a collection does not match its checksum"));
    }
    Ok(manifest)
}

fn select(
    manifest: Manifest,
    restoring: &Restoring<'_>,
    prepared: &Path,
) -> Result<Vec<SelectedCollection>, EngineError> {
    let names: Vec<String> = manifest.collections.iter().map(|saved| saved.name.clone()).collect();
    let is_selected = |saved: &SavedCollection| {
        restoring.only.as_ref().is_none_or(|only| only.as_str() == saved.name)
    };
    let saved: Vec<_> = manifest.collections.into_iter().filter(is_selected).collect();
    let names = names.join(", ");
    if let (Some(only), true) = (&restoring.only, saved.is_empty()) {
        let reason = format!("the backup has no collection '{only}', only {names}");
        return Err(EngineError::Backup { reason });
    }
    if restoring.rename.is_some() && saved.len() != 1 {
        let reason = format!("only a single collection can be renamed, and the backup has {names}");
        return Err(EngineError::Backup { reason });
    }
    let selected = |saved: SavedCollection| {
        let name = CollectionName::new(&saved.name).map_err(|error| broken(&error))?;
        let prepared = prepared.join(name.as_str());
        let name = restoring.rename.clone().unwrap_or(name);
        Ok(SelectedCollection { saved, prepared, name })
    };
    saved.into_iter().map(selected).collect()
}

impl SelectedCollection {
    /// Its settings with the seed of the unpacked store.
    fn seeded(&self) -> Result<CollectionSettings, EngineError> {
        let identity = stored_identity(&self.prepared).map_err(|error| store(&error))?;
        Ok(seeded(&self.saved.settings, identity.as_deref())?)
    }

    /// Checks that the collection does not exist and fits the configuration.
    fn check_target(&self, restoring: &Restoring<'_>) -> Result<(), EngineError> {
        let name = &self.name;
        let taken = match name.is_default() {
            true => {
                let dir = restoring.root.join(name.as_str());
                let entries = fs::read_dir(&dir).map_err(files::failed(&dir))?;
                entries.flatten().any(|entry| entry.file_name() != "lock")
            }
            false => files::find(restoring.root)?.has(name),
        };
        if taken {
            let reason = format!("the collection '{name}' exists already");
            return Err(EngineError::Backup { reason });
        }
        let saved = &self.seeded()?;
        let mut configured = restoring.default.clone();
        configured.sketch.seed = configured.sketch.seed.or(saved.sketch.seed);
        let configured = &configured;
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

    /// Verifies the unpacked store and returns its number of documents.
    fn verify(&self) -> Result<u64, EngineError> {
        let settings = &self.saved.settings;
        if let Some((part, fault)) = settings.faults().first() {
            return Err(broken(&format!("{part}: {fault}")));
        }
        let inspection = inspect(&self.prepared, &Expected::of(&self.seeded()?));
        match inspection.first_damage() {
            None => Ok(inspection.documents),
            Some(Finding { what, .. }) => {
                Err(broken(&format!("collection '{}': {what}", self.saved.name)))
            }
        }
    }

    /// Moves the collection into place, by a single atomic rename.
    fn move_into(&self, root: &Path) -> Result<(), EngineError> {
        if self.name.is_default() {
            let dir = root.join(self.name.as_str());
            let moved = fs::rename(self.prepared.join(STORE), dir.join(STORE));
            moved.and_then(|()| files::sync(&dir)).map_err(files::failed(&dir))?;
            return Ok(());
        }
        files::describe(&self.prepared, &self.saved.settings)?;
        Ok(files::adopt(root, &self.name, &self.prepared)?)
    }
}

/// The store identity of settings; their debug text if they are invalid, which equals no identity.
fn identity(settings: &CollectionSettings) -> String {
    match settings.faults().is_empty() {
        true => Expected::of(settings).identity,
        false => format!("{settings:?}"),
    }
}

fn broken(what: &dyn std::fmt::Display) -> EngineError {
    EngineError::Backup { reason: format!("not a complete akin backup: {what}") }
}

fn store(error: &StorageError) -> EngineError {
    BackendError::Store { reason: error.to_string() }.into()
}
