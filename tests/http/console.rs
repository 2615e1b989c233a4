//! The console's files, and the documentation.

use akin::http::ServerSettings;
use axum::body::Body;
use axum::http::Request;
use serde_json::Value;

use crate::app::{App, Reply};

const POLICY: [&str; 3] = ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"];

/// The answer to who knows a version already.
async fn get_again(app: &App, path: &str, known: &str) -> Reply {
    let request = Request::get(path).header("if-none-match", known);
    app.call(request.body(Body::empty()).unwrap()).await
}

fn text(reply: &Reply) -> &str {
    std::str::from_utf8(&reply.body).unwrap()
}

/// The addresses that a page or a script names, as paths.
fn named(text: &str) -> impl Iterator<Item = String> {
    let quoted = text.split('"').filter(|part| {
        let is_file = ["js", "css"].contains(&part.rsplit('.').next().unwrap());
        is_file && !part.contains(char::is_whitespace)
    });
    quoted.map(|part| format!("/console/{}", part.rsplit('/').next().unwrap()))
}

#[tokio::test]
async fn console_pages_are_served_before_collections_are_open() {
    let app = App::starting(ServerSettings::default());
    let mut to_read = vec!["/".to_owned(), "/docs".to_owned(), "/docs/problems".to_owned()];
    let mut read = Vec::new();
    while let Some(path) = to_read.pop() {
        let page = app.get(&path).await;
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(page.headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(page.headers["cache-control"], "no-cache", "{path}");
        let media = page.headers["content-type"].to_str().unwrap();
        if media.starts_with("text/html") {
            let policy = page.headers["content-security-policy"].to_str().unwrap();
            assert!(POLICY.iter().all(|part| policy.contains(part)), "{path}: {policy}");
            assert!(!policy.contains("unsafe"), "{path}: {policy}");
        }
        read.push(path);
        to_read.extend(named(text(&page)).filter(|path| !read.contains(path)));
    }
    assert!(read.len() > 20, "{read:?}");
}

#[tokio::test]
async fn a_file_that_is_known_is_not_sent_again() {
    let app = App::starting(ServerSettings::default());
    let first = app.get("/console/app.js").await;
    let etag = first.headers["etag"].to_str().unwrap();
    for known in [etag, "*", &format!("\"other\", {etag}")] {
        let again = get_again(&app, "/console/app.js", known).await;
        assert_eq!((again.status.as_u16(), again.body.len()), (304, 0), "{known}");
        assert_eq!(again.headers["etag"], etag);
    }
    let other = get_again(&app, "/console/style.css", etag).await;
    assert_eq!(other.status, 200);
    let absent = app.get("/console/none.js").await;
    absent.problem(404, "route_not_found");
}

#[tokio::test]
async fn the_type_of_a_problem_leads_to_its_documentation() {
    let app = App::new().await;
    let problem = app.get("/documents/none").await;
    let problem: Value = serde_json::from_slice(&problem.body).unwrap();
    let (path, anchor) = problem["type"].as_str().unwrap().split_once('#').unwrap();
    let page = app.get(path).await;
    assert_eq!(page.status, 200);
    assert!(text(&page).contains(&format!("<section id=\"{anchor}\">")));
}

#[tokio::test]
async fn the_openapi_document_is_served_as_json_as_well() {
    let app = App::new().await;
    let json = app.get("/openapi.json").await;
    assert_eq!(json.headers["content-type"], "application/json");
    let json: Value = serde_json::from_slice(&json.body).unwrap();
    let yaml = app.get("/openapi.yaml").await;
    for path in json["paths"].as_object().unwrap().keys() {
        assert!(text(&yaml).contains(&format!("\n  {path}:\n")), "{path}");
    }
    let served = text(&yaml).matches("operationId:").count();
    let operations = json["paths"].as_object().unwrap().values();
    assert_eq!(operations.map(|item| item.as_object().unwrap().len()).sum::<usize>(), served);
}
