//! Spans of requests, as a collector receives them.

use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use axum::Router;
use axum::extract::Json;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::akin_with_stdin;
use crate::serving::Serving;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// A collector, its address, and what is sent to it.
fn collector() -> (Runtime, String, Receiver<Value>) {
    let (received, messages) = mpsc::channel();
    let router = Router::new().route(
        "/v1/traces",
        post(move |Json(message): Json<Value>| {
            received.send(message).unwrap();
            async { "{}" }
        }),
    );
    let runtime = Runtime::new().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    runtime.spawn(async move { axum::serve(listener, router).await });
    (runtime, address, messages)
}

fn serving(endpoint: &str) -> (tempfile::TempDir, Serving) {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("akin.toml");
    std::fs::write(&config, format!("[traces]\notlp_endpoint = \"{endpoint}\"\n")).unwrap();
    let options = ["--listen", "127.0.0.1:0", "--config", config.to_str().unwrap()];
    let serving = Serving::start_with(&dir.path().join("data"), &options);
    serving.wait_until_ready();
    (dir, serving)
}

fn import(serving: &Serving) {
    let document = b"{\"id\": \"secretly\", \"text\": \"one two three four\"}\n";
    assert_eq!(akin_with_stdin(&["import", "-", "--url", &serving.url], document).code, Some(0));
}

fn similar(serving: &Serving) {
    let url = format!("{}/similar?id=secretly", serving.url);
    let mut response = ureq::get(url).header("traceparent", PARENT).call().unwrap();
    response.body_mut().read_to_string().unwrap();
}

#[test]
fn each_request_is_exported_as_a_span() {
    let (_runtime, endpoint, messages) = collector();
    let (_dir, serving) = serving(&endpoint);
    import(&serving);
    similar(&serving);
    let mut all = String::new();
    let span = loop {
        let message = messages.recv_timeout(Duration::from_secs(60)).unwrap();
        all.push_str(&message.to_string());
        let spans = &message["resourceSpans"][0]["scopeSpans"][0]["spans"];
        let of_lookup = |span: &&Value| span["name"] == "GET /similar";
        if let Some(span) = spans.as_array().unwrap().iter().find(of_lookup) {
            break span.clone();
        }
    };
    assert!(serving.stop().success());
    assert_eq!(span["traceId"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(span["parentSpanId"], "b7ad6b7169203331");
    assert_eq!(span["kind"], 2);
    let attributes = span["attributes"].as_array().unwrap();
    let route = json!({"key": "http.route", "value": {"stringValue": "/similar"}});
    let status = json!({"key": "http.response.status_code", "value": {"intValue": "200"}});
    assert!(attributes.contains(&route) && attributes.contains(&status), "{attributes:?}");
    let nanoseconds = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
    assert!(nanoseconds("startTimeUnixNano") < nanoseconds("endTimeUnixNano"));
    assert!(all.contains("POST /documents"), "{all}");
    assert!(!all.contains("secretly") && !all.contains("three"), "{all}");
}

#[test]
fn an_absent_collector_delays_nothing() {
    let (_dir, serving) = serving("http://127.0.0.1:1");
    import(&serving);
    similar(&serving);
    serving.wait_for_log("trace export failed");
    similar(&serving);
    assert!(serving.stop().success());
}
