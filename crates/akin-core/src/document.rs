//! The id, the number and the content of a document.
//!
//! The newtypes here can only be built by checking constructors, so that later layers need no
//! checks.

mod content;

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use content::{Content, Token};

/// The client's name for a document: 1..=1024 bytes of UTF-8 without control characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(
    feature = "schema",
    schema(as = Id, value_type = String, min_length = 1, max_length = 1024,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$", example = "https://example.org/a")
)]
pub struct DocumentId(Arc<str>);

impl DocumentId {
    /// The longest id, in bytes of UTF-8.
    pub const BYTES_MAX: usize = 1024;

    /// # Errors
    /// [`DocumentIdError`] names the rule that the text breaks.
    pub fn new(id: impl Into<Arc<str>>) -> Result<Self, DocumentIdError> {
        let id = id.into();
        Self::check(&id).map(|()| Self(id))
    }

    /// Checks a text without allocating an id.
    ///
    /// # Errors
    /// As for [`DocumentId::new`].
    pub fn check(id: &str) -> Result<(), DocumentIdError> {
        if id.is_empty() {
            return Err(DocumentIdError::Empty);
        }
        if id.len() > Self::BYTES_MAX {
            return Err(DocumentIdError::TooLong { bytes: id.len() });
        }
        if has_control_character(id) {
            return Err(DocumentIdError::ControlCharacter);
        }
        Ok(())
    }

    /// The id as text.
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Most ids are ASCII, in which control characters are recognised byte by byte.
fn has_control_character(id: &str) -> bool {
    match id.is_ascii() {
        true => id.bytes().fold(false, |found, byte| found | byte.is_ascii_control()),
        false => id.chars().any(char::is_control),
    }
}

/// An integer is read as its decimal digits.
impl<'de> Deserialize<'de> for DocumentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

struct IdVisitor;

impl Visitor<'_> for IdVisitor {
    type Value = DocumentId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or an integer")
    }

    fn visit_str<E: de::Error>(self, id: &str) -> Result<DocumentId, E> {
        DocumentId::new(id).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, id: u64) -> Result<DocumentId, E> {
        self.visit_str(&id.to_string())
    }

    fn visit_i64<E: de::Error>(self, id: i64) -> Result<DocumentId, E> {
        self.visit_str(&id.to_string())
    }
}

impl Serialize for DocumentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for DocumentId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Why a text is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentIdError {
    /// The text is empty.
    #[error("an id must have at least one character")]
    Empty,
    /// The text has more than [`DocumentId::BYTES_MAX`] bytes.
    #[error("an id may have at most {} bytes, this one has {bytes}", DocumentId::BYTES_MAX)]
    TooLong { bytes: usize },
    /// The text has a control character.
    #[error("an id must not contain control characters")]
    ControlCharacter,
}

/// A document's internal number. Never reused: a document that replaces another gets a new ordinal.
/// With 48 bits, a million additions a second take nine years.
///
/// The index keeps an ordinal or two in memory for each document, so an ordinal takes six bytes,
/// the highest first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ordinal([u16; 3]);

impl Ordinal {
    /// The lowest ordinal, 0.
    pub const MIN: Self = Self([0; 3]);
    /// The highest ordinal, 2⁴⁸ − 1.
    pub const MAX: Self = Self([u16::MAX; 3]);
    /// The length of an encoded ordinal.
    pub const BYTES: usize = 6;

    /// The ordinal as a number.
    #[inline]
    pub const fn get(self) -> u64 {
        let [high, middle, low] = self.0;
        (high as u64) << 32 | (middle as u64) << 16 | low as u64
    }

    /// `None` for the highest.
    #[inline]
    pub fn next(self) -> Option<Self> {
        Self::try_from(self.get() + 1).ok()
    }

    /// Little-endian.
    #[inline]
    pub fn to_le_bytes(self) -> [u8; Self::BYTES] {
        *self.get().to_le_bytes().first_chunk().expect("it is shorter than eight bytes")
    }

    /// The inverse of [`Self::to_le_bytes`].
    #[inline]
    pub const fn from_le_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let high = u16::from_le_bytes([bytes[4], bytes[5]]);
        let middle = u16::from_le_bytes([bytes[2], bytes[3]]);
        Self([high, middle, u16::from_le_bytes([bytes[0], bytes[1]])])
    }
}

impl fmt::Debug for Ordinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ordinal({})", self.get())
    }
}

/// For databases, which have signed numbers.
impl From<Ordinal> for i64 {
    fn from(ordinal: Ordinal) -> Self {
        ordinal.get().cast_signed()
    }
}

impl From<u32> for Ordinal {
    fn from(number: u32) -> Self {
        Self([0, (number >> 16) as u16, number as u16])
    }
}

impl TryFrom<u64> for Ordinal {
    type Error = NotAnOrdinal;

    #[inline]
    fn try_from(number: u64) -> Result<Self, NotAnOrdinal> {
        let high = u16::try_from(number >> 32).map_err(|_| NotAnOrdinal)?;
        Ok(Self([high, (number >> 16) as u16, number as u16]))
    }
}

/// A number of more than 48 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ordinals are below 2^48")]
pub struct NotAnOrdinal;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_checked_once_and_for_all() {
        assert_eq!(DocumentId::new(""), Err(DocumentIdError::Empty));
        assert_eq!(DocumentId::new("a\nb"), Err(DocumentIdError::ControlCharacter));
        assert_eq!(DocumentId::new("é\u{85}"), Err(DocumentIdError::ControlCharacter));
        assert_eq!(DocumentId::new("a\u{7f}"), Err(DocumentIdError::ControlCharacter));
        assert_eq!(DocumentId::new("é".repeat(513)), Err(DocumentIdError::TooLong { bytes: 1026 }));
        assert!(DocumentId::new("é".repeat(512)).is_ok());
        assert!(DocumentId::new("https://example.org/a b?c=d#e").is_ok());
    }
}
