//! An akin in a temporary directory, and the means to call it.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use akin::engine::{
    CollectionSettings, Collections, CollectionsSettings, LimitSettings, Opening, StartProgress,
};
use akin::http::{AppState, KeyRing, ServerSettings, router};
use akin::storage::StorageSettings;
use axum::Router;
use axum::body::{Body, HttpBody, to_bytes};
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode};
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower::ServiceExt;
use tower::util::MapRequestLayer;

use crate::contract::{CONTRACT, Sent};
use crate::store_under_test::{sql, store_of};

/// Of an [`App`].
pub const COLLECTIONS_MAX: usize = 4;

pub struct App {
    pub router: Router,
    pub state: AppState,
    pub dir: TempDir,
    /// The operations that answered without an error.
    pub answered: Mutex<BTreeSet<String>>,
}

pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl App {
    pub async fn new() -> Self {
        Self::with(ServerSettings::default(), CollectionSettings::default()).await
    }

    pub async fn with_server(server: ServerSettings) -> Self {
        Self::with(server, CollectionSettings::default()).await
    }

    pub async fn with_collection(collection: CollectionSettings) -> Self {
        Self::with(ServerSettings::default(), collection).await
    }

    async fn with(server: ServerSettings, collection: CollectionSettings) -> Self {
        let app = Self::starting(server);
        app.open(collection).await;
        app
    }

    pub async fn with_storage(storage: StorageSettings) -> Self {
        let app = Self::starting(ServerSettings::default());
        app.open_with(CollectionSettings::default(), storage).await;
        app
    }

    pub async fn open(&self, collection: CollectionSettings) {
        self.open_with(collection, StorageSettings::default()).await;
    }

    async fn open_with(&self, mut collection: CollectionSettings, store: StorageSettings) {
        // Estimates are then the same at every run.
        collection.sketch.seed.get_or_insert(0);
        let (dir, progress) =
            (self.dir.path().to_owned(), StartProgress::clone(&self.state.progress));
        let opening = Opening { progress, ..Opening::default() };
        let of_all = CollectionsSettings {
            collections_max: COLLECTIONS_MAX,
            limits_max: LimitSettings::default().times(100),
            opening,
        };
        let open = move || Collections::open(store_of(&dir, store), &collection, of_all);
        let opening = tokio::task::spawn_blocking(open);
        let collections = Arc::new(opening.await.unwrap().unwrap());
        assert!(self.state.collections.set(collections).is_ok());
    }

    pub fn collections(&self) -> &Arc<Collections> {
        self.state.collections.get().unwrap()
    }

    /// One on the same directory, after this one has closed.
    pub async fn restarted(self) -> Self {
        self.collections().close().await.unwrap();
        let Self { dir, .. } = self;
        let app = Self { dir, ..Self::starting(ServerSettings::default()) };
        app.open(CollectionSettings::default()).await;
        app
    }

    /// One whose collections are not open yet.
    pub fn starting(server: ServerSettings) -> Self {
        Self::starting_with_keys(server, KeyRing::switched_off())
    }

    pub fn starting_with_keys(server: ServerSettings, keys: KeyRing) -> Self {
        let metrics = PrometheusBuilder::new().build_recorder().handle();
        let state = AppState::new(server, keys, metrics);
        Self {
            router: router(state.clone()).layer(MapRequestLayer::new(with_host)),
            state,
            dir: TempDir::new().unwrap(),
            answered: Mutex::default(),
        }
    }

    /// Calls, and holds the call to the contract.
    pub async fn call(&self, request: Request<Body>) -> Reply {
        let (request, sent) = read(request).await;
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = received(body).await;
        let reply = Reply { status: parts.status, headers: parts.headers, body };
        if let Some(operation) = CONTRACT.check(&sent, &reply)
            && reply.status.is_success()
        {
            self.answered.lock().unwrap().insert(operation);
        }
        reply
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.call(Request::get(path).body(Body::empty()).unwrap()).await
    }

    /// Whether there is leave for a streamed answer, of which nothing is read.
    pub async fn lets_in(&self, path: &str) -> bool {
        let request = Request::get(path).body(Body::empty()).unwrap();
        self.router.clone().oneshot(request).await.unwrap().status() == StatusCode::OK
    }

    pub async fn delete(&self, path: &str) -> Reply {
        self.call(Request::delete(path).body(Body::empty()).unwrap()).await
    }

    pub async fn put_json(&self, path: &str, body: impl ToString) -> Reply {
        let request = Request::put(path).header("content-type", "application/json");
        self.call(request.body(Body::from(body.to_string())).unwrap()).await
    }

    pub async fn patch_json(&self, path: &str, body: impl ToString) -> Reply {
        let request = Request::patch(path).header("content-type", "application/merge-patch+json");
        self.call(request.body(Body::from(body.to_string())).unwrap()).await
    }

    pub async fn post(&self, path: &str, media: &str, body: impl Into<Body>) -> Reply {
        self.call(post(path, media, body)).await
    }

    pub async fn post_json(&self, path: &str, body: impl ToString) -> Reply {
        self.post(path, "application/json", body.to_string()).await
    }

    /// Sees to it that the next write fails, as it would on a broken disk.
    pub fn break_store(&self) {
        let database =
            rusqlite::Connection::open(self.dir.path().join("default/store.sqlite")).unwrap();
        let query = "SELECT coalesce(max(sequence), 0) FROM log";
        let last: i64 = database.query_row(query, [], |row| row.get(0)).unwrap();
        // The absolute value of the least integer is none.
        let fails = "abs(sequence - sequence - 9223372036854775807 - 1)";
        let index = format!("CREATE INDEX broken ON log ({fails}) WHERE sequence > {last}");
        database.execute_batch(&index).unwrap();
    }

    /// Spoils the text and the set of a document of `default` where they are kept.
    pub fn damage(&self, id: &str) {
        let update = format!("UPDATE akin.documents SET content = '\\x00' WHERE id = '{id}'");
        if sql(self.dir.path(), &update).is_some() {
            return;
        }
        let database =
            rusqlite::Connection::open(self.dir.path().join("default/store.sqlite")).unwrap();
        let update = "UPDATE documents SET content = x'00', elements = x'00' WHERE id = ?1";
        assert_eq!(database.execute(update, [id]).unwrap(), 1);
    }

    /// Waits until readers of the changes can see all of them: in a database, until no older
    /// transaction runs.
    pub fn await_changes(&self) {
        let are_seen = "SELECT NOT EXISTS (SELECT FROM akin.changes
            WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())::text::int8)";
        while sql(self.dir.path(), are_seen).is_some_and(|are_seen| are_seen != "t") {
            std::thread::yield_now();
        }
    }

    /// Adds documents of which each must be new.
    pub async fn add(&self, documents: &[Value]) {
        for document in documents {
            let reply = self.post_json("/documents?check=false", document).await;
            assert_eq!(reply.status, StatusCode::CREATED, "{:?}", reply.body);
        }
    }
}

