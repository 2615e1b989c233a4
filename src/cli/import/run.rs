//! One thread reads, some send; between them a few batches, so that memory stays bounded.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::inputs::Selection;
use super::progress::Progress;
use super::read::{Cancelled, Event, Item, Skip, read_input};
use super::report::Report;
use super::send::{Answer, SendError, Sender};
use super::table::Columns;
use crate::cli::client::{CallError, Client};
use crate::cli::failure::Failure;

/// A batch is sent once it has so many documents or bytes.
const BATCH_ITEMS: usize = 512;
const BATCH_BYTES: usize = 1 << 20;

/// An import to be done.
pub struct Import<'a> {
    pub client: &'a Client,
    /// `/documents` with its query.
    pub path: &'a str,
    pub selection: &'a Selection,
    pub columns: Columns,
    /// Connections.
    pub jobs: usize,
    /// The longest to go on trying without progress.
    pub patience: Duration,
    pub progress: &'a Progress,
    /// Hears what the server says of each document that it took.
    pub on_answer: &'a (dyn Fn(&Answer) + Sync),
}

/// What the threads share.
struct Shared<'a> {
    task: &'a Import<'a>,
    report: Mutex<Report>,
    bytes_read: AtomicU64,
    /// Reading has ended, or what is read cannot be sent any more.
    over: AtomicBool,
    gave_up: Mutex<Option<SendError>>,
    /// Why we waited last.
    waited_for: Mutex<String>,
}

/// Reads and sends everything. The report also holds what was done before an error.
pub fn import(task: &Import<'_>) -> (Report, Result<(), Failure>) {
    let started = Instant::now();
    let shared = Shared {
        task,
        report: Mutex::default(),
        bytes_read: AtomicU64::new(0),
        over: AtomicBool::new(false),
        gave_up: Mutex::default(),
        waited_for: Mutex::default(),
    };
    // Where somebody is there, whatever else is wrong may pass: sending will tell.
    let ended = if let Err(error @ CallError::Nobody { .. }) = task.client.get("/healthz") {
        Err(error.into())
    } else {
        shared.read_and_send();
        shared.gave_up.lock().expect(UNPOISONED).take().map_or(Ok(()), |error| Err(error.into()))
    };
    task.progress.end();
    let mut report = shared.report.into_inner().expect(UNPOISONED);
    report.finish(shared.bytes_read.into_inner(), started.elapsed());
    (report, ended)
}

const UNPOISONED: &str = "nothing panics under the lock";

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        let what = error.to_string();
        match error {
            SendError::Call(error) => error.into(),
            SendError::Refused(_) => Self::with_hint(what, "is this the URL of an akin?"),
            SendError::GaveUp { .. } => Self::with_hint(
                what,
                "once the server is back, run the same import again: what is stored stays as it is",
            ),
        }
    }
}

impl Shared<'_> {
    fn read_and_send(&self) {
        let (batches, to_send) = sync_channel(self.task.jobs);
        let to_send = Mutex::new(to_send);
        thread::scope(|scope| {
            scope.spawn(|| self.measure());
            for _ in 0..self.task.jobs {
                scope.spawn(|| self.send_all(&to_send));
            }
            // Ends early only if sending did, which then says why.
            let _ = self.read_all(batches);
            self.over.store(true, Ordering::Relaxed);
        });
    }

    /// Finds out how much there is, for whoever waits.
    fn measure(&self) {
        if let Some(total) = self.task.selection.bytes(|| !self.over.load(Ordering::Relaxed)) {
            self.task.progress.set_bytes_total(total);
        }
    }

    fn read_all(&self, batches: SyncSender<Vec<Item>>) -> Result<(), Cancelled> {
        let mut batch = Batch { items: Vec::new(), bytes: 0, full: batches };
        let mut emit = |event| self.take_event(event, &mut batch);
        for input in self.task.selection.inputs() {
            match input {
                Ok(input) => {
                    read_input(&input, &self.task.columns, &self.bytes_read, &mut emit)?;
                }
                Err(unreadable) => emit(unreadable.into())?,
            }
            self.show();
        }
        batch.send()
    }

    fn take_event(&self, event: Event, batch: &mut Batch) -> Result<(), Cancelled> {
        if self.over.load(Ordering::Relaxed) {
            return Err(Cancelled);
        }
        let progress = self.task.progress;
        match event {
            Event::Item(item) => batch.push(item)?,
            Event::FileRead => self.report().files += 1,
            Event::Failed { origin, reason } => {
                progress.tell_if_verbose(|| format!("failed: {origin}: {reason}"));
                self.report().fail(&origin, &reason);
            }
            Event::Skipped { file, why } => {
                let why_text = if why == Skip::Binary { "not UTF-8 text" } else { "empty" };
                progress.tell_if_verbose(|| format!("passed over: {file}: {why_text}"));
                self.report().skip(why);
            }
        }
        Ok(())
    }

    fn send_all(&self, batches: &Mutex<Receiver<Vec<Item>>>) {
        let sender = Sender {
            client: self.task.client,
            path: self.task.path,
            patience: self.task.patience,
            on_wait: &|reason| self.tell_wait(reason),
        };
        loop {
            let next = batches.lock().expect(UNPOISONED).recv();
            let Ok(batch) = next else { return };
            // After giving up, batches are still taken so that the reader is not left waiting.
            if self.over_by_error() {
                continue;
            }
            let sent = sender.send(batch, &mut |item, answer| self.take_answer(item, &answer));
            if let Err(error) = sent {
                self.gave_up.lock().expect(UNPOISONED).get_or_insert(error);
                self.over.store(true, Ordering::Relaxed);
            }
            self.show();
        }
    }

    /// Once, however often and on however many connections it happens.
    fn tell_wait(&self, reason: &str) {
        let mut waited_for = self.waited_for.lock().expect(UNPOISONED);
        if *waited_for != reason {
            reason.clone_into(&mut waited_for);
            self.task.progress.tell(&format!("waiting: {reason}"));
        }
    }

    fn over_by_error(&self) -> bool {
        self.gave_up.lock().expect(UNPOISONED).is_some()
    }

    fn take_answer(&self, item: &Item, answer: &Answer) {
        if let Some(problem) = &answer.problem {
            let (origin, reason) = (&item.origin, problem.to_string());
            self.task.progress.tell_if_verbose(|| format!("failed: {origin}: {reason}"));
            self.report().fail(origin, &reason);
            return;
        }
        (self.task.on_answer)(answer);
        self.report().take(&answer.status, !answer.duplicates.is_empty());
    }

    fn report(&self) -> MutexGuard<'_, Report> {
        self.report.lock().expect(UNPOISONED)
    }

    fn show(&self) {
        let bytes_read = self.bytes_read.load(Ordering::Relaxed);
        self.task.progress.update(&self.report(), bytes_read);
    }
}

/// Documents until there are enough to send.
struct Batch {
    items: Vec<Item>,
    bytes: usize,
    full: SyncSender<Vec<Item>>,
}

impl Batch {
    fn push(&mut self, item: Item) -> Result<(), Cancelled> {
        if self.bytes + item.json.len() > BATCH_BYTES || self.items.len() == BATCH_ITEMS {
            self.send()?;
        }
        self.bytes += item.json.len() + 1;
        self.items.push(item);
        Ok(())
    }

    fn send(&mut self) -> Result<(), Cancelled> {
        if self.items.is_empty() {
            return Ok(());
        }
        self.bytes = 0;
        self.full.send(std::mem::take(&mut self.items)).map_err(|_| Cancelled)
    }
}
