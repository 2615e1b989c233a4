//! In place of `rows.rs`, in a binary without the feature `parquet`.

use std::path::Path;

use super::annotation::Annotation;
use super::cuts::Cuts;
use crate::failure::Failure;
use crate::feature::PARQUET;
use crate::input::Reading;
use crate::output::Output;
use akin_model::document::DocumentId;

/// No value of this type exists.
pub enum RowsWriter {}

impl RowsWriter {
    /// # Errors
    /// Always: how to get the feature.
    pub fn new(_output: Output, _like: &Path, _reading: &Reading) -> Result<Self, Failure> {
        Err(Failure::new(PARQUET.absent()))
    }

    pub fn copy(
        &mut self,
        _path: &Path,
        _reading: &Reading,
        _rows: &[u64],
        _cuts: &Cuts,
    ) -> Result<(), Failure> {
        match *self {}
    }

    pub fn finish(self) -> Result<(), Failure> {
        match self {}
    }
}

/// No value of this type exists.
pub enum ClusterRows {}

impl ClusterRows {
    /// # Errors
    /// Always: how to get the feature.
    pub fn new(_output: Output) -> Result<Self, Failure> {
        Err(Failure::new(PARQUET.absent()))
    }

    pub fn push(&mut self, _id: &DocumentId, _annotation: &Annotation) -> Result<(), Failure> {
        match *self {}
    }

    pub fn finish(self) -> Result<(), Failure> {
        match self {}
    }
}
