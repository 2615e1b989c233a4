//! The documents that clients post: an id, a content and metadata.
//!
//! The newtypes here can only be built by checking constructors, so that later layers need no
//! checks.

use std::sync::Arc;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

pub use akin_core::document::{Content, DocumentId, DocumentIdError, NotAnOrdinal, Ordinal, Token};

use crate::json::Any;

/// A JSON object that is stored and returned byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata(Arc<str>);

impl Metadata {
    /// Takes text that is known to be valid JSON.
    ///
    /// # Errors
    /// [`NotAnObject`] if the JSON is a string, a number, an array…
    pub fn from_json(json: &str) -> Result<Self, NotAnObject> {
        let json = json.trim();
        if json.starts_with('{') { Ok(Self(json.into())) } else { Err(NotAnObject) }
    }

    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// # Errors
    /// A number is too large for a double, or there are more than 127 levels.
    pub fn value(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_str(self.as_json()).map(|Any(value)| value)
    }
}

/// Metadata is returned as it came, byte for byte.
impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.as_json()).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// For readers of answers.
impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Any(value) = Any::<Value>::deserialize(deserializer)?;
        Self::from_json(&value.to_string()).map_err(D::Error::custom)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("metadata must be a JSON object")]
pub struct NotAnObject;

/// A document as a client posts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub id: DocumentId,
    pub content: Content,
    pub metadata: Option<Metadata>,
    /// When the document expires, in milliseconds since the epoch. `None`: the collection's default
    /// lifetime applies.
    pub expires_at_ms: Option<i64>,
}

impl Document {
    /// A text without metadata.
    #[must_use]
    pub fn of_text(id: DocumentId, text: String) -> Self {
        Self { id, content: Content::Text(text), metadata: None, expires_at_ms: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_an_object() {
        assert_eq!(Metadata::from_json("[1]"), Err(NotAnObject));
        assert_eq!(
            Metadata::from_json(" {\"a\": 1} ").map(|m| m.as_json().to_owned()),
            Ok("{\"a\": 1}".to_owned())
        );
    }
}
