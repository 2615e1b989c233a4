//! What is made up, as akin's own benches have it: the same on every machine.

#[path = "../../benches/corpus/lines.rs"]
pub mod lines;
#[path = "../../benches/corpus/random.rs"]
mod random;
#[path = "../../benches/corpus/sketches.rs"]
pub mod sketches;
#[path = "../../benches/corpus/texts.rs"]
mod texts;

pub use random::Random;
pub use texts::each_document;
