use std::collections::BTreeSet;

use akin::engine::CollectionName;
use akin::storage::StorageSettings;
use serde_json::{Value, json};

use crate::app::{App, text};

/// The changes of an answer, each as its kind and id, and the position behind them.
fn read(mut lines: Vec<Value>) -> (Vec<(String, String)>, String) {
    let end = lines.pop().unwrap();
    let of = |line: &Value, field: &str| line[field].as_str().unwrap().to_owned();
    let changes = lines.iter().map(|line| (of(line, "change"), of(line, "id"))).collect();
    (changes, of(&end, "position"))
}

async fn changes(app: &App, query: &str) -> (Vec<(String, String)>, String) {
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
    for since in [format!("{store}-7"), format!("1-{start}"), "0-0".to_owned()] {
        let reply = app.get(&format!("/changes?since={since}")).await;
        match since.matches('-').count() {
            1 => drop(reply.problem(410, "changes_gone")),
            _ => drop(reply.problem(400, "invalid_parameter")),
        }
    }
    assert_eq!(app.get(&format!("/collections/other/changes?since={of_other}")).await.status, 200);
    for query in ["?limit=0", "?limit=10001", "?wait_s=61", "?since=x"] {
        app.get(&format!("/changes{query}")).await.problem(400, "invalid_parameter");
    }
}

#[tokio::test]
async fn changes_are_kept_as_long_as_the_setting_says() {
    let few = StorageSettings { changes_kept: 3, snapshots_kept: 1, ..StorageSettings::default() };
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
