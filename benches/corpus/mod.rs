//! A corpus that is the same on every machine: made-up words by Zipf's law.

#[path = "../../tests/numbers/mod.rs"]
mod numbers;
mod texts;

pub use numbers::Numbers;
pub use texts::each_document;
