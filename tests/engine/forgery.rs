//! Documents that were made to look alike.

use akin::engine::CollectionSettings;
use akin::text::{ShingleSettings, Shingler, WordHash};
use tempfile::tempdir;

use super::{add, similar, text, try_open};

/// Thirty pairs of different words with equal unkeyed hashes under the seed 0. A difference in the
/// second highest bit of the first eight bytes stays one in two bits of their product, whatever
/// the seed; the same bits of the other eight bytes make up for it.
fn forged_words() -> Vec<[String; 2]> {
    let settings =
        ShingleSettings { size: 1, word_hash: WordHash::Unkeyed, ..ShingleSettings::default() };
    let shingler = Shingler::new(settings, 0, 10);
    let hash = |word: &String| shingler.shingles(word).unwrap();
    let pair = |n: u32| ['1', 'q'].map(|c| format!("forge{n:02}{c}{n:03}{c}{n:03}{c}"));
    let collide = |[one, other]: &[String; 2]| hash(one) == hash(other);
    (0..100).map(pair).filter(collide).take(30).collect()
}

async fn resemblance_of_forged_texts(word_hash: WordHash) -> Option<f64> {
    let dir = tempdir().unwrap();
    let mut settings = CollectionSettings::default();
    settings.shingles.word_hash = word_hash;
    let engine = try_open(dir.path(), settings).unwrap();
    let words = forged_words();
    assert_eq!(words.len(), 30);
    let of =
        |side: usize| words.iter().map(|pair| pair[side].as_str()).collect::<Vec<_>>().join(" ");
    add(&engine, text("honest", &of(0))).await;
    add(&engine, text("forged", &of(1))).await;
    let found = similar(&engine, "honest", 0.5).await;
    found.first().map(|(_, resemblance)| *resemblance)
}

#[tokio::test]
async fn texts_without_a_word_in_common_are_not_duplicates() {
    assert_eq!(resemblance_of_forged_texts(WordHash::Keyed).await, None);
    assert_eq!(resemblance_of_forged_texts(WordHash::Unkeyed).await, Some(1.0));
}
