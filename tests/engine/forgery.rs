//! Documents that were made to look alike.

use akin::engine::CollectionSettings;
use tempfile::tempdir;

use super::{add, similar, text, try_open};

/// A former hash of words had a seed, too, but a difference in the second highest bit of a word's
/// first eight bytes stayed in two bits of their product, and the same bits of the other eight
/// bytes cancelled it. So every fourth of these pairs had equal hashes, and two texts without a
/// word in common were reported as equal.
#[tokio::test]
async fn forged_texts_without_a_common_word_are_not_duplicates() {
    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), CollectionSettings::default()).unwrap();
    let forged = |c: char| {
        let words = (0..100).map(|n| format!("forge{n:02}{c}{n:03}{c}{n:03}{c}"));
        words.collect::<Vec<_>>().join(" ")
    };
    add(&engine, text("honest", &forged('1'))).await;
    add(&engine, text("forged", &forged('q'))).await;
    assert_eq!(similar(&engine, "honest", 0.1).await, []);
}
