//! What is made up, as akin's own benches have it: the same on every machine.

#[path = "../../crates/akin-core/benches/corpus/lines.rs"]
pub mod lines;
#[path = "../../crates/akin-core/benches/corpus/numbers.rs"]
mod numbers;
#[path = "../../crates/akin-core/benches/corpus/sketches.rs"]
pub mod sketches;
#[path = "../../crates/akin-core/benches/corpus/texts.rs"]
mod texts;

pub use numbers::Numbers;
pub use texts::{Language, each_document};
