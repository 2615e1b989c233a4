//! The budget of memory: what exceeds it is refused, and cheap reads go on.

use std::convert::Infallible;

use akin::budget::Purpose;
use akin::http::ServerSettings;
use axum::body::Body;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::app::{App, post, text};
use crate::backends;

const REFUSED: &str = "memory_budget_exhausted";

async fn with_budget(memory_max: usize) -> App {
    App::with_server(ServerSettings { memory_max, ..ServerSettings::default() }).await
}

/// Documents that resemble each other, with metadata of this many bytes.
fn documents(count: usize, metadata_bytes: usize) -> Vec<Value> {
    let document = |at: usize| {
        json!({"id": format!("d{at}"), "text": text(at),
            "metadata": {"long": "x".repeat(metadata_bytes)}})
    };
    (0..count).map(document).collect()
}

#[track_caller]
fn nothing_is_reserved(app: &App) {
    let reserved = Purpose::ALL.map(|purpose| app.state.budget.reserved(purpose));
    assert_eq!(reserved, [0; Purpose::ALL.len()]);
    assert!(app.state.budget.peak() <= app.state.budget.max());
}

#[tokio::test]
async fn bodies_are_counted_while_they_are_read_and_cheap_reads_go_on() {
    let app = with_budget(100_000).await;
    app.add(&documents(2, 10)).await;
    let long = json!({"text": "x".repeat(30_000)});
    for path in ["/documents", "/similar", "/resemblance", "/collapse"] {
        app.post_json(path, &long).await.problem(503, REFUSED);
    }
    app.put_json("/collections/a", &long).await.problem(503, REFUSED);
    nothing_is_reserved(&app);

    let first = format!("{{\"text\": \"{}", "x".repeat(20_000));
    let first = stream::iter([Ok::<_, Infallible>(Bytes::from(first))]);
    let unending = Body::from_stream(first.chain(stream::pending()));
    let request = post("/documents", "application/json", unending);
    let mut held = Box::pin(app.router.clone().oneshot(request));
    assert!((&mut held).now_or_never().is_none(), "it is being read");
    app.post_json("/documents", json!({"text": "y".repeat(5_000)})).await.problem(503, REFUSED);
    for path in ["/documents/d1", "/similar?id=d1", "/documents", "/healthz", "/readyz"] {
        assert_eq!(app.get(path).await.status, 200, "{path}");
    }
    let metrics = app.get("/metrics").await;
    let metrics = std::str::from_utf8(&metrics.body).unwrap();
    assert!(metrics.contains("\nakin_memory_budget_bytes 100000\n"), "{metrics}");
    assert!(metrics.contains("\nakin_memory_reserved_bytes{what=\"bodies\"} 80040\n"), "{metrics}");
    drop(held);
    nothing_is_reserved(&app);
    app.add(&[json!({"text": "y".repeat(5_000)})]).await;
}

#[tokio::test]
async fn many_small_values_are_counted_before_they_are_decoded() {
    let app = with_budget(64 << 20).await;
    let probes = format!("[{}{{}}]", "{},".repeat(2 << 20));
    app.post_json("/similar", probes).await.problem(503, REFUSED);
    let ids = format!("{{\"ids\": [{}\"\"]}}", "\"\",".repeat(2 << 20));
    app.post_json("/collapse", ids).await.problem(503, REFUSED);
    nothing_is_reserved(&app);
}

#[tokio::test]
async fn answers_are_counted_before_they_are_written() {
    let app = with_budget(4 << 20).await;
    app.add(&documents(20, 20_000)).await;
    let probes = |count: usize| -> Value { (0..count).map(|_| json!({"text": text(0)})).collect() };
    // 20 matches of 20 KB take over a megabyte.
    assert_eq!(app.post_json("/similar?limit=100", probes(1)).await.status, 200);
    app.post_json("/similar?limit=100", probes(10)).await.problem(503, REFUSED);
    nothing_is_reserved(&app);

    // An answer is counted until it was sent.
    let request = post("/similar?limit=100", "application/json", probes(3).to_string());
    let unread = app.router.clone().oneshot(request).await.unwrap();
    assert_eq!(unread.status(), 200);
    assert!(app.state.budget.reserved(Purpose::Answers) > 3 << 20);
    app.post_json("/similar?limit=100", probes(1)).await.problem(503, REFUSED);
    app.get("/similar?id=d0&limit=100").await.problem(503, REFUSED);
    assert_eq!(app.get("/similar?id=d0&limit=1").await.status, 200, "a small one goes on");
    drop(unread);
    nothing_is_reserved(&app);
}

