//! The clusters that a collection keeps.

use akin::engine::{CollectionName, CollectionSettings};
use serde_json::{Value, json};

use crate::app::{App, text};

fn settings() -> CollectionSettings {
    let mut settings = CollectionSettings::default();
    settings.clusters.threshold = Some(0.8.try_into().unwrap());
    // Finds every pair.
    settings.scheme.exact_from = settings.clusters.threshold;
    settings
}

/// Does the background work.
async fn update(app: &App) {
    let collection = app.collections().get(&CollectionName::default()).unwrap();
    while collection.update_clusters().await.unwrap() {}
}

async fn add(app: &App, id: &str, text: &str) -> Value {
    app.post_json("/documents", json!({"id": id, "text": text})).await.json()["cluster"].clone()
}

/// The lines of an answer, the last of which may be `incomplete`.
async fn clusters(app: &App, query: &str) -> Vec<Value> {
    app.get(&format!("/clusters{query}")).await.lines()
}

/// A discovery of the same clusters.
async fn discovered(app: &App) -> Vec<Value> {
    clusters(app, "?mode=exact&threshold=0.8").await
}

fn ids(cluster: &Value) -> Vec<&str> {
    let members = cluster["members"].as_array().unwrap();
    members.iter().map(|member| member["id"].as_str().unwrap()).collect()
}

async fn state(app: &App) -> Value {
    app.get("/stats").await.json()["clusters"]["state"].clone()
}

/// A chain: each text resembles the next, and the ends do not resemble each other.
fn link(at: usize) -> String {
    let words: Vec<String> = (at * 4..at * 4 + 60).map(|at| format!("w{at}")).collect();
    words.join(" ")
}

#[tokio::test]
async fn additions_and_documents_name_their_cluster() {
    let app = App::with_collection(settings()).await;
    let first = add(&app, "b", &text(0)).await;
    assert_eq!(first.as_str().unwrap().len(), 16);
    assert_eq!(add(&app, "z", &text(100)).await, first, "the lowest id names it");
    assert_ne!(add(&app, "other", "something else altogether").await, first);
    let unchecked = json!({"id": "m", "text": text(0), "check": false});
    assert_eq!(app.post_json("/documents", unchecked).await.json()["cluster"], first);
    let lines = [json!({"id": "l1", "text": text(50)}), json!({"id": "l2", "text": "alone"})];
    let body = lines.map(|line| line.to_string() + "\n").concat();
    let results = app.post("/documents", "application/x-ndjson", body).await.lines();
    assert_eq!(results[0]["cluster"], first);
    for id in ["b", "m", "z", "l1"] {
        assert_eq!(app.get(&format!("/documents/{id}")).await.json()["cluster"], first);
    }
    let fetched = app.post_json("/fetch", json!({"ids": ["z", "other"]})).await.json();
    assert_eq!(fetched["documents"][0]["cluster"], first);
    let skipped = json!({"id": "s", "text": text(0), "on_duplicate": "skip"});
    assert!(app.post_json("/documents", skipped).await.json()["cluster"].is_null());
    let stats = app.get("/stats").await.json()["clusters"].clone();
    assert_eq!((&stats["clusters"], &stats["documents"]), (&json!(1), &json!(4)));
    assert_eq!(stats["state"], "current", "every addition has linked its document");
    let metrics = String::from_utf8(app.get("/metrics").await.body.into()).unwrap();
    assert!(metrics.contains("akin_stored_cluster_documents{collection=\"default\"} 4\n"));
    assert_ne!(add(&app, "a", &text(0)).await, first, "a lower id names it");
}

/// A new version has another ordinal, even a version that differs in metadata or expiry alone.
#[tokio::test]
async fn a_change_of_metadata_or_expiry_renames_no_cluster() {
    let app = App::with_collection(settings()).await;
    let first = add(&app, "a", &text(0)).await;
    let patch = |metadata: Value| app.patch_json("/documents/a", metadata);
    patch(json!({"metadata": {"before": "a cluster"}})).await;
    for id in ["m", "z"] {
        assert_eq!(add(&app, id, &text(100)).await, first);
    }
    let expires = "2999-01-01T00:00:00Z";
    let again = json!({"id": "a", "text": text(0), "expires_at": expires});
    for _ in 0..3 {
        patch(json!({"metadata": {"in": "a cluster"}})).await;
        assert_eq!(app.post_json("/documents", &again).await.json()["cluster"], first);
        update(&app).await;
        let own = clusters(&app, "?id=z").await;
        assert_eq!((&own[0]["cluster"], &own[0]["representative"]), (&first, &json!("a")));
        assert_eq!((own.len(), ids(&own[0])), (1, vec!["a", "m", "z"]));
    }
    add(&app, "a", "another text altogether").await;
    update(&app).await;
    assert_eq!(clusters(&app, "?id=z").await[0]["representative"], "m");
}

