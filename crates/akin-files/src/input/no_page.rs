//! In place of `page.rs`, in a binary without the feature `html`.

use super::sink::{Page, PageMemory};
use crate::feature::HTML;
use akin_model::content::Extract;

/// # Errors
/// Always: how to get the feature.
pub fn page(_: &str, _: Extract, _: &mut PageMemory<'_>) -> Result<Page, String> {
    Err(HTML.absent())
}
