//! Adding documents, and removing many at once.

mod add;
mod removal;
mod rivals;

pub use removal::Removed;
