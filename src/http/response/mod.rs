//! The wire types of responses.

pub mod answers;
pub mod found;
pub mod pace;
pub mod reindex;
pub mod reply;
pub mod stats;
pub mod stored;
pub mod timed;
