//! Webhooks, to a receiver that fails, is slow and is away, from a server that is killed.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use ring::hmac;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::process::client::Caller;
use crate::serving::Serving;

const SECRET: &str = "a secret of this test";

#[derive(Clone, Copy)]
enum Fault {
    Refuses,
    IsSlow,
}

#[derive(Default)]
struct Shared {
    /// Of the next messages.
    faults: Mutex<VecDeque<Fault>>,
    accepted: Mutex<Vec<Value>>,
    changed: Condvar,
}

/// A receiver that can be stopped and started again at its address.
struct Receiver {
    shared: Arc<Shared>,
    address: SocketAddr,
    runtime: Option<Runtime>,
}

async fn receive(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let header = |name: &str| headers[name].to_str().unwrap();
    let signed = [header("webhook-id").as_bytes(), header("webhook-timestamp").as_bytes(), &body];
    let signature = header("webhook-signature").strip_prefix("v1,").unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    hmac::verify(&key, &signed.join(&b'.'), &BASE64.decode(signature).unwrap()).unwrap();
    let fault = shared.faults.lock().unwrap().pop_front();
    match fault {
        Some(Fault::Refuses) => return StatusCode::SERVICE_UNAVAILABLE,
        Some(Fault::IsSlow) => std::future::pending().await,
        None => {}
    }
    shared.accepted.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
    shared.changed.notify_all();
    StatusCode::NO_CONTENT
}

impl Receiver {
    fn new(faults: &[Fault]) -> Self {
        let shared = Arc::<Shared>::default();
        shared.faults.lock().unwrap().extend(faults);
        let mut receiver =
            Self { shared, address: SocketAddr::from(([127, 0, 0, 1], 0)), runtime: None };
        receiver.start();
        receiver
    }

    fn start(&mut self) {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind(self.address)).unwrap();
        self.address = listener.local_addr().unwrap();
        let router = Router::new().route("/hook", post(receive));
        let router = router.with_state(Arc::clone(&self.shared));
        runtime.spawn(async move { axum::serve(listener, router).await });
        self.runtime = Some(runtime);
    }

    fn stop(&mut self) {
        self.runtime.take().unwrap().shutdown_timeout(Duration::from_secs(10));
    }

    /// The changes of a collection that were accepted, each at its first time, once there are as
    /// many.
    fn changes(&self, collection: &str, count: usize) -> Vec<String> {
        let mut accepted = self.shared.accepted.lock().unwrap();
        loop {
            let mut changes = Vec::new();
            let own = accepted.iter().filter(|message| message["collection"] == collection);
            for change in own.flat_map(|message| message["changes"].as_array().unwrap()) {
                let of = |name: &str| change[name].as_str().unwrap();
                let change = format!("{} {}", of("change"), of("id"));
                if !changes.contains(&change) {
                    changes.push(change);
                }
            }
            if changes.len() >= count {
                return changes;
            }
            let waited = self.shared.changed.wait_timeout(accepted, Duration::from_secs(60));
            let (still, timeout) = waited.unwrap();
            assert!(!timeout.timed_out(), "{collection}: {changes:?}");
            accepted = still;
        }
    }

    fn serve(&self, dir: &Path, more: &str) -> (Serving, Caller) {
        std::fs::write(dir.join("secret"), format!("{SECRET}\n")).unwrap();
        let config = dir.join("akin.toml");
        let (url, secret) = (format!("http://{}/hook", self.address), dir.join("secret"));
        let settings = format!(
            "[webhooks]\nurls = [\"{url}\"]\nsecret_file = \"{}\"\nbatch_changes_max = 3\n\
             timeout_ms = 500\nretry_min_ms = 10\nretry_max_ms = 50\n{more}",
            secret.display()
        );
        std::fs::write(&config, settings).unwrap();
        let options = ["--listen", "127.0.0.1:0", "--config", config.to_str().unwrap()];
        let serving = Serving::start_with(&dir.join("data"), &options);
        serving.wait_until_ready();
        let caller = Caller::new(&serving.url);
        (serving, caller)
    }
}

fn call(caller: &Caller, method: &str, path: &str, body: &Value) {
    let answer = caller.call(method, path, ("application/json", body.to_string())).unwrap();
    assert!(answer.status < 300, "{method} {path}: {} {}", answer.status, answer.body);
}

fn add(caller: &Caller, collection: &str, ids: &[&str]) {
    for id in ids {
        let document = json!({"id": id, "text": format!("the text of {id}")});
        call(caller, "POST", &format!("/collections/{collection}/documents"), &document);
    }
}

fn stored(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| format!("stored {id}")).collect()
}

fn metric(caller: &Caller, name: &str) -> f64 {
    let (_, body) = caller.get("/metrics").unwrap();
    let text = String::from_utf8(body).unwrap();
    assert!(text.contains(&format!("# HELP {name} ")), "{name} is not described");
    let line =
        text.lines().find_map(|line| line.strip_prefix(&format!("{name}{{receiver=\"1\"}} ")));
    line.unwrap().parse().unwrap()
}

