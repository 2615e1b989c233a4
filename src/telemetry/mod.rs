//! Logs on stderr, and metrics for Prometheus.

use std::io::{BufWriter, IsTerminal, Write, stderr};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing::Level;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{LogFormat, LogSettings};
use crate::http;

/// Log lines that may wait for a slow reader of stderr. Further lines are lost, and counted, so
/// that no request waits for the log.
const LINES_WAITING_MAX: usize = 16 << 10;

/// The time for the last words.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Seconds: from a lookup in memory to a bulk import.
const DURATION_BUCKETS: [f64; 18] = [
    5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 0.1, 0.5, 2.5,
    10.0, 60.0, 600.0,
];
/// Candidates of a lookup, up to the default of `collection.limits.candidates_max`.
const COUNT_BUCKETS: [f64; 10] =
    [0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0];

/// Sends logs and panics to stderr until the returned value is dropped. Only the first call in a
/// process has an effect.
#[must_use]
pub fn start_logs(settings: &LogSettings) -> Logs {
    // The settings were checked; an invalid filter must not silence the log.
    let filter = settings.level.parse().unwrap_or(Targets::new().with_default(Level::INFO));
    let terminal = stderr().is_terminal();
    let text = match settings.format {
        LogFormat::Auto => terminal,
        LogFormat::Text => true,
        LogFormat::Json => false,
    };
    // A thread writes the lines, as many at a time as are waiting: a request line of its own would
    // cost a system call under a lock.
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(LINES_WAITING_MAX)
        .thread_name("akin-log")
        .finish(BufWriter::new(stderr()));
    let lost = writer.error_counter();
    let layer = tracing_subscriber::fmt::layer().with_writer(writer);
    let layer = match text {
        true => layer.with_ansi(terminal && !no_color()).boxed(),
        false => layer.json().flatten_event(true).boxed(),
    };
    let started = tracing_subscriber::registry().with(layer.with_filter(filter)).try_init();
    if started.is_ok() {
        std::panic::set_hook(Box::new(log_panic));
    }
    Logs { _guard: guard, lost }
}

/// Whether the user wants no colours (no-color.org).
fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Writes the waiting lines when it is dropped.
pub struct Logs {
    _guard: WorkerGuard,
    lost: ErrorCounter,
}

impl Drop for Logs {
    fn drop(&mut self) {
        match self.lost.dropped_lines() {
            0 => {}
            lines => say_last(format!("{lines} log lines were lost: stderr was read too slowly\n")),
        }
    }
}

/// Writes the last words of the process to stderr. If nobody reads it, they are lost: an unread
/// pipe must not keep a process that is to be restarted.
pub fn say_last(words: String) {
    let (said, heard) = mpsc::channel();
    thread::spawn(move || {
        // Nothing is left to be done about an error.
        let _ = stderr().write_all(words.as_bytes());
        let _ = said.send(());
    });
    let _ = heard.recv_timeout(LAST_WORDS);
}

/// Logs the location, and the message only if it is a literal: a formatted message may quote a
/// document.
fn log_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    let reason = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or_default();
    let backtrace = std::backtrace::Backtrace::capture();
    tracing::error!(location, reason, %backtrace, "panicked");
}

/// The process's metrics; installed by the first call.
pub fn metrics() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(install_metrics).clone()
}

fn install_metrics() -> PrometheusHandle {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &DURATION_BUCKETS)
        .and_then(|builder| {
            builder.set_buckets_for_metric(Matcher::Suffix("_candidates".into()), &COUNT_BUCKETS)
        })
        .expect("the buckets are not empty")
        .install_recorder()
        .expect("nothing else in this process installs a recorder");
    http::describe_metrics();
    handle
}
