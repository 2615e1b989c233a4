//! From files to documents, in bounded memory.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::columns::TextColumns;
use super::copies::{Copied, CopyOf};
use super::detect::{Detected, Format, START_BYTES, chosen, detect};
use super::encoding::decoded;
use super::event::{Cancelled, Emit, Event, Skip, Stop};
use super::open::{BUFFER_BYTES, decompressed, peeked};
use super::options::Reading;
#[cfg(feature = "parquet")]
use super::parquet;
use super::record::Origin;
use super::selection::{Input, Selection};
use super::sink::Sink;
use super::warc::PageReading;
use super::{html, kept_pages, lines, table, text, values, warc};
use crate::feature::HTML;
#[cfg(not(feature = "parquet"))]
use crate::feature::PARQUET;

/// Reads every input of the selection. `bytes_read` counts the bytes before decompression.
///
/// # Errors
/// `emit` failed.
pub fn read_inputs(
    selection: &Selection,
    bytes_read: &AtomicU64,
    emit: &mut Emit<'_>,
) -> Result<(), Cancelled> {
    for input in selection.inputs() {
        match input {
            Ok(input) => read_input(&input, &selection.reading, bytes_read, emit)?,
            Err(unreadable) => {
                let origin = Origin { file: unreadable.name.into(), line: None };
                emit(Event::Failed { origin, reason: unreadable.reason, is_record: false })?;
            }
        }
    }
    Ok(())
}

/// Reads documents as the API writes them, a line of JSON each.
///
/// # Errors
/// `emit` failed.
pub fn read_documents(
    name: &str,
    documents: impl Read,
    bytes_read: &AtomicU64,
    emit: &mut Emit<'_>,
) -> Result<(), Cancelled> {
    let columns = Arc::new(TextColumns { further_are_ignored: true, ..TextColumns::default() });
    let file: Arc<str> = name.into();
    let mut sink =
        Sink { file: Arc::clone(&file), names_places: false, columns: &columns, emit: &mut *emit };
    let reader = BufReader::new(CountingReader { inner: documents, bytes: bytes_read });
    match lines::read(reader, &mut sink) {
        Ok(()) => emit(Event::FileRead),
        Err(stop) => stopped(stop, file, emit),
    }
}

fn read_input(
    input: &Input,
    reading: &Reading,
    bytes_read: &AtomicU64,
    emit: &mut Emit<'_>,
) -> Result<(), Cancelled> {
    let file = Arc::clone(&input.name);
    let mut sink = Sink {
        file: Arc::clone(&file),
        names_places: input.path.is_some(),
        columns: &reading.columns,
        emit: &mut *emit,
    };
    match read_file(input, reading, bytes_read, &mut sink) {
        Ok(()) => emit(Event::FileRead),
        Err(Stop::NotRead(reason)) if !input.is_named => {
            emit(Event::Skipped { file, why: Skip::NotRead(reason) })
        }
        Err(stop) => stopped(stop, file, emit),
    }
}

fn stopped(stop: Stop, file: Arc<str>, emit: &mut Emit<'_>) -> Result<(), Cancelled> {
    let failed = |number, reason| {
        let origin = Origin { file: file.clone(), line: number };
        Event::Failed { origin, reason, is_record: false }
    };
    match stop {
        Stop::Cancelled => Err(Cancelled),
        Stop::Empty => emit(Event::Skipped { file, why: Skip::Empty }),
        Stop::NotRead(reason) => emit(failed(None, reason)),
        Stop::Failed { line, reason } => emit(failed(line, reason)),
    }
}

