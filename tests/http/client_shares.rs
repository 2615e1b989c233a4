//! What one client may take of what few can have at once, and what ends with its key.

use std::convert::Infallible;
use std::pin::Pin;

use akin::http::ServerSettings;
use akin::http::key::Action;
use akin::http::key_file::{self, KeyFileError};
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, FuturesUnordered, Pending};
use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc::UnboundedSender;
use tower::ServiceExt;

use crate::access::{app_with_keys, key, send_with_key};
use crate::app::{App, arriving, lines, post, text};
use crate::limits::unending;
use crate::socket::SOON;

type Answering = Pin<Box<dyn Future<Output = Result<Response, Infallible>>>>;

/// A request that has begun, and waits.
fn begun(app: &App, request: Request<Body>) -> Answering {
    let mut answering = app.router.clone().oneshot(request).boxed_local();
    assert!((&mut answering).now_or_never().is_none(), "it waits");
    answering
}

/// A request for the next change.
async fn waiting(app: &App) -> Request<Body> {
    let position = &app.get("/changes").await.lines()[0]["position"];
    let path = format!("/changes?wait_s=60&since={}", position.as_str().unwrap());
    Request::get(path).body(Body::empty()).unwrap()
}

async fn waits_with(app: &App, key: &str) -> Request<Body> {
    let position = &send_with_key(app, "GET /changes", key).await.lines()[0]["position"];
    let path = format!("/changes?wait_s=60&since={}", position.as_str().unwrap());
    let request = Request::get(path).header("authorization", format!("Bearer akin_{key}"));
    request.body(Body::empty()).unwrap()
}

fn few_requests() -> ServerSettings {
    ServerSettings { requests_in_flight_max: 2, ..ServerSettings::default() }
}

