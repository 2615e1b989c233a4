//! Adding, changing and removing documents. `operations` reads them.

mod add;
mod duplicates;
mod remove;
mod successor;
#[cfg(test)]
mod tests;
mod update;

pub use update::DocumentChange;
