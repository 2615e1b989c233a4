//! A consistent view of the store, with a cache of recently read sets.

use std::ops::ControlFlow;

use quick_cache::unsync::Cache;

use crate::backend::set_cache::SetBytes;
use crate::backend::{BackendError, SketchOf, SketchView};
use crate::document::Ordinal;
use crate::storage::{SketchRow, StoreView};
use akin_core::text::ShingleSet;

/// Memory for the sets of a view. Separate from the cache of lookups, which a view would flush.
const SETS_CACHE_BYTES: u64 = 64 << 20;

/// Sets of about a thousand shingles that fit into the cache.
const SETS_EXPECTED: usize = 8_192;

/// A consistent view of all documents that have not expired at its beginning. Its methods block.
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

impl SketchView for LocalView {
    fn documents(&self) -> u64 {
        self.store.documents()
    }

    fn sketches(
        &self,
        visit: &mut dyn FnMut(SketchOf<'_>) -> ControlFlow<()>,
    ) -> Result<(), BackendError> {
        let visit = |row: SketchRow<'_>| {
            let SketchRow { ordinal, shingles, fingerprint, sketch, .. } = row;
            visit(SketchOf { ordinal, id: row.document_id(), shingles, fingerprint, sketch })
        };
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
