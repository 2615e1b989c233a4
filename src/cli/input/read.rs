//! From files to documents, in bounded memory.

use std::io::{self, BufRead, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::event::{Cancelled, Emit, Event, ITEM_BYTES_MAX, Item, Origin, Skip, Stop};
use super::open::{BYTE_ORDER_MARK, decompressed, source, whole_text};
use super::selection::{Format, Input, Selection};
use super::table::{self, Columns};

/// Reads every input of the selection. `bytes_read` counts the bytes before decompression.
///
/// # Errors
/// `emit` failed.
pub fn read_inputs(
    selection: &Selection,
    columns: &Columns,
    bytes_read: &AtomicU64,
    emit: &mut Emit<'_>,
) -> Result<(), Cancelled> {
    for input in selection.inputs() {
        match input {
            Ok(input) => read_input(&input, columns, bytes_read, emit)?,
            Err(unreadable) => {
                let origin = Origin { file: unreadable.name.into(), line: None };
                emit(Event::Failed { origin, reason: unreadable.reason })?;
            }
        }
    }
    Ok(())
}

fn read_input(
    input: &Input,
    columns: &Columns,
    bytes_read: &AtomicU64,
    emit: &mut Emit<'_>,
) -> Result<(), Cancelled> {
    let file = Arc::clone(&input.name);
    let reader = source(input.path.as_deref().unwrap_or(Path::new("-")))
        .and_then(|inner| decompressed(Counted { inner, bytes: bytes_read }));
    let outcome = reader.map_err(Stop::from).and_then(|reader| match input.format {
        Format::Text => read_text(reader, &file, emit),
        Format::Jsonl => read_lines(reader, &file, emit),
        Format::Csv => table::read(reader, &file, columns, emit),
    });
    match outcome {
        Ok(()) => emit(Event::FileRead),
        Err(Stop::Cancelled) => Err(Cancelled),
        Err(Stop::Skip(why)) => emit(Event::Skipped { file, why }),
        Err(Stop::Failed { line, reason }) => {
            emit(Event::Failed { origin: Origin { file, line }, reason })
        }
    }
}

/// Counts what is read through it.
struct Counted<'a, R> {
    inner: R,
    bytes: &'a AtomicU64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[derive(Serialize)]
struct TextDocument<'a> {
    id: &'a str,
    text: &'a str,
}

fn read_text(reader: impl BufRead, file: &Arc<str>, emit: &mut Emit<'_>) -> Result<(), Stop> {
    let text = whole_text(reader)?;
    if !text.chars().any(char::is_alphanumeric) {
        return Err(Stop::Skip(Skip::Empty));
    }
    let document = TextDocument { id: file, text: &text };
    let json = serde_json::to_vec(&document).expect("two strings always make JSON");
    let origin = Origin { file: Arc::clone(file), line: None };
    Ok(emit(Event::Item(Item { json, origin }))?)
}

fn read_lines(mut reader: impl BufRead, file: &Arc<str>, emit: &mut Emit<'_>) -> Result<(), Stop> {
    for number in 1.. {
        let line = Some(number);
        let mut json = Vec::new();
        let at_line = |e: io::Error| Stop::Failed { line, reason: e.to_string() };
        if reader
            .by_ref()
            .take(ITEM_BYTES_MAX as u64)
            .read_until(b'\n', &mut json)
            .map_err(at_line)?
            == 0
        {
            break;
        }
        let origin = Origin { file: Arc::clone(file), line };
        if json.len() == ITEM_BYTES_MAX && json.last() != Some(&b'\n') {
            reader.skip_until(b'\n').map_err(at_line)?;
            let reason = format!("the line is longer than {ITEM_BYTES_MAX} bytes");
            emit(Event::Failed { origin, reason })?;
            continue;
        }
        json.truncate(json.trim_ascii_end().len());
        if number == 1 && json.starts_with(BYTE_ORDER_MARK) {
            json.drain(..BYTE_ORDER_MARK.len());
        }
        if !json.trim_ascii_start().is_empty() {
            emit(Event::Item(Item { json, origin }))?;
        }
    }
    Ok(())
}
