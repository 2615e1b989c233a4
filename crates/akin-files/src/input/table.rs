//! Documents in the records of a CSV file.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::Arc;

use csv::StringRecord;

use super::columns::{TextColumns, no_column};
use super::detect::{NOT_UTF_8, decode};
use super::event::{ITEM_BYTES_MAX, Stop};
use super::formats::OpenInput;
use super::members::Value;
use super::separator;
use super::sink::Sink;

/// Names are bounded, as each document repeats them.
const NAME_BYTES_MAX: usize = 1 << 10;

/// The byte order mark of a file that was appended to another.
const MARK: char = '\u{feff}';

/// Reads a table with the separator by which its first record has the column of the texts, or else
/// most cells.
pub fn read_csv(input: OpenInput<'_>, sink: &mut Sink<'_, '_>) -> Result<(), Stop> {
    let begins = decode(&input.start, input.reading.encoding);
    let separator = separator::of_table(begins.trim_start(), sink.columns)
        .unwrap_or_else(|| separator::most_frequent(&begins));
    read(input.decoded(), separator, sink)
}

pub fn read(reader: impl Read, separator: u8, sink: &mut Sink<'_, '_>) -> Result<(), Stop> {
    let progress =
        Rc::new(Progress { allowance: Cell::new(ITEM_BYTES_MAX), ..Progress::default() });
    let bounded = BoundedRows { inner: reader, end: END, progress: Rc::clone(&progress) };
    let mut records = csv::ReaderBuilder::new().delimiter(separator).from_reader(bounded);
    let names = records.headers().map_err(|error| failed(&error, 1))?.clone();
    // A table of line breaks only ends without a record.
    if !names.is_empty() && progress.is_in_quotes(records.position()) {
        return Err(Stop::at(1, NOT_CLOSED));
    }
    if let Some(name) = names.iter().find(|name| name.len() > NAME_BYTES_MAX) {
        let reason =
            format!("a column's name has {} bytes, more than {NAME_BYTES_MAX}", name.len());
        return Err(Stop::at(1, reason));
    }
    check(sink.columns, &names)?;
    let wanted = names.iter().map(Arc::<str>::from).enumerate();
    let wanted: Vec<_> = wanted.filter(|(_, name)| sink.columns.wants(name)).collect();
    let mut record = StringRecord::new();
    loop {
        progress.allowance.set(ITEM_BYTES_MAX);
        let line_before = records.position().line();
        match records.read_record(&mut record) {
            Ok(false) => return Ok(()),
            Ok(true) | Err(_) if progress.is_in_quotes(records.position()) => {
                let line = record.position().map_or(line_before, csv::Position::line);
                return Err(Stop::at(line, NOT_CLOSED));
            }
            Ok(true) => {
                if record.get(0).is_some_and(|cell| cell.starts_with(MARK)) {
                    record = unmarked(&record);
                    if record == names {
                        continue;
                    }
                }
                let value = |(column, name): &(usize, Arc<str>)| {
                    (Arc::clone(name), Value::Text(record[*column].to_owned().into()))
                };
                let values = wanted.iter().map(value).collect();
                sink.record(record.position().map(csv::Position::line), values)?;
            }
            Err(error) if error.is_io_error() => return Err(failed(&error, line_before)),
            Err(error) => {
                let line = error.position().map_or(line_before, csv::Position::line);
                sink.failed(Some(line), reason(&error))?;
            }
        }
    }
}

/// The record without the byte order mark before its first cell, which may be quoted.
fn unmarked(record: &StringRecord) -> StringRecord {
    let mut cells = record.iter();
    let first = cells.next().unwrap_or_default().trim_start_matches(MARK);
    let quoted = first.strip_prefix('"').and_then(|cell| cell.strip_suffix('"'));
    let first = quoted.map_or(Cow::Borrowed(first), |cell| cell.replace("\"\"", "\"").into());
    let mut unmarked = [&*first].into_iter().chain(cells).collect::<StringRecord>();
    unmarked.set_position(record.position().cloned());
    unmarked
}

/// A table without the columns has no documents: a single error instead of an error for each
/// record.
fn check(columns: &TextColumns, names: &StringRecord) -> Result<(), Stop> {
    match columns.required().find(|(name, _)| !names.iter().any(|known| known == *name)) {
        None => Ok(()),
        Some((name, option)) => Err(Stop::at(1, no_column(name, option, names.iter()))),
    }
}

fn failed(error: &csv::Error, line: u64) -> Stop {
    Stop::Failed { line: Some(line), reason: reason(error) }
}

fn reason(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Io(error) => error.to_string(),
        csv::ErrorKind::Utf8 { .. } => NOT_UTF_8.into(),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("the record has {len} fields, the first line has {expected_len}")
        }
        _ => error.to_string(),
    }
}

/// Behind the last byte of a table: a record ends before the second of these line breaks, unless
/// one of its quotes is not closed.
const END: &[u8] = b"\n\n";
const NOT_CLOSED: &str = "a quote is not closed: the rest of the file is one cell";

/// What the reader of a table has read.
#[derive(Default)]
struct Progress {
    /// Bytes that may be read before the next record.
    allowance: Cell<usize>,
    bytes: Cell<u64>,
    /// `bytes` are those of the table and its end.
    has_ended: Cell<bool>,
}

impl Progress {
    /// Whether the record that ends here lacks a quote at its end.
    fn is_in_quotes(&self, end: &csv::Position) -> bool {
        self.has_ended.get() && end.byte() == self.bytes.get()
    }
}

/// Reads a table and its end, and counts the bytes. Fails once more than the allowance was read
/// since it was last set: an unclosed quote must not read the whole file into memory.
struct BoundedRows<R> {
    inner: R,
    /// What follows the bytes of the inner reader.
    end: &'static [u8],
    progress: Rc<Progress>,
}

impl<R: Read> Read for BoundedRows<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Progress { allowance, bytes, has_ended } = &*self.progress;
        let mut read = self.inner.read(buffer)?;
        if read == 0 {
            read = self.end.read(buffer)?;
            has_ended.set(self.end.is_empty());
        }
        bytes.set(bytes.get() + read as u64);
        match allowance.get().checked_sub(read) {
            Some(left) => allowance.set(left),
            None => {
                return Err(io::Error::other(format!(
                    "the record is longer than {ITEM_BYTES_MAX} bytes (is a quote not closed?)"
                )));
            }
        }
        Ok(read)
    }
}
