//! The results of a bulk import.
//!
//! A document that fails may be of two bytes, and its problem has hundreds. So problems may take as
//! many bytes as the documents and a MiB; further failures are counted in the last result.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use tower_http::request_id::RequestId;
use utoipa::ToSchema;

use crate::engine::Added;
use crate::http::bulk::{Form, InputLine, ndjson};
use crate::http::metrics;
use crate::http::problem::{Problem, ProblemReply};
use crate::http::request_id;

/// The usual size of a result without near-duplicates.
const RESULT_BYTES_USUAL: usize = 128;

/// Bytes of the problems of documents, beside as many as the documents have: enough for every
/// document of a client that sends a thousand at a time.
const PROBLEM_BYTES_MIN: usize = 1 << 20;

/// Writes the results: lines, or an array if the documents came as an array.
pub struct Reporter {
    form: Form,
    /// The text before the next result.
    before: &'static str,
    request_id: RequestId,
    /// A failing store fails for every following document, too: it is logged once.
    fault_logged: bool,
    /// Bytes that problems may still take.
    problem_bytes_left: usize,
    /// The failed documents that are only counted.
    counted: Option<CountedErrors>,
    /// Numbers of documents by their status, in the order of the variants of `AddStatus`, for the
    /// log.
    added: [u64; 4],
    errors: u64,
}

/// The result of one document of a bulk import.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = ResultLine)]
pub enum ResultLine {
    Added(AddedLine),
    Failed(ErrorLine),
    Counted(CountedErrors),
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

/// The last result, if the problems of failed documents would have taken more bytes than the
/// documents and a further MiB.
#[derive(Serialize, ToSchema)]
pub struct CountedErrors {
    status: CountedStatus,
    /// The first and the last document that failed without a result of its own; those in between
    /// that have no result failed, too.
    first_line: u64,
    last_line: u64,
    /// The number of documents that failed without a result of their own.
    errors: u64,
    /// Their number by the code of their problem.
    codes: BTreeMap<&'static str, u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountedStatus {
    ErrorsCounted,
}

impl CountedErrors {
    fn from(first_line: u64) -> Self {
        let (last_line, codes) = (first_line, BTreeMap::new());
        Self { status: CountedStatus::ErrorsCounted, first_line, last_line, errors: 0, codes }
    }

    fn add(&mut self, number: u64, problem: &Problem) {
        self.last_line = number;
        self.errors += 1;
        *self.codes.entry(problem.code.facts().0).or_default() += 1;
    }
}

impl Reporter {
    pub fn new(form: Form, request_id: RequestId) -> Self {
        let before = if form == Form::Array { "[" } else { "" };
        Self {
            form,
            before,
            request_id,
            fault_logged: false,
            problem_bytes_left: PROBLEM_BYTES_MIN,
            counted: None,
            added: [0; 4],
            errors: 0,
        }
    }

    /// Logs the numbers of documents by outcome.
    pub fn log(&self, ended: &str, took: Duration) {
        let ([created, replaced, unchanged, skipped], errors) = (self.added, self.errors);
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

    /// The end of the results.
    pub fn end(&mut self) -> Bytes {
        let mut end = Vec::new();
        if let Some(counted) = self.counted.take() {
            self.write(&mut end, &ResultLine::Counted(counted));
        }
        let closing = match (self.form, self.before) {
            (Form::Lines, _) => "",
            (Form::Array, "[") => "[]\n",
            (Form::Array, _) => "]\n",
        };
        end.extend_from_slice(closing.as_bytes());
        end.into()
    }

    /// The results of documents of so many bytes.
    pub fn results(&mut self, lines: Vec<InputLine<Added>>, bytes: usize) -> Vec<u8> {
        self.problem_bytes_left = self.problem_bytes_left.saturating_add(bytes);
        let mut results = Vec::with_capacity(RESULT_BYTES_USUAL * lines.len());
        for InputLine { number, content } in lines {
            match content {
                Ok(added) => {
                    metrics::added(added.status);
                    self.added[added.status as usize] += 1;
                    let line = AddedLine { line: number, added };
                    self.write(&mut results, &ResultLine::Added(line));
                }
                Err(problem) => self.failed(&mut results, number, &problem),
            }
        }
        results
    }

    fn write(&mut self, results: &mut Vec<u8>, line: &ResultLine) {
        results.extend_from_slice(self.before.as_bytes());
        if self.form == Form::Array {
            self.before = ",";
        }
        ndjson::write_line(results, line);
    }

    /// Reports or counts a failed document.
    fn failed(&mut self, results: &mut Vec<u8>, number: u64, problem: &Problem) {
        self.errors += 1;
        metrics::refused(problem.code);
        if problem.code.status().is_server_error() && !self.fault_logged {
            self.fault_logged = true;
            problem.log(request_id::text(&self.request_id));
        }
        let (begin, before) = (results.len(), self.before);
        let reply = problem.reply(request_id::text(&self.request_id));
        let line = ErrorLine { line: number, status: ErrorStatus::Error, problem: reply };
        self.write(results, &ResultLine::Failed(line));
        if let Some(left) = self.problem_bytes_left.checked_sub(results.len() - begin) {
            self.problem_bytes_left = left;
            return;
        }
        results.truncate(begin);
        self.before = before;
        self.counted.get_or_insert_with(|| CountedErrors::from(number)).add(number, problem);
    }
}
