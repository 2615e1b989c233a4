//! One thread reads chunks of documents, several analyse each chunk, and the results come in the
//! order of the input.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use super::keep::Keep;
use crate::input::{Cancelled, Emit, Event, Item, Origin, Record, Skip, WordCounter};
use crate::meter::Meter;
use akin_core::text::NormalisedFields;
use akin_model::analysis::ContentError;
use akin_model::analysis::{Analyser, Analysis};
use akin_model::document::{Content, DocumentId};

/// A chunk is full once it has this many documents or bytes for each thread.
const CHUNK_ITEMS: usize = 1 << 10;
const CHUNK_BYTES: usize = 1 << 20;

/// An event of reading, after analysis.
pub enum Analysed {
    /// The analysis is `None` if the document has nothing to make a set of.
    Document {
        id: DocumentId,
        origin: Origin,
        analysis: Option<Box<Analysis>>,
        /// The fields of a record.
        record: Option<NormalisedFields>,
        rank: u64,
        /// The value of the column with the source.
        source: Option<String>,
        /// The words of the text, if the rule `contained` needs them.
        text_words: Option<Vec<u64>>,
    },
    /// The record is not a document.
    Invalid { origin: Origin, reason: String },
    /// The document has too few words.
    Short,
    /// The file, the rest of the file, or a record without known boundaries cannot be read.
    Unread { origin: Origin, reason: String },
    /// The text of a page without an article.
    WithoutArticle,
    /// The file has an unknown format.
    Skipped { file: Arc<str>, reason: String },
}

/// How documents are analysed.
#[derive(Clone, Copy)]
pub struct How<'h> {
    pub analyser: &'h Analyser,
    /// Ranks the documents of a cluster.
    pub keep: &'h Keep,
    /// Documents with fewer words are short.
    pub words: &'h WordCounter,
    /// The column with the source of each document.
    pub source: Option<&'h str>,
    /// Whether the rule `contained` needs the words of texts.
    pub needs_words: bool,
    pub threads: usize,
}

impl Analysed {
    /// An event without a document; `None` if the event needs no report.
    pub fn without_document(event: Event) -> Option<Self> {
        match event {
            Event::Failed { origin, reason, is_record: true } => {
                Some(Self::Invalid { origin, reason })
            }
            Event::Failed { origin, reason, .. } => Some(Self::Unread { origin, reason }),
            Event::Skipped { file, why: Skip::NotRead(reason) } => {
                Some(Self::Skipped { file, reason })
            }
            Event::WithoutArticle => Some(Self::WithoutArticle),
            Event::Skipped { why: Skip::Empty, .. } | Event::FileRead | Event::Item(_) => None,
        }
    }
}

