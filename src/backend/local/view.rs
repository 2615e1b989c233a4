//! A consistent view of the store, with a cache of recently read sets.

use std::ops::ControlFlow;

use quick_cache::unsync::Cache;

use super::live::SetBytes;
use crate::backend::{BackendError, View};
use crate::document::Ordinal;
use crate::storage::{SketchRow, StoreView};
use crate::text::ShingleSet;

/// Memory for the sets of a view. Separate from the cache of lookups, which a view would flush.
const SETS_CACHE_BYTES: u64 = 64 << 20;

/// Sets of about a thousand shingles that fit into the cache.
const SETS_EXPECTED: usize = 8_192;

pub(super) struct LocalView {
    store: StoreView,
    /// Sets by ordinal.
    sets: Cache<u64, ShingleSet, SetBytes>,
}

impl LocalView {
    pub fn new(store: StoreView) -> Self {
        Self { store, sets: Cache::with_weighter(SETS_EXPECTED, SETS_CACHE_BYTES, SetBytes) }
    }
}

impl View for LocalView {
    fn documents(&self) -> u64 {
        self.store.documents()
    }

    fn sketches(
        &mut self,
        visit: &mut dyn FnMut(SketchRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), BackendError> {
        Ok(self.store.sketches(visit)?)
    }

    fn set(&mut self, ordinal: Ordinal) -> Result<ShingleSet, BackendError> {
        let key = ordinal.get();
        if let Some(set) = self.sets.get(&key) {
            return Ok(set.clone());
        }
        let set = self.store.set(ordinal)?;
        self.sets.insert(key, set.clone());
        Ok(set)
    }
}
