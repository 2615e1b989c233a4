//! Which requests are logged.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// From which time on a request is slow.
const SLOW: Duration = Duration::from_secs(1);

/// Lines in a second, unless all requests are logged. While clients are refused there may be as
/// many as requests.
const LINES_PER_S_MAX: u64 = 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoggedRequests {
    All,
    /// Slow requests and errors.
    #[default]
    Slow,
    /// Answers with a status of 400 or more, but not 404, by which clients look whether a document
    /// is there.
    Errors,
}

/// Selects the requests to log, and limits their number.
pub struct RequestLog {
    which: LoggedRequests,
    started: Instant,
    lines: Mutex<Lines>,
}

/// The lines of the current second.
#[derive(Default)]
struct Lines {
    second: u64,
    written: u64,
    /// Lines that were left out since the last line.
    left_out: u64,
}

impl RequestLog {
    pub fn new(which: LoggedRequests) -> Self {
        Self { which, started: Instant::now(), lines: Mutex::default() }
    }

    /// Whether a request is logged, with the number of lines that were left out before it.
    pub(super) fn line(&self, route: &str, status: StatusCode, took: Duration) -> Option<u64> {
        let is_error = status.as_u16() >= 400 && status != StatusCode::NOT_FOUND;
        // A request for changes waits for them.
        let is_slow = took >= SLOW && !route.ends_with("/changes");
        match self.which {
            LoggedRequests::All => Some(0),
            LoggedRequests::Slow if is_slow || is_error => self.next(),
            LoggedRequests::Errors if is_error => self.next(),
            LoggedRequests::Slow | LoggedRequests::Errors => None,
        }
    }

    fn next(&self) -> Option<u64> {
        let second = self.started.elapsed().as_secs();
        let mut lines = self.lines.lock();
        if lines.second != second {
            (lines.second, lines.written) = (second, 0);
        }
        if lines.written == LINES_PER_S_MAX {
            lines.left_out += 1;
            return None;
        }
        lines.written += 1;
        Some(std::mem::take(&mut lines.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_requests_and_errors_are_logged() {
        let slow = Duration::from_secs(1);
        for (route, status, took, expected) in [
            ("/similar", 200, Duration::ZERO, [true, false, false]),
            ("/similar", 200, slow, [true, true, false]),
            ("/changes", 200, slow, [true, false, false]),
            ("/documents/{*id}", 404, Duration::ZERO, [true, false, false]),
            ("/documents/{*id}", 404, slow, [true, true, false]),
            ("/similar", 403, Duration::ZERO, [true, true, true]),
            ("/similar", 503, slow, [true, true, true]),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let all = [LoggedRequests::All, LoggedRequests::Slow, LoggedRequests::Errors];
            let is_logged =
                all.map(|which| RequestLog::new(which).line(route, status, took).is_some());
            assert_eq!(is_logged, expected, "{route} {status} {took:?}");
        }
    }

    #[test]
    fn lines_beyond_the_limit_are_counted_in_the_next() {
        let log = RequestLog::new(LoggedRequests::Errors);
        let line = || log.line("/similar", StatusCode::SERVICE_UNAVAILABLE, Duration::ZERO);
        // A test that is held up in the middle spans two seconds.
        let written: Vec<u64> = (0..1_000).filter_map(|_| line()).collect();
        assert!((10..=1_000).contains(&written.len()), "{}", written.len());
        log.lines.lock().second = u64::MAX;
        let left_out = line().unwrap();
        assert_eq!(written.len() as u64 + written.iter().sum::<u64>() + left_out, 1_000);
        let all = RequestLog::new(LoggedRequests::All);
        let line = || all.line("/similar", StatusCode::OK, Duration::ZERO);
        assert!((0..1_000).all(|_| line() == Some(0)), "without a limit");
    }
}