/// Names the server, as every client does, unless the request does so.
fn with_host(mut request: Request<Body>) -> Request<Body> {
    let host = HeaderValue::from_static("localhost");
    request.headers_mut().entry("host").or_insert(host);
    request
}

/// The bytes of an answer, of which each piece is dropped once it is copied, as when it is sent.
pub async fn received(body: Body) -> Bytes {
    let mut pieces = body.into_data_stream();
    let mut bytes = BytesMut::new();
    while let Some(piece) = pieces.next().await {
        bytes.extend_from_slice(&piece.unwrap());
    }
    bytes.freeze()
}

/// What is to be sent, and that again for the contract. A body that is streamed stays as it is.
async fn read(request: Request<Body>) -> (Request<Body>, Sent) {
    let (parts, body) = request.into_parts();
    let header = |name| parts.headers.get(name).map_or("", |value| value.to_str().unwrap_or(""));
    let mut sent = Sent {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        media: header("content-type").to_owned(),
        body: None,
    };
    let is_plain = header("content-encoding").is_empty() && body.size_hint().exact().is_some();
    if !is_plain {
        return (Request::from_parts(parts, body), sent);
    }
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    sent.body = Some(bytes.to_vec());
    (Request::from_parts(parts, Body::from(bytes)), sent)
}

pub fn post(path: &str, media: &str, body: impl Into<Body>) -> Request<Body> {
    Request::post(path).header("content-type", media).body(body.into()).unwrap()
}

impl Reply {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {:?} {:?}", self.status, self.body))
    }

    /// The lines of an NDJSON answer.
    pub fn lines(&self) -> Vec<Value> {
        assert_eq!(self.header("content-type"), "application/x-ndjson");
        lines(&self.body)
    }

    /// The elements of an answer that is an array.
    pub fn elements(&self) -> Vec<Value> {
        assert_eq!(self.header("content-type"), "application/json");
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Whether one of many documents or probes was refused.
    pub fn has_failed_lines(&self) -> bool {
        let is_error = |result: &Value| result["status"] == "error" || result["error"].is_object();
        match self.header("content-type") {
            _ if !self.header("content-encoding").is_empty() => false,
            "application/x-ndjson" => self.lines().iter().any(is_error),
            _ => serde_json::from_slice(&self.body)
                .is_ok_and(|results: Vec<Value>| results.iter().any(is_error)),
        }
    }

    /// The reply as a problem with this status and code, whole as every problem must be.
    #[track_caller]
    pub fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.header("content-type"), "application/problem+json", "{:?}", self.body);
        let problem = self.json();
        assert_eq!(self.status.as_u16(), status, "{problem}");
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("/docs/problems#{code}"));
        assert_eq!(problem["request_id"], self.header("x-request-id"));
        assert!(problem["title"].is_string() && problem["detail"].is_string(), "{problem}");
        assert_eq!(
            self.headers.contains_key("retry-after"),
            [429, 503].contains(&status),
            "{problem}"
        );
        problem
    }
}

pub fn lines(body: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(body).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The ids of an answer's matches.
pub fn ids(answer: &Value) -> Vec<&str> {
    let matches = answer["matches"].as_array().unwrap();
    matches.iter().map(|found| found["id"].as_str().unwrap()).collect()
}

/// A text of distinct words in which word `changed` is another: two with different changes
/// resemble each other by about 0.97.
pub fn text(changed: usize) -> String {
    let word = |at: usize| if at == changed { format!("other{at}") } else { format!("word{at}") };
    (0..200).map(word).collect::<Vec<_>>().join(" ")
}

/// A body whose parts are sent one by one, and their sender.
pub fn arriving() -> (UnboundedSender<String>, Body) {
    let (parts, arriving) = unbounded_channel();
    let next = async |mut arriving: UnboundedReceiver<String>| {
        let part = arriving.recv().await?;
        Some((Ok::<_, Infallible>(part), arriving))
    };
    (parts, Body::from_stream(stream::unfold(arriving, next)))
}
