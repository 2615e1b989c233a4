//! Bulk import: a stream of documents in, a stream of results out.

mod import;
mod intake;
pub mod ndjson;
mod report;
mod split;

pub use import::Bulk;
pub use intake::{Batch, BatchPermit, Intake};
pub use report::{Reporter, ResultLine};
pub use split::{Form, InputLine, Splitter};
