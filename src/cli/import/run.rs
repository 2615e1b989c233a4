//! A thread reads, several threads send, and a bounded number of batches waits between them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::report::ImportReport;
use super::send::{DocumentAnswer, PostedBatch, SendError, Sender};
use crate::cli::client::{CallError, Client};
use crate::cli::failure::{Failure, hint_for_problem};
use akin_files::input::{
    Cancelled, Event, Item, Origin, Selection, Skip, WordCounter, read_inputs,
};
use akin_files::meter::Meter;
use akin_model::answer::Added;

/// A batch is sent once it has this many documents or bytes.
const BATCH_ITEMS: usize = 512;
const BATCH_BYTES: usize = 1 << 20;

/// The code of the problem of a document with nothing to make a set of.
const EMPTY_DOCUMENT: &str = "empty_document";

/// The documents of an import, and its options.
pub struct Import<'a> {
    pub client: &'a Client,
    /// `/documents` with its query.
    pub path: &'a str,
    pub selection: &'a Selection,
    /// Texts with fewer words are left out.
    pub min_words: usize,
    /// Connections.
    pub jobs: usize,
    /// The time to retry without progress.
    pub patience: Duration,
    pub meter: &'a Meter,
    /// Print every skipped file and every failure at once.
    pub verbose: bool,
    /// Called with the answer to each document that the server accepted.
    pub on_answer: &'a (dyn Fn(&Added) + Sync),
}

/// The state shared by the threads.
struct ImportState<'a> {
    task: &'a Import<'a>,
    report: Mutex<ImportReport>,
    bytes_read: AtomicU64,
    /// Reading has ended, or sending has failed.
    over: AtomicBool,
    gave_up: Mutex<Option<SendError>>,
    /// The reason of the last wait.
    waited_for: Mutex<String>,
}

/// Reads and sends everything. After an error the report counts the documents sent before it.
pub fn import(task: &Import<'_>) -> (ImportReport, Result<(), Failure>) {
    let started = Instant::now();
    let shared = ImportState {
        task,
        report: Mutex::default(),
        bytes_read: AtomicU64::new(0),
        over: AtomicBool::new(false),
        gave_up: Mutex::default(),
        waited_for: Mutex::default(),
    };
    // Any other error may be temporary: the senders retry.
    let ended = match task.client.get("/healthz") {
        Err(error) if !matches!(error, CallError::Lost { .. }) => Err(error.into()),
        _ => {
            shared.read_and_send();
            let gave_up = shared.gave_up.lock().expect(UNPOISONED).take();
            gave_up.map_or(Ok(()), |error| Err(error.into()))
        }
    };
    task.meter.end();
    let mut report = shared.report.into_inner().expect(UNPOISONED);
    report.finish(shared.bytes_read.into_inner(), started.elapsed());
    (report, ended)
}

const UNPOISONED: &str = "nothing panics under the lock";

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Call(error) => error.into(),
            SendError::Refused(ref problem) => Self::Reported {
                what: error.to_string(),
                hint: hint_for_problem(problem).map(str::to_owned),
            },
            SendError::GaveUp { .. } => Self::with_hint(
                error.to_string(),
                "once the server is back, run the same import again: stored documents stay as \
                 they are",
            ),
        }
    }
}

