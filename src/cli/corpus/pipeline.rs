//! One thread reads chunks of documents, several analyse each chunk, and the results come in the
//! order of the input.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use super::keep::Keep;
use crate::cli::input::{Cancelled, Emit, Event, Item, Origin};
use crate::cli::meter::Meter;
use crate::document::DocumentId;
use crate::engine::{Analyser, Analysis, EngineError};
use crate::http::corpus_document;
use crate::text::NormalisedFields;

/// A chunk is full once it has this many documents or bytes for each thread.
const CHUNK_ITEMS: usize = 1 << 10;
const CHUNK_BYTES: usize = 1 << 20;

/// What an input yielded.
pub enum Analysed {
    /// The analysis is `None` if the document has nothing to make a set of.
    Document {
        id: DocumentId,
        origin: Origin,
        analysis: Option<Box<Analysis>>,
        /// The fields of a record.
        record: Option<NormalisedFields>,
        rank: u64,
    },
    /// The line or file is not a document.
    Invalid { origin: Origin, reason: String },
    /// The rest of the file cannot be read.
    Unread { origin: Origin, reason: String },
}

/// What is read, in order.
enum Read {
    Item(Item),
    Unread { origin: Origin, reason: String },
}

/// Visits everything that `read` emits, in its order, until the first error of `visit`. `read`
/// counts the bytes that it has read.
pub fn analyse<E>(
    read: impl FnOnce(&AtomicU64, &mut Emit<'_>) -> Result<(), Cancelled> + Send,
    (analyser, keep): (&Analyser, &Keep),
    threads: usize,
    meter: &Meter,
    mut visit: impl FnMut(Analysed) -> Result<(), E>,
) -> Result<(), E> {
    let bytes_read = AtomicU64::new(0);
    let (full, chunks) = sync_channel(1);
    let reader = Reader { chunk: Vec::new(), bytes: 0, threads, full };
    thread::scope(|scope| {
        // Fails only if `chunks` is dropped because of an error.
        scope.spawn(|| reader.read_all(read, &bytes_read));
        for chunk in chunks {
            meter.set(bytes_read.load(Ordering::Relaxed));
            analyse_chunk((analyser, keep), &chunk, threads)
                .into_iter()
                .try_for_each(&mut visit)?;
        }
        Ok(())
    })
}

struct Reader {
    chunk: Vec<Read>,
    bytes: usize,
    threads: usize,
    full: SyncSender<Vec<Read>>,
}

impl Reader {
    fn read_all(
        mut self,
        read: impl FnOnce(&AtomicU64, &mut Emit<'_>) -> Result<(), Cancelled>,
        bytes_read: &AtomicU64,
    ) -> Result<(), Cancelled> {
        read(bytes_read, &mut |event| self.take(event))?;
        self.send()
    }

    fn take(&mut self, event: Event) -> Result<(), Cancelled> {
        match event {
            Event::Item(item) => {
                self.bytes += item.json.len();
                self.chunk.push(Read::Item(item));
            }
            Event::Failed { origin, reason } => self.chunk.push(Read::Unread { origin, reason }),
            Event::Skipped { .. } | Event::FileRead => {}
        }
        let is_full = self.bytes >= CHUNK_BYTES * self.threads
            || self.chunk.len() >= CHUNK_ITEMS * self.threads;
        if is_full { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<(), Cancelled> {
        self.bytes = 0;
        self.full.send(std::mem::take(&mut self.chunk)).map_err(|_| Cancelled)
    }
}

/// Thread t of n analyses the elements t, t + n, t + 2n, ….
fn analyse_chunk(how: (&Analyser, &Keep), chunk: &[Read], threads: usize) -> Vec<Analysed> {
    let every_nth = |thread| -> Vec<Analysed> {
        chunk.iter().skip(thread).step_by(threads).map(|read| analyse_one(how, read)).collect()
    };
    let mut shares: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || every_nth(thread))).collect();
        let finish = |worker: thread::ScopedJoinHandle<'_, Vec<_>>| match worker.join() {
            Ok(share) => share.into_iter(),
            Err(panic) => std::panic::resume_unwind(panic),
        };
        workers.into_iter().map(finish).collect()
    });
    let in_order = (0..chunk.len()).map(|at| shares[at % threads].next());
    in_order.map(|analysed| analysed.expect("each thread analyses its share")).collect()
}

fn analyse_one((analyser, keep): (&Analyser, &Keep), read: &Read) -> Analysed {
    let (item, origin) = match read {
        Read::Item(item) => (item, item.origin.clone()),
        Read::Unread { origin, reason } => {
            return Analysed::Unread { origin: origin.clone(), reason: reason.clone() };
        }
    };
    let analysed = corpus_document(&item.json).and_then(|(id, content)| {
        let analysis = match analyser.analyse(&content) {
            Ok(analysis) => Some(Box::new(analysis)),
            Err(EngineError::EmptyDocument) => None,
            Err(error) => return Err(error.to_string()),
        };
        let named = || DocumentId::new(origin.to_string()).map_err(|error| error.to_string());
        let rank = keep.rank(item, &content);
        Ok((id.map_or_else(named, Ok)?, analysis, analyser.record(&content), rank))
    });
    match analysed {
        Ok((id, analysis, record, rank)) => {
            Analysed::Document { id, origin, analysis, record, rank }
        }
        Err(reason) => Analysed::Invalid { origin, reason },
    }
}
