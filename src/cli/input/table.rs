//! Documents in the records of a CSV file.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::Arc;

use csv::StringRecord;
use serde_json::{Map, Value};

use super::event::{Emit, Event, ITEM_BYTES_MAX, Item, Origin, Stop};

/// Which columns make a document. The others become its metadata.
#[derive(Clone, Debug)]
pub struct Columns {
    pub id: String,
    pub text: String,
}

impl Default for Columns {
    fn default() -> Self {
        Self { id: "id".into(), text: "text".into() }
    }
}

/// The positions of the two columns that make a document.
struct Positions {
    id: usize,
    text: usize,
}

pub fn read(
    reader: impl Read,
    file: &Arc<str>,
    columns: &Columns,
    emit: &mut Emit<'_>,
) -> Result<(), Stop> {
    let allowance = Rc::new(Cell::new(ITEM_BYTES_MAX));
    let bounded = Bounded { inner: reader, allowance: Rc::clone(&allowance) };
    let mut records = csv::Reader::from_reader(bounded);
    let names = records.headers().map_err(|error| failed(&error, 1))?.clone();
    let positions = columns.positions(&names)?;
    let mut record = StringRecord::new();
    loop {
        allowance.set(ITEM_BYTES_MAX);
        let line_before = records.position().line();
        match records.read_record(&mut record) {
            Ok(false) => return Ok(()),
            Ok(true) => {
                let line = record.position().map(csv::Position::line);
                let json = document(&names, &record, &positions);
                let origin = Origin { file: Arc::clone(file), line };
                emit(Event::Item(Item { json, origin }))?;
            }
            Err(error) if error.is_io_error() => return Err(failed(&error, line_before)),
            Err(error) => {
                let line = Some(error.position().map_or(line_before, csv::Position::line));
                let origin = Origin { file: Arc::clone(file), line };
                emit(Event::Failed { origin, reason: reason(&error) })?;
            }
        }
    }
}

impl Columns {
    fn positions(&self, names: &StringRecord) -> Result<Positions, Stop> {
        let position = |wanted: &str, option: &str| {
            names.iter().position(|name| name == wanted).ok_or_else(|| {
                let columns = names.iter().collect::<Vec<_>>().join(", ");
                Stop::Failed {
                    line: Some(1),
                    reason: format!(
                        "there is no column '{wanted}' but {columns}; name the column by {option}"
                    ),
                }
            })
        };
        Ok(Positions {
            id: position(&self.id, "--id-column")?,
            text: position(&self.text, "--text-column")?,
        })
    }
}

fn document(names: &StringRecord, record: &StringRecord, positions: &Positions) -> Vec<u8> {
    let cell = |at: usize| Value::String(record.get(at).unwrap_or_default().into());
    let mut document = Map::new();
    document.insert("id".into(), cell(positions.id));
    document.insert("text".into(), cell(positions.text));
    let metadata: Map<String, Value> = names
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != positions.id && *at != positions.text)
        .map(|(at, name)| (name.to_owned(), cell(at)))
        .collect();
    if !metadata.is_empty() {
        document.insert("metadata".into(), Value::Object(metadata));
    }
    serde_json::to_vec(&document).expect("strings always make JSON")
}

fn failed(error: &csv::Error, line: u64) -> Stop {
    Stop::Failed { line: Some(line), reason: reason(error) }
}

fn reason(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Io(error) => error.to_string(),
        csv::ErrorKind::Utf8 { .. } => "the record is not UTF-8".into(),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("the record has {len} fields, the first line has {expected_len}")
        }
        _ => error.to_string(),
    }
}

/// Fails once more than the allowance was read since it was last set: an unclosed quote must not
/// read the whole file into memory.
struct Bounded<R> {
    inner: R,
    allowance: Rc<Cell<usize>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        match self.allowance.get().checked_sub(read) {
            Some(left) => self.allowance.set(left),
            None => {
                return Err(io::Error::other(format!(
                    "the record is longer than {ITEM_BYTES_MAX} bytes (is a quote not closed?)"
                )));
            }
        }
        Ok(read)
    }
}
