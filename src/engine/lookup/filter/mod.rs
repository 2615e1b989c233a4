//! Conditions on metadata, written as the filter expressions of JSONPath (RFC 9535, section 2.3.5),
//! in which `@` is the metadata: `@.lang == "en" && @.year >= 2020`.
//!
//! Of the standard there are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of literals and of
//! paths of names and indexes; tests whether a path leads anywhere, which may have `[*]` and a
//! filter in it (`@.tags[?@ == "news"]`); and `!`, `&&`, `||` and parentheses. There is nothing
//! whose work could grow beyond the metadata's values for each term of the expression: no `..`, no
//! functions, no filters within those of a path, and no `$`, as there is no other document.
//!
//! A document without metadata has the metadata `{}`. Metadata that cannot be taken apart (numbers
//! too large for a double, more than 127 levels) matches nothing.

mod condition;
mod reading;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::document::Metadata;
use condition::Condition;

/// A condition on metadata that can be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter(Condition);

/// Why an expression is no filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    #[error("it has {found} bytes, more than the {max} of server.filter_bytes_max")]
    TooLong { found: usize, max: usize },
    /// Characters are counted from 1.
    #[error("at character {at}, {found} was not expected")]
    Syntax { at: usize, found: String },
    #[error("it is too intricate to be read")]
    TooIntricate,
    #[error("{0} is not there in filters")]
    NotThere(&'static str),
    #[error("{0}")]
    Other(String),
}

impl Filter {
    /// Reads an expression of at most `bytes_max` bytes.
    ///
    /// # Errors
    /// [`FilterError`] says what is wrong with it and, where that can be told, at which character.
    pub fn parse(expression: &str, bytes_max: usize) -> Result<Self, FilterError> {
        let found = expression.len();
        if found > bytes_max {
            return Err(FilterError::TooLong { found, max: bytes_max });
        }
        reading::read(expression).map(Self)
    }

    #[must_use]
    pub fn matches(&self, metadata: Option<&Metadata>) -> bool {
        let value = match metadata {
            Some(metadata) => serde_json::from_str(metadata.as_json()),
            None => Ok(Value::Object(Map::new())),
        };
        value.is_ok_and(|value| self.0.holds(&value))
    }
}
