//! What a collection makes of its contents when it is not told the usual.

use akin::document::Token;
use akin::engine::{
    AddStatus, Analyser, CompareOptions, Match, OnDuplicate, Policy, compare_contents,
};
use akin::text::{StopWords, Unit};
use tempfile::tempdir;

use super::*;

fn tokens(name: &str, counts: &[(&str, u32)]) -> Document {
    let token = |&(text, count): &(&str, u32)| Token { text: text.to_owned(), count };
    let content = Content::Tokens(counts.iter().map(token).collect());
    Document { id: id(name), content, metadata: None, expires_at_ms: None }
}

#[tokio::test]
async fn bags_resemble_each_other_by_their_counts() {
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
    assert!(matches!(error, EngineError::TooManyShingles { found: f, max: 100 } if f == found));
}

/// Pages that all hold one phrase, each between words of its own.
fn pages_with_a_phrase() -> impl Iterator<Item = (String, String)> {
    let page = |number: usize| {
        let words: Vec<_> = (0..30).map(|word| format!("w{number}x{word}")).collect();
        let phrase = "the common phrase of all these pages";
        (
            format!("{number}"),
            format!("{} {phrase} {}", words[..15].join(" "), words[15..].join(" ")),
        )
    };
    (0..300).map(page)
}

fn stored(name: &str) -> Probe {
    Probe::Stored(id(name))
}

fn sampled(keep_text: bool) -> CollectionSettings {
    let mut settings = CollectionSettings::default();
    settings.shingles.sample_modulo = 64;
    settings.store.text = keep_text;
    settings
}

#[tokio::test]
async fn unlike_texts_that_share_a_phrase_are_no_duplicates_by_their_samples() {
    for keep_text in [true, false] {
        let dir = tempdir().unwrap();
        let engine = try_open(dir.path(), sampled(keep_text)).unwrap();
        let skip = AddOptions { on_duplicate: OnDuplicate::Skip, ..AddOptions::default() };
        for (name, page) in pages_with_a_phrase() {
            let added = engine.add(text(&name, &page), skip).await.unwrap();
            assert_eq!(added.status, AddStatus::Created, "{name}, text kept: {keep_text}");
            assert!(added.duplicates.iter().all(|found| found.exact.is_none()), "{added:?}");
        }
        let one_in_common = |found: &Match| found.interval.is_some_and(|(low, _)| low < 0.8);
        for (name, _) in pages_with_a_phrase().take(50) {
            let found = engine.similar(stored(&name), lookup(0.8, Mode::Verified)).await.unwrap();
            assert!(found.matches.iter().all(one_in_common), "{found:?}");
            assert!(!keep_text || found.matches.is_empty());
        }
    }
}

#[tokio::test]
async fn values_from_samples_are_estimates_with_an_interval_that_holds_the_truth() {
    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), sampled(false)).unwrap();
    let words: Vec<String> = (0..20_000).map(|word| format!("w{word}")).collect();
    let mut changed = words.clone();
    for at in (0..words.len()).step_by(40) {
        changed[at] = "changed".to_owned();
    }
    let (words, changed) = (words.join(" "), changed.join(" "));
    let truth = {
        let analyser = Analyser::new(&CollectionSettings::default());
        let [a, b] = [&words, &changed].map(|text| Content::Text(text.clone()));
        let exact = compare_contents(&analyser, a, b, CompareOptions::default()).unwrap().exact;
        exact.unwrap().value
    };
    add(&engine, text("a", &words)).await;
    let skip = AddOptions { on_duplicate: OnDuplicate::Skip, ..AddOptions::default() };
    let added = engine.add(text("b", &changed), skip).await.unwrap();
    assert_eq!(added.status, AddStatus::Created, "an estimate leaves out nothing");
    let holds = |interval: Option<(f64, f64)>| {
        let (low, high) = interval.unwrap();
        low < truth && truth < high && high - low < 0.2
    };
    assert!(added.duplicates[0].exact.is_none() && holds(added.duplicates[0].interval));
    for mode in [Mode::Verified, Mode::Estimated, Mode::Exact] {
        let answer = engine.similar(stored("a"), lookup(0.7, mode)).await.unwrap();
        let found = &answer.matches[0];
        assert!(found.exact.is_none() && holds(found.interval), "{mode:?}: {found:?}");
    }
    let compared = engine.compare(stored("a"), stored("b"), CompareOptions::default()).await;
    let compared = compared.unwrap();
    assert!(compared.exact.is_none() && holds(compared.estimated.map(|it| it.interval)));
    let contents = [&words, &changed].map(|text| Probe::Content(Content::Text(text.clone())));
    let [a, b] = contents;
    let compared = engine.compare(a, b, CompareOptions::default()).await.unwrap();
    assert_eq!(compared.exact.unwrap().value, truth, "with both texts at hand");
}

#[tokio::test]
async fn a_sample_of_nothing_meets_equals_alone_and_is_told_now_and_later() {
    let dir = tempdir().unwrap();
    let mut settings = sampled(false);
    settings.shingles.sample_modulo = 65_536;
    let engine = try_open(dir.path(), settings.clone()).unwrap();
    let words = "one two three four five";
    let added = add(&engine, text("a", words)).await;
    assert_eq!((added.shingles, &added.policy[..]), (1, &[Policy::SampledToOne][..]));
    assert_eq!(add(&engine, text("b", "one two three four six")).await.duplicates.len(), 0);
    let skip = AddOptions { on_duplicate: OnDuplicate::Skip, ..AddOptions::default() };
    let equal = engine.add(text("c", words), skip).await.unwrap();
    assert_eq!((equal.status, equal.duplicates.len()), (AddStatus::Skipped, 1), "equal for sure");
    drop(engine);
    let engine = try_open(dir.path(), settings.clone()).unwrap();
    assert!(engine.get(&id("a")).await.unwrap().sampled_to_one);
    drop(engine);
    settings.store.text = true;
    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), settings).unwrap();
    assert_eq!(add(&engine, text("a", words)).await.policy, [], "nothing is sampled");
}

#[tokio::test]
async fn stop_words_are_fixed_where_texts_are_cut_at_them() {
    let french = StopWords::of_language("fr").unwrap();
    for (unit, refused) in [(Unit::Word, false), (Unit::Stopword, true)] {
        let dir = tempdir().unwrap();
        let mut settings = CollectionSettings::default();
        settings.shingles.unit = unit;
        drop(try_open(dir.path(), settings.clone()).unwrap());
        settings.shingles.stopwords = french.clone();
        assert_eq!(try_open(dir.path(), settings).is_err(), refused, "{unit:?}");
    }
}
