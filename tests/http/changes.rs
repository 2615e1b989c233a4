use std::collections::{BTreeMap, BTreeSet};

use akin::engine::CollectionName;
use akin::storage::StorageSettings;
use serde_json::{Value, json};

use crate::app::{App, text};
use crate::numbers::Numbers;

/// The changes of an answer, each as its kind and id, and the position behind them.
fn read(mut lines: Vec<Value>) -> (Vec<(String, String)>, String) {
    let end = lines.pop().unwrap();
    let of = |line: &Value, field: &str| line[field].as_str().unwrap().to_owned();
    let changes = lines.iter().map(|line| (of(line, "change"), of(line, "id"))).collect();
    (changes, of(&end, "position"))
}

async fn changes(app: &App, query: &str) -> (Vec<(String, String)>, String) {
    app.await_changes();
    read(app.get(&format!("/changes{query}")).await.lines())
}

fn change(kind: &str, id: &str) -> (String, String) {
    (kind.to_owned(), id.to_owned())
}

#[tokio::test]
async fn what_was_stored_and_removed_is_told_in_order() {
    let app = App::new().await;
    let add = async |id: &str, changed| {
        app.post_json("/documents", json!({"id": id, "text": text(changed)})).await;
    };
    add("before", 0).await;
    let (none, start) = changes(&app, "").await;
    assert_eq!(none, []);
    assert_eq!(changes(&app, &format!("?since={start}")).await, (vec![], start.clone()));

    add("a", 1).await;
    add("b", 2).await;
    app.delete("/documents/before").await;
    add("c", 3).await;
    let (first, next) = changes(&app, &format!("?since={start}")).await;
    let expected = [
        change("stored", "a"),
        change("stored", "b"),
        change("removed", "before"),
        change("stored", "c"),
    ];
    assert_eq!(first, expected);

    // Replaced: told once, by its last version; stored and removed: told as removed.
    add("a", 4).await;
    add("d", 5).await;
    app.delete("/documents/d").await;
    add("a", 6).await;
    let (second, end) = changes(&app, &format!("?since={next}")).await;
    assert_eq!(second, [change("removed", "d"), change("stored", "a")]);
    assert_eq!(changes(&app, &format!("?since={end}")).await.0, []);

    let mut pages = Vec::new();
    let mut since = start;
    while since != end {
        let (page, next) = changes(&app, &format!("?since={since}&limit=1")).await;
        assert!(page.len() <= 1);
        pages.extend(page);
        since = next;
    }
    let kept: BTreeSet<_> = pages.iter().filter(|(kind, _)| kind == "stored").collect();
    assert_eq!(
        kept,
        BTreeSet::from([&change("stored", "a"), &change("stored", "b"), &change("stored", "c")])
    );
}

#[tokio::test]
async fn a_reader_that_waits_hears_of_the_next_change() {
    let app = App::new().await;
    let (_, start) = changes(&app, "").await;
    let path = format!("/changes?since={start}&wait_s=60");
    let (heard, _) = tokio::join!(app.get(&path), async {
        app.post_json("/documents", json!({"id": "a", "text": "x"})).await
    });
    assert_eq!(read(heard.lines()).0, [change("stored", "a")]);
}

#[tokio::test]
async fn foreign_and_old_positions_are_gone() {
    let app = App::new().await;
    let (_, start) = changes(&app, "").await;
    app.put_json("/collections/other", json!({})).await;
    let of_other = app.get("/collections/other/changes").await.lines();
    let (_, of_other) = read(of_other);
    let (store, _) = start.split_once('-').unwrap();
    let later = format!("{store}-999999999999");
    for since in [later, of_other.clone(), format!("1-{start}"), "0-0".to_owned()] {
        let reply = app.get(&format!("/changes?since={since}")).await;
        match since.matches('-').count() {
            1 => drop(reply.problem(410, "changes_gone")),
            _ => {
                let problem = reply.problem(400, "invalid_parameter");
                assert!(problem["detail"].as_str().unwrap().contains("again without `since`"));
            }
        }
    }
    assert_eq!(app.get(&format!("/collections/other/changes?since={of_other}")).await.status, 200);
    for query in ["?limit=0", "?limit=10001", "?wait_s=61", "?since=x"] {
        app.get(&format!("/changes{query}")).await.problem(400, "invalid_parameter");
    }
}

#[tokio::test]
async fn changes_are_kept_as_long_as_the_setting_says() {
    let few = StorageSettings { changes_kept: 3, ..StorageSettings::default() };
    for (settings, is_gone) in [(few, true), (StorageSettings::default(), false)] {
        let app = App::with_storage(settings).await;
        let (_, start) = changes(&app, "").await;
        for at in 0..5 {
            app.post_json("/documents", json!({"id": at.to_string(), "text": text(at)})).await;
            app.delete(&format!("/documents/{at}")).await;
        }
        let (_, late) = changes(&app, "").await;
        for at in 0..3 {
            app.post_json("/documents", json!({"text": at.to_string()})).await;
            app.collections().get(&CollectionName::default()).unwrap().snapshot().await.unwrap();
        }
        let reply = app.get(&format!("/changes?since={start}")).await;
        match is_gone {
            true => drop(reply.problem(410, "changes_gone")),
            false => assert_eq!(reply.lines().len(), 5 + 3 + 1, "removals, additions and the end"),
        }
        assert_eq!(changes(&app, &format!("?since={late}")).await.0.len(), 3);
    }
}

