//! In place of `page.rs`, in a binary without the feature `html`.

use super::members::Values;
use super::options::Extract;
use crate::feature::HTML;

/// # Errors
/// Always: how to get the feature.
pub fn page(_html: &str, _extract: Extract) -> Result<Values, String> {
    Err(HTML.absent())
}
