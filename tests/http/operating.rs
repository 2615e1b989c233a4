use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use akin::storage::StorageSettings;
use futures_util::StreamExt;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::app::{App, arriving, post};
use crate::store_under_test::is_local;

#[tokio::test]
async fn a_ready_server_answers_ready() {
    let app = App::new().await;
    assert_eq!(app.get("/healthz").await.json(), json!({"status": "alive"}));
    assert_eq!(app.get("/readyz").await.json(), json!({"status": "ready"}));
}

#[tokio::test]
async fn stats_have_all_fields() {
    let app = App::new().await;
    assert_eq!(app.get("/stats").await.json().get("bytes_per_document"), None);
    app.add(&[json!({"id": "a", "text": "one two three"})]).await;
    let stats = app.get("/stats").await.json();
    assert_eq!(stats["documents"], 1);
    assert_eq!(stats["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(stats["settings"]["sketch"]["slots"], 128);
    assert!(!is_local() || stats["recovery"]["source"] == "empty", "{stats}");
    let figures = [
        "distinct_sets",
        "keys",
        "postings",
        "postings_longest",
        "index_bytes",
        "ids_bytes",
        "database_bytes",
        "wal_bytes",
        "log_rows",
        "sequence",
        "uptime_s",
    ];
    if is_local() {
        for figure in figures {
            assert!(stats[figure].is_u64(), "{figure}: {stats}");
        }
        assert!(stats["bytes_per_document"].as_f64().unwrap() > 0.0);
        let bytes = ["ids_bytes", "index_bytes"].map(|figure| stats[figure].as_u64().unwrap());
        assert!(0 < bytes[0] && bytes[0] < bytes[1], "{bytes:?}");
    }
    let started_at = stats["started_at"].as_str().unwrap();
    assert!(started_at.parse::<jiff::Timestamp>().is_ok(), "{started_at}");
}

/// It was what the log keeps for readers of changes, so an idle collection of many documents seemed
/// to lack a snapshot.
#[tokio::test]
async fn log_rows_are_what_a_start_would_replay() {
    let app = App::new().await;
    let shown = async |app: &App| {
        let metrics = app.get("/metrics").await.body;
        let metrics = String::from_utf8(metrics.to_vec()).unwrap();
        let line = "akin_log_rows{collection=\"default\"} ";
        let value = metrics.lines().find_map(|found| found.strip_prefix(line)).unwrap();
        assert_eq!(app.get("/stats").await.json()["log_rows"].to_string(), value);
        value.parse::<u64>().unwrap()
    };
    assert_eq!(shown(&app).await, 0);
    let start = app.get("/changes").await.lines()[0]["position"].as_str().unwrap().to_owned();
    for id in ["a", "b", "c"] {
        app.add(&[json!({"id": id, "text": "one two three"})]).await;
    }
    assert_eq!(shown(&app).await, 3);
    app.collections().list()[0].snapshot().await.unwrap();
    assert_eq!(shown(&app).await, 0);
    let kept = app.get(&format!("/changes?since={start}")).await.lines();
    assert_eq!(kept.len(), 3 + 1, "the log itself is kept: {kept:?}");
    app.delete("/documents/a").await;
    assert_eq!(shown(&app).await, 1);
    // Closing takes a snapshot.
    assert_eq!(shown(&app.restarted().await).await, 0);
}

/// Documents of imports are refused on other threads, which the recorder of this test does not
/// hear.
#[tokio::test]
async fn refused_documents_are_counted_by_reason() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let _guard = metrics::set_default_local_recorder(&recorder);
    akin::http::describe_metrics();
    let counted = |reason: &str| {
        let line = format!("akin_documents_refused_total{{reason=\"{reason}\"}} ");
        let text = handle.render();
        text.lines().find_map(|found| found.strip_prefix(&line)).map(str::to_owned)
    };
    assert_eq!(counted("insufficient_storage").as_deref(), Some("0"), "a rate of it is known");
    let full = StorageSettings { disk_free_min_bytes: 1 << 60, ..StorageSettings::default() };
    let app = App::with_storage(full).await;
    app.post_json("/documents", "{").await.problem(400, "malformed_json");
    assert_eq!(counted("malformed_json").as_deref(), Some("1"));
    let document = json!({"id": "a", "text": "one two three"});
    app.post_json("/documents", &document).await.problem(507, "insufficient_storage");
    app.put_json("/documents/a", &document).await.problem(507, "insufficient_storage");
    assert_eq!(counted("insufficient_storage").as_deref(), Some("2"));
    let metrics = String::from_utf8(app.get("/metrics").await.body.to_vec()).unwrap();
    assert!(metrics.contains("akin_disk_reserve_bytes 1152921504606847"), "{metrics}");
}

#[tokio::test]
async fn a_snapshot_is_listed_once_it_is_taken() {
    let app = App::new().await;
    app.add(&[json!({"id": "a", "text": "one two three"})]).await;
    assert_eq!(app.get("/snapshots").await.json(), json!({"snapshots": []}));
    let request = axum::http::Request::post("/snapshots").body(axum::body::Body::empty());
    let reply = app.call(request.unwrap()).await;
    assert_eq!((reply.status.as_u16(), reply.header("location")), (202, "/snapshots"));
    assert_eq!(reply.json(), json!({"status": "started"}));

    let listing = async {
        loop {
            let listed = app.get("/snapshots").await.json();
            if listed["snapshots"] != json!([]) {
                return listed;
            }
            tokio::task::yield_now().await;
        }
    };
    let listed = tokio::time::timeout(Duration::from_secs(30), listing).await.expect("it is taken");
    let snapshot = &listed["snapshots"][0];
    assert_eq!(snapshot["documents"], 1, "{listed}");
    assert!(snapshot["created_at"].as_str().unwrap().ends_with('Z'));
    assert!(snapshot["sequence"].is_u64() && snapshot["bytes"].is_u64());
    assert_eq!(app.get("/stats").await.json()["last_snapshot"], listed["snapshots"][0]);
}

#[tokio::test]
async fn requests_are_counted_by_route() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let app = App::new().await;
    app.add(&[json!({"id": "https://a/b", "text": "one two three"})]).await;
    app.get("/documents/https:%2F%2Fa%2Fb").await;
    app.get("/documents/x/y").await;
    app.get("/no/such/path").await;
    app.get("/collections/default/documents/x").await;
    app.get("/similar?id=https:%2F%2Fa%2Fb").await;

    let collections = String::from_utf8(app.get("/metrics").await.body.into()).unwrap();
    let metrics = handle.render() + &collections;
    let expected = [
        r#"akin_http_requests_total{method="POST",route="/documents",status="201"} 1"#,
        r#"akin_http_requests_total{method="GET",route="/documents/{*id}",status="200"} 1"#,
        r#"akin_http_requests_total{method="GET",route="/documents/{*id}",status="404"} 1"#,
        r#"akin_http_requests_total{method="GET",route="unmatched",status="404"} 1"#,
        r#"akin_http_requests_total{method="GET",route="/collections/{collection}/documents/{*id}",status="404"} 1"#,
        r#"akin_documents_added_total{status="created"} 1"#,
        "akin_http_requests_in_flight 0",
        "akin_lookup_candidates_count 1",
        r#"akin_lookup_duration_seconds_count{mode="verified"} 1"#,
        r#"akin_documents{collection="default"} 1"#,
    ];
    for line in expected {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
    assert!(!metrics.contains("https"), "no id may become a label:\n{metrics}");
}

/// The head of an import's answer is there before its first document.
#[tokio::test]
async fn an_import_is_measured_until_its_end() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let app = App::new().await;
    let (documents, body) = arriving();
    documents.send(" ".to_owned()).unwrap();
    let request = post("/documents", "application/x-ndjson", body);
    let answer = app.router.clone().oneshot(request).await.unwrap();
    let mut results = answer.into_body().into_data_stream();
    let counted = r#"akin_http_requests_total{method="POST",route="/documents",status="200"} 1"#;
    let timed = r#"akin_http_request_duration_seconds_count{method="POST",route="/documents"} 1"#;
    for id in ["a", "b"] {
        let document = json!({"id": id, "tokens": [id]}).to_string() + "\n";
        documents.send(document).unwrap();
        results.next().await.unwrap().unwrap();
        let metrics = handle.render();
        assert!(!metrics.contains(counted) && !metrics.contains(timed), "{metrics}");
        assert!(metrics.contains("akin_http_requests_in_flight 1"), "{metrics}");
    }
    drop(documents);
    assert!(results.next().await.is_none());
    drop(results);
    let metrics = handle.render();
    assert!(metrics.contains(counted) && metrics.contains(timed), "{metrics}");
    assert!(metrics.contains("akin_http_requests_in_flight 0"), "{metrics}");
}

