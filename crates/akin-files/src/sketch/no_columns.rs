//! In place of `columns.rs`, in a binary without the feature `parquet`.

use crate::failure::Failure;
use crate::feature::PARQUET;
use crate::output::Output;
use akin_core::scheme::Key;
use akin_model::analysis::Analysis;
use akin_model::document::DocumentId;

#[expect(dead_code, reason = "nothing is written")]
pub struct Layout {
    pub slot_bits: u32,
    pub has_sets: bool,
    pub description: String,
}

/// No value of this type exists.
pub enum SketchesWriter {}

impl SketchesWriter {
    /// # Errors
    /// Always: how to get the feature.
    pub fn new(_output: Output, _layout: Layout) -> Result<Self, Failure> {
        Err(Failure::new(PARQUET.absent()))
    }

    pub fn push(
        &mut self,
        _id: &DocumentId,
        _analysis: &Analysis,
        _keys: impl Iterator<Item = Key>,
    ) -> Result<(), Failure> {
        match *self {}
    }

    pub fn finish(self) -> Result<(), Failure> {
        match self {}
    }
}
