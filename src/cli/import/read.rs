//! From a file to its documents, in bounded memory.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use serde::Serialize;

use super::inputs::{Format, Input, Unreadable};
use super::table::{self, Columns};
use crate::cli::failure::Failure;

/// The largest document that is read into memory. Servers set a lower limit of their own.
pub const ITEM_BYTES_MAX: usize = 32 << 20;
/// How much of a file is looked at to tell a text from something else.
const SNIFFED_BYTES: usize = 8 << 10;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const READ_BUFFER_BYTES: usize = 64 << 10;

/// A document on its way: a line of NDJSON without its end.
#[derive(Debug)]
pub struct Item {
    pub json: Vec<u8>,
    pub origin: Origin,
}

/// Where a document came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub file: Arc<str>,
    /// From 1; `None` for a file that is one document.
    pub line: Option<u64>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// What reading comes upon.
#[derive(Debug)]
pub enum Event {
    Item(Item),
    /// One document, or all that follows in the file, cannot be had.
    Failed {
        origin: Origin,
        reason: String,
    },
    /// The file is not for us.
    Skipped {
        file: Arc<str>,
        why: Skip,
    },
    /// The file has been read to its end.
    FileRead,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// It has a NUL early on, or is not UTF-8.
    Binary,
    /// It has no letter and no digit.
    Empty,
}

/// Why reading a file ended before its end.
pub enum Stop {
    /// Nobody takes the documents any more.
    Cancelled,
    Skip(Skip),
    Failed {
        line: Option<u64>,
        reason: String,
    },
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed { line: None, reason: error.to_string() }
    }
}

impl From<Unreadable> for Event {
    fn from(unreadable: Unreadable) -> Self {
        let origin = Origin { file: unreadable.name.into(), line: None };
        Self::Failed { origin, reason: unreadable.reason }
    }
}

/// Takes events; `Err` once nobody wants any more.
pub type Emit<'a> = dyn FnMut(Event) -> Result<(), Cancelled> + 'a;

pub struct Cancelled;

impl From<Cancelled> for Stop {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Reads one input. `bytes_read` counts what came from the disk as it goes.
pub fn read_input(
    input: &Input,
    columns: &Columns,
    bytes_read: &AtomicU64,
    emit: &mut Emit<'_>,
) -> Result<(), Cancelled> {
    let file = Arc::clone(&input.name);
    let outcome =
        open(input, bytes_read).map_err(Stop::from).and_then(|reader| match input.format {
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

/// The content of the file.
fn open<'a>(input: &Input, bytes: &'a AtomicU64) -> io::Result<Box<dyn BufRead + 'a>> {
    decompressed(Counted { inner: source(input.path.as_deref())?, bytes })
}

/// The content of one file, or of stdin for `-`; gzip and zstd are decompressed.
///
/// # Errors
/// It cannot be read.
pub fn open_file(path: &Path) -> io::Result<Box<dyn BufRead>> {
    decompressed(source((path != Path::new("-")).then_some(path))?)
}

fn source(path: Option<&Path>) -> io::Result<Box<dyn Read>> {
    match path {
        Some(path) => Ok(Box::new(File::open(path)?)),
        None => Ok(Box::new(io::stdin())),
    }
}

/// What begins like gzip or zstd is decompressed.
fn decompressed<'a>(raw: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut raw = BufReader::with_capacity(READ_BUFFER_BYTES, raw);
    let start = raw.fill_buf()?;
    if start.starts_with(&[0x1f, 0x8b]) {
        let decoder = MultiGzDecoder::new(raw);
        return Ok(Box::new(BufReader::with_capacity(READ_BUFFER_BYTES, decoder)));
    }
    if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let decoder = zstd::stream::read::Decoder::with_buffer(raw)?;
        return Ok(Box::new(BufReader::with_capacity(READ_BUFFER_BYTES, decoder)));
    }
    Ok(Box::new(raw))
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

fn whole_text(reader: impl BufRead) -> Result<String, Stop> {
    let mut bytes = Vec::new();
    let mut limited = reader.take(ITEM_BYTES_MAX as u64 + 1);
    limited.by_ref().take(SNIFFED_BYTES as u64).read_to_end(&mut bytes)?;
    if bytes.contains(&0) {
        return Err(Stop::Skip(Skip::Binary));
    }
    limited.read_to_end(&mut bytes)?;
    if bytes.len() > ITEM_BYTES_MAX {
        let reason = format!("it is larger than {ITEM_BYTES_MAX} bytes");
        return Err(Stop::Failed { line: None, reason });
    }
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    String::from_utf8(bytes).map_err(|_| Stop::Skip(Skip::Binary))
}

/// The text of one file, or of stdin for `-`; gzip and zstd are decompressed.
///
/// # Errors
/// It cannot be read, or is not text.
pub fn read_text_file(path: &Path) -> Result<String, Failure> {
    let text = open_file(path).map_err(Stop::from).and_then(whole_text);
    text.map_err(|stop| {
        let reason = match stop {
            Stop::Failed { reason, .. } => reason,
            Stop::Skip(_) | Stop::Cancelled => "it is not UTF-8 text".into(),
        };
        Failure::new(format!("cannot read {}: {reason}", path.display()))
    })
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
