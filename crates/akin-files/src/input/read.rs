//! From files to documents, in bounded memory.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::columns::TextColumns;
use super::copies::{Copied, CopyOf};
use super::detect::{START_BYTES, detect};
use super::event::{Cancelled, Emit, Event, Skip, Stop};
use super::formats::{JSON, OpenInput};
use super::open::{BUFFER_BYTES, decompressed, peeked};
use super::options::Reading;
use super::record::Origin;
use super::selection::{Input, Selection};
use super::sink::Sink;
use super::{kept_pages, lines};

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
                emit(Event::Failed { origin, reason: unreadable.reason })?;
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
        Event::Failed { origin, reason }
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
    let (content, is_packed): (Box<dyn BufRead + '_>, _) = match copies
        .and_then(|copies| copies.of(path, bytes_read))
    {
        Some((CopyOf::Pages, copy)) => return kept_pages::read(copy, sink),
        Some((CopyOf::Unpacked, copy)) => {
            (Box::new(BufReader::with_capacity(BUFFER_BYTES, copy)), false)
        }
        None => decompressed(CountingReader { inner: reading.source(path)?, bytes: bytes_read })?,
    };
    let (start, content) = peeked(content, START_BYTES)?;
    if start.is_empty() {
        return Err(Stop::Empty);
    }
    let format = match (reading.format, &reading.records) {
        (Some(format), _) => format,
        (None, Some(_)) => &JSON,
        (None, None) => detect(&start, &input.name, &reading.columns, reading.encoding)?,
    };
    let begin = |of| copies.map(|copies| copies.begin(of, path, (bytes_read, read_before)));
    let keeps_unpacked = is_packed && copies.is_some_and(|copies| copies.keeps_unpacked);
    let (pages, unpacked) = match (format.copied)(&start) {
        CopyOf::Pages => (begin(CopyOf::Pages), None),
        CopyOf::Unpacked if keeps_unpacked => (None, begin(CopyOf::Unpacked)),
        CopyOf::Unpacked => (None, None),
    };
    let content = match unpacked {
        Some(copy) => Box::new(BufReader::with_capacity(BUFFER_BYTES, Copied::new(content, copy))),
        None => content,
    };
    let open = OpenInput { path, reading, start, content, is_packed, bytes_read };
    kept_pages::keeping(pages, sink, |sink| (format.read)(open, sink))
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
