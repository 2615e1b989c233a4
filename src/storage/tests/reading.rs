//! What was written is what is read.

use super::*;

#[tokio::test]
async fn every_kind_of_content_survives() {
    let home = Home::new();
    let store = home.open();
    let contents = [
        Some(Content::Text("Ünï cödé 漢字 ".repeat(500))),
        Some(Content::Text(String::new())),
        Some(tokens(&[("ab", 1), ("c", 7), ("", u32::MAX)])),
        None,
    ];
    let mut written = Vec::new();
    for (ordinal, content) in (0..).zip(contents) {
        let record = Record { content, ..record(ordinal) };
        write(&store, put(&record)).await;
        written.push(Some(record));
    }
    let without_metadata = Record { metadata: None, ..record(4) };
    write(&store, put(&without_metadata)).await;
    written.push(Some(without_metadata));

    let ordinals = (0..5).map(Ordinal).collect::<Vec<_>>();
    assert_eq!(store.fetch(ordinals.clone(), Part::All).await.unwrap(), written);
    drop(store);
    assert_eq!(home.open().fetch(ordinals, Part::All).await.unwrap(), written);
}
