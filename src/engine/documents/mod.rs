//! Adding and removing documents.

mod add;
mod removal;
mod rivals;
mod superseded;
mod update;

pub use update::DocumentChange;
