//! A key permits its holder some actions in some collections until some time.
//!
//! A key is 256 random bits. Only its SHA-256 is stored. A slow hash, such as argon2, makes
//! guesses expensive where secrets are guessable, as passwords are; of 2²⁵⁶ equally likely keys
//! none can be guessed, at any speed, and a request must not cost milliseconds. Hashes are compared
//! in constant time.

use std::fmt;

use clap::ValueEnum;
use hex::{FromHex, FromHexError};
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use subtle::{Choice, ConstantTimeEq};

use crate::http::access::pattern;

/// The beginning of every key, by which scanners for leaked secrets recognise it.
const PREFIX: &str = "akin_";

const NAME_BYTES_MAX: usize = 64;

/// The length of a pattern for names of collections.
const PATTERN_BYTES_MAX: usize = 64;

/// Patterns of one key.
const PATTERNS_MAX: usize = 100;

/// An action that a key may permit. No action includes another action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Look up, get, list, compare and export documents.
    Read,
    /// Add and remove documents.
    Write,
    /// Create, reindex and remove collections; snapshots and backups.
    Admin,
    /// Read the metrics of the server.
    Metrics,
}

/// A key as it is stored: everything but the key itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiKey {
    /// Appears in the log.
    pub name: String,
    pub sha256: Hash,
    pub actions: Vec<Action>,
    /// Names of collections; `*` stands for any characters.
    pub collections: Vec<String>,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl ApiKey {
    pub fn permits(&self, action: Action) -> bool {
        self.actions.contains(&action)
    }

    /// Whether it is valid in this collection.
    pub fn covers(&self, collection: &str) -> bool {
        self.collections.iter().any(|pattern| pattern::matches(pattern, collection))
    }

    /// Whether it is valid in every collection, also in future collections.
    pub fn covers_all(&self) -> bool {
        self.collections.iter().any(|pattern| pattern == "*")
    }

    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// The fault of the key, if it has a fault.
    pub fn fault(&self) -> Option<String> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
        let is_pattern =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_*".contains(c);
        let fits = |text: &str, bytes_max, is_fit: &dyn Fn(char) -> bool| {
            (1..=bytes_max).contains(&text.len()) && text.chars().all(is_fit)
        };
        if !fits(&self.name, NAME_BYTES_MAX, &is_name) {
            return Some(format!(
                "the name of a key is 1 to {NAME_BYTES_MAX} letters, digits or .-_@, not '{}'",
                self.name
            ));
        }
        if self.actions.is_empty() {
            return Some(format!("the key '{}' permits no action", self.name));
        }
        if !(1..=PATTERNS_MAX).contains(&self.collections.len()) {
            return Some(format!("a key has 1 to {PATTERNS_MAX} patterns of collections"));
        }
        let unfit = |text: &&String| !fits(text, PATTERN_BYTES_MAX, &is_pattern);
        self.collections.iter().find(unfit).map(|text| {
            format!("'{text}' matches no collection: names have lower-case letters, digits, -_")
        })
    }
}

/// The SHA-256 of a key. Compared in constant time, so that the time of a comparison says nothing
/// about stored hashes.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hash([u8; 32]);

impl Hash {
    pub fn of(key: &[u8]) -> Self {
        let hash = digest(&SHA256, key);
        Self(hash.as_ref().try_into().expect("a SHA-256 has 32 bytes"))
    }

    pub fn equals(&self, other: &Self) -> Choice {
        let words = |hash: &Self| {
            let (words, _) = hash.0.as_chunks::<8>();
            [0, 1, 2, 3].map(|at| u64::from_le_bytes(words[at]))
        };
        words(self)[..].ct_eq(&words(other)[..])
    }
}

impl PartialEq for Hash {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other).into()
    }
}

impl Eq for Hash {}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> Self {
        hex::encode(hash.0)
    }
}

impl TryFrom<String> for Hash {
    type Error = FromHexError;

    fn try_from(text: String) -> Result<Self, FromHexError> {
        <[u8; 32]>::from_hex(text).map(Self)
    }
}

/// A new key, to be shown once.
///
/// # Errors
/// The system gives no random bits.
pub fn generate() -> Result<String, getrandom::Error> {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits)?;
    Ok(format!("{PREFIX}{}", hex::encode(bits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> ApiKey {
        ApiKey {
            name: "crawler".to_owned(),
            sha256: Hash::of(b"akin_1"),
            actions: vec![Action::Read],
            collections: vec!["web-*".to_owned(), "news".to_owned()],
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: Some(Timestamp::from_second(10).unwrap()),
        }
    }

    #[test]
    fn a_key_permits_its_actions_until_it_expires() {
        let key = key();
        assert!(key.permits(Action::Read) && !key.permits(Action::Write));
        assert!(key.covers("news") && key.covers("web-de"));
        assert!(!key.covers("default") && !key.covers_all());
        let at = |second| key.has_expired(Timestamp::from_second(second).unwrap());
        assert!(!at(9) && at(10) && at(11));
    }

    #[test]
    fn generated_keys_differ_and_have_256_bits() {
        let keys = [(); 2].map(|()| generate().unwrap());
        assert_ne!(keys[0], keys[1]);
        assert!(keys.iter().all(|key| key.len() == PREFIX.len() + 64 && key.starts_with(PREFIX)));
    }

    #[test]
    fn a_hash_is_sha_256_and_round_trips() {
        let hash = Hash::of(b"abc");
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(String::from(hash), text);
        assert_eq!(Hash::try_from(text.to_owned()).unwrap(), hash);
        for at in 0..32 {
            let mut other = hash;
            other.0[at] ^= 1;
            assert_ne!(other, hash, "byte {at}");
        }
        for bad in ["", &text[1..], &text.replace('b', "g"), &"é".repeat(32)] {
            assert!(Hash::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(key().fault(), None);
        let faulty = [
            ApiKey { name: "a b".to_owned(), ..key() },
            ApiKey { name: String::new(), ..key() },
            ApiKey { actions: Vec::new(), ..key() },
            ApiKey { collections: Vec::new(), ..key() },
            ApiKey { collections: vec!["News".to_owned()], ..key() },
        ];
        for key in faulty {
            assert!(key.fault().is_some(), "{key:?}");
        }
    }
}
