use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use akin::document::Ordinal;
use akin::http::ServerSettings;
use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::app::{App, post, received, text};

const NDJSON: &str = "application/x-ndjson";

fn summary(lines: &[Value]) -> Vec<(u64, &str)> {
    let word = |line: &Value| line["problem"]["code"].as_str().map(str::len).is_some();
    let status = |line| if word(line) { &line["problem"]["code"] } else { &line["status"] };
    lines
        .iter()
        .map(|line| (line["line"].as_u64().unwrap(), status(line).as_str().unwrap()))
        .collect()
}

/// A body in chunks of `size` bytes, of no announced length.
fn chunked(body: &str, size: usize) -> Body {
    let chunks: Vec<_> = body.as_bytes().chunks(size).map(Bytes::copy_from_slice).collect();
    Body::from_stream(stream::iter(chunks.into_iter().map(Ok::<_, Infallible>)))
}

#[tokio::test]
async fn lines_are_answered_in_order_despite_invalid_lines() {
    let body = [
        &json!({"id": "a", "text": text(0)}).to_string(),
        "",
        "{",
        &json!({"id": "b", "text": text(100)}).to_string(),
        &json!({"id": "c", "txt": "x"}).to_string(),
        &json!({"id": "d", "text": " "}).to_string(),
        &json!({"id": "a", "text": text(0)}).to_string(),
    ]
    .join("\r\n");
    for size in [1, 7, 100, usize::MAX] {
        let app = App::new().await;
        let reply = app.post("/documents", NDJSON, chunked(&body, size.min(body.len()))).await;
        assert_eq!(reply.status, 200);
        let lines = reply.lines();
        let expected = [
            (1, "created"),
            (3, "malformed_json"),
            (4, "created"),
            (5, "invalid_document"),
            (6, "empty_document"),
            (7, "unchanged"),
        ];
        assert_eq!(summary(&lines), expected);
        assert_eq!(lines[2]["duplicates"][0]["id"], "a", "found within the same call");
        assert_eq!(lines[3]["status"], "error");
        assert_eq!(lines[3]["problem"]["errors"][0]["pointer"], "/txt");
        assert_eq!(lines[3]["problem"]["request_id"], reply.header("x-request-id"));
    }
}

#[tokio::test]
async fn an_array_is_imported_like_lines() {
    let documents = json!([
        {"id": "a", "text": text(0)}, 7, {"id": "[\"]}", "text": text(100)},
    ]);
    for body in [documents.to_string(), format!("{documents:#}"), format!(" \n{documents}\n ")] {
        let app = App::new().await;
        let reply = app.post("/documents", "application/json", chunked(&body, 5)).await;
        let lines = reply.elements();
        let expected = [(1, "created"), (2, "invalid_document"), (3, "created")];
        assert_eq!(summary(&lines), expected);
        assert_eq!(lines[2]["id"], "[\"]}");
    }
    let empty = App::new().await.post_json("/documents", "[]").await;
    assert_eq!((empty.status.as_u16(), empty.elements()), (200, vec![]));
}

