//! Adding documents, and removing many at once.

mod add;
mod removal;
mod rivals;
mod superseded;

pub use removal::Removed;
