//! In place of `parquet.rs`, in a binary without the feature `parquet`.

use super::event::Stop;
use super::formats::OpenInput;
use super::sink::Sink;
use crate::feature::PARQUET;

/// # Errors
/// Always: how to get the feature.
pub fn read(_: OpenInput<'_>, _: &mut Sink<'_, '_>) -> Result<(), Stop> {
    Err(Stop::Failed { line: None, reason: PARQUET.absent() })
}
