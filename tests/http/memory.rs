//! The budget of memory: what exceeds it is refused, and cheap reads go on.

use std::convert::Infallible;

use akin::budget::Purpose;
use akin::engine::CollectionName;
use akin::http::ServerSettings;
use axum::body::Body;
use axum::http::Request;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::app::{App, post, text};
use crate::store_under_test::is_local;

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
async fn decoders_of_bodies_are_counted() {
    let app = with_budget(5 << 20).await;
    let send = async |encoding: &str, body: Vec<u8>| {
        let request = Request::post("/similar").header("content-type", "application/json");
        let request = request.header("content-encoding", encoding).body(Body::from(body));
        app.call(request.unwrap()).await
    };
    let probe = json!({"text": text(0)}).to_string();
    send("zstd", zstd::encode_all(probe.as_bytes(), 3).unwrap()).await.problem(503, REFUSED);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, probe.as_bytes()).unwrap();
    assert_eq!(send("gzip", gzip.finish().unwrap()).await.status, 200);
    nothing_is_reserved(&app);
}

/// An encoder works until its answer is read, which a client can delay.
#[tokio::test]
async fn encoders_of_answers_are_counted_and_answers_without_are_plain() {
    let app = with_budget(9 << 20).await;
    app.add(&documents(1, 10)).await;
    let ask = async || {
        let request = Request::get("/documents/d0").header("accept-encoding", "zstd");
        app.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    };
    let unread = [ask().await, ask().await];
    for answer in &unread {
        assert_eq!(answer.headers()["content-encoding"], "zstd");
    }
    let plain = ask().await;
    assert_eq!(plain.status(), 200);
    assert!(!plain.headers().contains_key("content-encoding"));
    assert!(app.state.budget.reserved(Purpose::Answers) >= 8 << 20);
    drop((unread, plain));
    nothing_is_reserved(&app);
}

