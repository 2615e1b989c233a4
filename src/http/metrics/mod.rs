//! Prometheus metrics: counting, and the text format.

pub mod exposition;
pub mod requests;

use std::time::Duration;

use metrics::{
    Counter, Histogram, counter, describe_counter, describe_gauge, describe_histogram, histogram,
};

use crate::engine::{AddStatus, Mode, Searched};
use crate::http::problem::Code;

/// Counts an addition.
pub fn added(status: AddStatus) {
    added_counter(status).increment(1);
}

/// Counts a document that was not added.
pub fn refused(code: Code) {
    counter!("akin_documents_refused_total", "reason" => code.facts().0).increment(1);
}

/// Each label's value is spelled out, as making the labels of a series for each call would cost
/// more than counting.
fn added_counter(status: AddStatus) -> Counter {
    match status {
        AddStatus::Created => {
            counter!("akin_documents_added_total", "status" => "created")
        }
        AddStatus::Replaced => {
            counter!("akin_documents_added_total", "status" => "replaced")
        }
        AddStatus::Unchanged => {
            counter!("akin_documents_added_total", "status" => "unchanged")
        }
        AddStatus::Skipped => {
            counter!("akin_documents_added_total", "status" => "skipped")
        }
    }
}

pub fn looked_up(searched: &Searched, took: Duration) {
    lookup_duration(searched.mode).record(took);
    histogram!("akin_lookup_candidates").record(searched.candidates as f64);
}

fn lookup_duration(mode: Mode) -> Histogram {
    match mode {
        Mode::Verified => histogram!("akin_lookup_duration_seconds", "mode" => "verified"),
        Mode::Estimated => {
            histogram!("akin_lookup_duration_seconds", "mode" => "estimated")
        }
        Mode::Exact => histogram!("akin_lookup_duration_seconds", "mode" => "exact"),
    }
}

/// Describes every metric of the recorder, and initialises the metrics that a dashboard looks for:
/// call it once the recorder is installed.
pub fn describe() {
    begin();
    describe_counter!("akin_http_requests_total", "Requests answered.");
    describe_gauge!("akin_http_requests_in_flight", "Requests being answered.");
    describe_histogram!(
        "akin_http_request_duration_seconds",
        "Time from the head of a request to the end of its response, also of a streamed response."
    );
    describe_counter!(
        "akin_tls_handshake_failures_total",
        "Connections with a failed TLS handshake: health checks without TLS, or clients that do \
         not trust the certificate."
    );
    describe_gauge!(
        "akin_reload_stale",
        "1 while the keys or certificates in force are older than their file, because the file \
         cannot be read; else 0."
    );
    describe_counter!(
        "akin_reload_failures_total",
        "Failed reads of the file of keys or certificates."
    );
    describe_counter!("akin_documents_added_total", "Documents posted, by outcome.");
    describe_counter!(
        "akin_documents_refused_total",
        "Documents that were not added, by the code of the problem; a body that is refused as a \
         whole counts as one."
    );
    describe_histogram!("akin_lookup_duration_seconds", "Time of a lookup, without HTTP.");
    describe_histogram!("akin_lookup_candidates", "Candidates of a lookup.");
}

/// The routes with a histogram of durations before their first request. All of them would be two
/// thousand lines of each scrape.
const USUAL_ROUTES: [(&str, &str); 3] =
    [("POST", "/documents"), ("GET", "/similar"), ("POST", "/similar")];

/// A series that appears with its first event has no rate of it.
fn begin() {
    let statuses =
        [AddStatus::Created, AddStatus::Replaced, AddStatus::Unchanged, AddStatus::Skipped];
    for status in statuses {
        added_counter(status).absolute(0);
    }
    let full = Code::InsufficientStorage.facts().0;
    counter!("akin_documents_refused_total", "reason" => full).absolute(0);
    for mode in [Mode::Verified, Mode::Estimated, Mode::Exact] {
        let _ = lookup_duration(mode);
    }
    let _ = histogram!("akin_lookup_candidates");
    for (method, route) in USUAL_ROUTES {
        let labels = [("method", method), ("route", route)];
        let _ = histogram!("akin_http_request_duration_seconds", &labels);
    }
    counter!("akin_tls_handshake_failures_total").absolute(0);
}
