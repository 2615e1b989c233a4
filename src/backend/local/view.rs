//! A consistent view of the store, with a cache of recently read sets.

use std::ops::ControlFlow;

use quick_cache::unsync::Cache;

use super::Local;
use super::set_cache::SetBytes;
use crate::backend::BackendError;
use crate::document::Ordinal;
use crate::storage::{SketchRow, StoreView};
use akin_core::text::ShingleSet;

/// Memory for the sets of a view. Separate from the cache of lookups, which a view would flush.
const SETS_CACHE_BYTES: u64 = 64 << 20;

/// Sets of about a thousand shingles that fit into the cache.
const SETS_EXPECTED: usize = 8_192;

/// A consistent view of all documents that have not expired at its beginning. Its methods block.
pub struct LocalView {
    store: StoreView,
    /// Sets by ordinal.
    sets: Cache<u64, ShingleSet, SetBytes>,
}

impl Local {
    /// A view of all documents as of now. The caller limits the number of open views.
    ///
    /// # Errors
    /// [`BackendError::Storage`]
    pub async fn view(&self) -> Result<LocalView, BackendError> {
        let store = self.store.view(self.now_ms()).await?;
        let sets = Cache::with_weighter(SETS_EXPECTED, SETS_CACHE_BYTES, SetBytes);
        Ok(LocalView { store, sets })
    }
}

impl LocalView {
    pub fn documents(&self) -> u64 {
        self.store.documents()
    }

    /// Visits each document and its sketch, in any order, until the visitor breaks.
    ///
    /// # Errors
    /// [`BackendError::Storage`] at the first row that cannot be read.
    pub fn sketches(
        &self,
        visit: impl FnMut(SketchRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), BackendError> {
        Ok(self.store.sketches(visit)?)
    }

    /// The set of a document visited by [`Self::sketches`].
    ///
    /// # Errors
    /// [`BackendError::Storage`] if it is damaged or absent.
    pub fn set(&mut self, ordinal: Ordinal) -> Result<ShingleSet, BackendError> {
        let key = ordinal.get();
        if let Some(set) = self.sets.get(&key) {
            return Ok(set.clone());
        }
        let set = self.store.set(ordinal)?;
        self.sets.insert(key, set.clone());
        Ok(set)
    }
}