#[tokio::test]
async fn bodies_are_counted_and_cheap_reads_go_on() {
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

/// The writer of an abandoned answer ends at its next step.
async fn everything_is_given_back(app: &App) {
    for purpose in [Purpose::Answers, Purpose::Discoveries] {
        while app.state.budget.reserved(purpose) > 0 {
            tokio::task::yield_now().await;
        }
    }
    nothing_is_reserved(app);
}

#[tokio::test]
async fn large_answers_are_written_while_they_are_sent() {
    let app = with_budget(4 << 20).await;
    app.add(&documents(20, 20_000)).await;
    // 20 matches of 20 KB for each of 50 probes: five times the budget.
    let path = "/similar?limit=100&include=metadata";
    let probes: Vec<Value> = (0..50).map(|_| json!({"text": text(0)})).collect();
    let whole = app.post_json(path, json!(probes)).await;
    let answers = whole.json();
    assert_eq!(answers.as_array().unwrap().len(), 50);
    for answer in answers.as_array().unwrap() {
        let matches = answer["matches"].as_array().unwrap();
        assert_eq!(matches.len(), 20);
        let long = |found: &Value| found["metadata"]["long"].as_str().unwrap().len();
        assert!(matches.iter().all(|found| long(found) == 20_000));
        assert_eq!(answer["more"], false);
    }
    let lines: Vec<String> = probes.iter().map(|probe| format!("{probe}\n")).collect();
    let ndjson = app.post(path, "application/x-ndjson", lines.concat()).await;
    assert_eq!(ndjson.lines().len(), 50);
    assert_eq!(ndjson.lines()[49]["matches"], answers[49]["matches"]);
    drop((whole, ndjson));
    nothing_is_reserved(&app);
}

#[tokio::test]
async fn fetched_documents_are_written_while_they_are_sent() {
    let app = with_budget(4 << 20).await;
    let documents = documents(50, 60_000);
    for ten in documents.chunks(10) {
        app.add(ten).await;
    }
    let mut ids: Vec<String> = (0..50).map(|at| format!("d{at}")).collect();
    ids.insert(7, "nobody".to_owned());
    let fetched = app.post_json("/fetch", json!({"ids": ids})).await;
    let fetched_json = fetched.json();
    let read = fetched_json["documents"].as_array().unwrap();
    assert_eq!(read.len(), 50);
    assert!(read.iter().zip(&documents).all(|(read, posted)| read["id"] == posted["id"]));
    assert_eq!(fetched_json["unknown"], json!(["nobody"]));
    drop(fetched);
    nothing_is_reserved(&app);
    let none = app.post_json("/fetch", json!({"ids": ["nobody"]})).await.json();
    assert_eq!(none, json!({"documents": [], "unknown": ["nobody"]}));
}

/// An app with documents whose ids are of 1,000 bytes, each content twice: 4 MB of ids.
async fn with_long_ids() -> App {
    let app = App::starting(ServerSettings { memory_max: 64 << 20, ..ServerSettings::default() });
    let settings = if is_local() { json!({"clusters": {"threshold": 0.9}}) } else { json!({}) };
    app.open(serde_json::from_value(settings).unwrap()).await;
    let line = |at: usize| {
        let id = format!("{at:0>1000}");
        let token = (at / 2).to_string();
        json!({"id": id, "tokens": [token]}).to_string() + "\n"
    };
    let body: String = (0..LONG_IDS).map(line).collect();
    let added = app.post("/documents?check=false", "application/x-ndjson", body).await;
    assert!(!added.has_failed_lines());
    app
}

const LONG_IDS: usize = 4_000;

/// 150 clients that read nothing of such lists, of 9 MB each, made the server hold three times its
/// budget.
#[tokio::test]
async fn long_lists_are_written_while_they_are_sent() {
    let app = with_long_ids().await;
    app.await_changes();
    let now = app.get("/changes").await.lines()[0]["position"].as_str().unwrap().to_owned();
    let store = now.split_once('-').unwrap().0;
    let changes = format!("/changes?since={store}-0&limit=10000");
    let listed = app.get(&changes).await.lines();
    assert_eq!(listed.len(), LONG_IDS + 1);
    assert_eq!(listed[LONG_IDS], json!({ "position": now }));
    let ids = app.get("/documents?limit=10000").await.json();
    assert_eq!(ids["ids"].as_array().unwrap().len(), LONG_IDS);
    assert!(ids["next"].is_null());
    let unread = async |path: &str, purpose, least| {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let unread = app.router.clone().oneshot(request).await.unwrap();
        assert_eq!(unread.status(), 200);
        let held = app.state.budget.reserved(purpose);
        assert!((least..2_000_000).contains(&held), "{path} holds {held} bytes");
        drop(unread);
        everything_is_given_back(&app).await;
    };
    unread(&changes, Purpose::Answers, 100_000).await;
    if !is_local() {
        return;
    }
    let collection = app.collections().get(&CollectionName::default()).unwrap();
    while collection.update_clusters().await.unwrap() {}
    assert_eq!(app.get("/clusters").await.lines().len(), LONG_IDS / 2);
    unread("/clusters", Purpose::Discoveries, 100_000).await;
}

#[tokio::test]
async fn unread_answers_hold_pieces_and_abandoned_ones_nothing() {
    let app = with_budget(8 << 20).await;
    app.add(&documents(20, 20_000)).await;
    let probes: Vec<Value> = (0..50).map(|_| json!({"text": text(0)})).collect();
    let path = "/similar?limit=100&include=metadata";
    let request = || post(path, "application/json", json!(probes).to_string());
    let unread = app.router.clone().oneshot(request()).await.unwrap();
    assert_eq!(unread.status(), 200);
    let held = app.state.budget.reserved(Purpose::Answers);
    assert!((1..4 << 20).contains(&held), "{held} bytes");
    assert_eq!(app.get("/similar?id=d0&limit=1").await.status, 200);
    drop(unread);
    everything_is_given_back(&app).await;

    let others = app.state.budget.reservation(Purpose::Bodies);
    others.grow(7 << 20).unwrap();
    app.post_json(path, json!(probes)).await.problem(503, REFUSED);
    app.get("/similar?id=d0&limit=100&include=metadata").await.problem(503, REFUSED);
    assert_eq!(app.get("/similar?id=d0&limit=1").await.status, 200, "a small one goes on");
    drop(others);
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
async fn an_import_line_without_memory_is_refused_alone() {
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

/// An import once refused the documents for which its own earlier documents left no memory.
#[tokio::test]
async fn an_import_waits_for_its_own_memory() {
    let app = with_budget(1 << 20).await;
    let line = |at: usize| {
        let metadata = json!({"values": vec![0; 2_000]});
        let document = json!({"id": at.to_string(), "text": text(at), "metadata": metadata});
        Ok::<_, Infallible>(Bytes::from(format!("{document}\n")))
    };
    let body = Body::from_stream(stream::iter((0..50).map(line)));
    let reply = app.post("/documents?check=false", "application/x-ndjson", body).await;
    let results = reply.lines();
    assert_eq!(results.len(), 50);
    assert!(results.iter().all(|line| line["status"] == "created"), "{results:?}");
    drop(reply);
    nothing_is_reserved(&app);
}

#[tokio::test]
async fn a_discovery_is_counted_by_its_documents() {
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
async fn large_documents_and_lists_are_counted() {
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
async fn near_duplicates_of_an_added_document_are_counted() {
    let app = with_budget(4 << 20).await;
    app.add(&documents(20, 20_000)).await;
    let document = json!({"id": "new", "text": text(0)});
    let held = app.state.budget.reservation(Purpose::Bodies);
    held.grow((4 << 20) - 25_000).unwrap();
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
async fn near_duplicates_of_an_import_are_counted() {
    let settings =
        ServerSettings { memory_max: 200_000, bulk_requests_max: 1, ..ServerSettings::default() };
    let app = App::with_server(settings).await;
    for document in documents(20, 10) {
        app.add(&[document]).await;
    }
    let line =
        |at: usize| Bytes::from(format!("{}\n", json!({"id": at.to_string(), "text": text(0)})));
    let body =
        Body::from_stream(stream::iter((0..20).map(move |at| Ok::<_, Infallible>(line(at)))));
    let request = post("/documents", "application/x-ndjson", body);
    let reply = app.router.clone().oneshot(request).await.unwrap();
    // The import does not wait for its lines to be read.
    while !app.lets_in("/export").await {
        tokio::task::yield_now().await;
    }
    let mut pieces = reply.into_body().into_data_stream();
    let first = pieces.next().await.unwrap().unwrap();
    assert!(app.state.budget.reserved(Purpose::Bulk) > 20 << 10, "the line is not sent yet");
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