impl ImportState<'_> {
    fn read_and_send(&self) {
        let (batches, to_send) = sync_channel(self.task.jobs);
        let to_send = Mutex::new(to_send);
        thread::scope(|scope| {
            scope.spawn(|| self.measure());
            for _ in 0..self.task.jobs {
                scope.spawn(|| self.send_all(&to_send));
            }
            // Reading ends early only after a failure of sending, which is reported instead.
            let _ = self.read_all(batches);
            self.over.store(true, Ordering::Relaxed);
        });
    }

    fn measure(&self) {
        if let Some(total) = self.task.selection.bytes(|| !self.over.load(Ordering::Relaxed)) {
            self.task.meter.set_total(total);
        }
    }

    fn read_all(&self, batches: SyncSender<Vec<PostedBatch>>) -> Result<(), Cancelled> {
        let words = (self.task.min_words > 0).then(|| WordCounter::new(self.task.min_words));
        let mut batch = ImportBatch { items: Vec::new(), bytes: 0, full: batches, words };
        let mut emit = |event| self.take_event(event, &mut batch);
        read_inputs(self.task.selection, &self.bytes_read, &mut emit)?;
        batch.send()
    }

    fn take_event(&self, event: Event, batch: &mut ImportBatch) -> Result<(), Cancelled> {
        if self.over.load(Ordering::Relaxed) {
            return Err(Cancelled);
        }
        match event {
            Event::Item(item) if batch.is_short(&item) => self.report().documents.short += 1,
            Event::Item(item) => {
                let origin = item.origin.clone();
                match item.json() {
                    Ok(json) => batch.push(PostedBatch { json: json.into_owned(), origin })?,
                    Err(reason) => self.fail(&origin, &reason),
                }
            }
            Event::WithoutArticle => self.report().without_article += 1,
            Event::FileRead => {
                self.report().files += 1;
                self.show();
            }
            Event::Failed { origin, reason } => self.fail(&origin, &reason),
            Event::Skipped { file, why } => {
                self.print_if_verbose(|| match &why {
                    Skip::NotRead(reason) => format!("skipped: {file}: {reason}"),
                    Skip::Empty => format!("skipped: {file}: empty"),
                });
                self.report().skip(&why);
            }
        }
        Ok(())
    }

    fn send_all(&self, batches: &Mutex<Receiver<Vec<PostedBatch>>>) {
        let sender = Sender {
            client: self.task.client,
            path: self.task.path,
            patience: self.task.patience,
            on_wait: &|reason| self.print_wait(reason),
        };
        loop {
            let next = batches.lock().expect(UNPOISONED).recv();
            let Ok(batch) = next else { return };
            // After giving up, batches are still received, so that the reader does not block.
            if self.has_failed() {
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

    /// Prints a reason once, although it may occur often and on several connections.
    fn print_wait(&self, reason: &str) {
        let mut waited_for = self.waited_for.lock().expect(UNPOISONED);
        if *waited_for != reason {
            reason.clone_into(&mut waited_for);
            self.task.meter.print(&format!("waiting: {reason}"));
        }
    }

    fn has_failed(&self) -> bool {
        self.gave_up.lock().expect(UNPOISONED).is_some()
    }

    fn take_answer(&self, item: &PostedBatch, answer: &DocumentAnswer) {
        match answer {
            DocumentAnswer::Failed { problem } if problem.code == EMPTY_DOCUMENT => {
                self.print_if_verbose(|| format!("left out: {}: {problem}", item.origin));
                self.report().documents.empty += 1;
            }
            DocumentAnswer::Failed { problem } => self.fail(&item.origin, &problem.to_string()),
            DocumentAnswer::Added(added) => {
                (self.task.on_answer)(added);
                self.report().accept(added.status, !added.duplicates.is_empty());
            }
        }
    }

    fn fail(&self, origin: &Origin, reason: &str) {
        self.print_if_verbose(|| format!("failed: {origin}: {reason}"));
        self.report().fail(origin, reason);
    }

    fn print_if_verbose(&self, line: impl FnOnce() -> String) {
        if self.task.verbose {
            self.task.meter.print(&line());
        }
    }

    fn report(&self) -> MutexGuard<'_, ImportReport> {
        self.report.lock().expect(UNPOISONED)
    }

    fn show(&self) {
        self.task.meter.set_message(self.report().counts());
        self.task.meter.set(self.bytes_read.load(Ordering::Relaxed));
    }
}

/// Collects documents until there are enough to send.
struct ImportBatch {
    items: Vec<PostedBatch>,
    bytes: usize,
    full: SyncSender<Vec<PostedBatch>>,
    /// `None` if short texts are not left out.
    words: Option<WordCounter>,
}

impl ImportBatch {
    /// Whether the item is a text with too few words.
    fn is_short(&self, item: &Item) -> bool {
        let Some(words) = &self.words else { return false };
        item.record().is_ok_and(|record| words.is_short(&record.content))
    }

    fn push(&mut self, item: PostedBatch) -> Result<(), Cancelled> {
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