/// Visits everything that `read` emits, in its order, until the first error of `visit`. `read`
/// counts the bytes that it has read.
///
/// # Errors
/// The error of the reader, of the analysis of an item or of its receiver.
pub fn analyse<E>(
    read: impl FnOnce(&AtomicU64, &mut Emit<'_>) -> Result<(), Cancelled> + Send,
    how: How<'_>,
    meter: &Meter,
    mut visit: impl FnMut(Analysed) -> Result<(), E>,
) -> Result<(), E> {
    let work = |item: &Item| analyse_one(how, item);
    work_in_order(read, how.threads, meter, work, |event, analysed| {
        let analysed = analysed.or_else(|| Analysed::without_document(event));
        analysed.map_or(Ok(()), &mut visit)
    })
}

/// Visits every event of `read`, in its order, until the first error of `visit`: a document with
/// the result of `work`, which runs in several threads.
///
/// # Errors
/// The error of the reader, or of the receiver of the results.
pub fn work_in_order<T: Send, E>(
    read: impl FnOnce(&AtomicU64, &mut Emit<'_>) -> Result<(), Cancelled> + Send,
    threads: usize,
    meter: &Meter,
    work: impl Fn(&Item) -> T + Sync,
    mut visit: impl FnMut(Event, Option<T>) -> Result<(), E>,
) -> Result<(), E> {
    let bytes_read = AtomicU64::new(0);
    let (full, chunks) = sync_channel(1);
    let reader = Reader { chunk: Vec::new(), bytes: 0, threads, full };
    let work_on = |event: &Event| match event {
        Event::Item(item) => Some(work(item)),
        _ => None,
    };
    thread::scope(|scope| {
        // Fails only if `chunks` is dropped because of an error.
        scope.spawn(|| reader.read_all(read, &bytes_read));
        // Thread t of n works on the elements t, t + n, t + 2n, … of each chunk.
        let start = |thread| {
            let (give, chunks) = channel::<Arc<Vec<Event>>>();
            let (take, shares) = channel();
            scope.spawn(move || {
                for chunk in chunks {
                    let share = chunk.iter().skip(thread).step_by(threads).map(work_on);
                    let share: Vec<Option<T>> = share.collect();
                    drop(chunk);
                    // The receiver is gone after an error.
                    drop(take.send(share));
                }
            });
            (give, shares)
        };
        let workers: Vec<_> = (0..threads).map(start).collect();
        for chunk in chunks {
            meter.set(bytes_read.load(Ordering::Relaxed));
            let mut results = work_on_chunk(&workers, chunk);
            results.try_for_each(|(event, result)| visit(event, result))?;
        }
        Ok(())
    })
}

/// Gives a thread chunks, and takes the results of its share of each chunk.
type Worker<T> = (Sender<Arc<Vec<Event>>>, Receiver<Vec<Option<T>>>);

/// The events of a chunk in their order, each with its result.
fn work_on_chunk<T>(
    workers: &[Worker<T>],
    chunk: Vec<Event>,
) -> impl Iterator<Item = (Event, Option<T>)> {
    const ENDS: &str = "a thread ends before its chunks only by a panic";
    let chunk = Arc::new(chunk);
    for (give, _) in workers {
        give.send(Arc::clone(&chunk)).expect(ENDS);
    }
    let share = |(_, shares): &Worker<T>| shares.recv().expect(ENDS).into_iter();
    let mut shares: Vec<_> = workers.iter().map(share).collect();
    let chunk = Arc::into_inner(chunk).expect("each thread has dropped the chunk");
    chunk.into_iter().enumerate().map(move |(at, event)| {
        let thread = at % shares.len();
        let share = &mut shares[thread];
        (event, share.next().expect("each thread has a result for each of its events"))
    })
}

struct Reader {
    chunk: Vec<Event>,
    bytes: usize,
    threads: usize,
    full: SyncSender<Vec<Event>>,
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
        if let Event::Item(item) = &event {
            self.bytes += item.bytes();
        }
        self.chunk.push(event);
        let is_full = self.bytes >= CHUNK_BYTES * self.threads
            || self.chunk.len() >= CHUNK_ITEMS * self.threads;
        if is_full { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<(), Cancelled> {
        self.bytes = 0;
        self.full.send(std::mem::take(&mut self.chunk)).map_err(|_| Cancelled)
    }
}

fn analyse_one(how: How<'_>, item: &Item) -> Analysed {
    let origin = item.origin.clone();
    analyse_record(how, item).unwrap_or_else(|reason| Analysed::Invalid { origin, reason })
}

/// The value of a column as a text: empty if there is none.
pub fn value_of(record: &Record<'_>, column: &str) -> String {
    let value = record.value(column);
    let text = value.as_ref().and_then(|value| value.text().ok().flatten());
    let json = || value.as_ref().map_or_else(String::new, |value| value.json().get().into());
    text.map_or_else(json, Cow::into_owned)
}

fn analyse_record(how: How<'_>, item: &Item) -> Result<Analysed, String> {
    let How { analyser, keep, words, .. } = how;
    let record = item.record()?;
    if words.is_short(&record.content) {
        return Ok(Analysed::Short);
    }
    let analysis = match analyser.analyse(&record.content) {
        Ok(analysis) => Some(Box::new(analysis)),
        Err(ContentError::Empty) => None,
        Err(error) => return Err(error.to_string()),
    };
    let source = how.source.map(|column| value_of(&record, column));
    let text_words = match &record.content {
        _ if !how.needs_words => None,
        Content::Text(text) => {
            let words = analyser.shingler.words(text).map_err(|error| error.to_string())?;
            Some(words.hashes().to_vec())
        }
        _ => return Err("the rule contained compares texts only".to_owned()),
    };
    Ok(Analysed::Document {
        origin: item.origin.clone(),
        analysis,
        record: analyser.record(&record.content),
        rank: keep.rank(&record, item.bytes()),
        id: record.id,
        source,
        text_words,
    })
}
