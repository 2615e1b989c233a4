//! A consistent view of the store.

use std::ops::ControlFlow;

use crate::backend::{BackendError, SketchOf, SketchView};
use crate::document::Ordinal;
use crate::storage::{SketchRow, StoreView};
use akin_core::text::ShingleSet;

impl SketchView for StoreView {
    fn documents(&self) -> u64 {
        self.documents()
    }

    fn sketches(
        &self,
        visit: &mut dyn FnMut(SketchOf<'_>) -> ControlFlow<()>,
    ) -> Result<(), BackendError> {
        let visit = |row: SketchRow<'_>| {
            let SketchRow { ordinal, shingles, fingerprint, sketch, .. } = row;
            visit(SketchOf { ordinal, id: row.document_id(), shingles, fingerprint, sketch })
        };
        Ok(self.sketches(visit)?)
    }

    fn set(&mut self, ordinal: Ordinal) -> Result<ShingleSet, BackendError> {
        Ok(StoreView::set(self, ordinal)?)
    }
}
