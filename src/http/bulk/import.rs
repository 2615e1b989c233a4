//! Bulk import: documents are read, prepared, added and reported in a pipeline, with results in the
//! order of the input while the body is still arriving.
//!
//! Documents that have arrived together pass the pipeline as a batch, with a single entry in the
//! store's queue: per-document permits and wake-ups would be a quarter of the total work.
//!
//! A separate task, in the background, drives the work rather than the reader of the results: a
//! document that has arrived delays near-duplicates that arrive after it, so it must be completed
//! however slowly the client reads. Backpressure comes from [`intake`](super::intake), which
//! accepts no more documents while enough results are unread.

use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{FutureExt, Stream, StreamExt, stream};
use tokio::sync::mpsc;
use tower_http::request_id::RequestId;
use tracing::Instrument;

use crate::background;
use crate::budget::Reservation;
use crate::engine::{AddOptions, Added, Collection, Engine, PreparedDocument};
use crate::http::access::{EndsByItself, QuotaPermit};
use crate::http::bulk::{Batch, BatchPermit, Form, InputLine, Intake, Reporter};
use crate::http::problem::Problem;
use crate::http::request::{AddParameters, PageParameters, PageReader, bodies, page};
use crate::http::response::SentPiece;
use crate::http::response::reply;
use crate::http::settings::BULK_DOCUMENTS_IN_FLIGHT_MAX;

/// Batches prepared ahead of the batch being awaited.
const BATCHES_AHEAD: usize = 4;

/// Batches up to this size are prepared on the runtime thread (tens of microseconds).
const INLINE_BYTES_MAX: usize = 8 << 10;

/// A document, and how it is added.
type Prepared = (PreparedDocument, AddOptions);

/// A bulk import that has not started yet.
pub struct Bulk {
    pub form: Form,
    pub intake: Intake,
    /// The options of the query, for all documents.
    pub call: (AddParameters, PageParameters),
    pub request_id: RequestId,
    pub permit: QuotaPermit,
}

/// Batches of results that wait for the client: no more than documents in flight, and the batches
/// that have none.
const RESULTS_WAITING_MAX: usize = BULK_DOCUMENTS_IN_FLIGHT_MAX + 8;

/// The results of a batch, with its permit, which is given back once they were sent.
struct BatchResults {
    lines: Vec<u8>,
    _permit: BatchPermit,
}

impl AsRef<[u8]> for BatchResults {
    fn as_ref(&self) -> &[u8] {
        &self.lines
    }
}

impl Bulk {
    /// Starts the work and streams its results.
    pub fn answer(self, engine: Arc<Collection>) -> Response {
        let media = self.form.media();
        let (results, read) = mpsc::channel(RESULTS_WAITING_MAX);
        background::spawn(self.work(engine, results).in_current_span());
        let body = reply::received(read);
        // Whether the key is still valid is checked before each batch.
        (Extension(EndsByItself), [(header::CONTENT_TYPE, media)], body).into_response()
    }

    /// Runs until the body ends or the client disconnects.
    async fn work(self, engine: Arc<Collection>, results: mpsc::Sender<SentPiece>) {
        let Self { form, intake, call, request_id, permit } = self;
        let started = Instant::now();
        let mut reporter = Reporter::new(form, request_id);
        let completed = added(&engine, intake, call).buffered(BULK_DOCUMENTS_IN_FLIGHT_MAX);
        let sending = completed.for_each(|batch| {
            let lines = reporter.results(batch.lines, batch.permit.bytes);
            let piece = Bytes::from_owner(BatchResults { lines, _permit: batch.permit });
            // It fails once the client has gone.
            results.send(SentPiece::Piece(piece)).map(drop)
        });
        let is_complete = tokio::select! {
            () = results.closed() => false,
            () = sending => true,
        };
        if is_complete {
            drop(results.send(SentPiece::Last(reporter.end())).await);
        }
        let ended = if is_complete { "complete" } else { "client disconnected" };
        reporter.log(ended, started.elapsed());
        drop(permit);
    }
}

/// Reads documents in the order of the input, prepares and admits them. The documents of each batch
/// that is returned have arrived.
fn added(
    engine: &Arc<Collection>,
    intake: Intake,
    call: (AddParameters, PageParameters),
) -> impl Stream<Item = impl Future<Output = Batch<Added>>> {
    let batches = stream::unfold(intake, |mut intake| async move {
        let gathered = intake.batch().await?;
        Some((gathered, intake))
    });
    batches
        .map(move |gathered| prepare(Arc::clone(engine), gathered, call))
        .buffered(BATCHES_AHEAD)
        .then(|batch| admit(engine, batch))
}

/// Once the documents have arrived, the future that checks and stores them.
async fn admit(
    engine: &Engine,
    batch: Batch<Prepared>,
) -> impl Future<Output = Batch<Added>> + use<> {
    // A body with batches that are always ready must not starve other requests.
    tokio::task::yield_now().await;
    let Batch { lines, mut permit } = batch;
    let mut documents = Vec::with_capacity(lines.len());
    let mut take = |(document, options)| {
        documents.push((document, AddOptions { memory: permit.memory.clone(), ..options }));
        Ok(())
    };
    let lines: Vec<InputLine<()>> = lines.into_iter().map(|line| line.then(&mut take)).collect();
    let adding = engine.admit(documents).await;
    async move {
        let mut added = adding.await.into_iter();
        permit.documents = None;
        let mut next = || Ok(added.next().expect("there is an outcome for each document")?);
        let lines = lines.into_iter().map(|line| line.then(|()| next())).collect();
        Batch { lines, permit }
    }
}

/// Parses and sketches the documents of a batch, on a blocking thread unless it is small.
async fn prepare(
    engine: Arc<Collection>,
    batch: Batch<Bytes>,
    call: (AddParameters, PageParameters),
) -> Batch<Prepared> {
    let bytes: usize = batch.documents().map(Bytes::len).sum();
    let has_page = || batch.documents().any(|json| page::may_be_in(json));
    let is_quick = bytes <= INLINE_BYTES_MAX && !has_page();
    let Batch { lines, permit } = batch;
    let prepare_all = move || {
        let prepare = |json: Bytes| prepare_one(&engine, &json, &call, permit.memory.as_ref());
        let lines = lines.into_iter().map(|line| line.then(prepare)).collect();
        Batch { lines, permit }
    };
    if is_quick {
        return prepare_all();
    }
    let prepared = background::compute(prepare_all).await;
    prepared.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

fn prepare_one(
    engine: &Engine,
    json: &[u8],
    (call, pages): &(AddParameters, PageParameters),
    memory: Option<&Arc<Reservation>>,
) -> Result<Prepared, Problem> {
    let pages = PageReader::new(*pages, bodies::CODE, memory.cloned());
    let (document, options) = bodies::document(json, None, call, &pages)?;
    Ok((engine.prepare(document)?, options))
}
