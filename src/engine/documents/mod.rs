//! Adding and removing documents.

mod add;
mod removal;
mod rivals;
mod superseded;
