//! What the metrics of the recorder mean. Those of `exposition` and `process` stand beside them.

use metrics::{describe_counter, describe_gauge, describe_histogram};

/// Describes every metric that the recorder keeps: call it once the recorder is installed.
pub fn describe() {
    describe_counter!("akin_http_requests_total", "Requests answered.");
    describe_gauge!("akin_http_requests_in_flight", "Requests being answered.");
    describe_histogram!(
        "akin_http_request_duration_seconds",
        "Time from the head of a request to the head of its response."
    );
    describe_counter!(
        "akin_trace_spans_lost_total",
        "Spans that were not exported because too many waited."
    );
    describe_counter!("akin_documents_added_total", "Documents posted, by what became of them.");
    describe_histogram!("akin_lookup_duration_seconds", "Time of a lookup without its HTTP.");
    describe_histogram!("akin_lookup_candidates", "Candidates of a lookup.");
    describe_gauge!(
        "akin_clock_jump_seconds",
        "Jump of the system clock for which the removal of expired documents waits; 0 for none."
    );
    describe_counter!("akin_backup_failures_total", "Scheduled backups that failed.");
    describe_gauge!(
        "akin_backup_last_success_timestamp_seconds",
        "When the last scheduled backup was begun that is complete and verified."
    );
    describe_gauge!("akin_backup_last_duration_seconds", "Time of the last complete backup.");
    describe_gauge!("akin_backup_last_bytes", "Size of the last complete backup.");
    describe_counter!(
        "akin_webhook_changes_delivered_total",
        "Changes that a receiver of webhooks has accepted."
    );
    describe_counter!("akin_webhook_failures_total", "Messages that a receiver did not accept.");
    describe_counter!(
        "akin_webhook_changes_gone_total",
        "How often a receiver was away for longer than changes are kept."
    );
    describe_gauge!("akin_webhook_lag_changes", "Changes that a receiver has not accepted yet.");
}
