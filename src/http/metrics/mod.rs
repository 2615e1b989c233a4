//! Prometheus metrics: what is counted, and how it is written.

mod described;
pub mod exposition;
pub mod process;
pub mod requests;

pub use described::describe;

use std::time::Duration;

use crate::engine::{AddStatus, Answer, Mode};

/// Counts an addition. Each label's value is spelled out, as making the labels of a series for each
/// call would cost more than counting.
pub fn added(status: AddStatus) {
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
    .increment(1);
}

pub fn looked_up(answer: &Answer, took: Duration) {
    match answer.mode {
        Mode::Verified => metrics::histogram!("akin_lookup_duration_seconds", "mode" => "verified"),
        Mode::Estimated => {
            metrics::histogram!("akin_lookup_duration_seconds", "mode" => "estimated")
        }
        Mode::Exact => metrics::histogram!("akin_lookup_duration_seconds", "mode" => "exact"),
    }
    .record(took);
    metrics::histogram!("akin_lookup_candidates").record(answer.candidates as f64);
}
