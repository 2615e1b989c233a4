//! What is made up, as akin's own benches have it: the same on every machine.

#[path = "../../benches/corpus/lines.rs"]
pub mod lines;
#[path = "../../tests/numbers/mod.rs"]
mod numbers;
#[path = "../../benches/corpus/sketches.rs"]
pub mod sketches;
#[path = "../../benches/corpus/texts.rs"]
mod texts;

pub use numbers::Numbers;
pub use texts::each_document;
