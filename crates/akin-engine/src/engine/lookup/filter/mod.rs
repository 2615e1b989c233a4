//! Conditions on metadata, written as the filter expressions of JSONPath (RFC 9535, section 2.3.5),
//! in which `@` is the metadata: `@.lang == "en" && @.year >= 2020`.
//!
//! The supported subset: comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of literals and of paths
//! of names and indexes; existence tests of paths, which may contain `[*]` and a filter
//! (`@.tags[?@ == "news"]`); and `!`, `&&`, `||` and parentheses. Each term visits every value of
//! the metadata at most once, so `..`, functions and filters nested in the filter of a path are
//! not supported; neither is `$`, as there is no enclosing document.
//!
//! A document without metadata is treated as having the metadata `{}`. Metadata that cannot be
//! parsed (numbers too large for a double, more than 127 levels) matches nothing.

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

/// Why an expression is not a valid filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    #[error("it has {found} bytes, more than the {max} allowed")]
    TooLong { found: usize, max: usize },
    /// Characters are counted from 1.
    #[error("at character {at}: unexpected {found}")]
    Syntax { at: usize, found: String },
    #[error("it has more than {max} parentheses within each other")]
    TooDeep { max: usize },
    #[error("filters do not support {0}")]
    Unsupported(&'static str),
}

impl Filter {
    /// Parses an expression of at most `bytes_max` bytes.
    ///
    /// # Errors
    /// [`FilterError`] says what is wrong with it and, where it is known, at which character.
    pub fn parse(expression: &str, bytes_max: usize) -> Result<Self, FilterError> {
        let found = expression.len();
        if found > bytes_max {
            return Err(FilterError::TooLong { found, max: bytes_max });
        }
        reading::read(expression).map(Self)
    }

    /// The work of evaluating the filter on metadata with so many values, in visits of a value.
    /// Parsing a value takes as long as ten visits.
    pub(crate) fn visits(&self, values: usize) -> usize {
        values.saturating_mul(10 + self.0.visits())
    }

    pub fn matches(&self, metadata: Option<&Metadata>) -> bool {
        let value = match metadata {
            Some(metadata) => metadata.value(),
            None => Ok(Value::Object(Map::new())),
        };
        value.is_ok_and(|value| self.0.holds(&value))
    }
}
