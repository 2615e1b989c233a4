//! Prometheus metrics: counting, and the text format.

mod described;
pub mod exposition;
pub mod process;
pub mod requests;

pub use described::describe;

use std::time::Duration;

use metrics::{Counter, Histogram};

use crate::engine::{AddStatus, Mode, Searched};
use crate::http::problem::code::Code;

/// Counts an addition.
pub fn added(status: AddStatus) {
    added_counter(status).increment(1);
}

/// Counts a document that was not added.
pub fn refused(code: Code) {
    metrics::counter!("akin_documents_refused_total", "reason" => code.facts().0).increment(1);
}

/// Each label's value is spelled out, as making the labels of a series for each call would cost
/// more than counting.
fn added_counter(status: AddStatus) -> Counter {
    match status {
        AddStatus::Created => {
            metrics::counter!("akin_documents_added_total", "status" => "created")
        }
        AddStatus::Replaced => {
            metrics::counter!("akin_documents_added_total", "status" => "replaced")
        }
        AddStatus::Unchanged => {
            metrics::counter!("akin_documents_added_total", "status" => "unchanged")
        }
        AddStatus::Skipped => {
            metrics::counter!("akin_documents_added_total", "status" => "skipped")
        }
    }
}

pub fn looked_up(searched: &Searched, took: Duration) {
    lookup_duration(searched.mode).record(took);
    metrics::histogram!("akin_lookup_candidates").record(searched.candidates as f64);
}

fn lookup_duration(mode: Mode) -> Histogram {
    match mode {
        Mode::Verified => metrics::histogram!("akin_lookup_duration_seconds", "mode" => "verified"),
        Mode::Estimated => {
            metrics::histogram!("akin_lookup_duration_seconds", "mode" => "estimated")
        }
        Mode::Exact => metrics::histogram!("akin_lookup_duration_seconds", "mode" => "exact"),
    }
}
