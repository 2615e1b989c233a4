//! Bulk import: documents are read, prepared, added and reported in a pipeline, with results in the
//! order of the input while the body is still arriving.
//!
//! Documents that have arrived together pass the pipeline as one batch, with one entry in the
//! store's queue: per-document permits and wake-ups would be a quarter of the total work.
//!
//! A separate task, in the background, drives the work rather than the reader of the results: a
//! document that has arrived delays near-duplicates that arrive after it, so it must be completed
//! however slowly the client reads. Backpressure comes from [`intake`](super::intake), which accepts no more documents while
//! enough results are unread.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;
use tokio::sync::mpsc;
use tower_http::request_id::RequestId;
use tracing::Instrument;
use utoipa::ToSchema;

use crate::background;
use crate::budget::Reservation;
use crate::engine::{AddOptions, AddStatus, Added, Collection, Engine, PreparedDocument};
use crate::http::access::grant::EndsByItself;
use crate::http::access::quotas::QuotaPermit;
use crate::http::bulk::intake::{Batch, BatchPermit, Gathered, Intake, Line};
use crate::http::bulk::ndjson;
use crate::http::bulk::split::Form;
use crate::http::metrics;
use crate::http::problem::{Problem, ProblemReply};
use crate::http::request::bodies;
use crate::http::request::options::AddParameters;
use crate::http::request_id;
use crate::http::settings::BULK_DOCUMENTS_IN_FLIGHT_MAX;

/// Batches prepared ahead of the batch being awaited.
const BATCHES_AHEAD: usize = 4;

/// Batches up to this size are prepared on the runtime thread (tens of microseconds).
const INLINE_BYTES_MAX: usize = 8 << 10;

/// The usual size of a result without near-duplicates.
const RESULT_BYTES_USUAL: usize = 128;

/// The maximum number of result batches in a chunk.
const BATCHES_AT_ONCE: usize = 8;

/// A document, and how it is added.
type Prepared = (PreparedDocument, AddOptions);

/// A bulk import that has not started yet.
pub struct Bulk {
    form: Form,
    intake: Intake,
    call: AddParameters,
    request_id: RequestId,
    permit: QuotaPermit,
}

