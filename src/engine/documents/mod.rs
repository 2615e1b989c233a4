//! Documents in and out: adding, and removing many at once.

mod add;
mod removal;

pub use removal::Removed;
