//! Documents that expire, and documents meant by conditions.

use akin::document::{Content, Document, DocumentId, Metadata};
use akin::engine::{AddOptions, CollectionSettings, StoreSettings};
use akin::http::ServerSettings;
use axum::body::Body;
use axum::http::Request;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::app::{App, ids, text};

/// A value as it may stand in a query.
fn encoded(value: &str) -> String {
    value.bytes().fold(String::new(), |encoded, byte| format!("{encoded}%{byte:02x}"))
}

/// Three near-duplicates with metadata, and one without.
async fn app_with_four() -> App {
    let app = App::new().await;
    app.add(&[
        json!({"id": "a", "text": text(0), "metadata": {"lang": "en", "year": 2019}}),
        json!({"id": "b", "text": text(50), "metadata": {"lang": "en", "year": 2021}}),
        json!({"id": "c", "text": text(100), "metadata": {"lang": "de", "tags": ["sea", "fish"]}}),
        json!({"id": "d", "text": text(150)}),
    ])
    .await;
    app
}

#[tokio::test]
async fn an_expiry_time_is_stored_returned_and_accepted_again() {
    let app = App::new().await;
    let document = json!({"id": "a", "text": text(0), "expires_at": "2999-01-01T01:00:00+01:00"});
    app.add(&[document, json!({"id": "b", "text": text(1), "expires_at": null})]).await;
    let a = app.get("/documents/a").await.json();
    assert_eq!(a["expires_at"], "2999-01-01T00:00:00.000Z");
    assert_eq!(app.get("/documents/b").await.json().get("expires_at"), None);

    let export = app.get("/export").await;
    assert_eq!(export.lines()[0]["expires_at"], "2999-01-01T00:00:00.000Z");
    let again = app.post("/documents", "application/x-ndjson", export.body.clone()).await;
    assert!(again.lines().iter().all(|result| result["status"] == "unchanged"));
    let copy = App::new().await;
    copy.post("/documents", "application/x-ndjson", export.body).await;
    assert_eq!(copy.get("/documents/a").await.json()["expires_at"], "2999-01-01T00:00:00.000Z");
    let probe = json!({"text": text(0), "expires_at": "of no consequence"});
    assert_eq!(ids(&app.post_json("/similar", probe).await.json()), ["a", "b"]);
}