fn read_file(
    input: &Input,
    reading: &Reading,
    bytes_read: &AtomicU64,
    sink: &mut Sink<'_, '_>,
) -> Result<(), Stop> {
    let path = input.path.as_deref().unwrap_or(Path::new("-"));
    let copies = reading.copies.as_deref();
    let read_before = bytes_read.load(Ordering::Relaxed);
    let (reader, is_packed): (Box<dyn BufRead + '_>, _) = match copies
        .and_then(|copies| copies.of(path, bytes_read))
    {
        Some((CopyOf::Pages, copy)) => return kept_pages::read(copy, sink),
        Some((CopyOf::Unpacked, copy)) => {
            (Box::new(BufReader::with_capacity(BUFFER_BYTES, copy)), false)
        }
        None => decompressed(CountingReader { inner: reading.source(path)?, bytes: bytes_read })?,
    };
    let (start, reader) = peeked(reader, START_BYTES)?;
    if start.is_empty() {
        return Err(Stop::Empty);
    }
    let encoding = reading.encoding;
    let detected = match (reading.format, &reading.records) {
        (Some(format), _) => chosen(format, &start),
        (None, Some(_)) => Detected::As(Format::Json),
        (None, None) => detect(&start, &input.name, &reading.columns, encoding)?,
    };
    let begin = |of| copies.map(|copies| copies.begin(of, path, (bytes_read, read_before)));
    let pages = if takes_extraction(detected, &start) { begin(CopyOf::Pages) } else { None };
    let is_seekable = detected == Detected::As(Format::Parquet);
    let keeps_unpacked =
        is_packed && !is_seekable && copies.is_some_and(|copies| copies.keeps_unpacked);
    let copy = if pages.is_none() && keeps_unpacked { begin(CopyOf::Unpacked) } else { None };
    let reader = match copy {
        Some(copy) => Box::new(BufReader::with_capacity(BUFFER_BYTES, Copied::new(reader, copy))),
        None => reader,
    };
    let decoded = |reader| decoded(&start, reader, encoding);
    match detected {
        Detected::Table(separator) => table::read(decoded(reader), separator, sink),
        Detected::As(Format::Text) if is_unmarked_stdin(input, reading) => {
            Err(Stop::NotRead(NOT_A_FORMAT.into()))
        }
        Detected::As(Format::Text) => text::read(decoded(reader), sink),
        Detected::As(Format::Json) => {
            values::read(decoded(reader), reading.records.as_deref(), sink)
        }
        Detected::As(Format::Jsonl) => lines::read(decoded(reader), sink),
        Detected::As(Format::Html) if !HTML.is_built_in => {
            Err(Stop::Failed { line: None, reason: HTML.absent() })
        }
        Detected::As(Format::Html) => kept_pages::keeping(pages, sink, |sink| {
            html::read(reader, encoding, reading.extract, sink)
        }),
        Detected::As(Format::Warc) => kept_pages::keeping(pages, sink, |sink| {
            warc::read(reader, PageReading { encoding, extract: reading.extract }, sink)
        }),
        #[cfg(not(feature = "parquet"))]
        Detected::As(Format::Parquet) => Err(Stop::Failed { line: None, reason: PARQUET.absent() }),
        #[cfg(feature = "parquet")]
        Detected::As(Format::Parquet) => {
            parquet::read(reading.seekable(path, reader, is_packed)?, bytes_read, sink)
        }
        Detected::As(Format::Csv) => table::read(decoded(reader), b',', sink),
        Detected::As(Format::Tsv) => table::read(decoded(reader), b'\t', sink),
    }
}

const NOT_A_FORMAT: &str = "it is neither JSON nor a table with a column of texts; --text-column \
                            names the column, and --format text reads it as a single text";

/// Whether the texts of the input are found in pages, which takes longer than to read them. A crawl
/// may have texts already.
fn takes_extraction(detected: Detected, start: &[u8]) -> bool {
    match detected {
        Detected::As(Format::Html) => true,
        Detected::As(Format::Warc) => !warc::begins_with_texts(start),
        _ => false,
    }
}

fn is_unmarked_stdin(input: &Input, reading: &Reading) -> bool {
    input.path.is_none() && reading.format.is_none()
}

/// Counts the bytes that are read through it.
struct CountingReader<'a, R> {
    inner: R,
    bytes: &'a AtomicU64,
}

impl<R: Read> Read for CountingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