#[test]
fn counters_and_histograms_begin_at_zero() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let _guard = metrics::set_default_local_recorder(&recorder);
    akin::http::describe_metrics();
    handle.run_upkeep();
    let metrics = handle.render();
    for line in [
        r#"akin_documents_added_total{status="created"} 0"#,
        r#"akin_documents_added_total{status="skipped"} 0"#,
        r#"akin_lookup_duration_seconds_count{mode="verified"} 0"#,
        "akin_lookup_candidates_count 0",
        r#"akin_http_request_duration_seconds_count{method="POST",route="/documents"} 0"#,
        "akin_tls_handshake_failures_total 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
}

#[tokio::test]
async fn the_openapi_document_is_served() {
    let reply = App::new().await.get("/openapi.yaml").await;
    assert_eq!(reply.header("content-type"), "application/yaml");
    assert_eq!(reply.body, akin::http::openapi_yaml());
}

#[tokio::test]
async fn metrics_are_text() {
    let reply = App::new().await.get("/metrics").await;
    assert!(reply.header("content-type").starts_with("text/plain; version=0.0.4"));
    assert!(serde_json::from_slice::<Value>(&reply.body).is_err());
}

/// The metrics that a page of text names: whole words that look like one.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_one = |word: &&str| word.starts_with("akin_") || word.starts_with("process_");
    words.filter(is_one).map(str::to_owned).collect()
}

