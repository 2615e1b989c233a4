//! One thread reads chunks of documents, several analyse each chunk, and the results come in the
//! order of the input.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use crate::input::{Cancelled, Emit, Event, Item};
use crate::meter::Meter;

/// A chunk is full once it has this many documents or bytes for each thread.
const CHUNK_ITEMS: usize = 1 << 10;
const CHUNK_BYTES: usize = 1 << 20;

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
