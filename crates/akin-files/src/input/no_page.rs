//! In place of `page.rs`, in a binary without the feature `html`.

use super::options::Extract;
use super::sink::Page;
use crate::feature::HTML;

/// # Errors
/// Always: how to get the feature.
pub fn page(_html: &str, _extract: Extract) -> Result<Page, String> {
    Err(HTML.absent())
}
