//! From paths on the command line to documents.
//!
//! `selection` finds files, `open` decompresses them, `detect` says what each is, and the reader of
//! that format puts its records into a `sink`, where `columns` make documents of them.

mod columns;
mod detect;
mod encoding;
mod event;
mod html;
mod lines;
mod list;
mod open;
mod options;
mod parquet;
mod read;
mod selection;
mod sink;
mod table;
mod text;
mod values;
mod warc;

pub use event::{Cancelled, Emit, Event, Item, Origin, Skip};
pub use open::{open_file, read_text_file};
pub use options::InputOptions;
pub use parquet::open_parquet;
pub use read::{read_documents, read_inputs};
pub use selection::Selection;

use clap::ValueEnum;

use crate::scheme::Threshold;

/// The name of a choice, on the command line as in the API.
pub fn name_of(choice: &impl ValueEnum) -> String {
    choice.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Parses `--threshold`.
pub fn threshold(text: &str) -> Result<Threshold, String> {
    let value: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    Threshold::new(value).map_err(|error| error.to_string())
}
