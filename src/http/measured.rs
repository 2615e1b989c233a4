//! What the handlers count.

use std::time::Duration;

use crate::engine::{AddStatus, Answer, Mode, Stats};

pub fn added(status: AddStatus) {
    let status = match status {
        AddStatus::Created => "created",
        AddStatus::Replaced => "replaced",
        AddStatus::Unchanged => "unchanged",
        AddStatus::Skipped => "skipped",
    };
    metrics::counter!("akin_documents_added_total", "status" => status).increment(1);
}

pub fn looked_up(answer: &Answer, took: Duration) {
    let mode = match answer.mode {
        Mode::Verified => "verified",
        Mode::Estimated => "estimated",
    };
    metrics::histogram!("akin_lookup_duration_seconds", "mode" => mode).record(took);
    metrics::histogram!("akin_lookup_candidates").record(answer.candidates as f64);
}

/// Sets the gauges to what the collection is now.
pub fn collection(stats: &Stats, now_ms: i64) {
    metrics::gauge!("akin_documents").set(stats.backend.documents as f64);
    metrics::gauge!("akin_distinct_sets").set(stats.backend.distinct_sets as f64);
    metrics::gauge!("akin_keys").set(stats.backend.keys as f64);
    metrics::gauge!("akin_postings").set(stats.backend.postings as f64);
    metrics::gauge!("akin_postings_longest").set(stats.backend.postings_longest as f64);
    metrics::gauge!("akin_index_bytes").set(stats.backend.index_bytes as f64);
    metrics::gauge!("akin_database_bytes").set(stats.backend.database_bytes as f64);
    metrics::gauge!("akin_wal_bytes").set(stats.backend.wal_bytes as f64);
    metrics::gauge!("akin_log_rows").set(stats.backend.log_rows as f64);
    metrics::gauge!("akin_sequence").set(stats.backend.sequence as f64);
    if let Some(snapshot) = &stats.last_snapshot {
        let age_ms = now_ms.saturating_sub(snapshot.created_at_ms).max(0);
        metrics::gauge!("akin_snapshot_age_seconds").set(age_ms as f64 / 1_000.0);
    }
}