#[tokio::test]
async fn metadata_is_counted_while_a_filter_is_evaluated() {
    let app = with_budget(6_000_000).await;
    // 60 KB of JSON, which may take 4 MB once it is decoded.
    let metadata = json!({"values": vec![0; 30_000]});
    for at in 0..2 {
        let document = json!({"id": format!("d{at}"), "text": text(at), "metadata": metadata});
        app.add(&[document]).await;
    }
    let filtered = "/similar?id=d0&filter=@.values[0]==0";
    let reply = app.get(filtered).await;
    assert_eq!(reply.json()["matches"].as_array().unwrap().len(), 1);
    drop(reply);
    let held = app.state.budget.reservation(Purpose::Bodies);
    held.grow(3_000_000).unwrap();
    app.get(filtered).await.problem(503, REFUSED);
    drop(held);
    assert_eq!(app.get(filtered).await.status, 200);
    nothing_is_reserved(&app);
}

#[tokio::test]
async fn a_line_of_an_import_without_memory_is_refused_by_itself() {
    let app = with_budget(300_000).await;
    let lines = [json!({"text": "a b c"}), json!({"text": "x".repeat(200_000)})];
    let body: Vec<Bytes> = lines.iter().map(|line| Bytes::from(format!("{line}\n"))).collect();
    let body = Body::from_stream(stream::iter(body.into_iter().map(Ok::<_, Infallible>)));
    let reply = app.post("/documents", "application/x-ndjson", body).await;
    let results = reply.lines();
    assert_eq!(results[0]["status"], "created");
    assert_eq!(results[1]["problem"]["code"], REFUSED);
    drop(reply);
    nothing_is_reserved(&app);
}

#[tokio::test]
async fn a_discovery_is_counted_by_its_documents() {
    if backends::is_left_out("discoveries") {
        return;
    }
    let app = with_budget(10_000).await;
    app.add(&documents(20, 10)).await;
    assert_eq!(app.get("/pairs").await.status, 200);
    app.add(&documents(50, 10)[20..]).await;
    for path in ["/pairs", "/clusters"] {
        app.get(path).await.problem(503, REFUSED);
    }
    nothing_is_reserved(&app);
}

#[tokio::test]
async fn large_documents_and_collapsed_lists_are_counted_when_they_are_read() {
    let app = with_budget(32 << 20).await;
    let long = (0..60_000).map(|at| format!("w{at}")).collect::<Vec<_>>().join(" ");
    for id in ["a", "b"] {
        let document = json!({"id": id, "text": format!("{long}{id}")});
        app.add(&[document]).await;
    }
    let held = app.state.budget.reservation(Purpose::Bodies);
    held.grow(33_300_000).unwrap();
    app.get("/documents/a").await.problem(503, REFUSED);
    app.post_json("/collapse", json!({"ids": ["a", "b"]})).await.problem(503, REFUSED);
    app.get("/resemblance?a=a&b=b").await.problem(503, REFUSED);
    drop(held);
    for path in ["/documents/a", "/resemblance?a=a&b=b"] {
        assert_eq!(app.get(path).await.status, 200, "{path}");
    }
    let collapsed = app.post_json("/collapse", json!({"ids": ["a", "b"]})).await;
    assert_eq!(collapsed.json()["kept"], json!(["a"]));
    drop(collapsed);
    nothing_is_reserved(&app);
}

#[tokio::test]
async fn near_duplicates_of_an_added_document_are_counted_and_without_memory_it_is_refused() {
    let app = with_budget(4 << 20).await;
    app.add(&documents(20, 20_000)).await;
    let document = json!({"id": "new", "text": text(0)});
    let held = app.state.budget.reservation(Purpose::Bodies);
    held.grow(3_500_000).unwrap();
    app.post_json("/documents", &document).await.problem(503, REFUSED);
    assert_eq!(app.get("/documents/new").await.status, 404, "it was not stored");
    drop(held);
    let reply = app.post_json("/documents", &document).await;
    assert_eq!(reply.status, 201);
    assert_eq!(reply.json()["duplicates"].as_array().unwrap().len(), 20);
    drop(reply);
    nothing_is_reserved(&app);
}

#[tokio::test]
async fn near_duplicates_of_an_import_are_counted_until_their_lines_were_sent() {
    let app = with_budget(4 << 20).await;
    app.add(&documents(20, 20_000)).await;
    let line =
        |at: usize| Bytes::from(format!("{}\n", json!({"id": at.to_string(), "text": text(0)})));
    let body =
        Body::from_stream(stream::iter((0..20).map(move |at| Ok::<_, Infallible>(line(at)))));
    let request = post("/documents", "application/x-ndjson", body);
    let reply = app.router.clone().oneshot(request).await.unwrap();
    let mut pieces = reply.into_body().into_data_stream();
    let first = pieces.next().await.unwrap().unwrap();
    assert!(app.state.budget.reserved(Purpose::Bulk) > 1 << 20, "the line is not sent yet");
    let mut all = first.to_vec();
    drop(first);
    while let Some(piece) = pieces.next().await {
        all.extend_from_slice(&piece.unwrap());
    }
    let lines: Vec<Value> = all
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    assert_eq!(lines.len(), 20);
    let refused = lines.iter().filter(|line| line["problem"]["code"] == REFUSED).count();
    assert!((1..20).contains(&refused), "{refused} refused");
    drop(pieces);
    nothing_is_reserved(&app);
}
