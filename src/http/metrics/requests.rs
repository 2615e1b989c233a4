//! Counters of requests.

use std::time::Duration;

use dashmap::DashMap;
use metrics::{Counter, Histogram};

/// The series of requests so far. Looking up a counter by its labels allocates strings, so each
/// counter is looked up once. Their number is bounded by routes, methods and statuses.
#[derive(Default)]
pub struct RequestSeries {
    by_route: DashMap<String, Vec<Series>>,
}

struct Series {
    method: &'static str,
    status: u16,
    requests: Counter,
    duration: Histogram,
}

impl RequestSeries {
    pub fn answered(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        let is_it = |series: &&Series| series.method == method && series.status == status;
        if let Some(known) = self.by_route.get(route)
            && let Some(series) = known.iter().find(is_it)
        {
            series.count(took);
            return;
        }
        let series = Series::new(method, route, status);
        series.count(took);
        // Two requests at once may both insert it: both entries count the same series.
        self.by_route.entry(route.to_owned()).or_default().push(series);
    }
}

impl Series {
    fn new(method: &'static str, route: &str, status: u16) -> Self {
        let (route, code) = (route.to_owned(), status.to_string());
        Self {
            method,
            status,
            duration: metrics::histogram!("akin_http_request_duration_seconds",
                "method" => method, "route" => route.clone()),
            requests: metrics::counter!("akin_http_requests_total",
                "method" => method, "route" => route, "status" => code),
        }
    }

    fn count(&self, took: Duration) {
        self.requests.increment(1);
        self.duration.record(took);
    }
}
