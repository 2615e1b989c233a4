//! The reading half of a bulk import: takes documents from the body in batches, as far as the limit
//! of documents in flight allows.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::budget::{Budget, Purpose, Reservation, decoded_json_bytes};
use crate::http::AppState;
use crate::http::bulk::split::{Form, Item, SplitError, Splitter};
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::request::reading::BodyReader;

/// A batch is closed at this number of documents or bytes, or when the body pauses.
const BATCH_DOCUMENTS_MAX: usize = 64;
const BATCH_BYTES_MAX: usize = 64 << 10;

/// A document takes one permit of `bulk_documents_in_flight_max` per 16 KiB or part of it, so that
/// the bytes in flight are limited as well as the documents.
const BYTES_PER_UNIT: usize = 16 << 10;

/// One document of the input, at any stage between its bytes and its result.
pub struct Line<T> {
    pub number: u64,
    pub content: Result<T, Problem>,
}

impl<T> Line<T> {
    /// Applies the next step, unless an earlier one failed.
    pub fn then<U>(self, step: impl FnOnce(T) -> Result<U, Problem>) -> Line<U> {
        Line { number: self.number, content: self.content.and_then(step) }
    }

    /// Applies the next, asynchronous step, unless an earlier one failed.
    pub async fn and_then<U, F>(self, step: impl FnOnce(T) -> F) -> Line<U>
    where
        F: Future<Output = Result<U, Problem>>,
    {
        let content = match self.content {
            Ok(content) => step(content).await,
            Err(problem) => Err(problem),
        };
        Line { number: self.number, content }
    }
}

/// Documents that are prepared, admitted, stored and reported together.
pub struct Batch<T> {
    pub lines: Vec<Line<T>>,
    /// The batch's share of the documents in flight.
    pub permit: BatchPermit,
}

/// What a batch takes of the limits of all, kept until its results are read. Empty for a batch
/// without documents.
#[derive(Default)]
pub struct BatchPermit {
    in_flight: Option<OwnedSemaphorePermit>,
    /// Given back when it is dropped.
    pub memory: Option<Arc<Reservation>>,
}

/// A batch that is being assembled.
#[derive(Default)]
pub struct Gathered {
    pub batch: Batch<Bytes>,
    pub bytes: usize,
}

impl<T> Default for Batch<T> {
    fn default() -> Self {
        Self { lines: Vec::new(), permit: BatchPermit::default() }
    }
}

impl Gathered {
    /// The line that reports why the input ended needs no permit.
    fn push(&mut self, line: Line<Bytes>, permit: Option<OwnedSemaphorePermit>) {
        self.bytes += line.content.as_ref().map_or(0, Bytes::len);
        self.batch.lines.push(line);
        match (&mut self.batch.permit.in_flight, permit) {
            (Some(all), Some(further)) => all.merge(further),
            (all @ None, permit) => *all = permit,
            (Some(_), None) => {}
        }
    }

    /// Reserves the memory of the documents, which are refused without it.
    fn reserved(mut self, budget: &Arc<Budget>) -> Self {
        let documents = self.batch.lines.iter().filter_map(|line| line.content.as_ref().ok());
        let bytes = documents.map(|json| decoded_json_bytes(json)).sum();
        let memory = budget.reservation(Purpose::Bulk);
        match memory.grow(bytes) {
            Ok(()) => self.batch.permit.memory = Some(Arc::new(memory)),
            Err(exhausted) => {
                self.bytes = 0;
                for line in self.batch.lines.iter_mut().filter(|line| line.content.is_ok()) {
                    line.content = Err(exhausted.into());
                }
            }
        }
        self
    }

    fn is_full(&self) -> bool {
        self.batch.lines.len() >= BATCH_DOCUMENTS_MAX || self.bytes >= BATCH_BYTES_MAX
    }
}

pub struct Intake {
    reader: BodyReader,
    splitter: Splitter,
    /// Taken from the splitter, still without a permit.
    waiting: Option<Item>,
    in_flight: Arc<Semaphore>,
    in_flight_max: usize,
    budget: Arc<Budget>,
    ended: bool,
}

impl Intake {
    pub fn new(reader: BodyReader, form: Form, state: &AppState) -> Self {
        let settings = &state.settings;
        let in_flight_max = settings.bulk_documents_in_flight_max;
        Self {
            reader,
            splitter: Splitter::new(form, settings.document_bytes_max),
            waiting: None,
            in_flight: Arc::new(Semaphore::new(in_flight_max)),
            in_flight_max,
            budget: Arc::clone(&state.budget),
            ended: false,
        }
    }

    /// The documents that have arrived, as far as permits allow; waits for at least one. `None` at
    /// the end of the body.
    pub async fn batch(&mut self) -> Option<Gathered> {
        let gathered = self.gathered().await;
        gathered.map(|gathered| gathered.reserved(&self.budget))
    }

    async fn gathered(&mut self) -> Option<Gathered> {
        let mut gathered = Gathered::default();
        loop {
            self.fill(&mut gathered);
            if !gathered.batch.lines.is_empty() {
                return Some(gathered);
            }
            if let Some(item) = self.waiting.take() {
                let permit = self.wait_for_permit(&item).await;
                gathered.push(self.line(item), Some(permit));
            } else if self.ended {
                return None;
            } else if let Some(last) = self.read().await {
                gathered.push(last, None);
                return Some(gathered);
            }
        }
    }

    /// Adds the available documents for which there are permits, without waiting.
    fn fill(&mut self, gathered: &mut Gathered) {
        while !gathered.is_full() {
            let Some(item) = self.waiting.take().or_else(|| self.splitter.next()) else { return };
            let units = self.units(&item);
            let Ok(permit) = Arc::clone(&self.in_flight).try_acquire_many_owned(units) else {
                self.waiting = Some(item);
                return;
            };
            gathered.push(self.line(item), Some(permit));
        }
    }

    /// Waits until enough results have been read. The connection of a client that reads none times
    /// out, which ends the wait.
    async fn wait_for_permit(&mut self, item: &Item) -> OwnedSemaphorePermit {
        let permit = Arc::clone(&self.in_flight).acquire_many_owned(self.units(item)).await;
        permit.expect("the semaphore is never closed")
    }

    /// Reads the next chunk. A body that fails yields a last line with the error.
    async fn read(&mut self) -> Option<Line<Bytes>> {
        match self.reader.chunk().await {
            Ok(Some(chunk)) => self.splitter.push(chunk),
            Ok(None) => {
                self.ended = true;
                self.waiting = self.splitter.finish();
            }
            Err(problem) => return Some(self.end_with(self.splitter.number_next(), problem)),
        }
        None
    }

    fn end_with(&mut self, number: u64, problem: Problem) -> Line<Bytes> {
        self.ended = true;
        self.splitter.abandon();
        Line { number, content: Err(problem) }
    }

    fn line(&mut self, item: Item) -> Line<Bytes> {
        self.ended |= self.splitter.is_faulty();
        Line { number: item.number, content: item.content.map_err(Problem::from) }
    }

    fn units(&self, item: &Item) -> u32 {
        let bytes = item.content.as_ref().map_or(0, Bytes::len);
        bytes.div_ceil(BYTES_PER_UNIT).clamp(1, self.in_flight_max) as u32
    }
}

impl From<SplitError> for Problem {
    fn from(error: SplitError) -> Self {
        let code = match &error {
            SplitError::TooLong { .. } => Code::DocumentTooLarge,
            SplitError::Malformed(_) => Code::MalformedJson,
        };
        Self::new(code, error.to_string())
    }
}
