//! Backups over HTTP.

use std::io::Read;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::app::{App, text};

/// The names of the entries, and the manifest.
fn read(tar: &[u8]) -> (Vec<String>, Value) {
    let mut archive = tar::Archive::new(tar);
    let (mut names, mut manifest) = (Vec::new(), Vec::new());
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        names.push(entry.path().unwrap().to_str().unwrap().to_owned());
        if names.last().unwrap() == "akin-backup.json" {
            entry.read_to_end(&mut manifest).unwrap();
        }
    }
    (names, serde_json::from_slice(&manifest).unwrap())
}

#[tokio::test]
async fn a_backup_is_an_archive_of_stores_and_a_manifest() {
    let app = App::new().await;
    app.put_json("/collections/news", json!({"shingles": {"size": 2}})).await;
    app.add(&[json!({"id": "a", "text": text(1)})]).await;
    let reply = app.get("/backup").await;
    assert_eq!(reply.header("content-type"), "application/x-tar");
    let (names, manifest) = read(&reply.body);
    let expected = ["default.sqlite", "news.sqlite", "akin-backup.json", "akin-backup.xxh3"];
    assert_eq!(names, expected);
    assert_eq!(manifest["collections"][1]["name"], "news");
    assert_eq!(manifest["collections"][1]["settings"]["shingles"]["size"], 2);

    let reply = app.get("/collections/news/backup").await;
    let (names, _) = read(&reply.body);
    assert_eq!(names, ["news.sqlite", "akin-backup.json", "akin-backup.xxh3"]);
    app.get("/collections/nowhere/backup").await.problem(404, "collection_not_found");
    for entry in std::fs::read_dir(app.dir.path().join("default")).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(!name.to_str().unwrap().starts_with("copy"), "{name:?} is left");
    }
}

#[tokio::test]
async fn one_backup_is_made_at_a_time() {
    let app = App::new().await;
    let metadata = json!({"more than is sent ahead": "x".repeat(60_000)});
    let document = |n| json!({"id": format!("{n}"), "text": text(n), "metadata": metadata});
    app.add(&(0..40).map(document).collect::<Vec<_>>()).await;
    let request = || Request::get("/backup").body(Body::empty()).unwrap();
    // Whoever does not read holds it up; whoever goes away ends it.
    let unread = app.router.clone().oneshot(request()).await.unwrap();
    assert_eq!(unread.status(), StatusCode::OK);
    app.get("/backup").await.problem(503, "overloaded");
    drop(unread);
    loop {
        let reply = app.get("/backup").await;
        if reply.status == StatusCode::OK {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_damaged_document_fails_a_backup_and_is_named() {
    let app = App::new().await;
    app.put_json("/collections/news", json!({})).await;
    app.add(&[json!({"id": "a", "text": text(1)}), json!({"id": "b", "text": text(2)})]).await;
    app.damage("b");
    let problem = app.get("/backup").await.problem(500, "document_damaged");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("collection 'default'") && detail.contains("'b'"), "{detail}");
    assert_eq!(app.get("/collections/news/backup").await.status, StatusCode::OK);

    app.delete("/documents/b").await;
    app.add(&[json!({"id": "b", "text": text(2)})]).await;
    assert_eq!(app.get("/backup").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_backup_that_fails_after_its_beginning_breaks_off() {
    let app = App::new().await;
    app.put_json("/collections/before", json!({})).await;
    for n in 0..10 {
        let metadata = json!({"more than a piece": "x".repeat(60_000)});
        let document = json!({"id": format!("{n}"), "text": text(n), "metadata": metadata});
        app.post_json("/collections/before/documents?check=false", &document).await;
    }
    app.add(&[json!({"id": "a", "text": text(1)})]).await;
    app.damage("a");
    let request = Request::get("/backup").body(Body::empty()).unwrap();
    let reply = app.router.clone().oneshot(request).await.unwrap();
    assert_eq!(reply.status(), StatusCode::OK);
    let error = reply.into_body().collect().await.unwrap_err();
    assert_eq!(error.to_string(), "the backup was aborted");
}
