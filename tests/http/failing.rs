//! A store that fails while it serves.

use std::convert::Infallible;

use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tower::ServiceExt;

use crate::app::{App, post, text};

#[tokio::test]
async fn a_failed_store_acknowledges_nothing_and_still_reads() {
    let app = App::new().await;
    app.add(&[json!({"id": "a", "text": text(0)})]).await;
    app.break_store();

    let document = json!({"id": "b", "text": text(100)});
    app.post_json("/documents", &document).await.problem(503, "out_of_service");
    let ready = app.get("/readyz").await.problem(503, "out_of_service");
    assert!(ready["detail"].as_str().unwrap().contains("integer overflow"), "{ready}");
    app.post_json("/documents", &document).await.problem(503, "out_of_service");
    app.delete("/documents/a").await.problem(503, "out_of_service");

    assert_eq!(app.get("/healthz").await.status, 200);
    assert_eq!(app.get("/documents/a").await.json()["text"], text(0));
    assert_eq!(app.get("/documents").await.json()["ids"], json!(["a"]));
    assert_eq!(app.get("/export").await.lines().len(), 1);
    let found = app.post_json("/similar", json!({"text": text(1)})).await.json();
    assert_eq!(found["matches"][0]["id"], "a");
}

#[tokio::test]
async fn bulk_import_into_a_failed_store_reports_errors() {
    let app = App::new().await;
    let (documents, received) = mpsc::unbounded_channel();
    documents.send(" ".to_owned()).unwrap();
    let send = |id: &str| {
        let line = format!("{}\n", json!({"id": id, "text": text(id.len())}));
        documents.send(line).unwrap();
    };
    let body = stream::unfold(received, |mut received| async {
        let line = received.recv().await?;
        Some((Ok::<_, Infallible>(Bytes::from(line)), received))
    });
    let request = post("/documents", "application/x-ndjson", Body::from_stream(body));
    let response = app.router.clone().oneshot(request).await.unwrap();
    let mut results = response.into_body().into_data_stream();

    send("a");
    let first: Value = serde_json::from_slice(&results.next().await.unwrap().unwrap()).unwrap();
    assert_eq!(first["status"], "created");
    app.break_store();
    send("bb");
    send("ccc");
    send("dddd");
    drop(documents);
    let rest: Vec<_> = results.map(Result::unwrap).collect().await;
    let rest = crate::app::lines(&rest.concat());
    assert_eq!(rest.len(), 3, "{rest:?}");
    for (line, result) in (2..).zip(rest) {
        assert_eq!((&result["line"], &result["status"]), (&json!(line), &json!("error")));
        assert_eq!(result["problem"]["code"], "out_of_service", "{result}");
    }
}

#[tokio::test]
async fn an_export_names_damaged_documents_and_is_incomplete() {
    let app = App::new().await;
    for (number, id) in ["a", "b", "c"].into_iter().enumerate() {
        app.add(&[json!({"id": id, "text": text(number)})]).await;
    }
    app.damage("b");
    app.get("/documents/b").await.problem(500, "document_damaged");
    let request = axum::http::Request::get("/export").body(Body::empty()).unwrap();
    let response = app.router.clone().oneshot(request).await.unwrap();
    let mut pieces: Vec<_> = response.into_body().into_data_stream().collect().await;
    assert!(pieces.pop().unwrap().is_err(), "nobody takes it for whole");
    let bytes: Vec<Bytes> = pieces.into_iter().map(Result::unwrap).collect();
    let lines = crate::app::lines(&bytes.concat());
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[0]["text"], &lines[2]["text"]), (&json!(text(0)), &json!(text(2))));
    assert_eq!(lines[1]["id"], "b");
    assert_eq!(lines[1]["problem"]["code"], "document_damaged");
}
