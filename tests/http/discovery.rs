//! All pairs and clusters, streamed.

use std::time::Duration;

use akin::engine::CollectionSettings;
use akin::http::ServerSettings;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::app::{App, text};

async fn app_with_three_near_duplicates_and_another(app: &App) {
    app.add(&[
        json!({"id": "c", "text": text(0)}),
        json!({"id": "b", "text": text(0)}),
        json!({"id": "a", "text": text(100)}),
        json!({"id": "z", "text": "something else altogether"}),
    ])
    .await;
}

/// Documents with more pairs than are buffered for the reader.
async fn many(app: &App) {
    let documents = (0..80).map(|n| json!({"id": format!("d{n}"), "text": text(n)}).to_string());
    let body = documents.collect::<Vec<_>>().join("\n");
    let reply = app.post("/documents?check=false", "application/x-ndjson", body).await;
    assert_eq!(reply.lines().len(), 80);
}

#[tokio::test]
async fn every_pair_is_returned_once() {
    let app = App::new().await;
    for path in ["/pairs", "/pairs?mode=exact", "/clusters", "/clusters?mode=exact"] {
        assert!(app.get(path).await.lines().is_empty(), "there is nothing yet");
    }
    app_with_three_near_duplicates_and_another(&app).await;
    for mode in ["verified", "exact"] {
        let mut pairs = app.get(&format!("/pairs?threshold=0.9&mode={mode}")).await.lines();
        pairs.sort_unstable_by_key(ToString::to_string);
        let names: Vec<_> = pairs.iter().map(|pair| (&pair["a"], &pair["b"])).collect();
        let [a, b, c] = ["a", "b", "c"].map(|id| json!(id));
        assert_eq!(names, [(&a, &b), (&a, &c), (&b, &c)]);
        // 198 shingles each, of which the 3 around the changed word differ; at an end it is 1.
        assert_eq!((&pairs[0]["shared"], &pairs[0]["union"]), (&json!(194), &json!(202)));
        assert_eq!(pairs[0]["resemblance"], json!(194.0 / 202.0));
        assert_eq!(pairs[0]["containment"]["a_in_b"], json!(194.0 / 198.0));
        assert_eq!((&pairs[2]["resemblance"], &pairs[2]["exact"]), (&json!(1.0), &json!(1.0)));
    }
    let pairs = app.get("/collections/default/pairs?mode=estimated").await.lines();
    assert_eq!(pairs.len(), 3);
    assert!(pairs.iter().all(|pair| pair["exact"].is_null() && pair["shared"].is_null()));
    assert!(pairs.iter().all(|pair| pair["resemblance"] == pair["estimated"]));
}

#[tokio::test]
async fn clusters_are_ndjson_lines() {
    let app = App::new().await;
    app_with_three_near_duplicates_and_another(&app).await;
    for query in ["", "?linkage=representative", "?linkage=single&mode=exact&threshold=0.9"] {
        let clusters = app.get(&format!("/clusters{query}")).await.lines();
        let members = json!([
            {"id": "a", "resemblance": 1.0},
            {"id": "b", "resemblance": 194.0 / 202.0},
            {"id": "c", "resemblance": 194.0 / 202.0},
        ]);
        let name = clusters[0]["cluster"].clone();
        assert_eq!(name.as_str().unwrap().len(), 16);
        let expected =
            json!({"cluster": name, "representative": "a", "size": 3, "members": members});
        assert_eq!(clusters, [expected], "{query}");
    }
    let sizes = |clusters: Vec<Value>| -> Vec<_> {
        clusters.iter().map(|cluster| cluster["size"].clone()).collect()
    };
    assert_eq!(sizes(app.get("/clusters?min_size=1").await.lines()), [3, 1]);
    assert_eq!(sizes(app.get("/clusters?min_size=4").await.lines()), [0; 0]);
}

#[tokio::test]
async fn giant_clusters_raise_an_alarm() {
    let mut collection = CollectionSettings::default();
    collection.limits.cluster_members_alarm = 2;
    let app = App::with_collection(collection).await;
    app_with_three_near_duplicates_and_another(&app).await;
    let metrics = || async { String::from_utf8(app.get("/metrics").await.body.into()).unwrap() };
    assert!(!metrics().await.contains("akin_clusters_over_alarm{"));
    app.get("/clusters?min_size=100").await;
    let metrics = metrics().await;
    for gauge in ["akin_clusters", "akin_clusters_over_alarm"] {
        assert!(metrics.contains(&format!("{gauge}{{collection=\"default\"}} 1\n")), "{metrics}");
    }
    assert!(metrics.contains("akin_cluster_members_largest{collection=\"default\"} 3\n"));
}

