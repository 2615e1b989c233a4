//! The keys in force, and following changes of their file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::http::{HeaderMap, header};
use jiff::Timestamp;
use parking_lot::Mutex;
use subtle::ConditionallySelectable;
use tokio::sync::watch;

use crate::http::access::key::{ApiKey, Hash};
use crate::http::access::key_file::{self, KeyFileError, StoredKeys};
use crate::http::problem::{Code, Problem};
use crate::trusted_file::{self, FileVersion};

/// `None`: no key is needed.
pub(super) type Keys = Option<Arc<Vec<Arc<ApiKey>>>>;

/// The keys in force. Requests need no key until a file of keys exists.
pub struct KeyRing {
    /// `None`: keys are switched off.
    path: Option<PathBuf>,
    /// The version of the file with the keys in force. A file is read by one thread at a time.
    read: Mutex<Option<FileVersion>>,
    current: watch::Sender<Keys>,
}

impl KeyRing {
    /// No keys at all: every client that can connect may do everything.
    #[must_use]
    pub fn switched_off() -> Self {
        Self { path: None, read: Mutex::default(), current: watch::Sender::default() }
    }

    /// The keys of a file, which need not exist. Blocks.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or everyone may write it.
    pub fn open(path: PathBuf) -> Result<Self, KeyFileError> {
        let ring = Self { path: Some(path), ..Self::switched_off() };
        ring.follow(false)?;
        Ok(ring)
    }

    /// Reads the file again if it has changed since the last reading, or if the call is `forced`.
    /// Returns whether the keys have changed. Blocks.
    ///
    /// # Errors
    /// As for [`Self::open`], or the file has gone: the former keys stay in force, and the next
    /// call reads the file again.
    pub fn follow(&self, forced: bool) -> Result<bool, KeyFileError> {
        self.follow_with(forced, key_file::read)
    }

    /// The version is remembered only once the keys of the file are in force: otherwise a revoked
    /// key would stay valid after a read that failed.
    fn follow_with(
        &self,
        is_forced: bool,
        read: impl FnOnce(&Path) -> Result<Option<StoredKeys>, KeyFileError>,
    ) -> Result<bool, KeyFileError> {
        let Some(path) = &self.path else { return Ok(false) };
        let mut known = self.read.lock();
        if !is_forced {
            let version = trusted_file::version(path);
            let version = version.map_err(|error| KeyFileError::unreadable(path, error))?;
            if version == *known {
                return Ok(false);
            }
        }
        let Some(StoredKeys { keys, version }) = read(path)? else {
            return match self.count() {
                None => Ok(false),
                Some(_) => {
                    let gone = std::io::ErrorKind::NotFound.into();
                    Err(KeyFileError::unreadable(path, gone))
                }
            };
        };
        *known = Some(version);
        Ok(self.current.send_if_modified(|current| {
            let is_same = current.as_ref().is_some_and(|current| {
                current.len() == keys.len() && current.iter().zip(&keys).all(|(a, b)| **a == *b)
            });
            if !is_same {
                *current = Some(Arc::new(keys.into_iter().map(Arc::new).collect()));
            }
            !is_same
        }))
    }

    /// The number of keys; `None` if none are needed.
    #[must_use]
    pub fn count(&self) -> Option<usize> {
        self.current.borrow().as_ref().map(|keys| keys.len())
    }

    /// The keys as they are and as they will be.
    pub(super) fn watch(&self) -> watch::Receiver<Keys> {
        self.current.subscribe()
    }

    /// The key that a request was sent with; `None` if none are needed.
    ///
    /// # Errors
    /// `key_required`: it has none; `invalid_key`: it is unknown or has expired.
    pub(super) fn identify(&self, headers: &HeaderMap) -> Result<Option<Arc<ApiKey>>, Problem> {
        let Some(keys) = self.current.borrow().clone() else { return Ok(None) };
        let key = find(&keys, &Hash::of(bearer(headers)?)).ok_or_else(unknown)?;
        check_expiry(key)?;
        Ok(Some(Arc::clone(key)))
    }
}