#[tokio::test]
async fn requests_that_wait_for_changes_leave_room() {
    let app = App::with_server(few_requests()).await;
    let mut all = Vec::new();
    for _ in 0..10 {
        let request = waiting(&app).await;
        all.push(begun(&app, request));
    }
    assert_eq!(app.get("/stats").await.status, 200);
    app.add(&[json!({"id": "a", "tokens": ["a"]})]).await;
    for answering in all {
        let answered = tokio::time::timeout(SOON, answering).await.expect("it is told");
        assert_eq!(answered.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn bodies_that_never_come_leave_room() {
    let app = App::with_server(few_requests()).await;
    let mut all = Vec::new();
    for path in ["/documents", "/similar", "/resemblance", "/collapse", "/fetch", "/remove"] {
        all.push(begun(&app, post(path, "application/json", unending("{\"te"))));
    }
    assert_eq!(app.get("/stats").await.status, 200);
    app.add(&[json!({"id": "a", "tokens": ["a"]})]).await;
}

#[tokio::test]
async fn imports_without_a_body_take_no_bulk_permit() {
    let settings = ServerSettings { bulk_requests_max: 1, ..ServerSettings::default() };
    let app = App::with_server(settings).await;
    let silent = || post("/documents", "application/x-ndjson", Body::from_stream(pending()));
    let _heads = [(); 8].map(|()| begun(&app, silent()));
    assert!(app.lets_in("/export").await);
    let line = "{\"id\": \"a\", \"tokens\": [\"a\"]}\n";
    let results = app.post("/documents", "application/x-ndjson", line).await.lines();
    assert_eq!(results[0]["status"], "created");
}

fn pending() -> Pending<Result<Bytes, Infallible>> {
    stream::pending()
}

fn as_client(path: &str, key: &str) -> Request<Body> {
    let request = Request::get(path).header("authorization", format!("Bearer akin_{key}"));
    request.body(Body::empty()).unwrap()
}

async fn add_with_key(app: &App, documents: usize) {
    for at in 0..documents {
        let document = json!({"id": format!("d{at}"), "text": text(at)}).to_string();
        let mut request = post("/documents?check=false", "application/json", document);
        request.headers_mut().insert("authorization", "Bearer akin_write".parse().unwrap());
        assert_eq!(app.call(request).await.status, 201);
    }
}

/// A scan that waited behind all scans of another client took 20 seconds.
#[tokio::test]
async fn clients_take_turns_for_exact_scans() {
    let (app, _dir) = app_with_keys(ServerSettings::default()).await;
    add_with_key(&app, 20).await;
    let mut scans = FuturesUnordered::new();
    let scan = |client: &'static str| {
        let request = as_client("/similar?id=d0&mode=exact", client);
        let answering = app.router.clone().oneshot(request).boxed_local();
        async move { (client, answering.await.unwrap().status()) }
    };
    scans.extend([(); 100].map(|()| scan("read")));
    scans.push(scan("all"));
    let answered: Vec<_> = scans.collect().await;
    assert!(answered.iter().all(|(_, status)| *status == 200), "{answered:?}");
    let place = answered.iter().position(|(client, _)| *client == "all").unwrap();
    assert!(place < 60, "{place} of 100 scans of another client came first");
}

#[tokio::test]
async fn the_work_of_a_client_in_flight_is_limited() {
    let settings = ServerSettings { request_cost_max: 200, ..ServerSettings::default() };
    let (app, _dir) = app_with_keys(settings).await;
    add_with_key(&app, 60).await;
    let costly = || app.router.clone().oneshot(as_client("/similar?id=d0&limit=10", "read"));
    let mut unread = Vec::new();
    let refused = loop {
        let answer = costly().await.unwrap();
        if answer.status() != 200 {
            break answer;
        }
        unread.push(answer);
        assert!(unread.len() < 1_000, "nothing bounds them");
    };
    assert!(unread.len() >= 8, "{} requests", unread.len());
    assert_eq!(refused.status(), 429);
    let refused = send_with_key(&app, "GET /similar?id=d0&limit=10", "read").await;
    let refused = refused.problem(429, "too_many_requests");
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("they may cost 1600 together"), "{detail}");
    let other = send_with_key(&app, "GET /similar?id=d0&limit=10", "all").await;
    assert_eq!(other.status, 200, "another client has its own");
    drop(unread);
    assert_eq!(costly().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_client_has_half_of_the_waiting_requests() {
    let settings = ServerSettings { connections_max: 4, ..ServerSettings::default() };
    let (app, _dir) = app_with_keys(settings).await;
    let wait = |name: &str| {
        let request = Request::post("/similar").header("content-type", "application/json");
        let request = request.header("authorization", format!("Bearer akin_{name}"));
        request.body(unending("{\"te")).unwrap()
    };
    let _held = [(); 2].map(|()| begun(&app, wait("read")));
    let refused = app.call(wait("read")).await.problem(429, "too_many_requests");
    assert!(refused["detail"].as_str().unwrap().contains("client_share_percent"), "{refused}");
    drop(begun(&app, wait("all")));
}

#[tokio::test]
async fn a_key_has_half_of_the_requests() {
    let (app, _dir) = app_with_keys(few_requests()).await;
    let request = Request::get("/export").header("authorization", "Bearer akin_read");
    let request = request.body(Body::empty()).unwrap();
    let held = app.router.clone().oneshot(request).await.unwrap();
    assert_eq!(held.status(), 200);
    let refused = send_with_key(&app, "GET /stats", "read").await;
    refused.problem(429, "too_many_requests");
    assert_eq!(send_with_key(&app, "GET /stats", "all").await.status, 200);
}

/// Takes a key away, or the actions that it has, as `akin keys` does.
fn revoke(app: &App, dir: &TempDir, name: &str, left: &[Action]) {
    key_file::change::<_, KeyFileError>(&dir.path().join("keys.json"), |keys| {
        keys.retain(|key| key.name != name);
        if !left.is_empty() {
            keys.push(key(name, left, &["*"]));
        }
        Ok(())
    })
    .unwrap();
    assert!(app.state.keys.follow(false).unwrap());
}

/// An import whose documents are sent one by one, and its answer.
async fn import(
    app: &App,
    key: &str,
) -> (UnboundedSender<String>, impl StreamExt<Item = Vec<Value>> + use<>) {
    let (documents, body) = arriving();
    documents.send(" ".to_owned()).unwrap();
    let mut request = post("/documents", "application/x-ndjson", body);
    let key = format!("Bearer akin_{key}").parse().unwrap();
    request.headers_mut().insert("authorization", key);
    let answer = app.router.clone().oneshot(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    let pieces = answer.into_body().into_data_stream();
    (documents, Box::pin(pieces.map(|piece| lines(&piece.unwrap()))))
}

fn line(id: &str) -> String {
    json!({"id": id, "tokens": [id]}).to_string() + "\n"
}

#[tokio::test]
async fn an_import_ends_with_its_key() {
    for (left, code) in [(&[][..], "invalid_key"), (&[Action::Read], "not_permitted")] {
        let (app, dir) = app_with_keys(ServerSettings::default()).await;
        let (documents, mut results) = import(&app, "write").await;
        documents.send(line("a")).unwrap();
        assert_eq!(results.next().await.unwrap()[0]["status"], "created");
        revoke(&app, &dir, "write", left);
        documents.send(line("b")).unwrap();
        let last = results.next().await.unwrap();
        assert_eq!((last.len(), &last[0]["line"]), (1, &json!(2)), "{last:?}");
        assert_eq!(last[0]["problem"]["code"], code, "{last:?}");
        assert!(results.next().await.is_none());
        let stored = send_with_key(&app, "GET /documents", "all").await.json();
        assert_eq!(stored["ids"], json!(["a"]));
    }
}

#[tokio::test]
async fn a_streamed_answer_breaks_off_with_its_key() {
    let (app, dir) = app_with_keys(ServerSettings::default()).await;
    let request = Request::get("/export").header("authorization", "Bearer akin_read");
    let request = request.body(Body::empty()).unwrap();
    let answer = app.router.clone().oneshot(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    revoke(&app, &dir, "read", &[]);
    let mut pieces = answer.into_body().into_data_stream();
    let last = lines(&pieces.next().await.unwrap().unwrap());
    assert_eq!(last[0]["problem"]["code"], "invalid_key", "{last:?}");
    assert!(pieces.next().await.unwrap().is_err(), "it does not look whole");
}

#[tokio::test]
async fn a_wait_for_changes_ends_with_its_key() {
    let (app, dir) = app_with_keys(ServerSettings::default()).await;
    let request = waits_with(&app, "read").await;
    let answering = begun(&app, request);
    revoke(&app, &dir, "read", &[]);
    let answer = tokio::time::timeout(SOON, answering).await.expect("it ends").unwrap();
    assert_eq!(answer.status(), 401);
}
