//! The wire types of responses.

pub mod answers;
pub mod found;
pub mod json;
pub mod pace;
pub mod pieces;
pub mod reindex;
pub mod stats;
pub mod stored;
pub mod timed;
