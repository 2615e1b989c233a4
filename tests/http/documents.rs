use std::sync::Arc;

use akin::document::Token;
use akin::engine::{CollectionSettings, StoreSettings};
use akin_core::sketch::{SketchSettings, Sketcher};
use akin_core::text::{ShingleSettings, Shingler};
use serde_json::{Value, json};

use crate::app::{App, text};
use crate::store_under_test::sql;

/// Ids that a path could mangle, as they stand in a path.
const IDS: [(&str, &str); 7] = [
    ("https://example.org/a?b", "https%3A%2F%2Fexample.org%2Fa%3Fb"),
    ("a/b/c", "a/b/c"),
    ("/rooted//twice/", "%2Frooted%2F%2Ftwice%2F"),
    ("100%", "100%25"),
    ("%2F", "%252F"),
    ("two words+é漢", "two%20words+%C3%A9%E6%BC%A2"),
    ("../..", "..%2F.."),
];

#[tokio::test]
async fn a_document_is_created_unchanged_and_replaced() {
    let app = App::new().await;
    let first = app.post_json("/documents", json!({"id": "a", "text": text(0)})).await;
    assert_eq!(first.status, 201);
    let expected = json!({"id": "a", "status": "created", "duplicates": [],
        "shingles": first.json()["shingles"], "notes": []});
    assert_eq!(first.json(), expected);

    let again = app.post_json("/documents", json!({"id": "a", "text": text(0)})).await;
    assert_eq!((again.status.as_u16(), &again.json()["status"]), (200, &json!("unchanged")));
    let other = app.post_json("/documents", json!({"id": "a", "text": text(1)})).await;
    assert_eq!((other.status.as_u16(), &other.json()["status"]), (200, &json!("replaced")));
    assert_eq!(other.json()["duplicates"], json!([]), "a document is no duplicate of itself");
}

#[tokio::test]
async fn integers_are_ids_in_every_body() {
    let app = App::new().await;
    let created = app.post_json("/documents", json!({"id": 7, "text": text(0)})).await.json();
    assert_eq!(created["id"], "7");
    let lines = format!("{{\"id\": -8, \"text\": {:?}}}\n", text(1));
    let added = app.post("/documents", "application/x-ndjson", lines).await;
    assert_eq!(added.lines()[0]["id"], "-8");
    let large = json!([{"id": u64::MAX, "text": text(2)}]);
    assert_eq!(app.post_json("/documents", large).await.json()[0]["id"], u64::MAX.to_string());
    assert_eq!(app.get("/documents/-8").await.status, 200);
    assert_eq!(app.put_json("/documents/7", json!({"id": 7, "text": text(0)})).await.status, 200);
    let other = app.put_json("/documents/7", json!({"id": 8, "text": text(0)})).await;
    other.problem(422, "invalid_document");

    let fetched = app.post_json("/fetch", json!({"ids": [7, "-8", 9]})).await.json();
    assert_eq!(fetched["documents"][0]["id"], "7");
    let ranked = app.post_json("/collapse", json!({"ids": [7, "7", -9]})).await.json();
    assert_eq!((&ranked["kept"], &ranked["unknown"]), (&json!(["7", "-9"]), &json!(["-9"])));
    let pair = app.post_json("/resemblance", json!({"a": {"id": 7}, "b": {"id": "-8"}})).await;
    assert_eq!(pair.status, 200);
    assert_eq!(app.post_json("/similar", json!({"id": 7})).await.status, 200);
    let removed = app.post_json("/remove", json!({"ids": [7, -8, u64::MAX]})).await;
    assert_eq!(removed.json()["removed"], 3);
    for id in [json!(1.5), json!(true), json!(["a"]), json!(1e30)] {
        let refused = app.post_json("/documents", json!({"id": id, "text": text(0)})).await;
        refused.problem(422, "invalid_document");
    }
}

#[tokio::test]
async fn near_duplicates_are_reported_and_can_be_skipped() {
    let app = App::new().await;
    app.add(&[json!({"id": "a", "text": text(0), "metadata": {"n": 1}})]).await;
    let near = json!({"id": "b", "text": text(100)});

    let skipped = app.post_json("/documents?on_duplicate=skip", &near).await;
    assert_eq!((skipped.status.as_u16(), &skipped.json()["status"]), (200, &json!("skipped")));
    app.get("/documents/b").await.problem(404, "document_not_found");

    let strict = app.post_json("/documents?on_duplicate=skip&threshold=0.999", &near).await;
    assert_eq!(strict.json()["status"], "created");
    let kept = app.post_json("/documents", json!({"id": "c", "text": text(0)})).await.json();
    assert_eq!(kept["duplicates"][0]["id"], "a");
    assert_eq!(kept["duplicates"][0]["resemblance"], 1.0);
    assert_eq!(kept["duplicates"][0]["metadata"], Value::Null, "ids and figures only");
    assert_eq!(kept["duplicates"][1]["id"], "b");

    let unchecked = app.post_json("/documents?check=false", json!({"id": "d", "text": text(0)}));
    assert_eq!(unchecked.await.json()["duplicates"], json!([]));
}

