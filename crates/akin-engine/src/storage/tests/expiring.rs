//! Expiry times are stored and removed with their documents; selection of documents.

use super::*;

fn expiring(ordinal: u32, expires_at_ms: i64) -> Record {
    Record { expires_at_ms: Some(expires_at_ms), ..record(ordinal) }
}

#[tokio::test]
async fn expiry_is_stored_and_removed_with_its_document() {
    let home = Home::new();
    let store = home.open();
    for ordinal in 0..3 {
        write(&store, put(&expiring(ordinal, NOW_MS + 10))).await;
    }
    let replacing = Record { id: record(0).id, ..expiring(3, NOW_MS + 30) };
    let replaces = Some(Ordinal::from(0));
    write(&store, Write::Put { record: encoded(&replacing), replaces }).await;
    write(&store, remove(1)).await;
    let expiries = |store: &Store| {
        let mut all = Vec::new();
        let scanned = store.scan(0..9, |row| {
            all.push((row.ordinal.get(), row.expires_at_ms));
            Ok(())
        });
        scanned.unwrap();
        all
    };
    let expected = [(2, Some(NOW_MS + 10)), (3, Some(NOW_MS + 30))];
    assert_eq!(expiries(&store), expected);
    drop(store);
    assert_eq!(expiries(&home.open()), expected);
}

#[tokio::test]
async fn expired_documents_are_neither_exported_nor_selected() {
    let home = Home::new();
    let store = home.open();
    for ordinal in 0..4 {
        write(&store, put(&expiring(ordinal, NOW_MS + i64::from(ordinal)))).await;
    }
    let alive = [2, 3].map(|ordinal| record(ordinal).id);
    for order in [Order::Stored, Order::Id] {
        assert_eq!(exported_ids(&store, order, NOW_MS + 1).await, alive);
    }
    let selected = store.select(NOW_MS + 1, |_| true).await.unwrap();
    assert_eq!(selected, [Ordinal::from(2), Ordinal::from(3)]);
}

#[tokio::test]
async fn a_changed_expiry_is_noticed() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 3).await;
    for change in ["expires_at + 1", "NULL", "-1"] {
        let update = format!("UPDATE documents SET expires_at = {change} WHERE ordinal = 1");
        home.raw().execute_batch(&update).unwrap();
        assert!(fetch(&store, 1).await.is_err(), "{change}");
        assert!(store.select(NOW_MS, |_| true).await.is_err(), "{change}");
        let back = "UPDATE documents SET expires_at = ?1 WHERE ordinal = 1";
        home.raw().execute(back, [record(1).expires_at_ms]).unwrap();
        assert_eq!(fetch(&store, 1).await.unwrap(), Some(record(1)));
    }
}

#[tokio::test]
async fn selection_sees_one_view_of_the_details() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 6).await;
    let odd = |of: &DocumentDetails| of.stored_at_ms % 2 == 1;
    let selected = store.select(NOW_MS, odd).await.unwrap();
    assert_eq!(selected, [1, 3, 5].map(Ordinal::from));
    let details = store.details(vec![Ordinal::from(3), Ordinal::from(9)]).await.unwrap();
    let Record { stored_at_ms, content_hash, metadata, .. } = record(3);
    let expected = DocumentDetails { stored_at_ms, content_hash, metadata };
    assert_eq!(details, [Some(expected), None]);
}
