//! Every endpoint over collections of all kinds: `App` holds each call to `openapi.yaml`.

use std::mem;

use akin::engine::CollectionSettings;
use akin_core::Unit;
use akin_core::measure::MEASURES;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use crate::app::{App, text};
use crate::contract::CONTRACT;
use crate::reindex::ended;
use crate::store_under_test::is_local;

const ONE_COLLECTION: &str = "/collections/{collection}";

/// Settings of each kind, with every key that a collection can have.
fn kinds() -> Vec<(&'static str, Value)> {
    let limits = json!({
        "candidates_max": 100, "checked_max": 10, "duplicates_max": 5, "shingles_max": 5_000,
        "metadata_bytes_max": 1_000, "field_bytes_max": 100, "cluster_members_alarm": 2,
        "clusters_bytes_max": 1_000_000, "collapse_shingles_max": 10_000,
        "edit_product_max": 1_000_000, "passage_texts_max": 10, "passage_words_max": 10_000,
    });
    vec![
        ("words", json!({})),
        ("limited", json!({"limits": limits, "store": {"text": true, "ttl_s": 3_600}})),
        (
            "random-rows",
            json!({
                "sketch": {"slots": 64, "bits": 16, "seed": 7, "method": "permutations"},
                "scheme": {"kind": "random_rows", "bands": 20, "rows": 2, "exact_from": 0.7},
            }),
        ),
        (
            "prefix",
            json!({
                "sketch": {"method": "permutations"},
                "scheme": {"kind": "prefix", "threshold": 0.7, "recall": 0.9, "exact_from": 0.6},
            }),
        ),
        ("stop-words", json!({"shingles": {"unit": "stopword", "stopwords": ["the", "of"]}})),
        ("german", json!({"shingles": {"unit": "stopword", "stopwords": "de"}})),
        (
            "bags",
            json!({"shingles": {"unit": "token", "size": 1, "multiset": true,
            "lowercase": false}}),
        ),
        ("without-texts", json!({"store": {"text": false}})),
        ("clustered", json!({"clusters": {"threshold": 0.8}})),
        ("passages", json!({"passages": {"words": 32}})),
    ]
}

fn records() -> Value {
    json!({
        "shingles": {"unit": "field", "equivalents": [["william", "bill"]]},
        "scheme": {"kind": "fields", "fields": ["name", "phone"], "field_sketches": true,
            "points": 150, "penalty": 5},
    })
}

#[tokio::test]
async fn every_operation_answers_as_documented() {
    let mut default = CollectionSettings::default();
    if is_local() {
        default.clusters.threshold = Some(0.8.try_into().unwrap());
        default.passages.words = 32;
    }
    let app = App::with_collection(default).await;
    call_every_operation(&app, "", &texts()).await;
    let of_units = Unit::of_texts().map(|unit| {
        let settings = json!({"shingles": {"unit": unit, "size": 5}});
        (settings["shingles"]["unit"].as_str().unwrap().to_owned(), settings)
    });
    let kinds = kinds().into_iter().map(|(name, settings)| (name.to_owned(), settings));
    for (name, settings) in kinds.chain(of_units) {
        let at = format!("/collections/{name}");
        let made = app.put_json(&at, &settings).await.status;
        if !is_local() && OF_LOCAL_COLLECTIONS.contains(&name.as_str()) {
            assert_eq!(made, 501, "{name}");
            continue;
        }
        assert_eq!(made, 201, "{name}");
        call_every_operation(&app, &at, &texts()).await;
        assert_eq!(app.get(&at).await.status, 200, "{name}");
        // A removal waits for a reindex that keeps writers waiting, up to its deadline.
        ended(&app, &format!("{at}/reindex")).await;
        assert_eq!(app.delete(&at).await.status, 204, "{name}");
    }
    assert_eq!(app.put_json("/collections/records", records()).await.status, 201);
    call_every_operation(&app, "/collections/records", &persons()).await;
    let answered = app.answered.lock().unwrap();
    let mut unseen: Vec<_> = CONTRACT.operations().difference(&answered).cloned().collect();
    unseen.retain(|operation| {
        is_local() || !ONLY_LOCAL.contains(&without_collection(operation).as_str())
    });
    assert_eq!(unseen, [""; 0], "never answered here");
}

