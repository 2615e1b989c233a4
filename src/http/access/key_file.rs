//! The file of keys: JSON, readable by its owner alone, replaced by a rename.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::http::access::ApiKey;
use crate::trusted_file::{self, FileContent, FileError, FileVersion};

/// The file's name within the data directory.
pub const DEFAULT_NAME: &str = "keys.json";

/// Each request is compared with all keys.
const KEYS_MAX: usize = 1_000;

const BYTES_MAX: u64 = 16 << 20;

/// Why the file of keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("cannot read the keys in {}: {source}", .path.display())]
    Read { path: PathBuf, source: FileError },
    #[error("cannot write the keys to {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("the file of keys {} is damaged: {reason}", .path.display())]
    Damaged { path: PathBuf, reason: String },
}

impl KeyFileError {
    pub(super) fn unreadable(path: &Path, error: io::Error) -> Self {
        Self::Read { path: path.to_owned(), source: error.into() }
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyList {
    keys: Vec<ApiKey>,
}

/// The keys of a file, and which of its versions has them.
#[derive(Debug)]
pub struct StoredKeys {
    pub keys: Vec<ApiKey>,
    pub version: FileVersion,
}

/// The keys in the file; `None` if there is no file. Blocks.
///
/// # Errors
/// The file cannot be read, is damaged, or everyone may write it.
pub fn read(path: &Path) -> Result<Option<StoredKeys>, KeyFileError> {
    let FileContent { bytes, version } = match trusted_file::read(path, BYTES_MAX) {
        Ok(content) => content,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(source) => return Err(KeyFileError::Read { path: path.to_owned(), source }),
    };
    let damaged = |reason| KeyFileError::Damaged { path: path.to_owned(), reason };
    let KeyList { keys } =
        serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    match fault(&keys) {
        Some(fault) => Err(damaged(fault)),
        None => Ok(Some(StoredKeys { keys, version })),
    }
}

/// The fault of the keys of a file, if they have a fault.
pub fn fault(keys: &[ApiKey]) -> Option<String> {
    if keys.len() > KEYS_MAX {
        return Some(format!("there are {} keys, more than {KEYS_MAX}", keys.len()));
    }
    let mut names: Vec<_> = keys.iter().map(|key| &key.name).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    let twice = twice.map(|pair| format!("there is a key '{}' already", pair[0]));
    twice.or_else(|| keys.iter().find_map(ApiKey::fault))
}

/// Reads the keys, lets `change` change them and writes them, while no other process does the same.
///
/// # Errors
/// The file cannot be read or written, or is damaged; or the error of `change`.
pub fn change<T, E: From<KeyFileError>>(
    path: &Path,
    change: impl FnOnce(&mut Vec<ApiKey>) -> Result<T, E>,
) -> Result<T, E> {
    let failed = |source| KeyFileError::Write { path: path.to_owned(), source };
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    fs::create_dir_all(dir).map_err(failed)?;
    let dir = File::open(dir).map(|file| (dir, file)).map_err(failed)?;
    dir.1.lock().map_err(failed)?;
    let mut keys = read(path)?.map(|stored| stored.keys).unwrap_or_default();
    let changed = change(&mut keys)?;
    write(path, dir, keys).map_err(failed)?;
    Ok(changed)
}

fn write(path: &Path, (dir, dir_file): (&Path, File), keys: Vec<ApiKey>) -> io::Result<()> {
    // Readable by its owner alone from the start.
    let mut file = NamedTempFile::new_in(dir)?;
    serde_json::to_writer_pretty(&mut file, &KeyList { keys })?;
    file.write_all(b"\n")?;
    // The server may run as another user than an operator's root.
    let (owner, own) = (dir_file.metadata()?, file.as_file().metadata()?);
    if (owner.uid(), owner.gid()) != (own.uid(), own.gid()) && own.uid() == 0 {
        fchown(file.as_file(), Some(owner.uid()), Some(owner.gid()))?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    dir_file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use jiff::Timestamp;

    use super::*;
    use crate::http::access::key::{Action, Hash};

    fn key(name: &str) -> ApiKey {
        ApiKey {
            name: name.to_owned(),
            sha256: Hash::of(name.as_bytes()),
            actions: vec![Action::Read, Action::Metrics],
            collections: vec!["*".to_owned()],
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: None,
        }
    }

    fn add(path: &Path, name: &str) -> Result<(), KeyFileError> {
        change(path, |keys| {
            keys.push(key(name));
            Ok(())
        })
    }

    #[test]
    fn the_key_file_round_trips_and_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/keys.json");
        assert!(read(&path).unwrap().is_none());
        add(&path, "a").unwrap();
        add(&path, "b").unwrap();
        assert_eq!(read(&path).unwrap().unwrap().keys, [key("a"), key("b")]);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let left: Vec<_> = fs::read_dir(dir.path().join("new")).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn keys_added_at_once_are_all_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(DEFAULT_NAME);
        std::thread::scope(|scope| {
            for n in 0..8 {
                let path = &path;
                scope.spawn(move || add(path, &n.to_string()).unwrap());
            }
        });
        assert_eq!(read(&path).unwrap().unwrap().keys.len(), 8);
    }

    #[test]
    fn more_keys_than_the_limit_are_refused() {
        let mut keys: Vec<_> = (0..KEYS_MAX).map(|n| key(&n.to_string())).collect();
        assert_eq!(fault(&keys), None);
        keys.push(key("one-more"));
        assert!(fault(&keys).unwrap().contains("more than 1000"));
        let mut patterns = key("patterns");
        patterns.collections = vec!["a".to_owned(); 101];
        assert!(fault(&[patterns]).unwrap().contains("1 to 100 patterns"));
    }

    #[test]
    fn a_damaged_file_is_an_error_and_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(DEFAULT_NAME);
        let key = serde_json::to_string(&key("a")).unwrap();
        let damaged = [
            String::new(),
            "{}".to_owned(),
            format!("{{\"keys\": [{key}]"),
            format!("{{\"keys\": [{key}, {key}]}}"),
            format!("{{\"keys\": [{}]}}", key.replace("\"a\"", "\"a b\"")),
            format!("{{\"keys\": [{}]}}", key.replace("sha256", "sha1")),
        ];
        for text in damaged {
            fs::write(&path, &text).unwrap();
            assert!(matches!(read(&path), Err(KeyFileError::Damaged { .. })), "{text}");
            assert!(add(&path, "b").is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
