use super::*;

async fn after(store: &Store, position: Position) -> Changes {
    store.changes(position, 100).await.unwrap()
}

fn ids(changes: &Changes) -> Vec<(&str, bool)> {
    let Changes::Some(changes, _) = changes else { panic!("{changes:?}") };
    changes.iter().map(|change| (change.id.as_str(), change.stored_at_ms.is_some())).collect()
}

#[tokio::test]
async fn removals_of_an_older_akin_are_not_taken_for_replacements() {
    let home = Home::new();
    let store = home.open();
    let start = store.last_change().await.unwrap();
    fill(&store, 2).await;
    drop(store);
    // As an akin leaves it that knows no such table.
    home.raw()
        .execute_batch("DROP TABLE removals; DELETE FROM settings WHERE name LIKE 'rem%'")
        .unwrap();
    let store = home.open();
    assert_eq!(after(&store, start).await, Changes::Gone);
    let now = store.last_change().await.unwrap();
    write(&store, put(&record(7))).await;
    assert_eq!(ids(&after(&store, now).await), [(record(7).id.as_str(), true)]);
}