#[tokio::test]
async fn kept_clusters_equal_discovered_clusters() {
    let app = App::with_collection(settings()).await;
    for at in 0..8 {
        add(&app, &format!("chain{at}"), &link(at)).await;
    }
    for at in 0..3 {
        add(&app, &format!("pair{at}"), &format!("{} number{at}", text(at))).await;
        add(&app, &format!("pair{at}b"), &format!("{} number{at}", text(at))).await;
    }
    add(&app, "alone", "nothing like the others").await;
    let all = clusters(&app, "").await;
    let named: Vec<_> = all.iter().map(|of| (&of["representative"], &of["size"])).collect();
    assert_eq!(named, [(&json!("chain0"), &json!(8)), (&json!("pair0"), &json!(6))]);
    assert_eq!(all, discovered(&app).await);
    assert_eq!(clusters(&app, "?min_size=7").await, all[..1]);
    assert_eq!(clusters(&app, "?min_size=1").await.len(), 3, "a discovery has lone documents");
    assert_eq!(clusters(&app, "?id=chain5").await, all[..1]);
    assert_eq!(clusters(&app, "?id=chain5&mode=exact&threshold=0.8").await, all[..1]);
    let alone = clusters(&app, "?id=alone").await;
    assert_eq!((alone.len(), &alone[0]["size"], ids(&alone[0])), (1, &json!(1), vec!["alone"]));
    assert_eq!(alone, clusters(&app, "?id=alone&mode=exact&threshold=0.8").await);

    // The middle connects the chain.
    app.delete("/documents/chain4").await;
    let own = clusters(&app, "?id=chain5").await;
    let unfinished = json!({"documents": 7, "ids": own[0]["members"].as_array().unwrap().iter()
        .map(|member| member["id"].clone()).collect::<Vec<_>>()});
    assert_eq!((state(&app).await, &own[1]["incomplete"]), (json!("updating"), &unfinished));
    update(&app).await;
    let after = clusters(&app, "?id=chain5").await;
    assert_eq!((after.len(), ids(&after[0])), (1, vec!["chain5", "chain6", "chain7"]));
    assert_eq!(ids(&clusters(&app, "?id=chain0").await[0]).len(), 4);
    assert_eq!(clusters(&app, "").await, discovered(&app).await);

    // Metadata do not change which documents are near-duplicates, another text does.
    app.patch_json("/documents/chain6", json!({"metadata": {"n": 1}})).await;
    assert_eq!(state(&app).await, "current");
    assert_eq!(ids(&clusters(&app, "?id=chain5").await[0]).len(), 3);
    app.put_json("/documents/chain6", json!({"text": "nothing like it"})).await;
    update(&app).await;
    assert_eq!(ids(&clusters(&app, "?id=chain6").await[0]), ["chain6"]);
    assert_eq!(clusters(&app, "").await, discovered(&app).await);
}

/// Near-copies in one body: most documents are linked by the documents after them, and every
/// lookup ends at a limit. That made all clusters incomplete for good.
#[tokio::test]
async fn an_import_of_near_copies_is_complete() {
    let mut by_keys = settings();
    by_keys.scheme.exact_from = None;
    let app = App::with_collection(by_keys).await;
    let copy = |n: usize| {
        json!({"id": format!("d{n:04}"), "text": format!("{} number{n}", text(0))}).to_string()
    };
    let body = (0..1_000).map(copy).collect::<Vec<_>>().join("\n");
    app.post("/documents?check=false", "application/x-ndjson", body).await;
    update(&app).await;
    let all = clusters(&app, "").await;
    assert_eq!((all.len(), &all[0]["size"]), (1, &json!(1_000)), "{:?}", all.last());
}

#[tokio::test]
async fn other_thresholds_are_discovered() {
    let app = App::with_collection(settings()).await;
    for at in 0..3 {
        add(&app, &format!("d{at}"), &text(at)).await;
    }
    assert_eq!(clusters(&app, "").await.len(), 1);
    assert_eq!(clusters(&app, "?threshold=0.8").await.len(), 1);
    assert!(clusters(&app, "?threshold=0.99").await.is_empty());
    assert_eq!(ids(&clusters(&app, "?threshold=0.99&id=d1").await[0]), ["d1"]);
    for query in ["?id=nobody", "?id=nobody&mode=exact"] {
        app.get(&format!("/clusters{query}")).await.problem(404, "document_not_found");
    }
    app.put_json("/collections/with", json!({"clusters": {"threshold": 0.9}})).await;
    assert!(app.get("/collections/with/clusters").await.lines().is_empty());
    let records = json!({
        "shingles": {"unit": "field"},
        "scheme": {"kind": "fields", "fields": ["name"]},
        "clusters": {"threshold": 0.8},
    });
    let refused = app.put_json("/collections/people", records).await;
    assert!(String::from_utf8_lossy(&refused.body).contains("not for records"));
}
