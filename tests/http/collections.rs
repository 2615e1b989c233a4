//! Collections beside each other.

use std::convert::Infallible;

use akin::engine::CollectionSettings;
use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tower::ServiceExt;

use crate::app::{App, COLLECTIONS_MAX, post, text};
use crate::store_under_test::is_local;

#[tokio::test]
async fn a_collection_is_created_described_listed_and_removed() {
    let app = App::new().await;
    let reply = app.put_json("/collections/news", json!({"sketch": {"slots": 64}})).await;
    assert_eq!(reply.status, 201, "{:?}", reply.body);
    let made = reply.json();
    assert_eq!(made["name"], "news");
    assert_eq!(made["settings"]["sketch"]["slots"], 64);
    let defaults = serde_json::to_value(CollectionSettings::default()).unwrap();
    assert_eq!(made["settings"]["sketch"]["bits"], defaults["sketch"]["bits"]);
    assert_eq!(made["settings"]["scheme"], defaults["scheme"]);
    assert_eq!((&made["documents"], made.get("postings_skew")), (&json!(0), None));

    let again = app.put_json("/collections/news", json!({"sketch": {"slots": 64}})).await;
    assert_eq!((again.status.as_u16(), again.json()["name"].clone()), (200, json!("news")));
    let other = app.put_json("/collections/news", "{}").await.problem(409, "collection_exists");
    let detail = other["detail"].as_str().unwrap();
    assert!(detail.contains(r#""slots":64"#) && detail.contains(r#""slots":128"#), "{detail}");

    app.post_json("/collections/news/documents", json!({"id": "a", "text": text(0)})).await;
    app.post_json("/collections/news/documents", json!({"id": "b", "text": text(1)})).await;
    let unlike = json!({"id": "c", "text": "a page that has no words of the other two"});
    app.post_json("/collections/news/documents", unlike).await;
    let described = app.get("/collections/news").await.json();
    assert_eq!(described["documents"], 3);
    let figures = ["keys", "postings", "postings_longest", "index_bytes", "database_bytes"];
    for figure in figures.into_iter().filter(|_| is_local()) {
        assert!(described["postings_skew"].as_f64().unwrap() > 1.0, "{described}");
        assert!(described[figure].as_u64().unwrap() > 0, "{figure}: {described}");
    }
    let listed = app.get("/collections").await.json();
    assert_eq!(listed, json!({"collections": [{"name": "default"}, {"name": "news"}]}));

    let reply = app.delete("/collections/news").await;
    assert_eq!((reply.status.as_u16(), reply.body.len()), (204, 0));
    app.get("/collections/news").await.problem(404, "collection_not_found");
    app.get("/collections/news/documents/a").await.problem(404, "collection_not_found");
    app.delete("/collections/news").await.problem(404, "collection_not_found");
}

#[tokio::test]
async fn of_two_concurrent_calls_one_creates_the_collection() {
    let app = App::new().await;
    let put = |settings| app.put_json("/collections/news", settings);
    let (same, other) = (json!({"sketch": {"seed": 1}}), json!({"sketch": {"seed": 2}}));
    let (first, second) = tokio::join!(put(same.clone()), put(same));
    let mut statuses = [first.status.as_u16(), second.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 201]);
    put(other).await.problem(409, "collection_exists");
}

#[tokio::test]
async fn impossible_settings_are_refused() {
    let app = App::new().await;
    let reply = app.delete("/collections/default").await;
    reply.problem(409, "collection_required");
    for name in ["News", "-a", "a.b", "%C3%A9", "a%20b", &"x".repeat(65)] {
        let path = format!("/collections/{name}");
        for reply in [app.put_json(&path, "{}").await, app.get(&path).await] {
            let problem = reply.problem(400, "invalid_parameter");
            assert!(problem["detail"].as_str().unwrap().contains("1..=64"), "{problem}");
        }
    }
    app.get("/collections/%ff").await.problem(400, "invalid_parameter");
    app.get("/collections?limit=1").await.problem(400, "invalid_parameter");

    let path = "/collections/news";
    app.put_json(path, "{").await.problem(400, "malformed_json");
    app.post(path, "application/json", "{}").await.problem(405, "method_not_allowed");
    let faults = [
        (json!([]), ""),
        (json!({"shingles": ["word", 3, true]}), "/shingles"),
        (json!({"shingle": {}}), "/shingle"),
        (json!({"a/b": 1}), "/a~1b"),
        (json!({"shingles": {"length": 3}}), "/shingles/length"),
        (json!({"shingles": {"size": "3"}}), "/shingles/size"),
        (json!({"threshold": 0.7}), "/threshold"),
        (json!({"shingles": {"size": 0}}), "/shingles"),
        (json!({"sketch": {"slots": 17}}), "/sketch"),
        (json!({"scheme": {"threshold": 2}}), "/scheme/threshold"),
        (json!({"limits": {"candidates_max": 0}}), "/limits"),
    ];
    for (settings, pointer) in faults {
        let problem = app.put_json(path, &settings).await.problem(422, "invalid_request");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{settings}: {problem}");
    }
    app.get(path).await.problem(404, "collection_not_found");

    for number in 1..COLLECTIONS_MAX {
        assert_eq!(app.put_json(&format!("/collections/{number}"), "{}").await.status, 201);
    }
    app.put_json(path, "{}").await.problem(409, "too_many_collections");
}

/// Everything that can be asked, of one collection.
async fn view(app: &App, at: &str) -> Value {
    let found = app.post_json(&format!("{at}/similar"), json!({"text": text(9)})).await.json();
    let exported = app.get(&format!("{at}/export")).await;
    let listed = app.get(&format!("{at}/documents")).await.json();
    let stats = app.get(&format!("{at}/stats")).await.json();
    json!({
        "found": found["matches"].as_array().unwrap().iter().map(|found| &found["id"]).collect::<Vec<_>>(),
        "exported": exported.lines(),
        "ids": listed["ids"],
        "documents": stats["documents"],
        "size": stats["settings"]["shingles"]["size"],
    })
}

#[tokio::test]
async fn collections_do_not_see_each_other() {
    let app = App::new().await;
    let settings = json!({"shingles": {"size": 2}});
    assert_eq!(app.put_json("/collections/news", settings).await.status, 201);
    let document = |changed: usize| json!({"id": "a", "text": text(changed)});
    let skip = "documents?on_duplicate=skip";
    for (at, changed) in [("", 1), ("/collections/news", 2)] {
        let reply = app.post_json(&format!("{at}/{skip}"), document(changed)).await;
        let added = reply.json();
        assert_eq!((reply.status.as_u16(), &added["status"]), (201, &json!("created")), "{added}");
        assert_eq!(added["duplicates"], json!([]));
    }
    let twin = json!({"id": "b", "text": text(3)});
    let added = app.post_json(&format!("/collections/news/{skip}"), twin).await.json();
    assert_eq!((&added["status"], &added["duplicates"][0]["id"]), (&json!("skipped"), &json!("a")));
    app.get("/resemblance?a=a&b=b").await.problem(404, "document_not_found");
    let other = json!({"id": "https://b/c", "text": "something else altogether, in default only"});
    assert_eq!(app.post_json("/documents", other).await.status, 201);
    let path = "documents/https:%2F%2Fb%2Fc";
    app.get(&format!("/collections/news/{path}")).await.problem(404, "document_not_found");
    assert_eq!(app.get(&format!("/collections/default/{path}")).await.status, 200);

    let (default, news) = (view(&app, "").await, view(&app, "/collections/news").await);
    assert_eq!(view(&app, "/collections/default").await, default);
    assert_eq!((&default["documents"], &default["size"]), (&json!(2), &json!(3)));
    assert_eq!((&news["documents"], &news["size"]), (&json!(1), &json!(2)));
    assert_eq!(news["exported"], json!([document(2)]));
    assert_eq!((&default["found"], &news["found"]), (&json!(["a"]), &json!(["a"])));

    let app = app.restarted().await;
    assert_eq!(view(&app, "").await, default);
    assert_eq!(view(&app, "/collections/news").await, news);
    assert_eq!(app.delete("/collections/news/documents/a").await.status, 204);
    assert_eq!(app.get("/documents/a").await.json()["text"], text(1));
}

#[tokio::test]
async fn a_bulk_import_into_a_removed_collection_ends_cleanly() {
    let app = App::new().await;
    app.put_json("/collections/news", "{}").await;
    let (documents, received) = mpsc::unbounded_channel();
    documents.send(" ".to_owned()).unwrap();
    let body = stream::unfold(received, |mut received| async {
        let line: String = received.recv().await?;
        Some((Ok::<_, Infallible>(Bytes::from(line)), received))
    });
    let path = "/collections/news/documents?check=false";
    let request = post(path, "application/x-ndjson", Body::from_stream(body));
    let response = app.router.clone().oneshot(request).await.unwrap();
    let mut results = response.into_body().into_data_stream();
    let mut number = 0;
    let mut add = async || {
        number += 1;
        documents
            .send(format!("{}\n", json!({"id": number.to_string(), "text": "x y z"})))
            .unwrap();
        serde_json::from_slice::<Value>(&results.next().await.unwrap().unwrap()).unwrap()
    };
    assert_eq!(add().await["status"], "created");
    assert_eq!(app.delete("/collections/news").await.status, 204);
    assert_eq!(app.put_json("/collections/news", "{}").await.status, 201);
    // A few may yet be stored in what is on its way out.
    let refused = loop {
        let result = add().await;
        if result["status"] == "error" {
            break result;
        }
    };
    assert_eq!(refused["problem"]["code"], "out_of_service", "{refused}");
    drop(documents);
    assert!(results.next().await.is_none());
    assert_eq!(app.get("/collections/news/stats").await.json()["documents"], 0);
}

#[tokio::test]
async fn snapshots_are_of_one_collection() {
    let app = App::new().await;
    app.put_json("/collections/news", "{}").await;
    let document = json!({"id": "a", "text": text(0)});
    app.post_json("/collections/news/documents", document).await;
    let reply = app.post("/collections/news/snapshots", "", "").await;
    assert_eq!(reply.header("location"), "/collections/news/snapshots");
    app.collections().get(&"news".parse().unwrap()).unwrap().snapshot().await.unwrap();
    let listed = app.get("/collections/news/snapshots").await.json();
    assert_eq!(listed["snapshots"][0]["documents"], 1, "{listed}");
    assert_eq!(app.get("/snapshots").await.json(), json!({"snapshots": []}));
}

#[tokio::test]
async fn gauges_have_the_label_of_their_collection() {
    let app = App::new().await;
    app.put_json("/collections/news", "{}").await;
    app.post_json("/collections/news/documents", json!({"text": text(0)})).await;
    let metrics = async || String::from_utf8(app.get("/metrics").await.body.into()).unwrap();
    let before = metrics().await;
    for line in
        [r#"akin_documents{collection="default"} 0"#, r#"akin_documents{collection="news"} 1"#]
    {
        assert!(before.lines().any(|found| found == line), "{line} is not in\n{before}");
    }
    app.delete("/collections/news").await;
    let after = metrics().await;
    assert!(
        !after.contains("news")
            && after.contains(r#"akin_documents{collection="default"} 0"#)
            && (!is_local() || after.contains(r#"akin_index_keys{collection="default"} 0"#)),
        "{after}"
    );
}

#[tokio::test]
async fn limits_end_at_a_multiple_of_the_configured() {
    let app = App::new().await;
    let settings = json!({"limits": {"shingles_max": 100_000_000, "candidates_max": 1_000_001}});
    let reply = app.put_json("/collections/news", settings).await;
    let problem = reply.problem(422, "invalid_request");
    let detail = "candidates_max must be at most 1000000, not 1000001 (storage.limits_factor_max)";
    assert_eq!(problem["errors"], json!([{"pointer": "/limits", "detail": detail}]));
    let settings = json!({"limits": {"shingles_max": 100_000_000, "candidates_max": 1_000_000}});
    assert_eq!(app.put_json("/collections/news", settings).await.status, 201);
}
