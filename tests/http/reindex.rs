//! Reindexing over HTTP.

use std::time::Duration;

use serde_json::{Value, json};

use crate::app::{App, text};

const NEWS: &str = "/collections/news";
const REINDEX: &str = "/collections/news/reindex";

/// The status of the reindex at this path, once it has ended.
pub async fn ended(app: &App, at: &str) -> Value {
    loop {
        let status = app.get(at).await.json();
        if status["state"] != "running" {
            return status;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_reindex_reports_its_progress() {
    let app = App::new().await;
    app.put_json(NEWS, json!({})).await;
    app.get(REINDEX).await.problem(404, "reindex_not_found");
    app.delete(REINDEX).await.problem(404, "reindex_not_found");
    for number in 0..3 {
        let document = json!({"id": format!("{number}"), "text": text(number)});
        app.post_json("/collections/news/documents", document).await;
    }
    let settings = json!({"shingles": {"unit": "character", "size": 5}});
    let begun = app.post_json(REINDEX, settings).await;
    assert_eq!((begun.status.as_u16(), begun.header("location")), (202, REINDEX));
    assert_eq!(begun.json()["state"], "running");
    let status = ended(&app, REINDEX).await;
    assert_eq!((&status["state"], &status["documents_done"]), (&json!("done"), &json!(3)));
    assert!(status["ended_at"].as_str() >= status["started_at"].as_str(), "{status}");

    let collection = app.get(NEWS).await.json();
    assert_eq!(collection["settings"]["shingles"]["unit"], "character");
    assert_eq!(collection["documents"], 3);
    let shingles = app.get("/collections/news/documents/1").await.json()["shingles"].clone();
    assert!(shingles.as_u64().unwrap() > 50, "{shingles}");
    assert_eq!(app.delete(REINDEX).await.json()["state"], "done", "it is over");

    app.delete(NEWS).await;
    app.put_json(NEWS, json!({})).await;
    app.get(REINDEX).await.problem(404, "reindex_not_found");
}

#[tokio::test]
async fn an_impossible_reindex_is_a_problem() {
    let app = App::new().await;
    app.post_json("/collections/nowhere/reindex", json!({}))
        .await
        .problem(404, "collection_not_found");
    let problem = app.post_json("/collections/default/reindex", json!({})).await;
    let problem = problem.problem(409, "reindex_of_default");
    assert!(problem["detail"].as_str().unwrap().contains("akin reindex"), "{problem}");
    app.put_json("/collections/textless", json!({"store": {"text": false}})).await;
    app.post_json("/collections/textless/reindex", json!({})).await.problem(422, "text_not_kept");
    app.put_json(NEWS, json!({})).await;
    app.post_json(REINDEX, json!({"shingels": {}})).await.problem(422, "invalid_request");

    app.post_json("/collections/news/documents", json!({"id": "a", "text": text(1)})).await;
    let settings = json!({"limits": {"shingles_max": 1}});
    assert_eq!(app.post_json(REINDEX, settings).await.status, 202);
    let status = ended(&app, REINDEX).await;
    assert_eq!(
        (&status["state"], &status["failure"]["code"]),
        (&json!("failed"), &json!("invalid_document"))
    );
    let detail = status["failure"]["detail"].as_str().unwrap();
    assert!(detail.contains("'a' does not fit the settings"), "{detail}");
    assert_eq!(app.get(NEWS).await.json()["settings"]["limits"]["shingles_max"], 1_000_000);
}