/// Registers what the recorder has only once something happened, by its description.
fn described(handle: &PrometheusHandle) {
    akin::http::describe_metrics();
    metrics::gauge!("akin_reload_stale").set(1.0);
    metrics::counter!("akin_reload_failures_total").absolute(0);
    handle.run_upkeep();
}

#[tokio::test]
async fn every_metric_is_described_and_documented() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let _guard = metrics::set_default_local_recorder(&recorder);
    described(&handle);
    let app = App::new().await;
    app.add(&[json!({"id": "a", "text": "one two three"})]).await;
    app.get("/similar?id=a").await;
    let scraped = handle.render() + std::str::from_utf8(&app.get("/metrics").await.body).unwrap();

    let mut exposed = BTreeSet::new();
    let mut headed = BTreeSet::new();
    for line in scraped.lines().filter(|line| !line.is_empty()) {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap();
            assert!(help.ends_with('.') && headed.insert(name.to_owned()), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, _) = kind.split_once(' ').unwrap();
            exposed.insert(name.to_owned());
        } else {
            let name = line.split(['{', ' ']).next().unwrap();
            let of = ["_bucket", "_sum", "_count", ""].into_iter().find_map(|suffix| {
                name.strip_suffix(suffix).filter(|name| exposed.contains(*name))
            });
            assert!(of.is_some(), "no type is said before {line}");
        }
    }
    assert_eq!(headed, exposed, "descriptions, and metrics");
    let page = include_str!("../../docs/operations.md");
    let table = page.split("## Metrics").nth(1).unwrap().split("```yaml").next().unwrap();
    assert!(exposed.is_subset(&named(table)), "docs/operations.md, and metrics");
    // A backend without a disk of its own has no metrics of a disk.
    for name in named(page).into_iter().filter(|_| is_local()) {
        assert!(exposed.contains(&name), "{name} is in docs/operations.md alone");
    }
    assert!(scraped.contains(concat!("akin_build_info{version=\"", env!("CARGO_PKG_VERSION"))));
    let value = |name: &str| {
        let line = scraped.lines().find(|line| line.starts_with(&format!("{name} ")));
        line.unwrap().rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    let now_s = jiff::Timestamp::now().as_second() as f64;
    assert!(value("process_resident_memory_bytes") > 1e6);
    assert!((1.0..=value("process_max_fds")).contains(&value("process_open_fds")));
    assert!((now_s - 86_400.0..=now_s + 1.0).contains(&value("process_start_time_seconds")));
    assert!(value("process_cpu_seconds_total") >= 0.0);
}

/// What is logged to it, by clones that share it.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn probes_are_logged_for_debugging_only() {
    // With one subscriber alone tracing asks only the thread that logs a line first whether it is
    // wanted, and other tests have none.
    let _another = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::default());
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone());
    let _guard = tracing::subscriber::set_default(subscriber.finish());
    let app = App::new().await;
    for path in ["/healthz", "/readyz", "/metrics", "/stats"] {
        app.get(path).await;
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let routes: Vec<&str> =
        log.lines().filter_map(|line| line.split("route=").nth(1)?.split(' ').next()).collect();
    assert_eq!(routes, ["\"/stats\""], "{log}");
}
