//! What is made up, as akin's own benches have it: the same on every machine.

#[path = "../../benches/corpus/random.rs"]
mod random;
#[path = "../../benches/corpus/sketches.rs"]
mod sketches;
#[path = "../../benches/corpus/texts.rs"]
mod texts;

pub use random::Random;
pub use sketches::made_up as made_up_sketch;
pub use texts::each_document;
