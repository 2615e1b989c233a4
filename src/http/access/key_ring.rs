//! The keys in force, and following changes of their file.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use axum::http::{HeaderMap, header};
use jiff::Timestamp;
use subtle::ConditionallySelectable;

use crate::http::access::key::{Hash, Key};
use crate::http::access::key_file::{self, KeyFileError};
use crate::http::problem::Problem;
use crate::http::problem::code::Code;

type Keys = Arc<Vec<Arc<Key>>>;

/// The keys in force. Without a file of keys none are needed; once there was one, they are.
pub struct KeyRing {
    /// `None`: keys are switched off.
    path: Option<PathBuf>,
    current: RwLock<Current>,
}

#[derive(Default)]
struct Current {
    /// Of the file as it was last read, also if that failed.
    version: Option<Version>,
    keys: Option<Keys>,
}

/// Differs between two files of keys: writing replaces the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    modified: (i64, i64),
    bytes: u64,
    inode: u64,
}

impl KeyRing {
    /// No keys at all: whoever can connect may do everything.
    #[must_use]
    pub fn switched_off() -> Self {
        Self { path: None, current: RwLock::default() }
    }

    /// The keys of a file, which need not exist.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn open(path: PathBuf) -> Result<Self, KeyFileError> {
        let ring = Self { path: Some(path), current: RwLock::default() };
        ring.follow()?;
        Ok(ring)
    }

    /// Reads the file again if it was replaced. Says whether the keys have changed.
    ///
    /// # Errors
    /// The file cannot be read, is damaged or has gone: the former keys stay in force. The same
    /// file fails once only.
    pub fn follow(&self) -> Result<bool, KeyFileError> {
        let Some(path) = &self.path else { return Ok(false) };
        let unreadable = |source| KeyFileError::Read { path: path.clone(), source };
        let version = version(path).map_err(unreadable)?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.version == version {
            return Ok(false);
        }
        current.version = version;
        match key_file::read(path)? {
            Some(keys) => {
                current.keys = Some(Arc::new(keys.into_iter().map(Arc::new).collect()));
                Ok(true)
            }
            None if current.keys.is_none() => Ok(false),
            None => Err(unreadable(io::ErrorKind::NotFound.into())),
        }
    }

    /// The number of keys; `None` if none are needed.
    #[must_use]
    pub fn count(&self) -> Option<usize> {
        self.current().map(|keys| keys.len())
    }

    fn current(&self) -> Option<Keys> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).keys.clone()
    }

    /// The key that a request was sent with; `None` if none are needed.
    ///
    /// # Errors
    /// `key_required`: it has none; `invalid_key`: it is unknown or has expired.
    pub(super) fn identify(&self, headers: &HeaderMap) -> Result<Option<Arc<Key>>, Problem> {
        let Some(keys) = self.current() else { return Ok(None) };
        let hash = Hash::of(bearer(headers)?);
        let Some(key) = find(&keys, &hash) else {
            return Err(Problem::new(Code::InvalidKey, "the key is unknown, or was revoked"));
        };
        if key.has_expired(Timestamp::now()) {
            let detail =
                format!("the key '{}' has expired; `akin keys create` makes one", key.name);
            return Err(Problem::new(Code::InvalidKey, detail));
        }
        Ok(Some(Arc::clone(key)))
    }
}

/// Compares with every key, so that its time does not depend on which of them it is.
fn find<'a>(keys: &'a [Arc<Key>], hash: &Hash) -> Option<&'a Arc<Key>> {
    let mut found = u32::MAX;
    for (at, key) in keys.iter().enumerate() {
        found.conditional_assign(&(at as u32), key.sha256.equals(hash));
    }
    keys.get(found as usize)
}

/// The key of the only `Authorization` header.
fn bearer(headers: &HeaderMap) -> Result<&[u8], Problem> {
    let required = |detail: &str| Problem::new(Code::KeyRequired, detail);
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or_else(|| {
        required(
            "send a key in the header `Authorization: Bearer KEY`; `akin keys create` makes one",
        )
    })?;
    if values.next().is_some() {
        return Err(required("the request has more than one Authorization header"));
    }
    let (scheme, key) = value.as_bytes().split_at_checked(7).unwrap_or_default();
    if !scheme.eq_ignore_ascii_case(b"bearer ") {
        return Err(required("the Authorization header must be `Bearer KEY`"));
    }
    Ok(key.trim_ascii())
}