#[test]
fn changes_arrive_in_order_over_failures() {
    let dir = tempfile::tempdir().unwrap();
    let mut receiver = Receiver::new(&[Fault::Refuses, Fault::IsSlow, Fault::Refuses]);
    let (serving, caller) = receiver.serve(dir.path(), "");
    add(&caller, "default", &["a", "b", "c", "d", "e"]);
    call(&caller, "PUT", "/collections/news", &json!({}));
    add(&caller, "news", &["n1", "n2"]);
    let mut expected = stored(&["a", "b", "c", "d", "e"]);
    assert_eq!(receiver.changes("default", 5), expected);
    assert_eq!(receiver.changes("news", 2), stored(&["n1", "n2"]));
    serving.wait_for_log("webhook delivery failed; retrying");
    serving.wait_for_log("webhook delivery recovered");
    assert_eq!(metric(&caller, "akin_webhook_failures_total"), 3.0);

    receiver.stop();
    call(&caller, "DELETE", "/documents/b", &json!(null));
    add(&caller, "default", &["f", "g", "h"]);
    serving.wait_for_log("webhook delivery failed; retrying");
    assert_eq!(metric(&caller, "akin_webhook_changes_gone_total"), 0.0);
    while metric(&caller, "akin_webhook_lag_changes") < 4.0 {}
    serving.kill();

    let (serving, caller) = receiver.serve(dir.path(), "");
    add(&caller, "news", &["n3"]);
    add(&caller, "default", &["i"]);
    receiver.start();
    expected.push("removed b".to_owned());
    expected.extend(stored(&["f", "g", "h", "i"]));
    assert_eq!(receiver.changes("default", 10), expected);
    assert_eq!(receiver.changes("news", 3), stored(&["n1", "n2", "n3"]));
    while metric(&caller, "akin_webhook_lag_changes") > 0.0 {}
    assert!(metric(&caller, "akin_webhook_changes_delivered_total") >= 6.0);
    assert!(serving.stop().success());
    let accepted = receiver.shared.accepted.lock().unwrap();
    assert!(accepted.iter().all(|message| message["changes"].as_array().unwrap().len() <= 3));
    assert!(accepted.iter().all(|message| message.get("changes_gone").is_none()));
}

#[test]
fn a_receiver_learns_of_lost_changes() {
    let dir = tempfile::tempdir().unwrap();
    let mut receiver = Receiver::new(&[]);
    let few = "[storage]\nchanges_kept = 3\nsnapshots_kept = 1\n";
    let (serving, caller) = receiver.serve(dir.path(), few);
    add(&caller, "default", &["a"]);
    receiver.changes("default", 1);
    let position = String::from_utf8(caller.get("/changes").unwrap().1).unwrap();
    let position: Value = serde_json::from_str(&position).unwrap();
    let since = format!("/changes?since={}", position["position"].as_str().unwrap());
    receiver.stop();
    for at in 0..3 {
        let ids = [0, 1, 2].map(|of| format!("away{at}{of}"));
        add(&caller, "default", &ids.each_ref().map(String::as_str));
        call(&caller, "POST", "/snapshots", &json!(null));
        let has = format!("\"sequence\":{}", 4 + 3 * at);
        while !String::from_utf8(caller.get("/snapshots").unwrap().1).unwrap().contains(&has) {}
    }
    while caller.get(&since).unwrap().0 != 410 {}
    while metric(&caller, "akin_webhook_lag_changes") < 9.0 {}
    receiver.start();
    serving.wait_for_log("changes are lost");
    while metric(&caller, "akin_webhook_lag_changes") > 0.0 {}
    assert_eq!(receiver.changes("default", 4).last().unwrap(), "stored away22");
    let accepted = receiver.shared.accepted.lock().unwrap();
    let gone = accepted.iter().filter(|message| message["changes_gone"] == true).count();
    assert_eq!((gone, metric(&caller, "akin_webhook_changes_gone_total")), (1, 1.0));
}

#[test]
fn invalid_webhook_settings_prevent_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("akin.toml");
    let secret = dir.path().join("secret");
    std::fs::write(&secret, "short").unwrap();
    let secret =
        format!("urls = [\"http://127.0.0.1:1/\"]\nsecret_file = \"{}\"", secret.display());
    for (settings, reason) in [
        ("urls = [\"example.org\"]", "webhooks.urls: must look like https://example.org/hook"),
        ("urls = [\"http://a/\", \"http://a/\"]", "webhooks.urls: must not name an address twice"),
        ("batch_changes_max = 0", "must be 1..=10000, not 0"),
        ("retry_max_ms = 1", "must be 500..=86400000, not 1"),
        (&secret, "the secret is shorter than 16 bytes"),
    ] {
        std::fs::write(&config, format!("[webhooks]\n{settings}\n")).unwrap();
        let data = dir.path().join("data");
        let ended = crate::akin(&[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--config",
            config.to_str().unwrap(),
            "--data-dir",
            data.to_str().unwrap(),
        ]);
        assert_ne!(ended.code, Some(0), "{settings}");
        assert!(ended.stderr.contains(reason), "{settings}: {}", ended.stderr);
    }
}