/// An operation as below the path of a collection.
fn without_collection(operation: &str) -> String {
    operation.replace(ONE_COLLECTION, "")
}

fn texts() -> Value {
    let metadata = json!({"site": 1, "tags": ["a", null], "of": {"depth": 2.5}});
    json!([
        {"id": "a", "text": text(0), "metadata": metadata},
        {"id": "b", "text": text(100), "expires_at": "2999-01-01T00:00:00Z"},
        {"id": "c", "tokens": ["x", ["y", 3]]},
        {"id": "far", "text": "nothing that the others have in common with it"},
        {"text": "no id"},
    ])
}

fn persons() -> Value {
    json!([
        {"id": "a", "fields": {"name": "Bill Smith", "phone": "555-1234"}},
        {"id": "b", "fields": {"name": "William Smyth", "phone": "5551234"}},
        {"id": "c", "fields": {"name": "Anybody Else"}},
    ])
}

/// Operations, below the path of a collection, that a collection without passages, of records, with
/// prefix filters or without texts refuses.
const MAY_REFUSE: &[&str] = &[
    "GET /clusters",
    "POST /collapse",
    "GET /curve",
    "PATCH /documents/{id}",
    "GET /pairs",
    "GET /passages",
    "POST /passages",
    "GET /recall",
    "DELETE /reindex",
    "GET /reindex",
    "POST /reindex",
];

/// Kinds of collections, and operations below their path, that local collections alone have.
const OF_LOCAL_COLLECTIONS: [&str; 3] = ["prefix", "clustered", "passages"];
const ONLY_LOCAL: [&str; 5] =
    ["GET /backup", "GET /passages", "GET /snapshots", "POST /passages", "POST /snapshots"];

/// Calls every operation on one collection: with the parameters that answers depend on, and each
/// that was not called so by its examples.
async fn call_every_operation(app: &App, at: &str, documents: &Value) {
    let before = mem::take(&mut *app.answered.lock().unwrap());
    call_with_parameters(app, at, documents).await;
    let below = |operation: &String| {
        let path = operation.split_once(' ').unwrap().1;
        let of_one = path.strip_prefix(ONE_COLLECTION);
        if at.is_empty() { of_one.is_none() } else { of_one.is_some_and(|below| !below.is_empty()) }
    };
    let mut left: Vec<String> = CONTRACT.operations().into_iter().filter(below).collect();
    left.retain(|operation| !app.answered.lock().unwrap().contains(operation));
    // What one call begins, such as a reindex, others describe and end.
    left.sort_by_key(|of| (!of.starts_with("POST"), of.starts_with("DELETE")));
    for operation in left {
        let (path, body) = CONTRACT.example(&operation);
        let path = path.replace("/collections/a/", &format!("{at}/"));
        let request = Request::builder().method(operation.split(' ').next().unwrap()).uri(&path);
        let media = body.map_or("", |(media, _)| media);
        let body = body.map_or(Body::empty(), |(_, body)| body.to_string().into());
        let reply = app.call(request.header("content-type", media).body(body).unwrap()).await;
        let operation = without_collection(&operation);
        if !is_local() && reply.status == 501 {
            assert!(ONLY_LOCAL.contains(&operation.as_str()), "{operation}: {:?}", reply.body);
            continue;
        }
        let is_answered = reply.status.is_success() || MAY_REFUSE.contains(&operation.as_str());
        assert!(is_answered, "{operation} of '{at}': {} {:?}", reply.status, reply.body);
        assert!(!reply.status.is_server_error(), "{operation} of '{at}': {:?}", reply.body);
    }
    app.answered.lock().unwrap().extend(before);
}

