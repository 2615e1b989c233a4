//! What every request is counted by.

use std::time::Duration;

use dashmap::DashMap;
use metrics::{Counter, Histogram};

/// The series that requests have come to so far. Looking one up by its labels makes strings of
/// them, so each is looked up once. There are as many as routes, methods and statuses make.
#[derive(Default)]
pub struct Measures {
    by_route: DashMap<String, Vec<Series>>,
}

struct Series {
    method: &'static str,
    status: u16,
    requests: Counter,
    duration: Histogram,
}

impl Measures {
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
        // Two that come at once may both put it there: they count the same.
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
