//! The file of keys: JSON, readable by its owner alone, replaced by a rename.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::http::access::key::Key;

/// The file's name within the data directory.
pub const DEFAULT_NAME: &str = "keys.json";

/// Each request is compared with all keys.
const KEYS_MAX: usize = 1_000;

const BYTES_MAX: u64 = 16 << 20;

/// Why the file of keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("cannot read the keys in {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write the keys to {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("the file of keys {} is damaged: {reason}", .path.display())]
    Damaged { path: PathBuf, reason: String },
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    keys: Vec<Key>,
}

/// The keys in the file; `None` if there is no file.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub fn read(path: &Path) -> Result<Option<Vec<Key>>, KeyFileError> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut text));
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(KeyFileError::Read { path: path.to_owned(), source }),
    }
    let damaged = |reason| KeyFileError::Damaged { path: path.to_owned(), reason };
    if text.len() as u64 > BYTES_MAX {
        return Err(damaged(format!("it has more than {BYTES_MAX} bytes")));
    }
    let content: Content =
        serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    match fault(&content.keys) {
        Some(fault) => Err(damaged(fault)),
        None => Ok(Some(content.keys)),
    }
}

/// What is wrong with the keys of a file, if anything.
pub fn fault(keys: &[Key]) -> Option<String> {
    if keys.len() > KEYS_MAX {
        return Some(format!("there are {} keys, more than {KEYS_MAX}", keys.len()));
    }
    let mut names: Vec<_> = keys.iter().map(|key| &key.name).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    let twice = twice.map(|pair| format!("there is a key '{}' already", pair[0]));
    twice.or_else(|| keys.iter().find_map(Key::fault))
}

/// Reads the keys, lets `change` change them and writes them, while no other process does the same.
///
/// # Errors
/// The file cannot be read or written, or is damaged; or the error of `change`.
pub fn change<T, E: From<KeyFileError>>(
    path: &Path,
    change: impl FnOnce(&mut Vec<Key>) -> Result<T, E>,
) -> Result<T, E> {
    let failed = |source| KeyFileError::Write { path: path.to_owned(), source };
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    fs::create_dir_all(dir).map_err(failed)?;
    let dir = File::open(dir).map(|file| (dir, file)).map_err(failed)?;
    dir.1.lock().map_err(failed)?;
    let mut keys = read(path)?.unwrap_or_default();
    let changed = change(&mut keys)?;
    write(path, dir, keys).map_err(failed)?;
    Ok(changed)
}

fn write(path: &Path, (dir, dir_file): (&Path, File), keys: Vec<Key>) -> io::Result<()> {
    // Readable by its owner alone from the start.
    let mut file = NamedTempFile::new_in(dir)?;
    serde_json::to_writer_pretty(&mut file, &Content { keys })?;
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

    fn key(name: &str) -> Key {
        Key {
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
    fn what_is_written_is_read_and_no_one_else_may_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/keys.json");
        assert_eq!(read(&path).unwrap(), None);
        add(&path, "a").unwrap();
        add(&path, "b").unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), [key("a"), key("b")]);
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
        assert_eq!(read(&path).unwrap().unwrap().len(), 8);
    }

    #[test]
    fn a_damaged_file_is_an_error_and_stays_as_it_is() {
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
