//! Options in the query, in the body, or in both.

use serde_json::{Value, json};

use crate::app::{App, text};

async fn app() -> App {
    let app = App::new().await;
    app.add(&[json!({"id": "a", "text": text(0)}), json!({"id": "b", "text": text(100)})]).await;
    app
}

#[tokio::test]
async fn comparisons_take_options_in_query_or_body() {
    let app = app().await;
    let body = |options: Value| {
        let mut body = json!({"a": {"id": "a"}, "b": {"id": "b"}});
        body.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        body
    };
    let in_query = "?explain=true&measures=hamming,cosine";
    let mut answers = Vec::new();
    for (query, options) in [
        (in_query, json!({})),
        ("", json!({"explain": true, "measures": ["cosine", "hamming"]})),
        ("?explain=true", json!({"measures": ["cosine", "hamming"]})),
        (in_query, json!({"explain": true, "measures": ["cosine", "hamming"]})),
    ] {
        let mut answer = app.post_json(&format!("/resemblance{query}"), body(options)).await.json();
        assert!(answer["explanation"].is_object() && answer["measures"]["cosine"].is_object());
        answer.as_object_mut().unwrap().remove("took_us");
        answers.push(answer);
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
    for (query, options) in [
        ("?explain=true", json!({"explain": false})),
        ("?measures=lcs", json!({"measures": ["edit"]})),
    ] {
        let reply = app.post_json(&format!("/resemblance{query}"), body(options)).await;
        reply.problem(400, "invalid_parameter");
    }
    let unknown = body(json!({"measures": ["size"]}));
    let problem = app.post_json("/resemblance", unknown).await.problem(422, "invalid_request");
    assert_eq!(problem["errors"][0]["pointer"], "/measures");
}

#[tokio::test]
async fn documents_take_options_in_query_or_body() {
    let app = app().await;
    let document = |id: &str, options: Value| {
        let mut document = json!({"id": id, "text": text(0)});
        document.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        document
    };
    let unchecked = app.post_json("/documents", document("c", json!({"check": false}))).await;
    assert_eq!(unchecked.json()["duplicates"], json!([]));
    let near = app.post_json("/documents", document("d", json!({"threshold": 0.99}))).await;
    assert_eq!(near.json()["duplicates"].as_array().unwrap().len(), 2, "a and c, and not b");
    let skip = json!({"on_duplicate": "skip"});
    let put = app.put_json("/documents/e", document("e", skip.clone())).await;
    assert_eq!(put.json()["status"], "skipped");

    // Those of the call are for documents without their own.
    let many = [
        document("f", json!({})),
        document("g", skip),
        document("h", json!({"check": false, "on_duplicate": "keep"})),
        document("i", json!({"check": false})),
    ];
    for (media, body) in [
        ("application/x-ndjson", many.clone().map(|each| each.to_string() + "\n").concat()),
        ("application/json", json!(many).to_string()),
    ] {
        let reply = app.post("/documents?on_duplicate=skip", media, body).await;
        let results = if media.ends_with("ndjson") { reply.lines() } else { reply.elements() };
        let statuses: Vec<_> = results.iter().map(|result| &result["status"]).collect();
        assert_eq!(statuses, ["skipped", "skipped", "error", "error"]);
        for (result, pointer) in results[2..].iter().zip(["/on_duplicate", "/on_duplicate"]) {
            assert_eq!(result["problem"]["errors"][0]["pointer"], pointer, "{result}");
        }
    }
    let both = app.post_json("/documents?check=true", document("j", json!({"check": false}))).await;
    assert_eq!(both.problem(422, "invalid_document")["errors"][0]["pointer"], "/check");
    let stored = app.get("/documents/d").await.json();
    assert!(stored["threshold"].is_null(), "options are not stored: {stored}");
}

#[tokio::test]
async fn fetches_take_options_in_query_or_body() {
    let app = app().await;
    for (query, body) in [
        ("?include=sketch", json!({"ids": ["a"]})),
        ("", json!({"ids": ["a"], "include": ["sketch"]})),
        ("?include=sketch", json!({"ids": ["a"], "include": ["sketch"]})),
    ] {
        let fetched = app.post_json(&format!("/fetch{query}"), body).await.json();
        assert!(fetched["documents"][0]["included"]["sketch"].is_string(), "{fetched}");
    }
    let both = json!({"ids": ["a"], "include": ["shingles"]});
    app.post_json("/fetch?include=sketch", both).await.problem(400, "invalid_parameter");
}
