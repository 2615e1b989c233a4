//! A corpus that is the same on every machine: made-up words by Zipf's law.

mod random;
mod texts;

pub use random::Random;
pub use texts::each_document;
