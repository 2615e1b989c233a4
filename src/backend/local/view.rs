//! A state of the store, with sets in memory that were read lately.

use std::ops::ControlFlow;

use quick_cache::unsync::Cache;

use super::live::SetBytes;
use crate::backend::{BackendError, View};
use crate::document::Ordinal;
use crate::storage::{SketchRow, StoreView};
use crate::text::ShingleSet;

/// Memory of a view for sets. Apart from the cache of lookups, which a view would sweep clean.
const SETS_CACHE_BYTES: u64 = 64 << 20;

/// Sets of some thousand shingles each that this is room for.
const SETS_EXPECTED: usize = 8_192;

pub(super) struct LocalView {
    store: StoreView,
    /// By ordinal.
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
        let key = u64::from(ordinal.0);
        if let Some(set) = self.sets.get(&key) {
            return Ok(set.clone());
        }
        let set = self.store.set(ordinal)?;
        self.sets.insert(key, set.clone());
        Ok(set)
    }
}
