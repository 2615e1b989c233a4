//! Reads a file that is a single document.

use std::io::{BufRead, Read};
use std::path::Path;

use super::detect::NOT_UTF_8;
use super::event::{ITEM_BYTES_MAX, Stop};
use super::formats::OpenInput;
use super::members::Value;
use super::sink::Sink;

const NOT_A_FORMAT: &str = "it is neither JSON nor a table with a column of texts; --text-column \
                            names the column, and --format text reads it as a single text";

/// The text on stdin is read only if the option says so.
pub fn read(input: OpenInput<'_>, sink: &mut Sink<'_, '_>) -> Result<(), Stop> {
    if input.path == Path::new("-") && input.reading.format.is_none() {
        return Err(Stop::NotRead(NOT_A_FORMAT.into()));
    }
    let text = whole(input.decoded())?;
    let id = Value::Text(sink.file.to_string().into());
    let values = vec![("id".into(), id), ("text".into(), Value::Text(text.into()))];
    Ok(sink.record(None, values)?)
}

/// The whole text.
pub fn whole(reader: impl BufRead) -> Result<String, Stop> {
    let bytes = whole_bytes(reader)?;
    let failed = |reason: &str| Stop::Failed { line: None, reason: reason.into() };
    if bytes.contains(&0) {
        return Err(failed("it is not text: it has a NUL"));
    }
    String::from_utf8(bytes).map_err(|_| failed(NOT_UTF_8))
}

pub fn whole_bytes(reader: impl BufRead) -> Result<Vec<u8>, Stop> {
    let mut bytes = Vec::new();
    reader.take(ITEM_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > ITEM_BYTES_MAX {
        let reason = format!("it is larger than {ITEM_BYTES_MAX} bytes");
        return Err(Stop::Failed { line: None, reason });
    }
    Ok(bytes)
}
