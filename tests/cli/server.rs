//! A server that records what it is sent and answers like an akin, or as it is told.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, Uri};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// A request to `/documents` or `/similar`.
#[derive(Clone, Debug)]
pub struct Received {
    pub uri: String,
    pub content_type: String,
    pub body: Vec<u8>,
}

/// How a request is answered; `None`: like an akin. Gets the number of requests before it.
pub type Script = fn(usize, &Received) -> Option<Response<Body>>;

pub struct Server {
    runtime: Option<Runtime>,
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    script: Script,
    received: Mutex<Vec<Received>>,
    texts: Mutex<HashSet<String>>,
}

impl Server {
    pub fn start() -> Self {
        Self::scripted(|_, _| None)
    }

    pub fn scripted(script: Script) -> Self {
        let runtime = Runtime::new().unwrap();
        let shared =
            Arc::new(Shared { script, received: Mutex::default(), texts: Mutex::default() });
        let router = Router::new()
            .route("/healthz", get(|| async { "{}" }))
            .route("/readyz", get(|| async { "{}" }))
            .route("/documents", post(answer))
            .route("/similar", post(answer).get(answer))
            .route("/collections/{collection}/documents", post(answer))
            .route("/collections/{collection}/similar", post(answer).get(answer))
            .with_state(Arc::clone(&shared));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { runtime: Some(runtime), address, shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn received(&self) -> MutexGuard<'_, Vec<Received>> {
        self.shared.received.lock().unwrap()
    }

    /// Every line received, as JSON, by id.
    pub fn documents(&self) -> Vec<Value> {
        let mut documents: Vec<Value> =
            self.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        documents.sort_by_key(|document| document["id"].to_string());
        documents
    }

    pub fn lines(&self) -> Vec<String> {
        let received = self.received();
        let bodies = received.iter().map(|r| String::from_utf8(r.body.clone()).unwrap());
        bodies.flat_map(|body| body.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.runtime.take().unwrap().shutdown_background();
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let content_type = headers.get("content-type").map(|value| value.to_str().unwrap().to_owned());
    let received = Received {
        uri: uri.to_string(),
        content_type: content_type.unwrap_or_default(),
        body: body.to_vec(),
    };
    let before = {
        let mut all = shared.received.lock().unwrap();
        all.push(received.clone());
        all.len() - 1
    };
    (shared.script)(before, &received)
        .unwrap_or_else(|| Response::new(Body::from(shared.results(&received.body))))
}

impl Shared {
    /// A result line for each document line.
    fn results(&self, body: &[u8]) -> String {
        let body = std::str::from_utf8(body).unwrap();
        body.lines().enumerate().map(|(n, line)| self.result(n + 1, line) + "\n").collect()
    }

    fn result(&self, number: usize, line: &str) -> String {
        let Ok(document) = serde_json::from_str::<Value>(line) else {
            let problem = json!({"status": 400, "title": "Malformed", "detail": "no JSON"});
            return json!({"line": number, "status": "error", "problem": problem}).to_string();
        };
        let is_new = self.texts.lock().unwrap().insert(document["text"].to_string());
        let twin = json!({
            "id": "an earlier one", "resemblance": 1.0, "estimated": 1.0, "interval": [1.0, 1.0],
            "keys_shared": 1,
        });
        let duplicates = if is_new { json!([]) } else { json!([twin]) };
        let id = document["id"].as_str().unwrap_or("one that the server made");
        json!({
            "line": number, "id": id, "status": "created", "duplicates": duplicates, "shingles": 1,
            "notes": [],
        })
        .to_string()
    }
}

/// A problem as akin answers it.
pub fn problem(status: StatusCode, detail: &str, retry_after: Option<u32>) -> Response<Body> {
    let body = json!({"status": status.as_u16(), "title": "A problem", "code": "a_problem", "detail": detail});
    let mut response = Response::builder().status(status);
    if let Some(seconds) = retry_after {
        response = response.header("retry-after", seconds);
    }
    response.body(Body::from(body.to_string())).unwrap()
}