/// Messages from the task to the response body.
enum Sent {
    /// The result lines of a batch, and its permit, which is released once they are read.
    Results(Bytes, BatchPermit),
    /// The end of the results, and the text that closes them. Without it the task has failed, and
    /// the response is aborted.
    End(&'static str),
}

impl Bulk {
    pub fn new(
        intake: Intake,
        form: Form,
        call: AddParameters,
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
            let lines = reporter.results(batch.lines);
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
        reporter.tally.log(ended, started.elapsed());
        drop(permit);
    }
}

/// Reads documents in the order of the input and prepares them; the documents of each batch that is
/// returned have arrived.
fn added(
    engine: &Arc<Collection>,
    intake: Intake,
    call: AddParameters,
) -> impl Stream<Item = impl Future<Output = Batch<Added>>> {
    let batches = stream::unfold(intake, |mut intake| async move {
        let gathered = intake.batch().await?;
        Some((gathered, intake))
    });
    batches
        .map(move |gathered| prepare(Arc::clone(engine), gathered, call))
        .buffered(BATCHES_AHEAD)
        .then(async |batch| {
            // A body with batches that are always ready must not starve other requests.
            tokio::task::yield_now().await;
            batch
        })
        .map(|batch| add(engine, batch))
}

/// The documents arrive when this is called; the future checks and stores them.
fn add(engine: &Engine, batch: Batch<Prepared>) -> impl Future<Output = Batch<Added>> + use<> {
    let Batch { lines, mut permit } = batch;
    let mut documents = Vec::with_capacity(lines.len());
    let mut take = |(document, options)| {
        documents.push((document, AddOptions { memory: permit.memory.clone(), ..options }));
        Ok(())
    };
    let lines: Vec<Line<()>> = lines.into_iter().map(|line| line.then(&mut take)).collect();
    let adding = engine.add_all(documents);
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
    gathered: Gathered,
    call: AddParameters,
) -> Batch<Prepared> {
    let Gathered { batch, bytes } = gathered;
    let prepare_all = move || {
        let lines = batch.lines.into_iter();
        let lines =
            lines.map(|line| line.then(|json| prepare_one(&engine, &json, &call))).collect();
        Batch { lines, permit: batch.permit }
    };
    if bytes <= INLINE_BYTES_MAX {
        return prepare_all();
    }
    let prepared = background::compute(prepare_all).await;
    prepared.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

fn prepare_one(engine: &Engine, json: &[u8], call: &AddParameters) -> Result<Prepared, Problem> {
    let (document, options) = bodies::document(json, call)?;
    Ok((engine.prepare(document)?, options))
}

/// Writes the results: lines, or an array if the documents came as an array.
struct Reporter {
    form: Form,
    /// The text before the next result.
    before: &'static str,
    request_id: RequestId,
    /// A failing store fails for every following document, too: it is logged once.
    fault_logged: bool,
    tally: Tally,
}

/// Numbers of documents by outcome, for the log.
#[derive(Default)]
struct Tally {
    created: u64,
    replaced: u64,
    unchanged: u64,
    skipped: u64,
    errors: u64,
}

/// The result of one document of a bulk import.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = ResultLine)]
pub enum ResultLine {
    Added(AddedLine),
    Failed(ErrorLine),
}

#[derive(Serialize, ToSchema)]
pub struct AddedLine {
    /// The line of the document, or its position in the array, from 1.
    line: u64,
    #[serde(flatten)]
    added: Added,
}

#[derive(Serialize, ToSchema)]
pub struct ErrorLine {
    line: u64,
    status: ErrorStatus,
    problem: ProblemReply,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorStatus {
    Error,
}

impl Reporter {
    fn new(form: Form, request_id: RequestId) -> Self {
        let before = if form == Form::Array { "[" } else { "" };
        Self { form, before, request_id, fault_logged: false, tally: Tally::default() }
    }

    /// The end of the results.
    fn end(&self) -> &'static str {
        match (self.form, self.before) {
            (Form::Lines, _) => "",
            (Form::Array, "[") => "[]\n",
            (Form::Array, _) => "]\n",
        }
    }

    fn results(&mut self, lines: Vec<Line<Added>>) -> Bytes {
        let mut results = Vec::with_capacity(RESULT_BYTES_USUAL * lines.len());
        for line in lines {
            self.write(&mut results, line);
        }
        results.into()
    }

    fn write(&mut self, results: &mut Vec<u8>, line: Line<Added>) {
        let number = line.number;
        results.extend_from_slice(self.before.as_bytes());
        if self.form == Form::Array {
            self.before = ",";
        }
        match line.content {
            Ok(added) => {
                metrics::added(added.status);
                self.tally.count(added.status);
                let line = AddedLine { line: number, added };
                ndjson::write_line(results, &ResultLine::Added(line));
            }
            Err(problem) => {
                self.tally.errors += 1;
                self.log(&problem);
                let problem = problem.reply(request_id::text(&self.request_id));
                let line = ErrorLine { line: number, status: ErrorStatus::Error, problem };
                ndjson::write_line(results, &ResultLine::Failed(line));
            }
        }
    }

    fn log(&mut self, problem: &Problem) {
        if problem.code.status().is_server_error() && !self.fault_logged {
            self.fault_logged = true;
            problem.log(request_id::text(&self.request_id));
        }
    }
}

impl Tally {
    fn count(&mut self, status: AddStatus) {
        let count = match status {
            AddStatus::Created => &mut self.created,
            AddStatus::Replaced => &mut self.replaced,
            AddStatus::Unchanged => &mut self.unchanged,
            AddStatus::Skipped => &mut self.skipped,
        };
        *count += 1;
    }

    fn log(&self, ended: &str, took: Duration) {
        let Self { created, replaced, unchanged, skipped, errors } = self;
        let took_us = took.as_micros() as u64;
        tracing::info!(
            ended,
            created,
            replaced,
            unchanged,
            skipped,
            errors,
            took_us,
            "bulk import"
        );
    }
}

/// Results that are sent together, with the reservations of their memory, which end once they are
/// sent.
#[derive(Default)]
struct Piece {
    results: Vec<u8>,
    memory: Vec<Arc<Reservation>>,
}

impl AsRef<[u8]> for Piece {
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
        let (mut piece, more) = (Piece::default(), !received.is_empty());
        for sent in received {
            match sent {
                Sent::Results(lines, permit) => {
                    piece.results.extend_from_slice(&lines);
                    piece.memory.extend(permit.memory);
                }
                Sent::End(end) => {
                    piece.results.extend_from_slice(end.as_bytes());
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
