//! What a collection makes of its contents when it is not told the usual.

use akin::document::Token;
use akin::engine::ContentError;
use akin_core::text::{StopWords, Unit};
use tempfile::tempdir;

use super::*;

fn tokens(name: &str, counts: &[(&str, u32)]) -> Document {
    let token = |&(text, count): &(&str, u32)| Token { text: text.to_owned(), count };
    let content = Content::Tokens(counts.iter().map(token).collect());
    Document { id: id(name), content, metadata: None, expires_at_ms: None }
}

#[tokio::test]
async fn multisets_compare_the_counts_of_shingles() {
    let dir = tempdir().unwrap();
    let mut settings = CollectionSettings::default();
    settings.shingles.multiset = true;
    settings.limits.shingles_max = 100;
    let engine = try_open(dir.path(), settings).unwrap();
    add(&engine, tokens("a", &[("x", 50), ("y", 40)])).await;
    add(&engine, tokens("b", &[("x", 40), ("y", 50)])).await;
    add(&engine, tokens("c", &[("x", 1), ("y", 1)])).await;
    assert_eq!(similar(&engine, "a", 0.7).await, [("b".to_owned(), 0.8)]);

    let billions = tokens("d", &[("x", u32::MAX), ("y", u32::MAX)]);
    let error = engine.add(billions, AddOptions::default()).await.unwrap_err();
    let found = u32::MAX as usize * 2;
    assert!(
        matches!(error, EngineError::Content(ContentError::TooManyShingles { found: f, max: 100 }) if f == found)
    );
}

#[tokio::test]
async fn stop_words_decide_the_identity_only_for_stopword_shingles() {
    let french = StopWords::Language("fr".to_owned());
    for (unit, refused) in [(Unit::Word, false), (Unit::Stopword, true)] {
        let dir = tempdir().unwrap();
        let mut settings = CollectionSettings::default();
        settings.shingles.unit = unit;
        drop(try_open(dir.path(), settings.clone()).unwrap());
        settings.shingles.stopwords = french.clone();
        assert_eq!(try_open(dir.path(), settings).is_err(), refused, "{unit:?}");
    }
}
