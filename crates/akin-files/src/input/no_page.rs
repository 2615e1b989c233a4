//! In place of `page.rs`, in a binary without the feature `html`.

use super::sink::{Page, PageBudget};
use crate::feature::HTML;
use akin_model::content::Extract;

/// # Errors
/// Always: how to get the feature.
pub fn page(_: &str, _: Extract, _: &mut PageBudget<'_>) -> Result<Page, String> {
    Err(HTML.absent())
}