#[tokio::test]
async fn a_malformed_array_is_stored_up_to_the_fault() {
    let app = App::new().await;
    let broken = [
        (r#"[{"id": "a", "text": "x"} {"id": "z", "text": "y"}]"#, 2),
        (r#"[{"id": "b", "text": "x"}] {"id": "z", "text": "y"}"#, 2),
        (r#"[{"id": "c", "text": "x"}, {"id": "z", "text""#, 2),
    ];
    for (body, line) in broken {
        let lines = app.post_json("/documents?check=false", body).await.elements();
        assert_eq!(summary(&lines), [(1, "created"), (line, "malformed_json")], "{body}");
    }
    assert_eq!(app.get("/documents").await.json()["ids"], json!(["a", "b", "c"]));
}

#[tokio::test]
async fn only_the_document_that_is_too_large_is_refused() {
    let settings = ServerSettings { document_bytes_max: 1_000, ..ServerSettings::default() };
    let app = App::with_server(settings).await;
    let large = json!({"id": "large", "text": "x ".repeat(500)}).to_string();
    let small = json!({"id": "small", "text": "x y z"}).to_string();
    for size in [64, 10_000] {
        let body = format!("{large}\n{small}\n{large}");
        let lines = app.post("/documents", NDJSON, chunked(&body, size)).await.lines();
        let codes: Vec<_> = summary(&lines).into_iter().map(|(_, word)| word).collect();
        assert_eq!((codes[0], codes[2]), ("document_too_large", "document_too_large"));
        assert_eq!(lines[1]["id"], "small");
    }
    app.post_json("/documents", &large).await.problem(413, "document_too_large");
    app.post("/documents", "text/plain", "x".repeat(1_001))
        .await
        .problem(413, "document_too_large");
}

#[tokio::test]
async fn a_broken_body_ends_with_an_error_line() {
    let app = App::new().await;
    let pieces = [
        Ok(Bytes::from("{\"id\": \"a\", \"text\": \"one two\"}\n{\"id\": \"b\", \"te")),
        Err(std::io::Error::other("the connection is gone")),
    ];
    let body = Body::from_stream(stream::iter(pieces));
    let lines = app.post("/documents", NDJSON, body).await.lines();
    assert_eq!(summary(&lines), [(1, "created"), (2, "unreadable_body")]);
    app.get("/documents/b").await.problem(404, "document_not_found");
}

#[tokio::test]
async fn a_stalled_body_ends_with_an_error_line() {
    let settings = ServerSettings { body_idle_timeout_ms: 20, ..ServerSettings::default() };
    let app = App::with_server(settings).await;
    let first = Ok::<_, Infallible>(Bytes::from("{\"id\": \"a\", \"text\": \"one two\"}\n"));
    let stalled = futures_util::StreamExt::chain(stream::iter([first]), stream::pending());
    let lines = app.post("/documents", NDJSON, Body::from_stream(stalled)).await.lines();
    assert_eq!(summary(&lines), [(1, "created"), (2, "body_timeout")]);
}

#[tokio::test]
async fn the_last_document_of_an_id_is_kept() {
    let app = App::new().await;
    let documents: Vec<_> =
        (0..100).map(|n| json!({"id": "a", "text": format!("take {n}")})).collect();
    let lines = app.post_json("/documents", json!(documents)).await.elements();
    assert_eq!(lines[0]["status"], "created");
    assert!(lines[1..].iter().all(|line| line["status"] == "replaced"));
    assert_eq!(app.get("/documents/a").await.json()["text"], "take 99");
}

#[tokio::test]
async fn the_first_of_near_duplicates_is_stored() {
    let app = App::new().await;
    let documents: Vec<_> =
        (0..50).map(|n| json!({"id": format!("{n:02}"), "text": text(n)})).collect();
    let lines = app.post_json("/documents?on_duplicate=skip", json!(documents)).await.elements();
    assert_eq!(lines[0]["status"], "created");
    assert!(lines[1..].iter().all(|line| line["status"] == "skipped"), "{lines:?}");
    assert_eq!(app.get("/documents").await.json()["ids"], json!(["00"]));
}

#[tokio::test]
async fn an_import_waits_until_results_are_read() {
    const IN_FLIGHT_MAX: usize = 8_192;
    let app = App::new().await;
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    // A large document counts once for each 16 KiB.
    let large = format!("{{\"text\": \"{}\"}}\n", "x".repeat(1 << 20));
    let lines = (0..IN_FLIGHT_MAX + 500).map(move |n| {
        counted.fetch_add(1, Ordering::Relaxed);
        let small = || format!("{{\"tokens\": [\"{n}\"]}}\n");
        Ok::<_, Infallible>(Bytes::from(if n == 9 { large.clone() } else { small() }))
    });
    let path = "/documents?check=false";
    let request = post(path, NDJSON, Body::from_stream(stream::iter(lines)));
    let response = app.router.clone().oneshot(request).await.unwrap();
    // The large document counts 65 times.
    let in_flight = IN_FLIGHT_MAX - 64;
    while app.get("/stats").await.json()["documents"] != in_flight {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let read = sent.load(Ordering::Relaxed);
    assert!(read <= in_flight + 1, "{read} documents were read");

    let body = received(response.into_body()).await;
    let lines = crate::app::lines(&body);
    assert_eq!(lines.len(), IN_FLIGHT_MAX + 500);
    assert!(lines.iter().all(|line| line["status"] == "created"));
}

/// Rows that come in another order split the pages that they are on.
#[tokio::test]
async fn documents_are_stored_in_the_order_of_their_ordinals() {
    let app = App::new().await;
    let line = |n: u32| format!("{}\n", json!({"id": format!("{n}"), "text": format!("text {n}")}));
    let body: String = (0..600).map(line).collect();
    assert_eq!(app.post("/documents?check=false", NDJSON, body).await.lines().len(), 600);
    let path = app.dir.path().join("default/store.sqlite");
    let database = rusqlite::Connection::open(path).unwrap();
    let mut rows = database.prepare("SELECT operations FROM log ORDER BY sequence").unwrap();
    let rows = rows.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
    let operations: Vec<u8> = rows.flat_map(Result::unwrap).collect();
    // Each is a byte that says what it is, and the ordinal.
    let ordinals = operations.as_chunks::<7>().0.iter();
    let ordinals =
        ordinals.map(|&[_, a, b, c, d, e, f]| Ordinal::from_le_bytes([a, b, c, d, e, f]));
    assert!(ordinals.map(Ordinal::get).eq(0..600));
}

/// The problem of a document is a hundred times as long as the shortest document.
#[tokio::test]
async fn problems_take_no_more_bytes_than_the_documents_and_a_mebibyte() {
    const FAILED: u64 = 30_000;
    let app = App::new().await;
    let last = json!({"id": "a", "text": "one two three"});
    let lines = format!("{}{last}\n", "{}\n1\n".repeat(FAILED as usize / 2));
    let array = format!("[{}{last}]", "{},1,".repeat(FAILED as usize / 2));
    let by_lines = app.post("/documents", NDJSON, lines.clone()).await;
    let by_array = app.post("/documents", "application/json", array).await;
    for (reply, results) in [(&by_lines, by_lines.lines()), (&by_array, by_array.elements())] {
        let most = (1 << 20) + lines.len() + 2_000;
        assert!(reply.body.len() < most, "{} bytes of {most}", reply.body.len());
        let counted = results.last().unwrap();
        assert_eq!(counted["status"], "errors_counted");
        assert_eq!(counted["last_line"], FAILED);
        let reported = results.iter().filter(|result| result["status"] == "error").count() as u64;
        let first = counted["first_line"].as_u64().unwrap();
        assert!(reported > 1_000 && first <= reported + 1, "{reported} {first}");
        assert_eq!(counted["errors"].as_u64().unwrap() + reported, FAILED);
        let codes = counted["codes"].as_object().unwrap();
        let by_code: u64 = codes.values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(counted["errors"], by_code);
        let stored = &results[results.len() - 2];
        assert_eq!((&stored["line"], &stored["id"]), (&json!(FAILED + 1), &json!("a")));
    }
}

/// As many as a client of akin sends at a time.
#[tokio::test]
async fn each_of_a_thousand_failed_documents_has_its_problem() {
    let app = App::new().await;
    let results =
        app.post("/documents", NDJSON, "{\"id\": 7, \"unknown\": 1}\n".repeat(1_000)).await;
    let results = results.lines();
    assert_eq!(results.len(), 1_000);
    assert!(results.iter().all(|result| result["status"] == "error"));
}