pub(super) fn unknown() -> Problem {
    Problem::new(Code::InvalidKey, "the key is unknown, or was revoked")
}

/// # Errors
/// `invalid_key`: it has expired.
pub(super) fn check_expiry(key: &ApiKey) -> Result<(), Problem> {
    if !key.has_expired(Timestamp::now()) {
        return Ok(());
    }
    let detail = format!("the key '{}' has expired; `akin keys create` makes one", key.name);
    Err(Problem::new(Code::InvalidKey, detail))
}

/// Compares with every key, so that the time does not depend on the key that matches.
pub(super) fn find<'a>(keys: &'a [Arc<ApiKey>], hash: &Hash) -> Option<&'a Arc<ApiKey>> {
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::http::access::key::Action;

    fn key(name: &str, expires_at: Option<Timestamp>) -> ApiKey {
        ApiKey {
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
    fn keys_are_needed_once_a_file_exists() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.json");
        let ring = KeyRing::open(path.clone()).unwrap();
        assert_eq!(name(&ring, ""), Ok(None));
        set(&path, &["a", "b", "c"]);
        assert!(ring.follow(false).unwrap() && !ring.follow(false).unwrap());
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
        assert!(ring.follow(false).unwrap());
        assert_eq!(name(&ring, "Bearer akin_a"), Err(Code::InvalidKey));
        assert_eq!(name(&ring, "Bearer akin_b"), Ok(Some("b".to_owned())));
        set(&path, &[]);
        assert!(ring.follow(false).unwrap());
        assert_eq!(name(&ring, ""), Err(Code::KeyRequired), "the last key was revoked");
    }

    #[test]
    fn a_revoked_key_goes_after_a_failed_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.json");
        set(&path, &["a", "b"]);
        let ring = KeyRing::open(path.clone()).unwrap();
        set(&path, &["b"]);
        // No descriptor is left, for example.
        let failed =
            |path: &Path| Err(KeyFileError::unreadable(path, io::Error::from_raw_os_error(24)));
        for is_forced in [false, true] {
            assert!(ring.follow_with(is_forced, failed).is_err());
            assert_eq!(name(&ring, "Bearer akin_a"), Ok(Some("a".to_owned())));
        }
        assert!(ring.follow(false).unwrap(), "the file is as it was, and was never read");
        assert_eq!(name(&ring, "Bearer akin_a"), Err(Code::InvalidKey));
        assert!(!ring.follow(true).unwrap(), "its keys are in force");
    }

    #[test]
    fn a_file_that_everyone_may_write_makes_no_keys() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.json");
        set(&path, &["a"]);
        let ring = KeyRing::open(path.clone()).unwrap();
        set(&path, &["a", "b"]);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let refused = ring.follow(false).unwrap_err().to_string();
        assert!(refused.contains("chmod o-w"), "{refused}");
        assert_eq!(name(&ring, "Bearer akin_b"), Err(Code::InvalidKey));
        assert!(KeyRing::open(path.clone()).is_err(), "no start with it");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(ring.follow(false).unwrap());
    }

    #[test]
    fn keys_outlive_a_damaged_or_missing_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.json");
        set(&path, &["a"]);
        let ring = KeyRing::open(path.clone()).unwrap();
        let stays = |ring: &KeyRing| {
            assert!(ring.follow(false).is_err() && ring.follow(true).is_err());
            assert_eq!(name(ring, "Bearer akin_a"), Ok(Some("a".to_owned())));
            assert_eq!(name(ring, ""), Err(Code::KeyRequired));
        };
        fs::write(&path, "{").unwrap();
        stays(&ring);
        assert!(KeyRing::open(path.clone()).is_err(), "no start with a damaged file");
        fs::remove_file(&path).unwrap();
        stays(&ring);
        set(&path, &["b"]);
        assert!(ring.follow(false).unwrap());
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
