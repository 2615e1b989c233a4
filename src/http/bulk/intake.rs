//! The reading half of a bulk import: takes documents from the body in batches, as far as the limit
//! of documents in flight allows.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::budget::{Budget, ClientShare, Exhausted, Purpose, Reservation, decoded_json_bytes};
use crate::http::AppState;
use crate::http::access::{Grant, RequestClient};
use crate::http::bulk::{Form, InputLine, Splitter};
use crate::http::problem::Problem;
use crate::http::request::BodyReader;
use crate::http::settings::BULK_DOCUMENTS_IN_FLIGHT_MAX;

/// A batch is closed at this number of documents or bytes, or when the body pauses.
const BATCH_DOCUMENTS_MAX: usize = 64;
const BATCH_BYTES_MAX: usize = 64 << 10;

/// The number of batches of an import that are prepared and stored at a time.
const BATCHES_UNFINISHED_MAX: usize = 1 << 10;

/// A document takes one permit of [`BULK_DOCUMENTS_IN_FLIGHT_MAX`] per 16 KiB or part of it, so
/// that the bytes in flight are limited, too.
const BYTES_PER_UNIT: usize = 16 << 10;

/// Documents that are prepared, added and reported together.
pub struct Batch<T> {
    pub lines: Vec<InputLine<T>>,
    /// The batch's share of the documents in flight.
    pub permit: BatchPermit,
}

/// The share of a batch in the limits of the import and of the memory, kept until its results are
/// read. Empty for a batch without documents.
#[derive(Default)]
pub struct BatchPermit {
    in_flight: Option<OwnedSemaphorePermit>,
    pub documents: Option<DocumentMemory>,
    /// The memory of the results, given back when it is dropped.
    pub memory: Option<Arc<Reservation>>,
    /// Bytes of the documents.
    pub bytes: usize,
}

/// The memory of a batch's decoded documents, kept until they are stored. It is given back before
/// the batch stops counting as unfinished.
pub struct DocumentMemory {
    _memory: Reservation,
    _unfinished: OwnedSemaphorePermit,
}

impl<T> Default for Batch<T> {
    fn default() -> Self {
        Self { lines: Vec::new(), permit: BatchPermit::default() }
    }
}

impl Batch<Bytes> {
    /// The line that reports why the input ended needs no permit.
    fn push(&mut self, line: InputLine<Bytes>, permit: Option<OwnedSemaphorePermit>) {
        let bytes = line.content.as_ref().map_or(0, Bytes::len);
        self.permit.bytes += bytes;
        self.lines.push(line);
        match (&mut self.permit.in_flight, permit) {
            (Some(all), Some(further)) => all.merge(further),
            (all @ None, permit) => *all = permit,
            (Some(_), None) => {}
        }
    }

    /// The documents that are not refused.
    pub fn documents(&self) -> impl Iterator<Item = &Bytes> {
        self.lines.iter().filter_map(|line| line.content.as_ref().ok())
    }

    fn refuse(&mut self, exhausted: Exhausted) {
        for line in self.lines.iter_mut().filter(|line| line.content.is_ok()) {
            line.content = Err(exhausted.into());
        }
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= BATCH_DOCUMENTS_MAX || self.permit.bytes >= BATCH_BYTES_MAX
    }
}

pub struct Intake {
    reader: BodyReader,
    splitter: Splitter,
    /// Taken from the splitter, still without a permit.
    waiting: Option<InputLine<Bytes>>,
    in_flight: Arc<Semaphore>,
    unfinished: Arc<Semaphore>,
    budget: Arc<Budget>,
    client: Arc<ClientShare>,
    /// Of the search for passages of each document.
    cost_max: u64,
    /// The grant of the request, if it needed a key.
    grant: Option<Grant>,
}

impl Intake {
    pub fn new(
        reader: BodyReader,
        form: Form,
        (client, grant): (&RequestClient, Option<Grant>),
        state: &AppState,
    ) -> Self {
        let settings = &state.settings;
        Self {
            reader,
            splitter: Splitter::new(form, settings.document_bytes_max),
            waiting: None,
            in_flight: Arc::new(Semaphore::new(BULK_DOCUMENTS_IN_FLIGHT_MAX)),
            unfinished: Arc::new(Semaphore::new(BATCHES_UNFINISHED_MAX)),
            budget: Arc::clone(&state.budget),
            client: state.client_share(client),
            cost_max: settings.request_cost_max,
            grant,
        }
    }