#[tokio::test]
async fn invalid_and_past_times_are_refused() {
    let app = App::new().await;
    let refused = [
        (json!("2020-01-01T00:00:00Z"), "already, at 2020-01-01T00:00:00Z"),
        (json!("2999-01-01"), "RFC 3339"),
        (json!("2999-01-01T00:00:00"), "RFC 3339"),
        (json!("tomorrow"), "RFC 3339"),
        (json!("99999-01-01T00:00:00Z"), "RFC 3339"),
        (json!(1_800_000_000), "expected a string"),
    ];
    for (expires_at, said) in refused {
        let document = json!({"id": "a", "text": "one two three", "expires_at": expires_at});
        let problem = app.post_json("/documents", &document).await.problem(422, "invalid_document");
        assert_eq!(problem["errors"][0]["pointer"], "/expires_at", "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(said), "{problem}");
        let line = &app.post_json("/documents", json!([document])).await.elements()[0];
        assert_eq!(line["problem"]["errors"][0]["pointer"], "/expires_at", "{line}");
    }
    assert_eq!(app.get("/documents").await.json()["ids"], json!([]));
}

#[tokio::test]
async fn a_collection_has_a_time_to_live() {
    let store = StoreSettings { ttl_s: Some(3_600), ..StoreSettings::default() };
    let app =
        App::with_collection(CollectionSettings { store, ..CollectionSettings::default() }).await;
    app.add(&[json!({"id": "a", "text": text(0)})]).await;
    let a = app.get("/documents/a").await.json();
    let time = |name: &str| a[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert_eq!(time("expires_at").duration_since(time("stored_at")).as_secs(), 3_600);

    let made = app.put_json("/collections/brief", json!({"store": {"ttl_s": 60}})).await;
    assert_eq!(made.json()["settings"]["store"], json!({"text": true, "ttl_s": 60}));
    app.put_json("/collections/brief", json!({})).await.problem(409, "collection_exists");
    for ttl_s in [json!(0), json!(-1), json!(3_155_760_001_u64)] {
        let settings = json!({"store": {"ttl_s": ttl_s}});
        app.put_json("/collections/other", settings).await.problem(422, "invalid_request");
    }
}

#[tokio::test]
async fn matches_meet_the_conditions() {
    let app = app_with_four().await;
    let filters = [
        ("@.lang == 'en'", vec!["a", "b"]),
        ("@.lang == 'en' && @.year >= 2020", vec!["b"]),
        ("@.tags[?@ == 'sea']", vec!["c"]),
        ("!@.lang", vec!["d"]),
        ("@.lang == 'fr'", vec![]),
    ];
    for (filter, expected) in filters {
        let query = format!("filter={}", encoded(filter));
        let path = format!("/similar?{query}");
        let by_text = app.post_json(&path, json!({"text": text(7)})).await.json();
        let mut found = ids(&by_text);
        found.sort_unstable();
        assert_eq!(found, expected, "{filter}");
        let many = app.post_json(&path, json!([{"text": text(7)}, {"id": "a"}])).await.json();
        assert_eq!(ids(&many[0]).len(), expected.len(), "{filter}");
        let stored = app.get(&format!("{path}&id=a")).await.json();
        assert_eq!(ids(&stored).len(), expected.iter().filter(|name| **name != "a").count());
        assert_eq!(stored["truncated"], false);
    }
    let by_time = async |parameter: &str, time: &str| {
        app.get(&format!("/similar?id=a&{parameter}={}", encoded(time))).await.json()
    };
    assert_eq!(ids(&by_time("stored_after", "2020-01-01T00:00:00Z").await).len(), 3);
    assert_eq!(ids(&by_time("stored_before", "2020-01-01T00:00:00Z").await).len(), 0);
    let stored_at = app.get("/documents/c").await.json()["stored_at"].as_str().unwrap().to_owned();
    let before = by_time("stored_before", &stored_at).await;
    assert!(!ids(&before).contains(&"c") && !ids(&before).contains(&"d"), "{before}");
}

#[tokio::test]
async fn an_invalid_filter_is_refused_with_the_position() {
    let app = app_with_four().await;
    let long = format!("@.lang == '{}'", "x".repeat(2_048));
    let refused = [
        ("filter=", "is not a filter: at character 1"),
        ("filter=@.lang%20=%20'en'", "at character 8: unexpected '= 'en''"),
        ("filter=@.a%5d%5b%3f@.b", "at character 4: unexpected '][?@.b'"),
        (&*format!("filter={}", encoded(&long)), "more than the 2048 allowed"),
        ("filter=@.a&filter=@.b", "'filter' is given more than once"),
        ("stored_after=yesterday", "'stored_after' must be a time in RFC 3339"),
        ("stored_before=2026-11-21", "'stored_before' must be a time in RFC 3339"),
    ];
    for (query, said) in refused {
        let replies = [
            app.get(&format!("/similar?id=a&{query}")).await,
            app.post_json(&format!("/similar?{query}"), json!({"id": "a"})).await,
            app.delete(&format!("/documents?{query}")).await,
        ];
        for reply in replies {
            let problem = reply.problem(400, "invalid_parameter");
            assert!(problem["detail"].as_str().unwrap().contains(said), "{query}: {problem}");
        }
    }
    assert_eq!(app.get("/documents").await.json()["ids"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn documents_are_removed_by_conditions() {
    let app = app_with_four().await;
    app.put_json("/collections/other", json!({})).await;
    let metadata = json!({"lang": "en"});
    let document = json!({"id": "a", "text": text(0), "metadata": metadata});
    app.post_json("/collections/other/documents", document).await;

    let english = encoded("@.lang == 'en'");
    let none = format!("/documents?filter={english}&stored_before=2020-01-01T00:00:00Z");
    assert_eq!(app.delete(&none).await.json()["removed"], 0);
    let removed = app.delete(&format!("/documents?filter={english}")).await;
    assert_eq!(removed.status, 200);
    let removed = removed.json();
    assert_eq!((&removed["matched"], &removed["removed"]), (&json!(2), &json!(2)));
    assert!(removed["took_us"].is_u64());
    assert_eq!(app.get("/documents").await.json()["ids"], json!(["c", "d"]));
    assert_eq!(app.get("/collections/other/documents").await.json()["ids"], json!(["a"]));
    let elsewhere = format!("/collections/other/documents?filter={english}");
    assert_eq!(app.delete(&elsewhere).await.json()["removed"], 1);
    let rest = app.delete("/documents?stored_after=2020-01-01T00:00:00Z").await;
    assert_eq!(rest.json()["removed"], 2);
    assert_eq!(app.get("/documents").await.json()["ids"], json!([]));
}

#[tokio::test]
async fn removing_without_a_condition_is_refused() {
    let app = app_with_four().await;
    for path in ["/documents", "/collections/default/documents"] {
        let problem = app.delete(path).await.problem(422, "invalid_request");
        assert!(problem["detail"].as_str().unwrap().contains("takes a condition"), "{problem}");
    }
    app.delete("/documents?id=a").await.problem(400, "invalid_parameter");
    app.delete("/collections/none/documents?filter=@.a").await.problem(404, "collection_not_found");
    assert_eq!(app.get("/documents").await.json()["ids"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn bulk_removal_takes_a_permit_and_has_no_timeout() {
    let server = ServerSettings {
        request_timeout_ms: 1,
        bulk_requests_max: 1,
        requests_in_flight_max: 4,
        ..ServerSettings::default()
    };
    let app = App::with_server(server).await;
    let collection = &app.collections().list()[0];
    let document = |n: usize| Document {
        id: DocumentId::new(format!("{n}")).unwrap(),
        content: Content::Text(format!("the text of page number {n}")),
        metadata: Metadata::from_json("{}").ok(),
        expires_at_ms: None,
    };
    let unchecked = AddOptions { check: false, ..AddOptions::default() };
    let documents = (0..1_000).map(|n| collection.add(document(n), unchecked.clone()));
    join_all(documents).await;

    let export = Request::get("/export").body(Body::empty()).unwrap();
    let export = app.router.clone().oneshot(export).await.unwrap();
    assert_eq!(export.status(), 200);
    app.delete("/documents?filter=@").await.problem(503, "overloaded");
    drop(export);
    let removed = app.delete("/documents?filter=@").await;
    assert_eq!(removed.json()["removed"], 1_000);
}

#[tokio::test]
async fn documents_that_meet_conditions_are_listed_and_counted() {
    let app = App::new().await;
    let document = |at: usize| {
        let metadata = json!({"third": at.is_multiple_of(3)});
        json!({"id": format!("{at:04}"), "text": "x", "metadata": metadata})
    };
    let lines: Vec<String> = (0..2_500).map(|at| document(at).to_string()).collect();
    app.post("/documents?check=false", "application/x-ndjson", lines.join("\n")).await;
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let page = format!("/documents?limit=300&filter={}{after}", encoded("@.third == true"));
        let page = app.get(&page).await.json();
        let ids = page["ids"].as_array().unwrap();
        assert!(ids.len() <= 300);
        found.extend(ids.iter().map(|id| id.as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    let expected: Vec<String> = (0..2_500).step_by(3).map(|at| format!("{at:04}")).collect();
    assert_eq!(found, expected);
    let counted = async |query: &str| app.get(query).await.json()["count"].clone();
    let filter = encoded("@.third == true");
    assert_eq!(counted(&format!("/documents?count=true&limit=1&filter={filter}")).await, 834);
    assert_eq!(counted("/documents?count=true&limit=1").await, 2_500);
    assert_eq!(counted("/documents").await, Value::Null);
    assert_eq!(counted("/documents?count=true&stored_before=2000-01-01T00:00:00Z").await, 0);
}
