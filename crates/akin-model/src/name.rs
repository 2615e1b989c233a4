//! Names of collections.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

const BYTES_MAX: usize = 64;

/// A collection's name: 1..=64 of a-z, 0-9, `_` and `-`, beginning with a letter or a digit. So it
/// needs no escaping in a path, a label or a file name. A clone is cheap.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollectionName(Arc<str>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a collection's name has 1..=64 characters, each of a-z, 0-9, _ and -, and begins with a \
     letter or a digit"
)]
pub struct InvalidCollectionName;

impl CollectionName {
    /// # Errors
    /// [`InvalidCollectionName`] for any other name.
    pub fn new(name: &str) -> Result<Self, InvalidCollectionName> {
        let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        let begins_well = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if begins_well && name.len() <= BYTES_MAX && name.bytes().all(allowed) {
            Ok(Self(name.into()))
        } else {
            Err(InvalidCollectionName)
        }
    }

    /// Whether this is the collection that always exists.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The collection that always exists. Paths without a collection refer to it.
impl Default for CollectionName {
    fn default() -> Self {
        Self("default".into())
    }
}

impl FromStr for CollectionName {
    type Err = InvalidCollectionName;

    fn from_str(name: &str) -> Result<Self, InvalidCollectionName> {
        Self::new(name)
    }
}

impl fmt::Display for CollectionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_safe_everywhere_is_a_name() {
        let longest = "x".repeat(BYTES_MAX);
        for name in ["a", "0", "news_2026-11", CollectionName::default().as_str(), &longest] {
            assert_eq!(CollectionName::new(name).unwrap().as_str(), name);
        }
        let too_long = "x".repeat(BYTES_MAX + 1);
        for name in ["", "-a", "_a", "A", "a.b", "..", "a/b", "a b", "é", "a\n", &too_long] {
            assert_eq!(CollectionName::new(name), Err(InvalidCollectionName), "{name}");
        }
    }
}