#[tokio::test]
async fn a_document_can_be_plain_text() {
    let app = App::new().await;
    let media = "text/plain; charset=UTF-8";
    let reply = app.post("/documents?id=https%3A%2F%2Fa.b%2F", media, "one two three four").await;
    assert_eq!((reply.status.as_u16(), &reply.json()["id"]), (201, &json!("https://a.b/")));
    let stored = app.get("/documents/https:%2F%2Fa.b%2F").await.json();
    assert_eq!(stored["text"], "one two three four");

    let unnamed = app.post("/documents", "text/plain", "five six seven").await;
    let id = unnamed.json()["id"].as_str().unwrap().parse::<uuid::Uuid>().unwrap();
    assert_eq!(id.get_version_num(), 7);
    let short = app.post("/documents", "text/plain", "two words").await.json();
    assert_eq!(short["notes"], json!(["whole_document"]));
}

#[tokio::test]
async fn a_document_is_returned_as_posted() {
    let app = App::new().await;
    let metadata = r#"{"b": 1.0,  "a": [1e2, "é"], "b": null}"#;
    let body = format!(r#"{{"id": "m", "tokens": ["x", ["y", 3]], "metadata": {metadata}}}"#);
    assert_eq!(app.post_json("/documents", &body).await.status, 201);

    let reply = app.get("/documents/m").await;
    let text = std::str::from_utf8(&reply.body).unwrap();
    assert!(text.contains(metadata), "{text}");
    let stored = reply.json();
    assert_eq!(stored["tokens"], json!(["x", ["y", 3]]));
    assert_eq!(stored["shingles"], 2);
    assert_eq!(stored.get("text"), None);
    assert_eq!(stored.get("included"), None);
    assert_eq!(stored["fingerprint"].as_str().unwrap().len(), 16);
    let stored_at: jiff::Timestamp = stored["stored_at"].as_str().unwrap().parse().unwrap();
    assert!(stored_at <= jiff::Timestamp::now());
}

#[tokio::test]
async fn sketch_and_shingles_are_returned_on_request() {
    let app = App::new().await;
    app.add(&[json!({"id": "a", "tokens": ["x", "y", "z"]})]).await;
    let both = app.get("/documents/a?include=sketch,shingles").await.json();
    assert_eq!(both["included"]["sketch"].as_str().unwrap().len(), 256, "128 slots of 8 bits");
    let shingles: Vec<_> = both["included"]["shingles"].as_array().unwrap().iter().collect();
    assert_eq!(shingles.len(), 3);
    assert!(shingles.is_sorted_by_key(|shingle| shingle.as_str().unwrap()));
    let one = app.get("/documents/a?include=sketch").await.json();
    assert_eq!(one["included"].get("shingles"), None);
}

/// Whoever may read and write must not work out a secret seed: no hash is shown as it is.
#[tokio::test]
async fn hashes_made_with_a_secret_seed_are_disguised() {
    let app = App::new().await;
    let text = ["x", "y"];
    for (name, settings) in
        [("open", json!({"sketch": {"seed": 7}})), ("closed", json!({})), ("other", json!({}))]
    {
        app.put_json(&format!("/collections/{name}"), settings).await;
        for (id, tokens) in [("a", &text[..]), ("b", &text[..]), ("one", &text[..1])] {
            let body = json!({"id": id, "tokens": tokens});
            app.post_json(&format!("/collections/{name}/documents"), body).await;
        }
    }
    let shown = async |name: &str, id: &str| {
        let path = format!("/collections/{name}/documents/{id}?include=sketch,shingles");
        let stored = app.get(&path).await.json();
        (stored["fingerprint"].clone(), stored["included"].clone())
    };
    let stored = |name: &str| {
        let dir = app.dir.path();
        let query = format!("SELECT identity FROM akin.collections WHERE name = '{name}'");
        let of_file = || akin::storage::stored_identity(&dir.join(name)).unwrap().unwrap();
        let identity = sql(dir, &query).unwrap_or_else(of_file);
        let seed = serde_json::from_str::<Value>(&identity).unwrap()["sketch"]["seed"].as_u64();
        let shingler = Shingler::new(ShingleSettings::default(), seed.unwrap(), usize::MAX);
        let token = |text: &&str| Token { text: (*text).to_owned(), count: 1 };
        let set = shingler.tokens(&text.iter().map(token).collect::<Vec<_>>()).unwrap().set;
        let sketch = Sketcher::new(SketchSettings { seed, ..SketchSettings::default() });
        let sketch = sketch.sketch(&set).as_bytes().to_vec();
        let hashes = set.as_slice().iter().map(|hash| format!("{hash:016x}")).collect::<Vec<_>>();
        (format!("{:016x}", set.fingerprint()), hashes, sketch)
    };
    for (name, is_secret) in [("open", false), ("closed", true)] {
        let (fingerprint, hashes, sketch) = stored(name);
        let (shown_fingerprint, included) = shown(name, "a").await;
        let shingles = included["shingles"].as_array().unwrap();
        assert_eq!(shown_fingerprint != json!(fingerprint), is_secret, "{name}");
        for hash in &hashes {
            assert_eq!(!shingles.contains(&json!(hash)), is_secret, "{name}");
        }
        let sketch = sketch.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        assert_eq!(included["sketch"] != json!(sketch), is_secret, "{name}");
        // Within the collection they mean what they mean elsewhere.
        assert_eq!(shown(name, "b").await, (shown_fingerprint, included.clone()));
        let one = shown(name, "one").await.1["shingles"][0].clone();
        assert!(shingles.contains(&one) && shingles.is_sorted_by_key(|hash| hash.as_str()));
    }
    assert_ne!(shown("closed", "a").await, shown("other", "a").await);
}

#[tokio::test]
async fn ids_in_paths_and_bodies_are_equal() {
    let app = App::new().await;
    for (id, path) in IDS {
        app.add(&[json!({"id": id, "text": text(0)})]).await;
        assert_eq!(app.get(&format!("/documents/{path}")).await.json()["id"], id);
        assert_eq!(app.delete(&format!("/documents/{path}")).await.status, 204, "{id}");
        app.delete(&format!("/documents/{path}")).await.problem(404, "document_not_found");
    }
    app.get("/documents/%FF").await.problem(400, "invalid_parameter");
    app.get("/documents/%0A").await.problem(400, "invalid_parameter");
}

#[tokio::test]
async fn ids_are_paged_in_byte_order() {
    let app = App::new().await;
    for id in ["b", "é", "a", "a b&c", "B"] {
        app.add(&[json!({"id": id, "text": text(0)})]).await;
    }
    let first = app.get("/documents?limit=2").await.json();
    assert_eq!(first, json!({"ids": ["B", "a"], "next": "a"}));
    let second = app.get("/documents?limit=2&after=a").await.json();
    assert_eq!(second, json!({"ids": ["a b&c", "b"], "next": "b"}));
    let last = app.get("/documents?limit=2&after=b").await.json();
    assert_eq!(last, json!({"ids": ["é"]}));
    assert_eq!(app.get("/documents").await.json()["ids"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn an_export_can_be_posted_as_it_is() {
    let app = App::new().await;
    app.add(&[
        json!({"id": "a", "text": "line\nbreak and more", "metadata": {"k": "v"}}),
        json!({"id": "b", "tokens": ["x", ["y", 2]]}),
    ])
    .await;
    let laid_out = "{\"id\": \"c\", \"text\": \"one two three\", \"metadata\": {\n\"k\":\r\n1}}";
    assert_eq!(app.post_json("/documents", laid_out).await.status, 201);

    let export = app.get("/export").await;
    let mut exported = export.lines();
    exported.sort_by_key(|document| document["id"].to_string());
    let expected = [
        json!({"id": "a", "text": "line\nbreak and more", "metadata": {"k": "v"}}),
        json!({"id": "b", "tokens": ["x", ["y", 2]]}),
        json!({"id": "c", "text": "one two three", "metadata": {"k": 1}}),
    ];
    assert_eq!(exported, expected);

    let copy = App::new().await;
    let results = copy.post("/documents", "application/x-ndjson", export.body).await.lines();
    assert!(results.iter().all(|result| result["status"] == "created"), "{results:?}");
}

#[tokio::test]
async fn texts_that_are_not_kept_are_not_returned() {
    let store = StoreSettings { text: false, ..StoreSettings::default() };
    let app =
        App::with_collection(CollectionSettings { store, ..CollectionSettings::default() }).await;
    app.add(&[json!({"id": "a", "text": text(0)}), json!({"id": "b", "text": text(1)})]).await;
    assert_eq!(app.get("/documents/a").await.json().get("text"), None);
    app.get("/resemblance?a=a&b=b&explain=true").await.problem(422, "text_not_kept");
    assert_eq!(app.get("/resemblance?a=a&b=b").await.status, 200);
}

#[tokio::test]
async fn put_uses_the_id_of_the_path() {
    let app = App::new().await;
    let created = app.put_json("/documents/x%2Fy", json!({"text": text(0)})).await;
    assert_eq!((created.status.as_u16(), &created.json()["id"]), (201, &json!("x/y")));
    let replaced = app.put_json("/documents/x%2Fy", json!({"id": "x/y", "text": text(1)})).await;
    assert_eq!((replaced.status.as_u16(), &replaced.json()["status"]), (200, &json!("replaced")));
    let other = json!({"id": "z", "text": text(0)});
    let problem = app.put_json("/documents/x%2Fy", other).await.problem(422, "invalid_document");
    assert_eq!(problem["errors"][0]["pointer"], "/id");
    let skipped = app.put_json("/documents/copy?on_duplicate=skip", json!({"text": text(2)})).await;
    assert_eq!(skipped.json()["status"], "skipped");
    assert_eq!(app.get("/documents").await.json()["ids"], json!(["x/y"]));
}

#[tokio::test]
async fn metadata_is_changed_by_a_merge_patch() {
    let app = App::new().await;
    let metadata = json!({"lang": "en", "draft": true, "author": {"name": "A", "age": 7}});
    let document = json!({"id": "a", "text": text(0), "metadata": metadata,
        "expires_at": "2999-01-01T00:00:00Z"});
    app.post_json("/documents", document).await;
    let patch = json!({"metadata": {"lang": "de", "draft": null, "author": {"age": null}}});
    let changed = app.patch_json("/documents/a", &patch).await;
    assert_eq!((changed.status.as_u16(), &changed.json()["status"]), (200, &json!("replaced")));
    let stored = app.get("/documents/a").await.json();
    assert_eq!(stored["metadata"], json!({"lang": "de", "author": {"name": "A"}}));
    assert_eq!(stored["text"], text(0));
    assert_eq!(stored["expires_at"], "2999-01-01T00:00:00.000Z");
    assert_eq!(app.patch_json("/documents/a", &patch).await.json()["status"], "unchanged");

    let cleared = json!({"metadata": null, "expires_at": null});
    assert_eq!(app.patch_json("/documents/a", cleared).await.status, 200);
    let stored = app.get("/documents/a").await.json();
    assert_eq!((&stored["metadata"], &stored["expires_at"]), (&Value::Null, &Value::Null));

    for (body, pointer) in [
        (json!({"metadata": [1]}), "/metadata"),
        (json!({"text": "other"}), "/text"),
        (json!({"expires_at": "2000-01-01T00:00:00Z"}), "/expires_at"),
    ] {
        let problem = app.patch_json("/documents/a", body).await.problem(422, "invalid_document");
        assert_eq!(problem["errors"][0]["pointer"], pointer);
    }
    app.patch_json("/documents/b", json!({})).await.problem(404, "document_not_found");
}

/// Each change adds a field, so none may overwrite what another has added meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_changes_of_a_document_are_all_kept() {
    let app = Arc::new(App::new().await);
    app.post_json("/documents", json!({"id": "a", "text": text(0)})).await;
    let change = |at: usize| {
        let app = Arc::clone(&app);
        tokio::spawn(async move {
            let patch = json!({"metadata": {format!("field{at}"): at}});
            while app.patch_json("/documents/a", &patch).await.status == 503 {}
        })
    };
    for change in (0..20).map(change).collect::<Vec<_>>() {
        change.await.unwrap();
    }
    let stored = app.get("/documents/a").await.json();
    assert_eq!(stored["metadata"].as_object().unwrap().len(), 20, "{stored}");
}

#[tokio::test]
async fn many_documents_are_fetched_and_removed_by_their_ids() {
    let app = App::new().await;
    for id in ["a", "b", "c/d"] {
        app.post_json("/documents", json!({"id": id, "text": id})).await;
    }
    let wanted = json!({"ids": ["c/d", "nobody", "a", "c/d"], "include": ["sketch"]});
    let fetched = app.post_json("/fetch", wanted).await.json();
    assert_eq!(fetched["unknown"], json!(["nobody"]));
    let documents = fetched["documents"].as_array().unwrap();
    assert_eq!(documents.len(), 2);
    assert_eq!(documents[0], app.get("/documents/c%2Fd?include=sketch").await.json());
    assert_eq!(documents[1]["text"], "a");

    let removed = app.post_json("/remove", json!({"ids": ["b", "nobody", "c/d"]})).await.json();
    assert_eq!((&removed["matched"], &removed["removed"]), (&json!(2), &json!(2)));
    assert_eq!(app.get("/documents").await.json()["ids"], json!(["a"]));
    let removed = app.post_json("/remove", json!({"stored_after": "2000-01-01T00:00:00Z"})).await;
    assert_eq!(removed.json()["removed"], 1);
    for body in [json!({}), json!({"ids": ["a"], "stored_after": "2000-01-01T00:00:00Z"})] {
        let problem = app.post_json("/remove", body).await.problem(422, "invalid_request");
        assert!(problem["detail"].as_str().unwrap().contains("either ids"), "{problem}");
    }
}
