//! Logs on stderr, metrics for whoever scrapes.

mod lines;

use std::io::{IsTerminal, Stderr, stderr};
use std::sync::OnceLock;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing::Level;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{LogFormat, LogSettings};
use lines::Lines;

/// Seconds: from a lookup in memory to a bulk import.
const DURATION_BUCKETS: [f64; 16] = [
    5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 0.1, 0.5, 2.5,
    10.0,
];
/// Candidates of a lookup, up to the default of `collection.limits.candidates_max`.
const COUNT_BUCKETS: [f64; 10] =
    [0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0];

/// Sends logs and panics to stderr, the last of them when what is given back is dropped. The first
/// call in a process holds.
#[must_use]
pub fn start_logs(settings: &LogSettings) -> Logs {
    // The settings were checked; an invalid filter must not silence the log.
    let filter = settings.level.parse().unwrap_or(Targets::new().with_default(Level::INFO));
    let terminal = stderr().is_terminal();
    let lines = Lines::start(stderr());
    let text = match settings.format {
        LogFormat::Auto => terminal,
        LogFormat::Text => true,
        LogFormat::Json => false,
    };
    let layer = tracing_subscriber::fmt::layer().with_writer(lines.clone());
    let layer = match text {
        true => layer.with_ansi(terminal).boxed(),
        false => layer.json().flatten_event(true).boxed(),
    };
    let started = tracing_subscriber::registry().with(layer.with_filter(filter)).try_init();
    if started.is_ok() {
        std::panic::set_hook(Box::new(log_panic));
    }
    Logs(lines)
}

/// Logs that are on.
pub struct Logs(Lines<Stderr>);

impl Drop for Logs {
    fn drop(&mut self) {
        self.0.flush();
    }
}

/// Says where, and what only if it is written so in the code: another message may quote a document.
fn log_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let reason = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or_default();
    let backtrace = std::backtrace::Backtrace::capture();
    tracing::error!(place, reason, %backtrace, "panicked");
}

/// The process's metrics; installed by the first call.
pub fn metrics() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(install_metrics).clone()
}

fn install_metrics() -> PrometheusHandle {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &DURATION_BUCKETS)
        .and_then(|builder| {
            builder.set_buckets_for_metric(Matcher::Suffix("_candidates".into()), &COUNT_BUCKETS)
        })
        .expect("the buckets are not empty")
        .install_recorder()
        .expect("nothing else in this process installs a recorder")
}
