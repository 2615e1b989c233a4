//! A corpus that is the same on every machine: made-up words by Zipf's law.

mod random;
mod sketches;
mod texts;

pub use random::Random;
pub use sketches::made_up as made_up_sketch;
pub use texts::each_document;