/// A search index that has the cluster of each document as a field, as a reader of the feed keeps
/// it.
#[derive(Default)]
struct SearchIndex {
    clusters: BTreeMap<String, Option<String>>,
    since: String,
}

impl SearchIndex {
    /// Reads one answer; returns whether there may be more.
    async fn follow(&mut self, app: &App, limit: usize) -> bool {
        let query = format!("since={}&clusters=true&limit={limit}", self.since);
        let mut lines = app.get(&format!("{KEPT}/changes?{query}")).await.lines();
        let end = lines.pop().unwrap();
        for line in lines {
            let id = line["id"].as_str().unwrap().to_owned();
            match line["change"].as_str().unwrap() {
                "stored" => drop(self.clusters.insert(id, None)),
                "removed" => drop(self.clusters.remove(&id)),
                "clustered" => {
                    let cluster = line["cluster"].as_str().unwrap().to_owned();
                    // A document that was removed meanwhile.
                    self.clusters.entry(id).and_modify(|of| *of = Some(cluster));
                }
                other => panic!("{other}"),
            }
        }
        let before = std::mem::replace(&mut self.since, end["position"].as_str().unwrap().into());
        before != self.since
    }

    /// Follows to the end, and compares the clusters with those of the server.
    async fn check(&mut self, app: &App) {
        update(app).await;
        while self.follow(app, 7).await {}
        let listed = app.get(&format!("{KEPT}/documents?limit=1000")).await.json();
        let mut stored = BTreeMap::new();
        for id in listed["ids"].as_array().unwrap() {
            let id = id.as_str().unwrap();
            let document = app.get(&format!("{KEPT}/documents/{id}")).await.json();
            stored.insert(id.to_owned(), document["cluster"].as_str().map(str::to_owned));
        }
        assert!(stored.values().all(Option::is_some));
        assert_eq!(self.clusters, stored);
    }
}

const KEPT: &str = "/collections/kept";

/// Does the background work.
async fn update(app: &App) {
    let kept = app.collections().get(&"kept".parse().unwrap()).unwrap();
    while kept.update_clusters().await.unwrap() {}
}

/// Each text resembles the next ones, so that clusters are chains that are joined and divided.
fn link(at: usize) -> String {
    (at * 4..at * 4 + 60).map(|at| format!("w{at}")).collect::<Vec<_>>().join(" ")
}

async fn create_kept(app: &App) {
    let settings = json!({"clusters": {"threshold": 0.8}, "scheme": {"exact_from": 0.8}});
    assert_eq!(app.put_json(KEPT, settings).await.status, 201);
}

#[tokio::test]
async fn a_reader_knows_the_cluster_of_each_document_also_over_a_restart() {
    for seed in 0..4 {
        let (mut app, mut numbers) = (App::new().await, Numbers(seed));
        create_kept(&app).await;
        let position = app.get(&format!("{KEPT}/changes")).await.lines().remove(0);
        let since = position["position"].as_str().unwrap().to_owned();
        let mut index = SearchIndex { since, ..SearchIndex::default() };
        for step in 1..=300 {
            let id = format!("{:02}", numbers.below(40));
            let path = format!("{KEPT}/documents/{id}");
            match numbers.below(12) {
                0..6 => {
                    let text = link(numbers.below(30));
                    app.put_json(&path, json!({"text": text})).await;
                }
                6..9 => drop(app.delete(&path).await),
                9 => drop(app.patch_json(&path, json!({"metadata": {"step": step}})).await),
                10 => update(&app).await,
                _ => drop(index.follow(&app, 1 + numbers.below(5)).await),
            }
            match step {
                75 | 225 => index.check(&app).await,
                150 => {
                    app = app.restarted().await;
                    index.follow(&app, 1_000).await;
                    index.check(&app).await;
                }
                _ => {}
            }
        }
        index.check(&app).await;
    }
}

#[tokio::test]
async fn a_reader_that_waits_hears_of_a_cluster() {
    let app = App::new().await;
    create_kept(&app).await;
    let position = app.get(&format!("{KEPT}/changes")).await.lines().remove(0);
    let since = position["position"].as_str().unwrap().to_owned();
    let mut index = SearchIndex { since, ..SearchIndex::default() };
    for id in ["b", "c"] {
        app.put_json(&format!("{KEPT}/documents/{id}"), json!({"text": link(0)})).await;
    }
    index.check(&app).await;
    let path = format!("{KEPT}/changes?since={}&clusters=true&wait_s=60", index.since);
    let (heard, _) = tokio::join!(app.get(&path), async {
        app.patch_json(&format!("{KEPT}/documents/c"), json!({"metadata": {}})).await
    });
    assert_eq!(heard.lines()[0]["id"], "c");
    app.get("/changes?clusters=true").await.problem(400, "invalid_parameter");
}
