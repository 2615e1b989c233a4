use std::time::Duration;

use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::{Value, json};

use crate::app::App;

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
    assert!(stats["bytes_per_document"].as_f64().unwrap() > 0.0);
    assert_eq!(stats["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(stats["settings"]["sketch"]["slots"], 128);
    assert_eq!(stats["recovery"]["source"], "empty");
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
    for figure in figures {
        assert!(stats[figure].is_u64(), "{figure}: {stats}");
    }
    let bytes = ["ids_bytes", "index_bytes"].map(|figure| stats[figure].as_u64().unwrap());
    assert!(0 < bytes[0] && bytes[0] < bytes[1], "{bytes:?}");
    let started_at = stats["started_at"].as_str().unwrap();
    assert!(started_at.parse::<jiff::Timestamp>().is_ok(), "{started_at}");
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
