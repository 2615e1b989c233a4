//! One thread reads, some make sets, and what they make comes out in the order of the input,
//! however many they are.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use crate::cli::import::{Cancelled, Columns, Event, Item, Origin, Selection, read_input};
use crate::cli::meter::Meter;
use crate::document::DocumentId;
use crate::engine::{Analyser, Analysis, EngineError};
use crate::http::corpus_document;

/// A batch is full once it has so many documents or bytes.
const BATCH_ITEMS: usize = 256;
const BATCH_BYTES: usize = 256 << 10;

/// Batches that are read, worked on or waiting for their turn, of each thread.
const BATCHES_AHEAD: usize = 4;

/// What was read turned out to be.
pub enum Understood {
    Document(DocumentId, Box<Analysis>),
    /// A document that has nothing to make a set of.
    Empty,
    /// No document.
    Failed {
        origin: Origin,
        reason: String,
    },
    /// A file, or a part of one, that gives no documents.
    Unread {
        origin: Origin,
        reason: String,
    },
}

/// Something with its turn.
struct Turn<T> {
    number: u64,
    what: T,
}

/// What is read in one turn: documents, or that there are none.
enum Read {
    Items(Vec<Item>),
    Unread { origin: Origin, reason: String },
}

/// Visits all that is read in the order of the input, until the first error of `visit`.
pub fn understand<E>(
    selection: &Selection,
    analyser: &Analyser,
    threads: usize,
    meter: &Meter,
    mut visit: impl FnMut(Understood) -> Result<(), E>,
) -> Result<(), E> {
    let bytes_read = AtomicU64::new(0);
    let ahead = threads * BATCHES_AHEAD;
    // Whatever is under way has a ticket, which is given back when its turn has come.
    let (tickets, free) = sync_channel(ahead);
    for _ in 0..ahead {
        tickets.send(()).expect("there is room for all of them");
    }
    let (to_make, waiting) = sync_channel(ahead);
    let (made, turns) = channel();
    let waiting = Mutex::new(waiting);
    thread::scope(|scope| {
        for _ in 0..threads {
            let (waiting, made) = (&waiting, made.clone());
            scope.spawn(move || make_all(analyser, waiting, &made));
        }
        drop(made);
        scope.spawn(|| {
            let reader = Reader { number: 0, items: Vec::new(), bytes: 0, free, to_make };
            // Ends early only if nobody wants the rest.
            let _ = reader.read_all(selection, &bytes_read);
        });
        let mut in_turn = InTurn { turns, early: BTreeMap::new(), next: 0 };
        // Both ends go before the threads are waited for, so that those end, too.
        let tickets = tickets;
        while let Some(understood) = in_turn.next() {
            meter.set(bytes_read.load(Ordering::Relaxed));
            understood.into_iter().try_for_each(&mut visit)?;
            // There is no reader any more at the end.
            let _ = tickets.send(());
        }
        Ok(())
    })
}

struct Reader {
    number: u64,
    items: Vec<Item>,
    bytes: usize,
    free: Receiver<()>,
    to_make: SyncSender<Turn<Read>>,
}

impl Reader {
    fn read_all(mut self, selection: &Selection, bytes_read: &AtomicU64) -> Result<(), Cancelled> {
        let columns = Columns::default();
        for input in selection.inputs() {
            match input {
                Ok(input) => {
                    read_input(&input, &columns, bytes_read, &mut |event| self.take(event))?;
                }
                Err(unreadable) => self.take(unreadable.into())?,
            }
        }
        self.send_items()
    }

    fn take(&mut self, event: Event) -> Result<(), Cancelled> {
        match event {
            Event::Item(item) => {
                self.bytes += item.json.len();
                self.items.push(item);
                if self.bytes >= BATCH_BYTES || self.items.len() == BATCH_ITEMS {
                    self.send_items()?;
                }
                Ok(())
            }
            Event::Failed { origin, reason } => {
                self.send_items()?;
                self.send(Read::Unread { origin, reason })
            }
            Event::Skipped { .. } | Event::FileRead => Ok(()),
        }
    }

    fn send_items(&mut self) -> Result<(), Cancelled> {
        self.bytes = 0;
        match std::mem::take(&mut self.items) {
            items if items.is_empty() => Ok(()),
            items => self.send(Read::Items(items)),
        }
    }

    fn send(&mut self, what: Read) -> Result<(), Cancelled> {
        self.free.recv().map_err(|_| Cancelled)?;
        let number = self.number;
        self.number += 1;
        self.to_make.send(Turn { number, what }).map_err(|_| Cancelled)
    }
}

fn make_all(
    analyser: &Analyser,
    waiting: &Mutex<Receiver<Turn<Read>>>,
    made: &Sender<Turn<Vec<Understood>>>,
) {
    loop {
        let next = waiting.lock().expect("nothing panics under the lock").recv();
        let Ok(Turn { number, what }) = next else { return };
        let what = match what {
            Read::Unread { origin, reason } => vec![Understood::Unread { origin, reason }],
            Read::Items(items) => items.into_iter().map(|item| make(analyser, item)).collect(),
        };
        if made.send(Turn { number, what }).is_err() {
            return;
        }
    }
}

fn make(analyser: &Analyser, item: Item) -> Understood {
    let Item { json, origin } = item;
    let made = corpus_document(&json).and_then(|(id, content)| {
        let named = || DocumentId::new(origin.to_string()).map_err(|error| error.to_string());
        match analyser.analyse(&content) {
            Ok(analysis) => {
                Ok(Understood::Document(id.map_or_else(named, Ok)?, Box::new(analysis)))
            }
            Err(EngineError::EmptyDocument) => Ok(Understood::Empty),
            Err(error) => Err(error.to_string()),
        }
    });
    made.unwrap_or_else(|reason| Understood::Failed { origin, reason })
}

/// Puts back in order what is made side by side.
struct InTurn {
    turns: Receiver<Turn<Vec<Understood>>>,
    early: BTreeMap<u64, Vec<Understood>>,
    next: u64,
}

impl InTurn {
    fn next(&mut self) -> Option<Vec<Understood>> {
        loop {
            if let Some(what) = self.early.remove(&self.next) {
                self.next += 1;
                return Some(what);
            }
            let Turn { number, what } = self.turns.recv().ok()?;
            self.early.insert(number, what);
        }
    }
}