#[tokio::test]
async fn invalid_parameters_are_refused() {
    let app = App::new().await;
    for (path, detail) in [
        (
            "/pairs?mode=fast",
            "'mode' is wrong: unknown variant `fast`, expected one of `verified`, `estimated`, `exact`",
        ),
        ("/pairs?threshold=0", "'threshold' is wrong: a threshold must be above 0 and at most 1"),
        ("/pairs?min_size=2", "this call takes only threshold, mode"),
        ("/clusters?linkage=complete", "expected `single` or `representative`"),
        ("/clusters?min_size=0", "'min_size' is wrong: invalid value: integer `0`"),
    ] {
        let problem = app.get(path).await.problem(400, "invalid_parameter");
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{path}: {problem}");
    }
    app.get("/collections/none/pairs").await.problem(404, "collection_not_found");
}

/// A response with an unread body.
async fn unread(app: &App, path: &str) -> axum::response::Response {
    let request = Request::get(path).body(Body::empty()).unwrap();
    app.router.clone().oneshot(request).await.unwrap()
}

async fn running(app: &App) -> Vec<Value> {
    app.get("/stats").await.json()["discoveries"].as_array().unwrap().clone()
}

/// Waits until `count` discoveries run, and with `found` until each has found something.
async fn until(app: &App, count: usize, found: bool) -> Vec<Value> {
    let waiting = async {
        loop {
            let discoveries = running(app).await;
            let has_found = |discovery: &Value| discovery["found"] != 0;
            if discoveries.len() == count && (!found || discoveries.iter().all(has_found)) {
                return discoveries;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("it comes about")
}

#[tokio::test]
async fn a_disconnected_client_stops_the_discovery() {
    let app = App::with_server(ServerSettings { discoveries_max: 1, ..Default::default() }).await;
    many(&app).await;
    assert_eq!(running(&app).await.len(), 0);
    for path in ["/pairs?threshold=0.7", "/pairs?mode=exact&threshold=0.7"] {
        let response = unread(&app, path).await;
        let discoveries = until(&app, 1, true).await;
        let discovery = &discoveries[0];
        assert_eq!((&discovery["kind"], &discovery["stage"]), (&"pairs".into(), &"joining".into()));
        assert_eq!((&discovery["total"], &discovery["threshold"]), (&80.into(), &json!(0.7)));
        app.get("/clusters").await.problem(503, "overloaded");
        drop(response);
        until(&app, 0, false).await;
    }
    // A client that reads on gets everything.
    assert_eq!(app.get("/pairs?threshold=0.7").await.lines().len(), 80 * 79 / 2);
    assert_eq!(app.get("/clusters?threshold=0.7").await.lines().len(), 1);
}

#[tokio::test]
async fn a_client_has_half_of_the_discoveries() {
    let app = App::with_server(ServerSettings { discoveries_max: 2, ..Default::default() }).await;
    many(&app).await;
    let response = unread(&app, "/pairs?threshold=0.7").await;
    until(&app, 1, true).await;
    for path in ["/clusters", "/recall"] {
        app.get(path).await.problem(429, "too_many_requests");
    }
    drop(response);
    until(&app, 0, false).await;
}

#[tokio::test]
async fn a_failed_discovery_aborts_its_stream() {
    let app = App::new().await;
    app_with_three_near_duplicates_and_another(&app).await;
    app.damage("z");
    for path in ["/pairs?mode=exact", "/clusters?mode=exact"] {
        let response = unread(&app, path).await;
        assert_eq!(response.status(), 200);
        assert!(to_bytes(response.into_body(), usize::MAX).await.is_err(), "{path}");
    }
}

/// A chain: each text resembles the next, and the ends do not resemble each other.
#[tokio::test]
async fn the_cluster_of_a_document_equals_a_discovery() {
    let app = App::new().await;
    let words = |from: usize| (from..from + 60).map(|at| format!("w{at}")).collect::<Vec<_>>();
    for at in 0..8 {
        let document = json!({"id": format!("chain{at}"), "text": words(at * 4).join(" ")});
        app.post_json("/documents", document).await;
    }
    app.post_json("/documents", json!({"id": "copy", "text": words(12).join(" ")})).await;
    app.post_json("/documents", json!({"id": "alone", "text": "something else entirely"})).await;
    for linkage in ["single", "representative"] {
        let all = app.get(&format!("/clusters?min_size=1&linkage={linkage}")).await.lines();
        for id in ["chain0", "chain5", "copy", "alone"] {
            let own = app.get(&format!("/clusters?id={id}&linkage={linkage}")).await.lines();
            let has = |cluster: &&Value| {
                cluster["members"].as_array().unwrap().iter().any(|member| member["id"] == id)
            };
            let expected: Vec<_> = all.iter().filter(has).cloned().collect();
            assert_eq!((own.len(), &own), (1, &expected), "{id} {linkage}");
        }
    }
    app.get("/clusters?id=nobody").await.problem(404, "document_not_found");
    app.get("/clusters?id=copy&min_size=2").await.problem(400, "invalid_parameter");
}
