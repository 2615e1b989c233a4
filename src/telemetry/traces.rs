//! Spans to an OpenTelemetry collector: OTLP over HTTP, as JSON.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::{Method, Request};
use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use crate::http::Span;

/// The number of spans in a message.
const BATCH_MAX: usize = 512;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// SPAN_KIND_SERVER and STATUS_CODE_ERROR of OTLP.
const KIND_SERVER: u8 = 2;
const STATUS_ERROR: u8 = 2;

/// Sends spans to `ENDPOINT/v1/traces` until the tracer is gone. While a message is being sent the
/// next is collected. A failed message is lost; the first failure in a row is logged.
pub async fn export(endpoint: &str, mut waiting: Receiver<Span>) {
    let uri = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
    let client = Client::builder(TokioExecutor::new()).build_http();
    let mut is_away = false;
    let mut spans = Vec::with_capacity(BATCH_MAX);
    while waiting.recv_many(&mut spans, BATCH_MAX).await > 0 {
        let sent = send(&client, &uri, &spans).await;
        let was_away = std::mem::replace(&mut is_away, sent.is_err());
        match sent {
            Ok(()) if was_away => tracing::info!(uri, "trace export recovered"),
            Err(error) if !was_away => tracing::warn!(uri, error, "trace export failed"),
            Ok(()) | Err(_) => {}
        }
        spans.clear();
    }
}

async fn send(
    client: &Client<HttpConnector, Full<Bytes>>,
    uri: &str,
    spans: &[Span],
) -> Result<(), String> {
    let request = Request::builder()
        .method(Method::POST)
        .uri(uri)
        .header("content-type", "application/json")
        .body(Full::from(message(spans).to_string()))
        .map_err(|error| error.to_string())?;
    let answered = timeout(ANSWER_TIMEOUT, client.request(request)).await;
    let response = answered.map_err(|_| "no answer".to_owned())?;
    let response = response.map_err(|error| error.to_string())?;
    if response.status().is_success() { Ok(()) } else { Err(response.status().to_string()) }
}

fn message(spans: &[Span]) -> Value {
    let resource = json!({"attributes": [
        text("service.name", "akin"), text("service.version", VERSION),
    ]});
    let spans: Vec<Value> = spans.iter().map(encode).collect();
    let scope = json!({"name": "akin", "version": VERSION});
    json!({"resourceSpans": [{
        "resource": resource, "scopeSpans": [{"scope": scope, "spans": spans}],
    }]})
}

fn encode(span: &Span) -> Value {
    let mut encoded = json!({
        "traceId": format!("{:032x}", span.context.trace),
        "spanId": format!("{:016x}", span.context.span),
        "name": format!("{} {}", span.method, span.route),
        "kind": KIND_SERVER,
        "startTimeUnixNano": nanoseconds(span.began),
        "endTimeUnixNano": nanoseconds(span.began + span.took),
        "attributes": [
            text("http.request.method", span.method),
            text("http.route", &span.route),
            {"key": "http.response.status_code", "value": {"intValue": span.status.to_string()}},
            text("akin.request_id", &span.request_id),
        ],
    });
    if let Some(parent) = span.context.parent {
        encoded["parentSpanId"] = format!("{parent:016x}").into();
    }
    if span.status >= 500 {
        encoded["status"] = json!({"code": STATUS_ERROR});
    }
    encoded
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// As text: JSON's numbers are too short.
fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}