    /// The documents that have arrived, as far as permits allow; waits for at least one. `None` at
    /// the end of the body.
    pub async fn batch(&mut self) -> Option<Batch<Bytes>> {
        let mut gathered = self.gathered().await?;
        let memory = self.reserve(&gathered).await;
        if let Err(problem) = self.grant.as_mut().map_or(Ok(()), Grant::check) {
            return Some(self.revoked(&gathered, problem));
        }
        match memory {
            Ok(memory) => {
                gathered.permit.documents = Some(memory);
                gathered.permit.memory = Some(Arc::new(self.reservation()));
            }
            Err(exhausted) => gathered.refuse(exhausted),
        }
        Some(gathered)
    }

    fn reservation(&self) -> Reservation {
        let reservation = self.budget.reservation(Purpose::Bulk);
        reservation.of_client(Arc::clone(&self.client)).with_cost_of_each(self.cost_max)
    }

    /// Reserves the memory of the documents. Where it is short, unfinished batches of the import
    /// give their memory back first: they finish even if the client reads no results.
    async fn reserve(&mut self, gathered: &Batch<Bytes>) -> Result<DocumentMemory, Exhausted> {
        let bytes = gathered.documents().map(|json| decoded_json_bytes(json)).sum();
        let acquired = Arc::clone(&self.unfinished).acquire_owned().await;
        let unfinished = acquired.expect("the semaphore is never closed");
        let memory = self.reservation();
        while let Err(exhausted) = memory.grow(bytes) {
            let available = self.unfinished.available_permits();
            let is_alone = available + 1 == BATCHES_UNFINISHED_MAX;
            if is_alone {
                return Err(exhausted);
            }
            // One permit more than there are is free once another batch is finished.
            drop(self.unfinished.acquire_many(available as u32 + 1).await);
        }
        Ok(DocumentMemory { _memory: memory, _unfinished: unfinished })
    }

    /// The last line in place of a batch that the key no longer permits.
    fn revoked(&mut self, refused: &Batch<Bytes>, problem: Problem) -> Batch<Bytes> {
        self.grant = None;
        self.waiting = None;
        let number = refused.lines.first().map_or(0, |line| line.number);
        let mut last = Batch::default();
        last.push(self.end_with(number, problem), None);
        last
    }

    async fn gathered(&mut self) -> Option<Batch<Bytes>> {
        let mut gathered = Batch::default();
        loop {
            self.fill(&mut gathered);
            if !gathered.lines.is_empty() {
                return Some(gathered);
            }
            if let Some(item) = self.waiting.take() {
                // Waits until enough results have been read. The connection of a client that reads
                // none times out, which ends the wait.
                let units = Self::units(&item);
                let permit = Arc::clone(&self.in_flight).acquire_many_owned(units).await;
                gathered.push(item, Some(permit.expect("the semaphore is never closed")));
            } else if self.splitter.has_ended() {
                return None;
            } else if let Some(last) = self.read().await {
                gathered.push(last, None);
                return Some(gathered);
            }
        }
    }

    /// Adds the available documents for which there are permits, without waiting.
    fn fill(&mut self, gathered: &mut Batch<Bytes>) {
        while !gathered.is_full() {
            let Some(item) = self.waiting.take().or_else(|| self.splitter.next()) else { return };
            let units = Self::units(&item);
            let Ok(permit) = Arc::clone(&self.in_flight).try_acquire_many_owned(units) else {
                self.waiting = Some(item);
                return;
            };
            gathered.push(item, Some(permit));
        }
    }

    /// Reads the next chunk. A body that fails yields a last line with the error.
    async fn read(&mut self) -> Option<InputLine<Bytes>> {
        match self.reader.chunk().await {
            Ok(Some(chunk)) => self.splitter.push(chunk),
            Ok(None) => {
                self.waiting = self.splitter.finish();
                self.splitter.abandon();
            }
            Err(problem) => return Some(self.end_with(self.splitter.number_next(), problem)),
        }
        None
    }

    fn end_with(&mut self, number: u64, problem: Problem) -> InputLine<Bytes> {
        self.splitter.abandon();
        InputLine { number, content: Err(problem) }
    }

    fn units(item: &InputLine<Bytes>) -> u32 {
        let bytes = item.content.as_ref().map_or(0, Bytes::len);
        bytes.div_ceil(BYTES_PER_UNIT).clamp(1, BULK_DOCUMENTS_IN_FLIGHT_MAX) as u32
    }
}
