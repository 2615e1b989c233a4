//! What the answer to a new version of a document says of the version that it replaced.

use akin::engine::{CollectionSettings, StoreSettings};
use serde_json::{Value, json};

use crate::app::{App, text};

/// A text whose set shares nine tenths of its shingles with the set of `text`.
fn longer(text: &str) -> String {
    format!("{text} and some words more")
}

fn flags(added: &Value) -> (bool, bool) {
    let flag = |name: &str| added["previous"][name].as_bool().unwrap();
    (flag("content_changed"), flag("metadata_changed"))
}

#[tokio::test]
async fn a_new_version_is_compared_with_the_replaced_version() {
    let app = App::new().await;
    let first = json!({"id": "a", "text": text(0), "metadata": {"n": 1}});
    let created = app.post_json("/documents", &first).await.json();
    assert_eq!(created["previous"], Value::Null, "nothing was replaced");
    let stored_at = app.get("/documents/a").await.json()["stored_at"].clone();

    let changed = json!({"id": "a", "text": longer(&text(0)), "metadata": {"n": 1}});
    let added = app.post_json("/documents", &changed).await.json();
    assert_eq!(flags(&added), (true, false));
    assert_eq!(added["previous"]["stored_at"], stored_at);
    let body = json!({"a": {"text": longer(&text(0))}, "b": {"text": text(0)}});
    let compared = app.post_json("/resemblance", body).await.json();
    assert_eq!(added["previous"]["exact"], compared["exact"]["value"]);
    assert_eq!(added["previous"]["containment"]["of_match"], compared["containment"]["b_in_a"]);
    assert!(added["previous"]["exact"].as_f64().unwrap() < 1.0);
    assert_eq!(added["previous"]["containment"]["of_match"], 1.0);
}

#[tokio::test]
async fn metadata_expiry_and_content_change_on_their_own() {
    let app = App::new().await;
    let first = json!({"id": "a", "text": text(0), "metadata": {"n": 1}});
    app.post_json("/documents", &first).await;
    let unchanged = app.post_json("/documents", &first).await.json();
    assert_eq!((&unchanged["status"], &unchanged["previous"]), (&json!("unchanged"), &Value::Null));

    let fetched = json!({"text": text(0), "metadata": {"n": 2}});
    let added = app.put_json("/documents/a", &fetched).await.json();
    assert_eq!((flags(&added), &added["previous"]["exact"]), ((false, true), &json!(1.0)));

    let expires =
        json!({"text": text(0), "metadata": {"n": 2}, "expires_at": "2999-01-01T00:00:00Z"});
    let added = app.put_json("/documents/a", &expires).await.json();
    assert_eq!((flags(&added), &added["previous"]["exact"]), ((false, false), &json!(1.0)));

    // Another case of letters: equal sets of different texts.
    let upper = json!({"id": "a", "text": text(0).to_uppercase(), "metadata": {"n": 2}});
    let added = app.post_json("/documents", upper).await.json();
    assert_eq!((flags(&added), &added["previous"]["exact"]), ((true, false), &json!(1.0)));

    let patched = app.patch_json("/documents/a", json!({"metadata": {"n": 3}})).await.json();
    assert_eq!(flags(&patched), (false, true));
}

/// Three versions of one id in one stream: each is compared with the version before it.
#[tokio::test]
async fn versions_in_one_stream_are_compared_in_their_order() {
    let app = App::new().await;
    let versions = [text(0), longer(&text(0)), text(0)];
    let lines: String =
        versions.iter().map(|text| json!({"id": "a", "text": text}).to_string() + "\n").collect();
    let added = app.post("/documents?check=false", "application/x-ndjson", lines).await.lines();
    assert_eq!(added[0]["previous"], Value::Null);
    let exact = &added[1]["previous"]["exact"];
    assert!((0.5..1.0).contains(&exact.as_f64().unwrap()));
    assert_eq!(&added[2]["previous"]["exact"], exact);
    let containment = |added: &Value, of: &str| added["previous"]["containment"][of].clone();
    assert_eq!(containment(&added[1], "of_match"), 1.0);
    assert_eq!(containment(&added[2], "of_probe"), 1.0);
}

#[tokio::test]
async fn the_replaced_version_needs_no_text() {
    let store = StoreSettings { text: false, ..StoreSettings::default() };
    let app = App::with_collection(CollectionSettings { store, ..Default::default() }).await;
    app.post_json("/documents", json!({"id": "a", "text": text(0)})).await;
    let added = app.post_json("/documents", json!({"id": "a", "text": longer(&text(0))})).await;
    assert_eq!(flags(&added.json()), (true, false));
    assert_eq!(added.json()["previous"]["containment"]["of_match"], 1.0);
}
