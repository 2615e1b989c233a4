//! Requests as spans of distributed traces (W3C Trace Context). A span has the route and the status
//! of a request, never its content.

use std::time::{Duration, SystemTime};

use axum::http::HeaderMap;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Receiver, Sender};

/// Spans that may wait to be exported. Further spans are lost, and counted.
const SPANS_WAITING_MAX: usize = 4096;

const SAMPLED: u8 = 1;

/// A request that was answered.
#[derive(Clone, Debug)]
pub struct Span {
    pub context: Context,
    pub method: &'static str,
    /// The matched route, not the path.
    pub route: String,
    pub status: u16,
    pub request_id: String,
    pub began: SystemTime,
    pub took: Duration,
}

/// The place of a span in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    pub trace: u128,
    pub span: u64,
    /// The caller's span, of `traceparent`.
    pub parent: Option<u64>,
}

/// Decides which requests become spans, and hands these to the exporter.
#[derive(Debug)]
pub struct Tracer {
    spans: Sender<Span>,
    /// The share of requests without a `traceparent`.
    ratio: f64,
}

impl Tracer {
    #[must_use]
    pub fn new(ratio: f64) -> (Self, Receiver<Span>) {
        let (spans, waiting) = mpsc::channel(SPANS_WAITING_MAX);
        metrics::counter!("akin_trace_spans_lost_total").absolute(0);
        (Self { spans, ratio }, waiting)
    }

    /// `None` for a request that is not traced: the caller decides, or chance does.
    pub(super) fn begin(&self, headers: &HeaderMap) -> Option<Context> {
        let caller = headers.get("traceparent").and_then(|value| parse(value.to_str().ok()?));
        if let Some((trace, parent, flags)) = caller {
            let span = random()?;
            return (flags & SAMPLED != 0).then_some(Context { trace, span, parent: Some(parent) });
        }
        let (high, low) = (random()?, random()?);
        let is_drawn = (low as f64) < self.ratio * u64::MAX as f64 || self.ratio >= 1.0;
        let trace = (u128::from(high) << 64) | u128::from(low);
        let span = random()?;
        is_drawn.then_some(Context { trace, span, parent: None })
    }

    /// Never waits: a collector that is away costs spans, and no request.
    pub(super) fn end(&self, span: Span) {
        if let Err(TrySendError::Full(_)) = self.spans.try_send(span) {
            metrics::counter!("akin_trace_spans_lost_total").increment(1);
        }
    }
}

/// Not zero, which is no id. `None` if the system has no random bits.
fn random() -> Option<u64> {
    getrandom::u64().ok().map(|bits| bits.max(1))
}

/// Trace, span and flags of `00-TRACE-SPAN-FLAGS`; later versions may have more fields.
fn parse(traceparent: &str) -> Option<(u128, u64, u8)> {
    let mut fields = traceparent.split('-');
    let mut field = |digits: usize| {
        let is_hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        fields.next().filter(|field| field.len() == digits && field.bytes().all(is_hex))
    };
    let (version, trace, span, flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
    if version == "ff" || (version == "00" && fields.next().is_some()) {
        return None;
    }
    let trace = u128::from_str_radix(trace, 16).ok().filter(|trace| *trace != 0)?;
    let span = u64::from_str_radix(span, 16).ok().filter(|span| *span != 0)?;
    Some((trace, span, u8::from_str_radix(flags, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_as_w3c_defines_it() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let valid = format!("00-{trace}-b7ad6b7169203331-01");
        let expected = (0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c, 0xb7ad_6b71_6920_3331, 1);
        assert_eq!(parse(&valid), Some(expected));
        assert_eq!(parse(&format!("cc{}-more", &valid[2..])), Some(expected));
        let zero = format!("00-{}-b7ad6b7169203331-01", "0".repeat(32));
        for invalid in ["", "00", "ff", &valid[..54], &valid.to_uppercase(), &zero] {
            assert_eq!(parse(invalid), None, "{invalid}");
        }
        for changed in [format!("{valid}-more"), valid.replacen("00", "ff", 1)] {
            assert_eq!(parse(&changed), None, "{changed}");
        }
    }

    #[test]
    fn further_spans_are_lost_without_waiting() {
        let (tracer, mut waiting) = Tracer::new(1.0);
        let span = Span {
            context: tracer.begin(&HeaderMap::new()).unwrap(),
            method: "GET",
            route: "/similar".to_owned(),
            status: 200,
            request_id: "a".to_owned(),
            began: SystemTime::now(),
            took: Duration::ZERO,
        };
        for _ in 0..=SPANS_WAITING_MAX {
            tracer.end(span.clone());
        }
        let kept = std::iter::from_fn(|| waiting.try_recv().ok()).count();
        assert_eq!(kept, SPANS_WAITING_MAX);
    }

    #[test]
    fn the_callers_decision_counts_before_the_ratio() {
        let caller = |flags: &str| {
            let value = format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{flags}");
            HeaderMap::from_iter([("traceparent".parse().unwrap(), value.parse().unwrap())])
        };
        let begun = |ratio, headers: &HeaderMap| Tracer::new(ratio).0.begin(headers);
        assert_eq!(begun(0.0, &caller("01")).unwrap().parent, Some(0xb7ad_6b71_6920_3331));
        assert_eq!(begun(1.0, &caller("00")), None);
        assert_eq!(begun(0.0, &HeaderMap::new()), None);
        assert_eq!(begun(1.0, &HeaderMap::new()).unwrap().parent, None);
    }
}
