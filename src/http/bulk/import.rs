//! Bulk import: documents are read, prepared, added and reported in a pipeline, with results in the
//! order of the input while the body is still arriving.
//!
//! Documents that have arrived together pass the pipeline as one batch, with one entry in the
//! store's queue: per-document permits and wake-ups would be a quarter of the total work.
//!
//! A separate task, in the background, drives the work rather than the reader of the results: a
//! document that has arrived delays near-duplicates that arrive after it, so it must be completed
//! however slowly the client reads. Backpressure comes from [`intake`](super::intake), which
//! accepts no more documents while enough results are unread.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use tokio::sync::mpsc;
use tower_http::request_id::RequestId;
use tracing::Instrument;

use crate::background;
use crate::budget::Reservation;
use crate::engine::{AddOptions, Added, Collection, Engine, PreparedDocument};
use crate::http::access::grant::EndsByItself;
use crate::http::access::quotas::QuotaPermit;
use crate::http::bulk::intake::{Batch, BatchPermit, Gathered, InputLine, Intake};
use crate::http::bulk::ndjson;
use crate::http::bulk::report::Reporter;
use crate::http::bulk::split::Form;
use crate::http::problem::Problem;
use crate::http::request::bodies;
use crate::http::request::options::AddParameters;
use crate::http::request::page::{PageParameters, PageReader};
use crate::http::settings::BULK_DOCUMENTS_IN_FLIGHT_MAX;

/// Batches prepared ahead of the batch being awaited.
const BATCHES_AHEAD: usize = 4;

/// Batches up to this size are prepared on the runtime thread (tens of microseconds).
const INLINE_BYTES_MAX: usize = 8 << 10;

/// The maximum number of result batches in a chunk.
const BATCHES_AT_ONCE: usize = 8;

/// A document, and how it is added.
type Prepared = (PreparedDocument, AddOptions);

/// The options of the query, for all documents.
type BulkCall = (AddParameters, PageParameters);

/// A bulk import that has not started yet.
pub struct Bulk {
    form: Form,
    intake: Intake,
    call: BulkCall,
    request_id: RequestId,
    permit: QuotaPermit,
}

/// Messages from the task to the response body.
enum Sent {
    /// The result lines of a batch, and its permit, which is released once they are read.
    Results(Bytes, BatchPermit),
    /// The end of the results. Without it the task has failed, and the response is aborted.
    End(Bytes),
}

impl Bulk {
    pub fn new(
        intake: Intake,
        form: Form,
        call: BulkCall,
        request_id: RequestId,
        permit: QuotaPermit,
    ) -> Self {
        Self { form, intake, call, request_id, permit }
    }

    /// Starts the work and streams its results.
    pub fn answer(self, engine: Arc<Collection>) -> Response {
        let media = match self.form {
            Form::Lines => ndjson::MEDIA,
            Form::Array => "application/json",
        };
        let (results, read) = mpsc::unbounded_channel();
        background::spawn(self.work(engine, results).in_current_span());
        let body = Body::from_stream(pieces(read).fuse());
        // Whether the key is still valid is checked before each batch.
        (Extension(EndsByItself), [(header::CONTENT_TYPE, media)], body).into_response()
    }

    /// Runs until the body ends or the client disconnects.
    async fn work(self, engine: Arc<Collection>, results: mpsc::UnboundedSender<Sent>) {
        let Self { form, intake, call, request_id, permit } = self;
        let started = Instant::now();
        let mut reporter = Reporter::new(form, request_id);
        let completed = added(&engine, intake, call).buffered(BULK_DOCUMENTS_IN_FLIGHT_MAX);
        let sending = completed.for_each(|batch| {
            let lines = reporter.results(batch.lines, batch.permit.bytes);
            let _ = results.send(Sent::Results(lines, batch.permit));
            std::future::ready(())
        });
        let is_complete = tokio::select! {
            () = results.closed() => false,
            () = sending => true,
        };
        if is_complete {
            let _ = results.send(Sent::End(reporter.end()));
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
    call: BulkCall,
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
async fn prepare(engine: Arc<Collection>, gathered: Gathered, call: BulkCall) -> Batch<Prepared> {
    let is_quick = gathered.bytes <= INLINE_BYTES_MAX && !gathered.may_have_pages();
    let Batch { lines, permit } = gathered.batch;
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
    (call, pages): &BulkCall,
    memory: Option<&Arc<Reservation>>,
) -> Result<Prepared, Problem> {
    let pages = PageReader::new(*pages, bodies::CODE, memory.cloned());
    let (document, options) = bodies::document(json, call, &pages)?;
    Ok((engine.prepare(document)?, options))
}

/// Results that are sent together, with the reservations of their memory, which end once they are
/// sent.
#[derive(Default)]
struct ImportPiece {
    results: Vec<u8>,
    memory: Vec<Arc<Reservation>>,
}

impl AsRef<[u8]> for ImportPiece {
    fn as_ref(&self) -> &[u8] {
        &self.results
    }
}

/// The results as chunks of a body, each with all results available.
fn pieces(results: mpsc::UnboundedReceiver<Sent>) -> impl Stream<Item = io::Result<Bytes>> {
    stream::unfold(Some(results), |results| async move {
        let mut results = results?;
        let mut received = Vec::new();
        results.recv_many(&mut received, BATCHES_AT_ONCE).await;
        let (mut piece, more) = (ImportPiece::default(), !received.is_empty());
        for sent in received {
            match sent {
                Sent::Results(lines, permit) => {
                    piece.results.extend_from_slice(&lines);
                    piece.memory.extend(permit.memory);
                }
                Sent::End(end) => {
                    piece.results.extend_from_slice(&end);
                    let is_empty = piece.results.is_empty();
                    return (!is_empty).then(|| (Ok(Bytes::from_owner(piece)), None));
                }
            }
        }
        if more {
            return Some((Ok(Bytes::from_owner(piece)), Some(results)));
        }
        Some((Err(io::Error::other("the bulk import failed")), None))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_breaks_its_answer_off() {
        let (results, read) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let _ = results.send(Sent::Results(Bytes::from("{}\n"), BatchPermit::default()));
            panic!("on purpose");
        });
        let pieces: Vec<_> = pieces(read).collect().await;
        assert_eq!(pieces.len(), 2);
        assert_eq!(pieces[0].as_ref().unwrap(), "{}\n");
        assert!(pieces[1].is_err(), "an answer that ends here would look whole");
    }
}