async fn call_with_parameters(app: &App, at: &str, documents: &Value) {
    let ok = async |path: &str| {
        let reply = app.get(&format!("{at}{path}")).await;
        assert_eq!(reply.status, 200, "{at}{path}: {:?}", reply.body);
    };
    add(app, at, documents).await;
    ok("/documents?limit=2").await;
    ok("/documents/a?include=sketch,shingles").await;
    ok("/export?order=id").await;
    ok("/similar?id=a").await;
    ok("/similar?id=a&limit=1&offset=1&include=text,metadata").await;
    ok("/similar?id=a&limit=1&filter=%40.site%20%3D%3D%201").await;
    app.get(&format!("{at}/similar?id=a&k=3")).await;
    app.get(&format!("{at}/similar?id=a&measure=containment&of=match")).await;
    app.get(&format!("{at}/similar?id=a&mode=exact")).await;
    app.get(&format!("{at}/similar?id=a&mode=estimated")).await;
    app.get(&format!("{at}/resemblance?a=a&b=b&explain=true")).await;
    for measure in MEASURES {
        app.get(&format!("{at}/resemblance?a=a&b=b&measures={}", measure.name)).await;
    }
    app.get(&format!("{at}/pairs?mode=exact")).await;
    app.get(&format!("{at}/clusters?linkage=representative&min_size=1")).await;
    app.get(&format!("{at}/clusters?id=a")).await;
    app.get(&format!("{at}/recall?sample=3")).await;
    app.get(&format!("{at}/passages?id=a&words_min=20&include=metadata")).await;
    app.post(&format!("{at}/passages"), "text/plain", text(3)).await;
    app.post_json(&format!("{at}/similar"), json!([{"id": "a"}, {"id": "b"}])).await;
    let lines = "{\"id\": \"a\"}\n{\"id\": 7}\n";
    app.post(&format!("{at}/similar"), "application/x-ndjson", lines).await;
    let pair = json!({"a": {"id": "a"}, "b": {"id": "c"}});
    app.post_json(&format!("{at}/resemblance"), pair).await;
    assert_eq!(app.delete(&format!("{at}/documents/c")).await.status, 204);
    app.put_json(&format!("{at}/documents/put"), documents[0].clone()).await;
    let named = json!({"id": "b", "text": documents[0]["text"], "tokens": documents[0]["tokens"],
        "fields": documents[0]["fields"]});
    let named: serde_json::Map<_, _> =
        named.as_object().unwrap().clone().into_iter().filter(|(_, of)| !of.is_null()).collect();
    let put = app.put_json(&format!("{at}/documents/b"), Value::Object(named)).await;
    assert_eq!(put.status, 200, "{:?}", put.body);
    app.patch_json(&format!("{at}/documents/b"), json!({"metadata": {"x": 1}})).await;
    ok("/documents?count=true&filter=%40.site%20%3D%3D%201").await;
    let ids = json!({"ids": ["a", "nobody", "a"], "include": ["sketch"]});
    assert_eq!(app.post_json(&format!("{at}/fetch"), ids).await.status, 200);
    assert_eq!(app.post_json(&format!("{at}/remove"), json!({"ids": ["b"]})).await.status, 200);
    let old = format!("{at}/documents?stored_before=2000-01-01T00:00:00Z");
    assert_eq!(app.delete(&old).await.status, 200);
}

async fn add(app: &App, at: &str, documents: &Value) {
    let path = format!("{at}/documents");
    for line in app.post_json(&path, documents).await.elements() {
        assert_eq!(line["status"], "created", "{at}: {line}");
    }
    let document = &documents[0];
    assert_eq!(app.post_json(&path, document).await.status, 200, "{at}");
    let bad = format!("{document}\n{{\"id\": 1}}\n");
    assert_eq!(app.post(&path, "application/x-ndjson", bad).await.lines()[1]["status"], "error");
}
