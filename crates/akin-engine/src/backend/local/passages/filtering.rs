//! Which documents a search for passages compares. A document that is not wanted counts towards no
//! limit of the search but that of its filter.

use std::collections::HashMap;

use super::search::Searching;
use crate::backend::BackendError;
use crate::document::Ordinal;

/// The documents that a filter has examined.
#[derive(Default)]
pub(super) struct Filtered {
    is_selected: HashMap<Ordinal, bool>,
    /// A document was not examined.
    pub is_truncated: bool,
}

impl Searching {
    /// Whether a document is not the probe, has not expired and is selected by the filter. A
    /// document that is not listed may be wanted once it is.
    pub(super) fn is_wanted(&mut self, ordinal: Ordinal) -> Result<bool, BackendError> {
        let Some(listing) = self.state.catalog.listing(ordinal) else { return Ok(true) };
        if listing.has_expired(self.now_ms) || self.request.own_id.as_ref() == Some(&listing.id) {
            return Ok(false);
        }
        let Some(filter) = &self.request.filter else { return Ok(true) };
        let Filtered { is_selected, is_truncated } = &mut self.filtered;
        if let Some(known) = is_selected.get(&ordinal) {
            return Ok(*known);
        }
        if is_selected.len() >= filter.documents_max {
            *is_truncated = true;
            return Ok(false);
        }
        let mut is_wanted = false;
        if listing.has_metadata || filter.takes_no_metadata {
            let Some(details) = self.store.details_here(ordinal)? else {
                self.gone.push(ordinal);
                return Ok(false);
            };
            is_wanted = (filter.selects)(&details)?;
        }
        is_selected.insert(ordinal, is_wanted);
        Ok(is_wanted)
    }
}