fn version(path: &Path) -> io::Result<Option<Version>> {
    match fs::metadata(path) {
        Ok(file) => Ok(Some(Version {
            modified: (file.mtime(), file.mtime_nsec()),
            bytes: file.len(),
            inode: file.ino(),
        })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::access::key::Action;

    fn key(name: &str, expires_at: Option<Timestamp>) -> Key {
        Key {
            name: name.to_owned(),
            sha256: Hash::of(format!("akin_{name}").as_bytes()),
            actions: vec![Action::Read],
            collections: vec!["*".to_owned()],
            created_at: Timestamp::UNIX_EPOCH,
            expires_at,
        }
    }

    fn set(path: &Path, names: &[&str]) {
        key_file::change::<_, KeyFileError>(path, |keys| {
            *keys = names.iter().map(|name| key(name, None)).collect();
            Ok(())
        })
        .unwrap();
    }

    fn name(ring: &KeyRing, authorization: &str) -> Result<Option<String>, Code> {
        let mut headers = HeaderMap::new();
        if !authorization.is_empty() {
            headers.insert(header::AUTHORIZATION, authorization.parse().unwrap());
        }
        let key = ring.identify(&headers).map_err(|problem| problem.code)?;
        Ok(key.map(|key| key.name.clone()))
    }

    #[test]
    fn keys_are_needed_from_the_moment_there_is_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.json");
        let ring = KeyRing::open(path.clone()).unwrap();
        assert_eq!(name(&ring, ""), Ok(None));
        set(&path, &["a", "b", "c"]);
        assert!(ring.follow().unwrap() && !ring.follow().unwrap());
        for (at, known) in ["a", "b", "c"].into_iter().enumerate() {
            let schemes = ["Bearer ", "bearer ", "BEARER  "];
            let authorization = format!("{}akin_{known}", schemes[at]);
            assert_eq!(name(&ring, &authorization), Ok(Some(known.to_owned())));
        }
        for unknown in ["Bearer akin_d", "Bearer ", "Bearer akin_a akin_b"] {
            assert_eq!(name(&ring, unknown), Err(Code::InvalidKey), "{unknown}");
        }
        for none in ["", "akin_a", "Basic akin_a", "Bearer", "Bearerakin_a"] {
            assert_eq!(name(&ring, none), Err(Code::KeyRequired), "{none}");
        }
        set(&path, &["b"]);
        assert!(ring.follow().unwrap());
        assert_eq!(name(&ring, "Bearer akin_a"), Err(Code::InvalidKey));
        assert_eq!(name(&ring, "Bearer akin_b"), Ok(Some("b".to_owned())));
        set(&path, &[]);
        assert!(ring.follow().unwrap());
        assert_eq!(name(&ring, ""), Err(Code::KeyRequired), "the last key was revoked");
    }

    #[test]
    fn keys_stay_in_force_if_their_file_is_damaged_or_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.json");
        set(&path, &["a"]);
        let ring = KeyRing::open(path.clone()).unwrap();
        let stays = |ring: &KeyRing| {
            assert!(ring.follow().is_err());
            assert!(!ring.follow().unwrap(), "the same fault is reported once");
            assert_eq!(name(ring, "Bearer akin_a"), Ok(Some("a".to_owned())));
            assert_eq!(name(ring, ""), Err(Code::KeyRequired));
        };
        fs::write(&path, "{").unwrap();
        stays(&ring);
        assert!(KeyRing::open(path.clone()).is_err(), "no start with a damaged file");
        fs::remove_file(&path).unwrap();
        stays(&ring);
        set(&path, &["b"]);
        assert!(ring.follow().unwrap());
        assert_eq!(name(&ring, "Bearer akin_b"), Ok(Some("b".to_owned())));
    }

    #[test]
    fn a_key_that_has_expired_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.json");
        let now = Timestamp::now();
        key_file::change::<_, KeyFileError>(&path, |keys| {
            let hour = jiff::SignedDuration::from_hours(1);
            keys.extend([key("old", Some(now - hour)), key("new", Some(now + hour))]);
            Ok(())
        })
        .unwrap();
        let ring = KeyRing::open(path).unwrap();
        assert_eq!(name(&ring, "Bearer akin_old"), Err(Code::InvalidKey));
        assert_eq!(name(&ring, "Bearer akin_new"), Ok(Some("new".to_owned())));
    }
}
