//! From paths on the command line to documents.
//!
//! `selection` finds files, `open` decompresses them, `detect` finds the format of each, and the
//! reader of the format puts its records into a `sink`. `columns` make documents of records.

mod answer;
mod column_names;
mod columns;
mod copies;
mod detect;
mod encoding;
mod event;
mod file_part;
mod formats;
mod html;
mod json_line;
mod kept_pages;
mod lines;
mod links;
mod list;
mod members;
mod open;
mod options;
#[cfg_attr(not(feature = "html"), path = "no_page.rs")]
mod page;
mod page_encoding;
#[cfg(feature = "parquet")]
mod pages;
#[cfg_attr(not(feature = "parquet"), path = "no_parquet.rs")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_values;
mod read;
mod record;
mod record_text;
mod screening;
mod selection;
mod separator;
mod sink;
mod table;
#[cfg(test)]
mod tests;
mod text;
#[cfg(feature = "html")]
mod tree;
mod values;
mod warc;
mod warc_records;

pub use column_names::ColumnNames;
pub use columns::TextColumns;
pub use copies::InputCopies;
#[cfg(any(test, fuzzing, feature = "fuzzing"))]
pub use detect::of_magic;
pub use detect::of_name;
pub use event::{Cancelled, Emit, Event, Skip};
#[cfg(feature = "parquet")]
pub use file_part::FilePart;
#[cfg(any(test, fuzzing, feature = "fuzzing"))]
pub use formats::FORMATS;
pub use members::Value;
#[cfg(any(test, fuzzing, feature = "fuzzing"))]
pub use open::compression_of;
pub use open::{is_parquet, open_file, read_text_file, split_compression};
pub use options::{InputOptions, Reading};
pub use page::page;
pub use page_encoding::{charset_of, decode_page};
#[cfg(feature = "parquet")]
pub use parquet::{guarded, open_parquet};
pub use read::{read_documents, read_inputs};
pub use record::{Item, Origin, Record, Source};
pub use screening::{OnInvalid, Screening, WordCounter};
pub use selection::{Selection, refuse_stdin_twice, refuse_url};
pub use sink::PageCost;

use clap::ValueEnum;

use akin_core::scheme::Threshold;

/// The name of a choice, on the command line as in the API.
pub fn name_of(choice: &impl ValueEnum) -> String {
    choice.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Parses `--threshold`.
///
/// # Errors
/// It is no number, or none between 0 and 1.
pub fn threshold(text: &str) -> Result<Threshold, String> {
    let value: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    Threshold::new(value).map_err(|error| error.to_string())
}
