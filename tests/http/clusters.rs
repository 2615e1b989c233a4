//! The clusters that a collection keeps.

use akin::engine::{CollectionName, CollectionSettings};
use serde_json::{Value, json};

use crate::app::{App, text};
use crate::backends;

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

fn ids(cluster: &Value) -> Vec<&str> {
    let members = cluster["members"].as_array().unwrap();
    members.iter().map(|member| member["id"].as_str().unwrap()).collect()
}

/// A chain: each resembles the next, and the ends do not resemble each other.
fn link(at: usize) -> String {
    let words: Vec<String> = (at * 4..at * 4 + 60).map(|at| format!("w{at}")).collect();
    words.join(" ")
}

#[tokio::test]
async fn additions_and_documents_name_their_cluster() {
    if backends::is_left_out("stored clusters") {
        return;
    }
    let app = App::with_collection(settings()).await;
    let first = add(&app, "z", &text(0)).await;
    assert_eq!(first.as_str().unwrap().len(), 16);
    assert_eq!(add(&app, "a", &text(100)).await, first, "the oldest member names it");
    assert_ne!(add(&app, "other", "something else altogether").await, first);
    let unchecked = json!({"id": "m", "text": text(0), "check": false});
    assert_eq!(app.post_json("/documents", unchecked).await.json()["cluster"], first);
    let lines = [json!({"id": "l1", "text": text(50)}), json!({"id": "l2", "text": "alone"})];
    let body = lines.map(|line| line.to_string() + "\n").concat();
    let results = app.post("/documents", "application/x-ndjson", body).await.lines();
    assert_eq!(results[0]["cluster"], first);
    for id in ["a", "m", "l1"] {
        assert_eq!(app.get(&format!("/documents/{id}")).await.json()["cluster"], first);
    }
    let fetched = app.post_json("/fetch", json!({"ids": ["a", "other"]})).await.json();
    assert_eq!(fetched["documents"][0]["cluster"], first);
    let skipped = json!({"id": "s", "text": text(0), "on_duplicate": "skip"});
    assert!(app.post_json("/documents", skipped).await.json()["cluster"].is_null());
    let stats = app.get("/stats").await.json()["clusters"].clone();
    assert_eq!((&stats["clusters"], &stats["documents"]), (&json!(1), &json!(4)));
    assert_eq!(stats["state"], "current", "every addition has linked its document");
    let metrics = String::from_utf8(app.get("/metrics").await.body.into()).unwrap();
    assert!(metrics.contains("akin_stored_cluster_documents{collection=\"default\"} 4\n"));
}

#[tokio::test]
async fn clusters_come_in_pages_and_follow_removals() {
    if backends::is_left_out("stored clusters") {
        return;
    }
    let app = App::with_collection(settings()).await;
    for at in 0..8 {
        add(&app, &format!("chain{at}"), &link(at)).await;
    }
    for at in 0..3 {
        add(&app, &format!("pair{at}"), &format!("{} number{at}", text(at))).await;
        add(&app, &format!("pair{at}b"), &format!("{} number{at}", text(at))).await;
    }
    let mut pages = Vec::new();
    let mut query = String::new();
    loop {
        let page = app.get(&format!("/clusters/stored?limit=1{query}")).await.json();
        assert_eq!((&page["state"], &page["threshold"]), (&json!("current"), &json!(0.8)));
        pages.extend(page["clusters"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        query = format!("&after={next}");
    }
    let named: Vec<_> = pages.iter().map(|of| (&of["representative"], &of["size"])).collect();
    assert_eq!(named, [(&json!("chain0"), &json!(8)), (&json!("pair0"), &json!(6))]);
    let large = app.get("/clusters/stored?min_size=7").await.json();
    assert_eq!(large["clusters"].as_array().unwrap().len(), 1);

    let own = app.get("/clusters?id=chain5&limit=5").await.json();
    assert_eq!((&own["cluster"], &own["size"]), (&pages[0]["cluster"], &json!(8)));
    assert_eq!(ids(&own), ["chain0", "chain1", "chain2", "chain3", "chain4"]);
    let next = own["next"].as_str().unwrap();
    let rest = app.get(&format!("/clusters?id=chain5&after={next}")).await.json();
    assert_eq!(ids(&rest), ["chain5", "chain6", "chain7"]);
    assert!(rest["next"].is_null() && rest["more"] == false);

    // The middle holds it together.
    app.delete("/documents/chain4").await;
    let stale = app.get("/clusters?id=chain5").await.json();
    assert_eq!((&stale["state"], &stale["stale"]), (&json!("updating"), &json!(true)));
    update(&app).await;
    let after = app.get("/clusters?id=chain5").await.json();
    assert_eq!(ids(&after), ["chain5", "chain6", "chain7"]);
    assert_eq!((&after["state"], &after["representative"]), (&json!("current"), &json!("chain5")));
    assert_eq!(ids(&app.get("/clusters?id=chain0").await.json()).len(), 4);

    // Metadata do not change who resembles whom, another text does.
    app.patch_json("/documents/chain6", json!({"metadata": {"n": 1}})).await;
    assert_eq!(app.get("/stats").await.json()["clusters"]["state"], "current");
    assert_eq!(ids(&app.get("/clusters?id=chain5").await.json()).len(), 3);
    app.put_json("/documents/chain6", json!({"text": "nothing like it"})).await;
    update(&app).await;
    let alone = app.get("/clusters?id=chain6").await.json();
    assert_eq!((&alone["size"], ids(&alone)), (&json!(1), vec!["chain6"]));
}

#[tokio::test]
async fn other_thresholds_and_other_collections_are_looked_up() {
    if backends::is_left_out("stored clusters") {
        return;
    }
    let mut by_keys = settings();
    by_keys.scheme.exact_from = None;
    let app = App::with_collection(by_keys).await;
    for at in 0..3 {
        add(&app, &format!("d{at}"), &text(0)).await;
    }
    for query in ["threshold=0.9", "mode=exact"] {
        let looked_up = app.get(&format!("/clusters?id=d0&{query}")).await.json();
        assert!(looked_up["state"].is_null(), "{looked_up}");
        assert_eq!(looked_up["members"][1]["linked_to"], "d0");
        let path = format!("/clusters?id=d0&{query}&after=1");
        app.get(&path).await.problem(400, "invalid_parameter");
    }
    assert_eq!(app.get("/clusters?id=d0&threshold=0.8").await.json()["state"], "current");
    app.get("/clusters?after=1").await.problem(400, "invalid_parameter");
    app.get("/clusters/stored?after=x").await.problem(400, "invalid_parameter");
    app.get("/clusters?id=nobody").await.problem(404, "document_not_found");

    app.put_json("/collections/without", json!({})).await;
    app.get("/collections/without/clusters/stored").await.problem(404, "clusters_not_kept");
    let with = json!({"clusters": {"threshold": 0.9}});
    app.put_json("/collections/with", with).await;
    let page = app.get("/collections/with/clusters/stored").await.json();
    assert_eq!((&page["state"], &page["clusters"]), (&json!("current"), &json!([])));
    let records = json!({
        "shingles": {"unit": "field"},
        "scheme": {"kind": "fields", "fields": ["name"]},
        "clusters": {"threshold": 0.8},
    });
    let refused = app.put_json("/collections/people", records).await;
    assert!(String::from_utf8_lossy(&refused.body).contains("not for records"));
}
