//! Many documents made from one template.

use akin::document::Content;
use tempfile::tempdir;

use super::*;
use crate::corpus::words;
use crate::numbers::Numbers;

const CROWD: usize = 500;

/// The template with a number in its middle.
fn copy(number: usize) -> String {
    let mut words = words(&mut Numbers(31), 120);
    words.insert(60, format!("number{number}"));
    words.join(" ")
}

#[tokio::test]
async fn truncated_crowd_lookups_say_so_and_find_equals() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    for number in 0..CROWD {
        let added = add(&engine, text(&format!("{number}"), &copy(number))).await;
        assert_eq!(added.duplicates.len(), number.min(20));
        assert_eq!(added.more, number > 20, "{number}");
        assert_eq!(added.truncated, number > 40, "no more are checked: {number}");
    }
    add(&engine, text("apart", "this page has nothing to do with the others")).await;

    let last = CROWD - 1;
    let of_text = Probe::Content(Content::Text(copy(last)));
    let few = Lookup { limit: 5, ..lookup(0.8, Mode::Verified) };
    let answer = engine.similar(of_text.clone(), few.clone()).await.unwrap();
    assert!(answer.searched.truncated && answer.searched.more);
    assert!(answer.searched.candidates < CROWD, "not all of them are looked at");
    assert_eq!(answer.matches.len(), 5);
    assert_eq!((answer.matches[0].id.as_str(), answer.matches[0].resemblance()), ("499", 1.0));
    assert!(answer.matches.iter().all(|found| found.resemblance() >= 0.8));

    let answer = engine.similar(of_text.clone(), lookup(0.8, Mode::Verified)).await.unwrap();
    assert_eq!(
        (answer.matches.len(), answer.searched.truncated),
        (CROWD, false),
        "as many as asked for"
    );
    assert!(!answer.searched.more);
    for (limit, more) in [(CROWD - 1, true), (CROWD, false)] {
        let exact = Lookup { limit, ..lookup(0.8, Mode::Exact) };
        let answer = engine.similar(of_text.clone(), exact).await.unwrap();
        assert_eq!((answer.matches.len(), answer.searched.more), (limit, more));
        assert!(!answer.searched.truncated, "an exact lookup is never cut");
    }
    let apart = engine.similar(Probe::Stored(id("apart")), few).await.unwrap();
    assert!(!apart.searched.truncated && apart.matches.is_empty());
}

#[tokio::test]
async fn crowds_in_flight_are_reported_up_to_the_limit() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let arrived = (0..60).map(|number| {
        let document = text(&format!("{number}"), &copy(number));
        arrive(&engine, document, AddOptions::default())
    });
    let added = futures_util::future::join_all(arrived.collect::<Vec<_>>());
    for (number, added) in added.await.into_iter().enumerate() {
        assert_eq!(added.duplicates.len(), number.min(20));
        assert_eq!(added.more, number > 20, "{number}");
    }
}
