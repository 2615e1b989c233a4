use std::convert::Infallible;

use akin::http::ServerSettings;
use axum::body::Body;
use axum::http::Request;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::json;
use tower::ServiceExt;

use crate::app::{App, post};

/// A body that begins, and never goes on.
pub fn unending(beginning: &'static str) -> Body {
    let first = stream::iter([Ok::<_, Infallible>(Bytes::from(beginning))]);
    Body::from_stream(first.chain(stream::pending()))
}

#[tokio::test]
async fn bodies_are_bounded_with_and_without_content_length() {
    let settings = ServerSettings {
        document_bytes_max: 1_000,
        body_bytes_max: 2_000,
        ..ServerSettings::default()
    };
    let app = App::with_server(settings).await;
    let body = |bytes: usize| json!({"text": "x".repeat(bytes)}).to_string();
    let in_pieces = |body: String| {
        let chunks: Vec<_> = body.as_bytes().chunks(100).map(Bytes::copy_from_slice).collect();
        Body::from_stream(stream::iter(chunks.into_iter().map(Ok::<_, Infallible>)))
    };
    for bytes in [1_000, 3_000] {
        let said = app.post_json("/documents", body(bytes)).await;
        said.problem(413, "document_too_large");
        let reply = app.post("/documents", "application/json", in_pieces(body(bytes))).await;
        reply.problem(413, "document_too_large");
    }
    assert_eq!(app.post_json("/documents", body(900)).await.status, 201);
    for path in ["/similar", "/resemblance", "/collapse"] {
        app.post_json(path, body(2_000)).await.problem(413, "body_too_large");
        let reply = app.post(path, "application/json", in_pieces(body(2_000))).await;
        reply.problem(413, "body_too_large");
    }
    assert_eq!(app.post_json("/similar", body(1_900)).await.status, 200);
    let probes = |count| json!(vec![json!({"id": "a"}); count]);
    assert_eq!(app.post_json("/similar", probes(100)).await.status, 200);
    app.post_json("/similar", probes(101)).await.problem(422, "invalid_request");
}

#[tokio::test]
async fn leading_white_space_counts_towards_the_limit() {
    let settings = ServerSettings { document_bytes_max: 1_000, ..ServerSettings::default() };
    let app = App::with_server(settings).await;
    let spaces = |count: usize| stream::iter(vec![Ok(Bytes::from(vec![b' '; 100])); count]);
    let document = format!("{{\"text\": \"{}\"}}", "x".repeat(400));
    for (count, status) in [(5, 201), (6, 413), (11, 413)] {
        let whole = stream::iter([Ok::<_, Infallible>(Bytes::from(document.clone()))]);
        let body = Body::from_stream(spaces(count).chain(whole));
        let reply = app.post("/documents", "application/json", body).await;
        assert_eq!(reply.status, status, "{count} pieces of white space");
    }
    let endless = Body::from_stream(stream::repeat(Ok::<_, Infallible>(Bytes::from("  "))));
    let reply = app.post("/documents", "application/json", endless).await;
    reply.problem(413, "document_too_large");
}

#[tokio::test]
async fn the_settings_of_a_collection_have_a_small_body() {
    let app = App::new().await;
    let padded = |bytes: usize| format!("{{{}}}", " ".repeat(bytes - 2));
    app.put_json("/collections/a", padded((1 << 20) + 1)).await.problem(413, "body_too_large");
    assert_eq!(app.put_json("/collections/a", padded(1 << 20)).await.status, 201);
}

#[tokio::test]
async fn a_stalled_body_times_out() {
    let settings = ServerSettings { body_idle_timeout_ms: 20, ..ServerSettings::default() };
    let app = App::with_server(settings).await;
    for path in ["/documents", "/similar", "/resemblance", "/collapse"] {
        let reply = app.post(path, "application/json", unending("{\"te")).await;
        reply.problem(408, "body_timeout");
    }
}

#[tokio::test]
async fn a_slow_request_times_out() {
    let settings = ServerSettings { request_timeout_ms: 20, ..ServerSettings::default() };
    let app = App::with_server(settings).await;
    let reply = app.post("/documents", "application/json", unending("{\"te")).await;
    reply.problem(503, "timed_out");
}

#[tokio::test]
async fn excess_requests_are_refused_except_health_and_metrics() {
    let settings = ServerSettings { requests_in_flight_max: 1, ..ServerSettings::default() };
    let app = App::with_server(settings).await;
    // A streamed answer is worked on until it is read.
    let export = Request::get("/export").body(Body::empty()).unwrap();
    let held = app.router.clone().oneshot(export).await.unwrap();
    assert_eq!(held.status(), 200);

    app.get("/documents").await.problem(503, "overloaded");
    app.get("/stats").await.problem(503, "overloaded");
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(app.get(path).await.status, 200, "{path}");
    }
    drop(held);
    assert_eq!(app.get("/documents").await.status, 200);
}

#[tokio::test]
async fn streamed_requests_have_their_own_limit() {
    let settings = ServerSettings { bulk_requests_max: 1, ..ServerSettings::default() };
    let app = App::with_server(settings).await;
    let request = post("/documents", "application/x-ndjson", unending("{\"text\": \"a b\"}\n"));
    let mut held =
        app.router.clone().oneshot(request).await.unwrap().into_body().into_data_stream();
    assert!(held.next().await.unwrap().unwrap().starts_with(b"{\"line\":1"));

    let bulk = app.post("/documents", "application/x-ndjson", "{\"text\": \"a\"}").await;
    bulk.problem(503, "overloaded");
    app.get("/export").await.problem(503, "overloaded");
    assert_eq!(app.get("/documents").await.status, 200, "what does not stream goes on");

    drop(held);
    // The work stops once its task has seen that nobody reads: until then there is no leave.
    while !app.lets_in("/export").await {
        tokio::task::yield_now().await;
    }
}
