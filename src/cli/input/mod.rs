//! From paths on the command line to documents.

mod event;
mod open;
mod read;
mod selection;
mod table;

pub use event::{Cancelled, Event, Item, Origin, Skip};
pub use open::{open_file, read_text_file};
pub use read::read_inputs;
pub use selection::{Format, Selection};
pub use table::Columns;

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
