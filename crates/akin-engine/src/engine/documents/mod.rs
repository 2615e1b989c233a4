//! Adding, changing and removing documents. `operations` reads them.

mod add;
mod admission;
mod duplicates;
mod previous;
mod remove;
mod successor;
#[cfg(test)]
mod tests;
mod update;

pub(super) use admission::Places;
pub use update::DocumentChange;
